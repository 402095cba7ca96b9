package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

func TestOneTokenForAllServicesAndNoDiscovery(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s := cloud.session(t, cloud.config(), SessionOptions{UserAgent: "openstack-cloud-controller-manager/v1.2.3"})
	ctx := context.Background()
	lb, err := s.LoadBalancer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	network, err := s.Network(ctx)
	if err != nil {
		t.Fatal(err)
	}
	compute, err := s.Compute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{lb.ServiceURL("lbaas", "loadbalancers"), network.ServiceURL("ports"), compute.ServiceURL("servers")} {
		if _, err := lb.Get(ctx, url, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	for _, r := range cloud.requests() {
		paths = append(paths, r.Path)
		if r.Token != "token-1" || !strings.HasPrefix(r.UserAgent, "openstack-cloud-controller-manager/v1.2.3 gophercloud/") {
			t.Errorf("token %q, user agent %q", r.Token, r.UserAgent)
		}
	}
	want := []string{"/load-balancer/v2.0/lbaas/loadbalancers", "/network/v2.0/ports", "/compute/v2.1/servers"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if cloud.signInCount() != 1 {
		t.Errorf("%d token requests, want 1", cloud.signInCount())
	}
}

func TestEndpointsOfAllShapes(t *testing.T) {
	t.Parallel()
	tests := []struct{ service, path, root, base string }{
		{"load-balancer", "", "/", "/v2.0/"},
		{"load-balancer", "/", "/", "/v2.0/"},
		{"load-balancer", "/load-balancer", "/load-balancer/", "/load-balancer/v2.0/"},
		{"load-balancer", "/load-balancer/", "/load-balancer/", "/load-balancer/v2.0/"},
		{"load-balancer", "/load-balancer/v2.0", "/load-balancer/", "/load-balancer/v2.0/"},
		{"load-balancer", "/v2.0/", "/", "/v2.0/"},
		{"load-balancer", "/v2", "/", "/v2/"},
		{"load-balancer", "/v2.0/lbaas", "/", "/v2.0/"},
		{"network", "", "/", "/v2.0/"},
		{"network", "/networking/", "/networking/", "/networking/v2.0/"},
		{"network", "/network/v2.0", "/network/", "/network/v2.0/"},
		{"compute", "/v2.1/", "/", "/v2.1/"},
		{"compute", "/compute/v2.1/project-1", "/compute/", "/compute/v2.1/project-1/"},
		{"compute", "/v2/project-1/", "/", "/v2/project-1/"},
		{"compute", "/compute", "/compute/", "/compute/v2.1/"},
	}
	for _, test := range tests {
		cloud := newFakeCloud(t)
		cloud.paths = map[string]string{test.service: test.path}
		s := cloud.session(t, cloud.config(), SessionOptions{})
		find := s.LoadBalancer
		switch test.service {
		case "network":
			find = s.Network
		case "compute":
			find = s.Compute
		}
		client, err := find(context.Background())
		if err != nil {
			t.Errorf("%s %q: %v", test.service, test.path, err)
			continue
		}
		if client.Endpoint != cloud.URL+test.root || client.ResourceBaseURL() != cloud.URL+test.base {
			t.Errorf("%s %q: root %s, base %s", test.service, test.path, client.Endpoint, client.ResourceBaseURL())
		}
	}
}

func TestEndpointIsChosenByRegionAndInterface(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cfg := cloud.config()
	cfg.EndpointType = "internalURL"
	client, err := cloud.session(t, cfg, SessionOptions{}).Network(context.Background())
	if err != nil || client.Endpoint != "http://internal.invalid/network/" {
		t.Errorf("internal endpoint %+v, %v", client, err)
	}

	cfg.EndpointType, cfg.Region = "admin", "Nowhere"
	_, err = cloud.session(t, cfg, SessionOptions{}).LoadBalancer(context.Background())
	want := ErrNoEndpoint{Service: "load-balancer", Region: "Nowhere", Interface: "admin",
		Offered: []string{"RegionOne internal", "RegionOne public"}}
	var got ErrNoEndpoint
	if !errors.As(err, &got) {
		t.Fatalf("not an ErrNoEndpoint: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const text = "the service catalog has no admin endpoint of type load-balancer in region Nowhere; it has RegionOne internal, RegionOne public"
	if got.Error() != text {
		t.Errorf("text %q", got.Error())
	}

	cloud.set(func() { delete(cloud.paths, "load-balancer") })
	cfg.Region = ""
	_, err = cloud.session(t, cfg, SessionOptions{}).LoadBalancer(context.Background())
	if err == nil || !strings.HasSuffix(err.Error(), "in any region; it has no endpoint at all") {
		t.Errorf("text %v", err)
	}
}

// renewedInTime signs in with a fake clock that tests step.
func renewedInTime(t *testing.T, cloud *fakeCloud) (*Session, *clocktesting.FakeClock) {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Now())
	cloud.clock = clk
	s := cloud.session(t, cloud.config(), SessionOptions{Clock: clk, Retry: RetryPolicy{Attempts: 1}})
	eventually(t, "the renewal waits", clk.HasWaiters)
	return s, clk
}

func TestTokenIsRenewedBeforeItExpires(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s, clk := renewedInTime(t, cloud)
	clk.Step(50 * time.Minute)
	if err := getServer(s); err != nil || cloud.signInCount() != 1 {
		t.Fatalf("after 50 of 60 minutes: %d token requests, %v", cloud.signInCount(), err)
	}
	clk.Step(2 * time.Minute)
	eventually(t, "a second token", func() bool { return s.tokens.current.Load().id == "token-2" })
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	served := cloud.requests()
	if got := served[len(served)-1].Token; got != "token-2" || len(served) != 2 {
		t.Errorf("sent %q in %d requests; want the second token, and none refused", got, len(served))
	}
	for n := range 3 { // and so on
		eventually(t, "the next renewal waits", clk.HasWaiters)
		clk.Step(52 * time.Minute)
		eventually(t, "the next token", func() bool { return s.tokens.current.Load().id == fmt.Sprintf("token-%d", n+3) })
	}
}

// While Keystone is out of order the old token goes on as long as it lives.
func TestFailingRenewalHoldsUpNobody(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s, clk := renewedInTime(t, cloud)
	cloud.set(func() { cloud.keystone = answer(503) })
	clk.Step(52 * time.Minute)
	eventually(t, "a failed renewal", func() bool { return cloud.signInCount() == 2 && clk.HasWaiters() })
	if err := getServer(s); err != nil {
		t.Errorf("with the old token: %v", err)
	}
	clk.Step(2 * time.Second)
	eventually(t, "another try", func() bool { return cloud.signInCount() == 3 && clk.HasWaiters() })
	cloud.set(func() { cloud.keystone = nil })
	clk.Step(4 * time.Second)
	eventually(t, "a new token", func() bool { return s.tokens.current.Load().id == "token-2" })
}

// A process that slept through the renewal asks before it sends.
func TestExpiredTokenIsNotSent(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s, clk := renewedInTime(t, cloud)
	clk.Step(2 * time.Hour)
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	for _, r := range cloud.requests() {
		if r.Token != "token-2" {
			t.Errorf("sent %q", r.Token)
		}
	}
}

func TestRevokedTokenHealsAndTheWriteIsSentAgain(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.services = answer(201)
	s := cloud.session(t, cloud.config(), SessionOptions{})
	cloud.revokeAll()
	client, _ := s.LoadBalancer(context.Background())
	body := map[string]any{"loadbalancer": map[string]any{"name": "a"}}
	if _, err := client.Post(context.Background(), client.ServiceURL("lbaas", "loadbalancers"), body, nil, nil); err != nil {
		t.Fatal(err)
	}
	served := cloud.requests()
	if len(served) != 2 || served[1].Token != "token-2" || served[1].Body != served[0].Body || served[0].Body == "" {
		t.Errorf("requests %+v; want the same once more with a new token", served)
	}
}

func TestManyWithARevokedTokenShareOneSignIn(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s := cloud.session(t, cloud.config(), SessionOptions{})
	for round := range 3 {
		cloud.revokeAll()
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				if err := getServer(s); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if want := round + 2; cloud.signInCount() != want {
			t.Fatalf("%d token requests, want %d", cloud.signInCount(), want)
		}
	}
}

// The caller that happens to ask for the new token may give up; the others and the
// token do not depend on it.
func TestRenewalOutlivesItsFirstCaller(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan struct{}), make(chan struct{})
	cloud := newFakeCloud(t)
	s := cloud.session(t, cloud.config(), SessionOptions{})
	stale := s.tokens.current.Load()
	issue := s.tokens.issue
	s.tokens.issue = func(ctx context.Context) (*token, error) {
		close(arrived)
		<-proceed
		return issue(ctx)
	}
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		_, err := s.tokens.renew(ctx, stale)
		first <- err
	}()
	<-arrived
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) || IsUnsure(err) {
		t.Errorf("the cancelled caller got %v", err)
	}
	close(proceed)
	if fresh, err := s.tokens.renew(context.Background(), stale); err != nil || fresh.id != "token-2" {
		t.Errorf("%v, %v", fresh, err)
	}
}

func TestRefusedCredentialsEndInOneTry(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s := cloud.session(t, cloud.config(), SessionOptions{})
	cloud.revokeAll()
	cloud.set(func() { cloud.keystone = answer(401) })
	err := getServer(s)
	var auth *AuthenticationError
	if !errors.As(err, &auth) || StatusCode(err) != 401 || IsUnsure(err) || IsNotFound(err) {
		t.Errorf("%s: %v", properties(err), err)
	}
	if cloud.signInCount() != 2 || len(cloud.requests()) != 1 {
		t.Errorf("%d token requests, %d others; want 2 and 1", cloud.signInCount(), len(cloud.requests()))
	}
}

func TestFreshTokenThatIsRefusedToo(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.services = answer(401)
	err := getServer(cloud.session(t, cloud.config(), SessionOptions{}))
	if StatusCode(err) != 401 || len(cloud.requests()) != 2 || cloud.signInCount() != 2 {
		t.Errorf("%d requests, %d sign-ins: %v", len(cloud.requests()), cloud.signInCount(), err)
	}
}

// A wrong path in Keystone's proxy must not make load balancers look deleted.
func TestKeystonesNotFoundIsNotTheObjects(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s := cloud.session(t, cloud.config(), SessionOptions{})
	cloud.revokeAll()
	cloud.set(func() { cloud.keystone = answer(404) })
	if err := getServer(s); err == nil || IsNotFound(err) {
		t.Errorf("not found: %v", err)
	}
}

func TestBareTokenIsNotRenewedAndSaysSo(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	cloud.clock = clk
	s := cloud.session(t, config.Global{AuthURL: cloud.URL, Token: "given"}, SessionOptions{Clock: clk})
	clk.Step(55 * time.Minute)
	cloud.revokeAll()
	err := getServer(s)
	var expired *TokenExpiredError
	if !errors.As(err, &expired) || !expired.At.IsZero() || !strings.Contains(err.Error(), "was refused") {
		t.Errorf("revoked: %v", err)
	}
	clk.Step(10 * time.Minute)
	err = Wrap(getServer(s), "read server 1")
	const want = "read server 1: not signed in: the token in the configuration expired at 2026-01-01T13:00:00Z " +
		"and cannot be renewed: give a new one, or a password or application credential"
	if err == nil || err.Error() != want {
		t.Errorf("expired:\n got %v\nwant %s", err, want)
	}
	if cloud.signInCount() != 1 {
		t.Errorf("%d token requests, want the first only", cloud.signInCount())
	}
}

func TestNewCatalogComesWithTheToken(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	s := cloud.session(t, cloud.config(), SessionOptions{})
	cloud.set(func() { cloud.paths["network"] = "/moved" })
	cloud.revokeAll()
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	client, err := s.Network(context.Background())
	if err != nil || client.Endpoint != cloud.URL+"/moved/" {
		t.Errorf("%+v, %v", client, err)
	}
}

// All of it at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.services = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/load-balancer/" {
			serveVersion("v2.26")(w, r)
			return
		}
		fmt.Fprint(w, "{}")
	}
	s := cloud.session(t, cloud.config(), SessionOptions{Metrics: NewMetrics(), VersionAge: time.Nanosecond})
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for round := range 20 {
				if worker == 0 && round%5 == 0 {
					cloud.revokeAll()
				}
				// Two revocations can hit one request: the second 401 is an answer.
				if err := getServer(s); err != nil && StatusCode(err) != 401 {
					t.Error(err)
				}
				if _, err := s.LoadBalancerVersion(context.Background()); err != nil {
					t.Error(err)
				}
				_ = s.ProjectID()
			}
		})
	}
	all.Wait()
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	cloud := newFakeCloud(t)
	before := goleak.IgnoreCurrent()
	s, err := NewSession(context.Background(), cloud.config(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := getServer(s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close() // twice does no harm
	cloud.CloseClientConnections()
	goleak.VerifyNone(t, before)
}

func TestSignInEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cloud := newFakeCloud(t)
	arrived := make(chan struct{}, 10)
	go func() {
		<-arrived
		cancel()
	}()
	cloud.keystone = func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}
	_, err := NewSession(ctx, cloud.config(), SessionOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
