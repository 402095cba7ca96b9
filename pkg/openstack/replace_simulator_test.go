package openstack

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simkeystone "github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// While credentials and connections are replaced again and again, every request is answered,
// and none is refused.
//
//proves:94
func TestReplace_LosesNoRequest(t *testing.T) {
	t.Parallel()
	cloud, _ := simulated(t, simulator.Options{})
	account := cloud.Account
	passwords := config.Global{AuthURL: cloud.AuthURL(), UserID: account.UserID, Password: account.Password, TenantID: account.ProjectID}
	cloud.Keystone.AddApplicationCredential(simkeystone.ApplicationCredential{ID: "ac1", Secret: "ac-secret", Name: "ccm", UserID: account.UserID, ProjectID: account.ProjectID})
	credential := config.Global{AuthURL: cloud.AuthURL(), ApplicationCredentialID: "ac1", ApplicationCredentialSecret: "ac-secret"}
	s := signIn(t, passwords)
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Octavia().LoadBalancers(t.Context(), octavia.LoadBalancerFilter{All: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 20 {
		cfg := []config.Global{credential, passwords}[n%2]
		if err := s.Replace(t.Context(), cfg, transport.TLS{}); err != nil {
			t.Error(err)
		}
	}
	stop()
	asking.Wait()
	for _, r := range cloud.RequestLog.Requests() {
		if r.Status != http.StatusOK && r.Status != http.StatusCreated && r.Status != http.StatusMultipleChoices { // Barbican's versions
			t.Errorf("%s %s was answered %d", r.Method, r.Path, r.Status)
		}
	}
	if signIns := cloud.RequestLog.Count(http.MethodPost, "/identity/v3/auth/tokens"); signIns < 21 {
		t.Errorf("%d sign-ins, want one for each replacement", signIns)
	}
}

//proves:94,137
func TestExpiry_IsThatOfTheCredentialsInUse(t *testing.T) {
	t.Parallel()
	cloud, _ := simulated(t, simulator.Options{})
	account, end := cloud.Account, time.Now().Add(24*time.Hour).UTC().Truncate(time.Second)
	expiring := cloud.Keystone.AddUser(simkeystone.User{
		Name: "expiring", Password: "p", PasswordExpiresAt: end, Roles: map[string][]string{account.ProjectID: {"member"}}})
	cloud.Keystone.AddApplicationCredential(simkeystone.ApplicationCredential{
		ID: "ac1", Secret: "s", Name: "one", UserID: account.UserID, ProjectID: account.ProjectID, ExpiresAt: end})
	cloud.Keystone.AddApplicationCredential(simkeystone.ApplicationCredential{
		ID: "ac2", Secret: "s", Name: "two", UserID: account.UserID, ProjectID: account.ProjectID})
	for name, test := range map[string]struct {
		cfg  config.Global
		want auth.Expiry
	}{
		"a password":                             {config.Global{UserID: account.UserID, Password: account.Password, TenantID: account.ProjectID}, auth.Expiry{Kind: auth.ExpiringPassword, ID: account.UserID}},
		"a password that expires":                {config.Global{UserID: expiring.ID, Password: "p", TenantID: account.ProjectID}, auth.Expiry{Kind: auth.ExpiringPassword, ID: expiring.ID, At: end}},
		"an application credential that expires": {config.Global{ApplicationCredentialID: "ac1", ApplicationCredentialSecret: "s"}, auth.Expiry{Kind: auth.ExpiringApplicationCredential, ID: "ac1", At: end}},
		"an application credential":              {config.Global{ApplicationCredentialID: "ac2", ApplicationCredentialSecret: "s"}, auth.Expiry{Kind: auth.ExpiringApplicationCredential, ID: "ac2"}},
	} {
		test.cfg.AuthURL = cloud.AuthURL()
		s := signIn(t, test.cfg)
		cloud.RequestLog.Reset()
		for range 3 {
			if got := s.Expiry(t.Context()); got.Kind != test.want.Kind || got.ID != test.want.ID || !got.At.Equal(test.want.At) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
		}
		asked := cloud.RequestLog.Requests(func(r requestlog.Request) bool { return strings.Contains(r.Path, "/identity/") })
		if want := map[string]int{auth.ExpiringApplicationCredential: 1}[test.want.Kind]; len(asked) != want {
			t.Errorf("%s: %d requests, want %d", name, len(asked), want)
		}
	}
}

// A Keystone that does not tell is asked again in an hour, and the session works.
func TestExpiry_IsUnknownWhereKeystoneDoesNotTell(t *testing.T) {
	t.Parallel()
	cloud, _ := simulated(t, simulator.Options{})
	cloud.Keystone.AddApplicationCredential(simkeystone.ApplicationCredential{
		ID: "ac1", Secret: "s", Name: "one", UserID: cloud.Account.UserID, ProjectID: cloud.Account.ProjectID})
	s := signIn(t, config.Global{AuthURL: cloud.AuthURL(), ApplicationCredentialID: "ac1", ApplicationCredentialSecret: "s"})
	cloud.RequestLog.Reset()
	cloud.Keystone.DeleteApplicationCredential("ac1") // also the token is worth nothing now
	for range 3 {
		if got := s.Expiry(t.Context()); !got.At.IsZero() {
			t.Errorf("got %v", got)
		}
	}
	if asked := cloud.RequestLog.Count(http.MethodGet, "/identity/v3/users/"+cloud.Account.UserID+"/application_credentials/ac1"); asked > 1 {
		t.Errorf("asked %d times", asked)
	}
}
