package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simkeystone "github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const lbRoute = "/load-balancer/v2.0/lbaas/loadbalancers"

// simulated starts a cloud and signs in with its config file.
func simulated(t *testing.T, options simulator.Options) (*simulator.Cloud, *Session) {
	t.Helper()
	cloud, err := simulator.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	cfg, _, err := config.Load(strings.NewReader(cloud.CloudConf()), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cloud, signIn(t, cfg.Global)
}

func signIn(t *testing.T, cfg config.Global) *Session {
	t.Helper()
	fast := transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}
	s, err := NewSession(context.Background(), cfg, SessionOptions{Retry: fast})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func createLB(cloud *simulator.Cloud, s *Session, name string) (*octavia.LoadBalancer, error) {
	return s.Octavia().CreateLoadBalancer(context.Background(), octavia.LoadBalancer{Name: name, Description: name, VIPSubnetID: cloud.Subnet.ID})
}

func TestSession_SendsOnlyNeededRequests(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{})
	ctx := context.Background()
	if _, err := createLB(cloud, s, "a"); err != nil {
		t.Fatal(err)
	}
	if v, err := s.LoadBalancerVersion(ctx); err != nil || !v.AtLeast(driver.VersionTags) {
		t.Errorf("version %v, %v", v, err)
	}
	if _, err := s.Neutron().ExternalNetworks(ctx); err != nil {
		t.Error(err)
	}
	if s.ProjectID() != cloud.Account.ProjectID || s.Region() != "RegionOne" {
		t.Errorf("project %q, region %q", s.ProjectID(), s.Region())
	}
	var got []string
	for _, r := range cloud.RequestLog.Requests() {
		path, _, _ := strings.Cut(r.Path, "?")
		got = append(got, r.Method+" "+path)
	}
	want := []string{"POST /identity/v3/auth/tokens", "POST " + lbRoute, "GET /load-balancer/", "GET /network/v2.0/networks"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A pool is emptied with an empty list: Octavia answers 500 to null.
func TestSetMembers_EmptiesPool(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{})
	ctx := t.Context()
	lb, err := createLB(cloud, s, "a")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := s.Octavia().CreatePool(ctx, octavia.Pool{LoadBalancerID: lb.ID, Protocol: "TCP", Algorithm: "ROUND_ROBIN"})
	if err != nil {
		t.Fatal(err)
	}
	for _, members := range [][]octavia.Member{{{Address: "127.100.1.1", Port: 80}}, nil} {
		if err := cloud.WaitSettled(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.Octavia().SetMembers(ctx, pool.ID, members, false); err != nil {
			t.Fatalf("set %d members: %v", len(members), err)
		}
	}
	if got := len(cloud.Octavia.Snapshot()[0].Pools[0].Members); got != 0 {
		t.Errorf("%d members are left", got)
	}
}

func TestSession_SendsWriteWithLostAnswerOnce(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{})
	for name, rule := range map[string]faults.Rule{
		"connection lost": {AfterWork: true, Drop: true},
		"bad gateway":     {AfterWork: true, Status: 502, Body: "<html><title>502 Bad Gateway</title></html>"},
	} {
		rule.Method, rule.Route = http.MethodPost, lbRoute
		remove := cloud.Faults.Add(rule)
		before := cloud.RequestLog.Count(http.MethodPost, lbRoute)
		_, err := createLB(cloud, s, name)
		if sent := cloud.RequestLog.Count(http.MethodPost, lbRoute) - before; !apierror.IsUnsure(err) || sent != 1 {
			t.Errorf("%s: sent %d times, IsUnsure %t: %v", name, sent, apierror.IsUnsure(err), err)
		}
		remove()
		found, err := s.Octavia().LoadBalancers(context.Background(), octavia.LoadBalancerFilter{Description: name})
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %d load balancers, %v", name, len(found), err)
		}
	}
}

func TestSession_RepeatsReadsWithLostAnswer(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{})
	for _, rule := range []faults.Rule{{Drop: true, Count: 2}, {Status: 503, Count: 3}, {Status: 429, Count: 1}} {
		rule.Method = http.MethodGet
		cloud.Faults.Add(rule)
		if _, err := s.Octavia().LoadBalancers(context.Background(), octavia.LoadBalancerFilter{All: true}); err != nil {
			t.Errorf("%+v: %v", rule, err)
		}
	}
}

func TestSession_DistinguishesRefusals(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{
		Quota:  map[string]int{"loadbalancer": 1},
		Delays: map[string]simoctavia.Delays{"amphora": {Create: time.Hour}},
	})
	ctx := context.Background()
	lb, err := createLB(cloud, s, "a")
	if err != nil {
		t.Fatal(err)
	}
	refusals := map[string]error{}
	_, refusals["403 quota"] = createLB(cloud, s, "b")
	_, refusals["404 notfound"] = s.Octavia().LoadBalancer(ctx, cloud.Account.ProjectID)
	_, refusals["409 conflict locked"] = s.Octavia().CreateListener(ctx,
		octavia.Listener{LoadBalancerID: lb.ID, Protocol: "TCP", Port: 80})
	_, refusals["400 invalid"] = s.Octavia().CreateLoadBalancer(ctx, octavia.LoadBalancer{Name: "no VIP", Provider: "nope", VIPSubnetID: cloud.Subnet.ID})
	for want, err := range refusals {
		if got := properties(err); got != want || apierror.RequestID(err) == "" {
			t.Errorf("%q, want %q, request %q: %v", got, want, apierror.RequestID(err), err)
		}
	}
	_, err = s.Neutron().CreateFloatingIP(ctx, floatingips.CreateOpts{FloatingNetworkID: cloud.Account.ProjectID})
	if !apierror.IsNotFound(err) || apierror.NeutronType(err) == "" || apierror.IsUnsure(err) {
		t.Errorf("%s, type %q: %v", properties(err), apierror.NeutronType(err), err)
	}
}

// A token that is issued in the second of the revocation is refused as well.
func TestSession_SignsInAgainAfterRevocation(t *testing.T) {
	t.Parallel()
	cloud, s := simulated(t, simulator.Options{})
	cloud.Keystone.RevokeAll()
	if _, err := createLB(cloud, s, "a"); err != nil {
		t.Fatal(err)
	}
	if n := cloud.RequestLog.Count(http.MethodPost, "/identity/v3/auth/tokens"); n != 2 && n != 3 {
		t.Errorf("%d token requests, want 2, or 3 within one second", n)
	}
}

// Every way to sign in, against a Keystone that checks it.
//
//proves:95
func TestNewSession_SignsInByEveryMethod(t *testing.T) {
	t.Parallel()
	cloud, _ := simulated(t, simulator.Options{})
	account, trustee := cloud.Account, cloud.Admin
	cloud.Keystone.AddApplicationCredential(simkeystone.ApplicationCredential{
		ID: "ac1", Secret: "ac-secret", Name: "ccm", UserID: account.UserID, ProjectID: account.ProjectID})
	cloud.Keystone.AddTrust(simkeystone.Trust{
		ID: "t1", TrustorUserID: account.UserID, TrusteeUserID: trustee.UserID, ProjectID: account.ProjectID, Impersonation: true})
	token, err := cloud.Keystone.IssueToken(account.UserID, account.ProjectID)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]config.Global{
		"password by ID":                 {UserID: account.UserID, Password: account.Password, TenantID: account.ProjectID},
		"application credential by ID":   {ApplicationCredentialID: "ac1", ApplicationCredentialSecret: "ac-secret"},
		"application credential by name": {ApplicationCredentialName: "ccm", ApplicationCredentialSecret: "ac-secret", Username: account.UserName, DomainName: "Default"},
		"trust":                          {TrustID: "t1", TrusteeID: trustee.UserID, TrusteePassword: trustee.Password},
		"token":                          {Token: token},
		"token for a project":            {Token: token, TenantID: account.ProjectID},
	} {
		cfg.AuthURL = cloud.AuthURL()
		s := signIn(t, cfg)
		if s.ProjectID() != account.ProjectID {
			t.Errorf("%s: project %q, want %q", name, s.ProjectID(), account.ProjectID)
		}
		if _, err := s.Octavia().LoadBalancers(context.Background(), octavia.LoadBalancerFilter{All: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = NewSession(context.Background(), config.Global{
		AuthURL: cloud.AuthURL(), UserID: account.UserID, Password: "wr0ng", TenantID: account.ProjectID}, SessionOptions{})
	var auth *apierror.AuthenticationError
	if !errors.As(err, &auth) || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("wrong password: %v", err)
	}
}

// properties lists what the functions say of an error.
func properties(err error) string {
	var all []string
	for _, p := range []struct {
		name string
		is   func(error) bool
	}{
		{"notfound", apierror.IsNotFound}, {"conflict", apierror.IsConflict}, {"locked", apierror.IsLocked}, {"quota", apierror.IsQuota},
		{"forbidden", apierror.IsForbidden}, {"invalid", apierror.IsInvalid}, {"unsupported", apierror.IsUnsupported}, {"unsure", apierror.IsUnsure},
		{"partsquota", apierror.IsPartsQuota}, {"crash", apierror.IsCrash}, {"sourcerangecrash", apierror.IsSourceRangeCrash},
	} {
		if p.is(err) {
			all = append(all, p.name)
		}
	}
	return fmt.Sprint(apierror.StatusCode(err), " ", strings.Join(all, " "))
}

func TestDrain_PreventsCreations(t *testing.T) {
	t.Parallel()
	_, session := simulated(t, simulator.Options{})
	if err := session.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := session.Neutron().CreateFloatingIP(t.Context(), floatingips.CreateOpts{FloatingNetworkID: "network"})
	if !errors.Is(err, transport.ErrDraining) || apierror.IsUnsure(err) {
		t.Errorf("error %v, unsure %v", err, apierror.IsUnsure(err))
	}
}
