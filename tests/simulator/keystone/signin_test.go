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

func TestEveryWayToSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keystone.Options{})
	restricted := w.AddApplicationCredential(keystone.ApplicationCredential{
		Name: "ccm-credential", UserID: w.user.ID, ProjectID: w.project.ID, Roles: []string{"member"},
	})
	token, err := w.IssueToken(w.user.ID, w.project.ID)
	must(t, err)
	all, some := []string{"member", "load-balancer_member"}, []string{"member"}
	for name, test := range map[string]struct {
		options gophercloud.AuthOptions
		roles   []string
	}{
		"password by IDs":   {w.password(), all},
		"password by names": {gophercloud.AuthOptions{Username: "ccm", Password: "secret", DomainName: "Default", TenantName: "k8s"}, all},
		"names, domain ID":  {gophercloud.AuthOptions{Username: "ccm", Password: "secret", DomainID: "default", TenantName: "k8s"}, all},
		"credential by ID":  {gophercloud.AuthOptions{ApplicationCredentialID: restricted.ID, ApplicationCredentialSecret: restricted.Secret}, some},
		"credential by name": {gophercloud.AuthOptions{
			ApplicationCredentialName: "ccm-credential", ApplicationCredentialSecret: restricted.Secret, Username: "ccm", DomainName: "Default",
		}, some},
		"token to a project": {gophercloud.AuthOptions{TokenID: token, Scope: &gophercloud.AuthScope{ProjectID: w.project.ID}}, all},
		"token as it is":     {gophercloud.AuthOptions{TokenID: token}, all},
	} {
		client, err := w.signIn(test.options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		status, caller := w.caller(client.Token())
		if status != http.StatusOK || caller.UserID != w.user.ID || caller.ProjectID != w.project.ID || !slices.Equal(caller.Roles, test.roles) {
			t.Errorf("%s: answered %d to %+v", name, status, caller)
		}
	}
}

func TestSignInsThatFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keystone.Options{})
	elsewhere := w.AddProject(keystone.Project{Name: "elsewhere"})
	credential := w.AddApplicationCredential(keystone.ApplicationCredential{UserID: w.user.ID, ProjectID: w.project.ID})
	expired := w.AddApplicationCredential(keystone.ApplicationCredential{UserID: w.user.ID, ProjectID: w.project.ID, ExpiresAt: w.clock.Now()})
	rootless := w.AddApplicationCredential(keystone.ApplicationCredential{UserID: w.user.ID, ProjectID: elsewhere.ID})
	w.AddUser(keystone.User{ID: "gone", Password: "secret", Disabled: true, Roles: map[string][]string{w.project.ID: {"member"}}})
	for name, test := range map[string]struct {
		options gophercloud.AuthOptions
		status  int
	}{
		"wrong password":       {gophercloud.AuthOptions{UserID: w.user.ID, Password: "wrong", TenantID: w.project.ID}, 401},
		"unknown user":         {gophercloud.AuthOptions{UserID: "nobody", Password: "secret", TenantID: w.project.ID}, 401},
		"unknown domain":       {gophercloud.AuthOptions{Username: "ccm", Password: "secret", DomainName: "Nowhere"}, 401},
		"disabled user":        {gophercloud.AuthOptions{UserID: "gone", Password: "secret", TenantID: w.project.ID}, 401},
		"unknown project":      {gophercloud.AuthOptions{UserID: w.user.ID, Password: "secret", TenantID: "nope"}, 401},
		"project without role": {gophercloud.AuthOptions{UserID: w.user.ID, Password: "secret", TenantID: elsewhere.ID}, 401},
		"unknown credential":   {gophercloud.AuthOptions{ApplicationCredentialID: "nope", ApplicationCredentialSecret: "s"}, 404},
		"wrong secret":         {gophercloud.AuthOptions{ApplicationCredentialID: credential.ID, ApplicationCredentialSecret: "s"}, 401},
		"expired credential":   {gophercloud.AuthOptions{ApplicationCredentialID: expired.ID, ApplicationCredentialSecret: expired.Secret}, 401},
		"credential, no role":  {gophercloud.AuthOptions{ApplicationCredentialID: rootless.ID, ApplicationCredentialSecret: rootless.Secret}, 401},
		"unknown token":        {gophercloud.AuthOptions{TokenID: "nope", Scope: &gophercloud.AuthScope{ProjectID: w.project.ID}}, 404},
	} {
		if _, err := w.signIn(test.options); !gophercloud.ResponseCodeIs(err, test.status) {
			t.Errorf("%s: %v, want %d", name, err, test.status)
		}
	}
}

func TestARefusedSignInTellsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keystone.Options{})
	status, body, header := w.call(http.MethodPost, "/identity/v3/auth/tokens", map[string]any{"auth": map[string]any{"identity": map[string]any{
		"methods": []string{"password"}, "password": map[string]any{"user": map[string]any{"id": w.user.ID, "password": "wrong"}},
	}}})
	w.failed(status, body, http.StatusUnauthorized, "The request you have made requires authentication.")
	if got, want := header.Get("WWW-Authenticate"), `Keystone uri="`+w.server.URL+`/identity/v3"`; got != want {
		t.Errorf("WWW-Authenticate is %s, want %s", got, want)
	}
	if header.Get("X-Openstack-Request-Id") == "" {
		t.Error("the answer has no request ID")
	}
}

func TestRequestsThatAreNoSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keystone.Options{})
	for name, body := range map[string]any{
		"nothing":        map[string]any{},
		"no object":      "text",
		"unknown method": map[string]any{"auth": map[string]any{"identity": map[string]any{"methods": []string{"smile"}}}},
	} {
		if status, answer, _ := w.call(http.MethodPost, "/identity/v3/auth/tokens", body); status != http.StatusBadRequest {
			t.Errorf("%s: answered %d %s", name, status, answer)
		}
	}
	status, body, _ := w.call(http.MethodGet, "/identity/v3/nonsense", nil)
	if status != http.StatusNotFound || !strings.Contains(string(body), "The requested URL was not found on the server.") {
		t.Errorf("answered %d %s", status, body)
	}
}

func TestATrustActsForItsTrustor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keystone.Options{})
	trustee := w.AddUser(keystone.User{Name: "magnum", Password: "magic"})
	trust := w.AddTrust(keystone.Trust{
		TrustorUserID: w.user.ID, TrusteeUserID: trustee.ID, ProjectID: w.project.ID, Impersonation: true, Roles: []string{"member"},
	})
	plain := w.AddTrust(keystone.Trust{TrustorUserID: w.user.ID, TrusteeUserID: trustee.ID, ProjectID: w.project.ID})
	expired := w.AddTrust(keystone.Trust{TrustorUserID: w.user.ID, TrusteeUserID: trustee.ID, ProjectID: w.project.ID, ExpiresAt: w.clock.Now()})
	signIn := func(user keystone.User, trustID string) (*gophercloud.ProviderClient, error) {
		return w.signIn(gophercloud.AuthOptions{
			UserID: user.ID, Password: user.Password, Scope: &gophercloud.AuthScope{TrustID: trustID},
		})
	}
	client, err := signIn(trustee, trust.ID)
	must(t, err)
	if status, caller := w.caller(client.Token()); status != http.StatusOK || caller.UserID != w.user.ID || caller.ProjectID != w.project.ID || !slices.Equal(caller.Roles, []string{"member"}) {
		t.Errorf("answered %d to %+v", status, caller)
	}
	client, err = signIn(trustee, plain.ID)
	must(t, err)
	if _, caller := w.caller(client.Token()); caller.UserID != trustee.ID || len(caller.Roles) != 2 {
		t.Errorf("without impersonation the caller is %+v", caller)
	}
	if _, err := signIn(w.user, trust.ID); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Errorf("somebody else's trust answered %v", err)
	}
	for _, id := range []string{"nope", expired.ID} {
		if _, err := signIn(trustee, id); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
			t.Errorf("trust %s answered %v", id, err)
		}
	}
}

func TestAUserWithADefaultProjectNeedsNoScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keystone.Options{})
	w.user.DefaultProjectID = w.project.ID
	w.AddUser(w.user)
	client := w.signedIn(gophercloud.AuthOptions{UserID: w.user.ID, Password: "secret"})
	if _, caller := w.caller(client.Token()); caller.ProjectID != w.project.ID {
		t.Errorf("caller is %+v", caller)
	}
}

func TestATokenFromATokenLivesNoLonger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keystone.Options{TokenLifetime: time.Minute})
	first := w.signedIn(w.password())
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	second := w.signedIn(gophercloud.AuthOptions{TokenID: first.Token(), Scope: &gophercloud.AuthScope{ProjectID: w.project.ID}})
	w.clock.SetTime(w.clock.Now().Add(31 * time.Second))
	if status, _ := w.caller(second.Token()); status != http.StatusUnauthorized {
		t.Errorf("the second token was answered %d after the first expired", status)
	}
}
