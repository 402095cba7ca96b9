package keystone_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

func TestSignIn_SucceedsInEveryWay(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	restricted := env.AddApplicationCredential(keystone.ApplicationCredential{
		Name: "ccm-credential", UserID: env.user.ID, ProjectID: env.project.ID, Roles: []string{"member"},
	})
	token, err := env.IssueToken(env.user.ID, env.project.ID)
	must(t, err)
	all, some := []string{"member", "load-balancer_member"}, []string{"member"}
	for name, test := range map[string]struct {
		options gophercloud.AuthOptions
		roles   []string
	}{
		"password by IDs":   {env.password(), all},
		"password by names": {gophercloud.AuthOptions{Username: "ccm", Password: "secret", DomainName: "Default", TenantName: "k8s"}, all},
		"names, domain ID":  {gophercloud.AuthOptions{Username: "ccm", Password: "secret", DomainID: "default", TenantName: "k8s"}, all},
		"credential by ID":  {gophercloud.AuthOptions{ApplicationCredentialID: restricted.ID, ApplicationCredentialSecret: restricted.Secret}, some},
		"credential by name": {gophercloud.AuthOptions{
			ApplicationCredentialName: "ccm-credential", ApplicationCredentialSecret: restricted.Secret, Username: "ccm", DomainName: "Default",
		}, some},
		"token to a project": {gophercloud.AuthOptions{TokenID: token, Scope: &gophercloud.AuthScope{ProjectID: env.project.ID}}, all},
		"token as it is":     {gophercloud.AuthOptions{TokenID: token}, all},
	} {
		client, err := env.signIn(test.options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		status, caller := env.caller(client.Token())
		if status != http.StatusOK || caller.UserID != env.user.ID || caller.ProjectID != env.project.ID || !slices.Equal(caller.Roles, test.roles) {
			t.Errorf("%s: answered %d to %+v", name, status, caller)
		}
	}
}

func TestSignIn_FailsWithoutValidCredentials(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	elsewhere := env.AddProject(keystone.Project{Name: "elsewhere"})
	credential := env.AddApplicationCredential(keystone.ApplicationCredential{UserID: env.user.ID, ProjectID: env.project.ID})
	expired := env.AddApplicationCredential(keystone.ApplicationCredential{UserID: env.user.ID, ProjectID: env.project.ID, ExpiresAt: env.clock.Now()})
	rootless := env.AddApplicationCredential(keystone.ApplicationCredential{UserID: env.user.ID, ProjectID: elsewhere.ID})
	env.AddUser(keystone.User{ID: "gone", Password: "secret", Disabled: true, Roles: map[string][]string{env.project.ID: {"member"}}})
	for name, test := range map[string]struct {
		options gophercloud.AuthOptions
		status  int
	}{
		"wrong password":       {gophercloud.AuthOptions{UserID: env.user.ID, Password: "wrong", TenantID: env.project.ID}, 401},
		"unknown user":         {gophercloud.AuthOptions{UserID: "nobody", Password: "secret", TenantID: env.project.ID}, 401},
		"unknown domain":       {gophercloud.AuthOptions{Username: "ccm", Password: "secret", DomainName: "Nowhere"}, 401},
		"disabled user":        {gophercloud.AuthOptions{UserID: "gone", Password: "secret", TenantID: env.project.ID}, 401},
		"unknown project":      {gophercloud.AuthOptions{UserID: env.user.ID, Password: "secret", TenantID: "nope"}, 401},
		"project without role": {gophercloud.AuthOptions{UserID: env.user.ID, Password: "secret", TenantID: elsewhere.ID}, 401},
		"unknown credential":   {gophercloud.AuthOptions{ApplicationCredentialID: "nope", ApplicationCredentialSecret: "s"}, 404},
		"wrong secret":         {gophercloud.AuthOptions{ApplicationCredentialID: credential.ID, ApplicationCredentialSecret: "s"}, 401},
		"expired credential":   {gophercloud.AuthOptions{ApplicationCredentialID: expired.ID, ApplicationCredentialSecret: expired.Secret}, 401},
		"credential, no role":  {gophercloud.AuthOptions{ApplicationCredentialID: rootless.ID, ApplicationCredentialSecret: rootless.Secret}, 401},
		"unknown token":        {gophercloud.AuthOptions{TokenID: "nope", Scope: &gophercloud.AuthScope{ProjectID: env.project.ID}}, 404},
	} {
		if _, err := env.signIn(test.options); !gophercloud.ResponseCodeIs(err, test.status) {
			t.Errorf("%s: %v, want %d", name, err, test.status)
		}
	}
}

func TestSignIn_RevealsNothingWhenRefused(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	status, body, header := env.call(http.MethodPost, "/identity/v3/auth/tokens", map[string]any{"auth": map[string]any{"identity": map[string]any{
		"methods": []string{"password"}, "password": map[string]any{"user": map[string]any{"id": env.user.ID, "password": "wrong"}},
	}}})
	env.failed(status, body, http.StatusUnauthorized, "The request you have made requires authentication.")
	if got, want := header.Get("WWW-Authenticate"), `Keystone uri="`+env.server.URL+`/identity/v3"`; got != want {
		t.Errorf("WWW-Authenticate is %s, want %s", got, want)
	}
	if header.Get("X-Openstack-Request-Id") == "" {
		t.Error("the answer has no request ID")
	}
}

func TestSignIn_RefusesMalformedRequests(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	for name, body := range map[string]any{
		"nothing":        map[string]any{},
		"no object":      "text",
		"unknown method": map[string]any{"auth": map[string]any{"identity": map[string]any{"methods": []string{"smile"}}}},
	} {
		if status, answer, _ := env.call(http.MethodPost, "/identity/v3/auth/tokens", body); status != http.StatusBadRequest {
			t.Errorf("%s: answered %d %s", name, status, answer)
		}
	}
	status, body, _ := env.call(http.MethodGet, "/identity/v3/nonsense", nil)
	if status != http.StatusNotFound || !strings.Contains(string(body), "The requested URL was not found on the server.") {
		t.Errorf("answered %d %s", status, body)
	}
}

func TestSignIn_ActsForTrustorByTrust(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	trustee := env.AddUser(keystone.User{Name: "magnum", Password: "magic"})
	trust := env.AddTrust(keystone.Trust{
		TrustorUserID: env.user.ID, TrusteeUserID: trustee.ID, ProjectID: env.project.ID, Impersonation: true, Roles: []string{"member"},
	})
	plain := env.AddTrust(keystone.Trust{TrustorUserID: env.user.ID, TrusteeUserID: trustee.ID, ProjectID: env.project.ID})
	expired := env.AddTrust(keystone.Trust{TrustorUserID: env.user.ID, TrusteeUserID: trustee.ID, ProjectID: env.project.ID, ExpiresAt: env.clock.Now()})
	signIn := func(user keystone.User, trustID string) (*gophercloud.ProviderClient, error) {
		return env.signIn(gophercloud.AuthOptions{
			UserID: user.ID, Password: user.Password, Scope: &gophercloud.AuthScope{TrustID: trustID},
		})
	}
	client, err := signIn(trustee, trust.ID)
	must(t, err)
	if status, caller := env.caller(client.Token()); status != http.StatusOK || caller.UserID != env.user.ID || caller.ProjectID != env.project.ID || !slices.Equal(caller.Roles, []string{"member"}) {
		t.Errorf("answered %d to %+v", status, caller)
	}
	client, err = signIn(trustee, plain.ID)
	must(t, err)
	if _, caller := env.caller(client.Token()); caller.UserID != trustee.ID || len(caller.Roles) != 2 {
		t.Errorf("without impersonation the caller is %+v", caller)
	}
	if _, err := signIn(env.user, trust.ID); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Errorf("another user's trust answered %v", err)
	}
	for _, id := range []string{"nope", expired.ID} {
		if _, err := signIn(trustee, id); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
			t.Errorf("trust %s answered %v", id, err)
		}
	}
}

func TestSignIn_NeedsNoScopeWithDefaultProject(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	env.user.DefaultProjectID = env.project.ID
	env.AddUser(env.user)
	client := env.signedIn(gophercloud.AuthOptions{UserID: env.user.ID, Password: "secret"})
	if _, caller := env.caller(client.Token()); caller.ProjectID != env.project.ID {
		t.Errorf("caller is %+v", caller)
	}
}

func TestTokens_LiveNoLongerThanTokenTheyComeFrom(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{TokenLifetime: time.Minute})
	first := env.signedIn(env.password())
	env.clock.SetTime(env.clock.Now().Add(30 * time.Second))
	second := env.signedIn(gophercloud.AuthOptions{TokenID: first.Token(), Scope: &gophercloud.AuthScope{ProjectID: env.project.ID}})
	env.clock.SetTime(env.clock.Now().Add(31 * time.Second))
	if status, _ := env.caller(second.Token()); status != http.StatusUnauthorized {
		t.Errorf("the second token was answered %d after the first expired", status)
	}
}
