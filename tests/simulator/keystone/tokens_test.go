package keystone_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

func TestCatalog_LeadsToEveryServiceInEveryRegion(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{Regions: []string{"RegionOne", "RegionTwo"}})
	client := env.signedIn(env.password())
	for kind, path := range map[string]string{
		"network": "/network/", "load-balancer": "/load-balancer/", "compute": "/compute/v2.1/", "identity": "/identity/v3/",
	} {
		for _, region := range []string{"RegionOne", "RegionTwo"} {
			for _, availability := range []gophercloud.Availability{gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin} {
				opts := gophercloud.EndpointOpts{Region: region, Availability: availability}
				opts.ApplyDefaults(kind)
				if got, err := client.EndpointLocator(opts); err != nil || got != env.server.URL+path {
					t.Errorf("%s %s in %s is at %s %v, want %s", availability, kind, region, got, err, env.server.URL+path)
				}
			}
		}
	}
	if url, err := locate(client, "network", "RegionThree"); err == nil {
		t.Errorf("found the network service at %s in a region that is not there", url)
	}
}

func TestCatalog_FollowsMovedEndpoints(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{Services: []keystone.Service{
		{Type: "network", Name: "neutron", Path: "/network"},
		{Type: "load-balancer", Name: "octavia", Path: "https://octavia.test/api", Regions: []string{"Elsewhere"}},
	}, Regions: []string{"Here", "Elsewhere"}})
	env.SetBaseURL("https://moved.test")
	client := env.signedIn(env.password())
	if url, err := locate(client, "network", "Here"); err != nil || url != "https://moved.test/network/" {
		t.Errorf("network is at %s %v", url, err)
	}
	if url, err := locate(client, "load-balancer", "Here"); err == nil {
		t.Errorf("found a service at %s in a region that does not have it", url)
	}
	if url, err := locate(client, "load-balancer", "Elsewhere"); err != nil || url != "https://octavia.test/api/" {
		t.Errorf("load balancer is at %s %v", url, err)
	}
}

// locate looks a service up in the catalog, without calling it.
func locate(client *gophercloud.ProviderClient, kind, region string) (string, error) {
	opts := gophercloud.EndpointOpts{Region: region}
	opts.ApplyDefaults(kind)
	return client.EndpointLocator(opts)
}

func TestTokens_HaveFieldsOfKeystone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{TokenLifetime: 10 * time.Minute, Services: []keystone.Service{{Type: "network", Name: "neutron", Path: "/network"}}})
	credential := env.AddApplicationCredential(keystone.ApplicationCredential{Name: "c", UserID: env.user.ID, ProjectID: env.project.ID, Roles: []string{"member"}})
	status, body, header := env.call(http.MethodPost, "/identity/v3/auth/tokens", map[string]any{"auth": map[string]any{"identity": map[string]any{
		"methods": []string{"application_credential"}, "application_credential": map[string]any{"id": credential.ID, "secret": credential.Secret},
	}}})
	if status != http.StatusCreated || header.Get("X-Subject-Token") == "" {
		t.Fatalf("answered %d %s", status, body)
	}
	var answer struct{ Token map[string]any }
	must(t, json.Unmarshal(body, &answer))
	domain := map[string]any{"id": "default", "name": "Default"}
	role := answer.Token["roles"].([]any)[0].(map[string]any)
	want := map[string]any{
		"methods": []any{"application_credential"}, "is_domain": false,
		"issued_at": "2026-11-20T18:00:00.000000Z", "expires_at": "2026-11-20T18:10:00.000000Z",
		"audit_ids": answer.Token["audit_ids"], "catalog": answer.Token["catalog"],
		"user":                   map[string]any{"id": env.user.ID, "name": "ccm", "domain": domain, "password_expires_at": nil},
		"project":                map[string]any{"id": env.project.ID, "name": "k8s", "domain": domain},
		"roles":                  []any{map[string]any{"id": role["id"], "name": "member"}},
		"application_credential": map[string]any{"id": credential.ID, "name": "c", "restricted": true},
	}
	if diff := cmp.Diff(want, answer.Token); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
	entry := answer.Token["catalog"].([]any)[0].(map[string]any)
	endpoint := entry["endpoints"].([]any)[0].(map[string]any)
	if keys := sortedKeys(endpoint); !slices.Equal(keys, []string{"id", "interface", "region", "region_id", "url"}) {
		t.Errorf("an endpoint has %v", keys)
	}
	if keys := sortedKeys(entry); !slices.Equal(keys, []string{"endpoints", "id", "name", "type"}) {
		t.Errorf("a catalog entry has %v", keys)
	}
}

func sortedKeys(object map[string]any) []string {
	keys := []string{}
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestTokens_HaveSameIDForSameRole(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	role := func() string {
		identity := &gophercloud.ServiceClient{ProviderClient: env.signedIn(env.password()), Endpoint: env.server.URL + "/identity/v3/"}
		roles, err := tokens.Get(t.Context(), identity, identity.Token()).ExtractRoles()
		must(t, err)
		return roles[0].ID
	}
	if first, second := role(), role(); first != second || first == "" {
		t.Errorf("IDs are %q and %q", first, second)
	}
}

func TestTokens_AreValidatedAndRevoked(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	checker, subject := env.signedIn(env.password()), env.signedIn(env.password())
	identity := &gophercloud.ServiceClient{ProviderClient: checker, Endpoint: env.server.URL + "/identity/v3/"}
	project, err := tokens.Get(t.Context(), identity, subject.Token()).ExtractProject()
	if err != nil || project.ID != env.project.ID {
		t.Errorf("project of the token is %v %v", project, err)
	}
	if ok, err := tokens.Validate(t.Context(), identity, subject.Token()); err != nil || !ok {
		t.Errorf("a fresh token validates as %v %v", ok, err)
	}
	must(t, tokens.Revoke(t.Context(), identity, subject.Token()).Err)
	if ok, err := tokens.Validate(t.Context(), identity, subject.Token()); err != nil || ok {
		t.Errorf("a revoked token validates as %v %v", ok, err)
	}
	if status, _ := env.caller(subject.Token()); status != http.StatusUnauthorized {
		t.Errorf("a revoked token was answered %d", status)
	}
	status, body, _ := env.call(http.MethodGet, "/identity/v3/auth/tokens", nil, "X-Auth-Token", checker.Token(), "X-Subject-Token", "nope")
	env.failed(status, body, http.StatusNotFound, "Could not recognize Fernet token")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		status, body, _ = env.call(method, "/identity/v3/auth/tokens", nil, "X-Auth-Token", "nope", "X-Subject-Token", checker.Token())
		env.failed(status, body, http.StatusUnauthorized, "The request you have made requires authentication.")
	}
	status, _, _ = env.call(http.MethodDelete, "/identity/v3/auth/tokens", nil, "X-Auth-Token", checker.Token(), "X-Subject-Token", "nope")
	if status != http.StatusNotFound {
		t.Errorf("the revocation of an unknown token answered %d", status)
	}
}

func TestCatalog_IsLeftOutOnRequest(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	token := env.signedIn(env.password()).Token()
	_, body, _ := env.call(http.MethodGet, "/identity/v3/auth/tokens?nocatalog", nil, "X-Auth-Token", token, "X-Subject-Token", token)
	if strings.Contains(string(body), "catalog") {
		t.Errorf("answered %s", body)
	}
}

func TestMiddleware_RefusesLikeKeystonemiddleware(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{TokenLifetime: time.Minute})
	token := env.signedIn(env.password()).Token()
	refuse := func(name, token string) {
		t.Helper()
		status, body, header := env.call(http.MethodGet, "/network/v2.0/whoami", nil, "X-Auth-Token", token)
		var answer, want any
		must(t, json.Unmarshal(body, &answer))
		must(t, json.Unmarshal([]byte(`{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`), &want))
		if status != http.StatusUnauthorized || !cmp.Equal(answer, want) || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: answered %d %s", name, status, body)
		}
		if got := header.Get("WWW-Authenticate"); got != `Keystone uri="`+env.server.URL+`/identity/v3"` {
			t.Errorf("%s: WWW-Authenticate is %s", name, got)
		}
	}
	refuse("no token", "")
	refuse("unknown token", "nope")
	if status, _ := env.caller(token); status != http.StatusOK {
		t.Errorf("a fresh token was answered %d", status)
	}
	env.clock.SetTime(env.clock.Now().Add(time.Minute))
	refuse("expired token", token)
	fresh := env.signedIn(env.password()).Token()
	env.RevokeAll()
	refuse("revoked token", fresh)
	refuse("token of the same second", env.signedIn(env.password()).Token())
	env.clock.SetTime(env.clock.Now().Add(time.Second))
	if status, _ := env.caller(env.signedIn(env.password()).Token()); status != http.StatusOK {
		t.Errorf("a token of the next second was answered %d", status)
	}
}

func TestTokens_EndWithDisabledUserOrDeletedCredential(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	credential := env.AddApplicationCredential(keystone.ApplicationCredential{UserID: env.user.ID, ProjectID: env.project.ID})
	byCredential := env.signedIn(gophercloud.AuthOptions{ApplicationCredentialID: credential.ID, ApplicationCredentialSecret: credential.Secret}).Token()
	byPassword := env.signedIn(env.password()).Token()
	env.DeleteApplicationCredential(credential.ID)
	if status, _ := env.caller(byCredential); status != http.StatusUnauthorized {
		t.Errorf("the credential's token was answered %d", status)
	}
	if status, _ := env.caller(byPassword); status != http.StatusOK {
		t.Errorf("another token of the user was answered %d", status)
	}
	env.user.Disabled = true
	env.AddUser(env.user)
	if status, _ := env.caller(byPassword); status != http.StatusUnauthorized {
		t.Errorf("the disabled user's token was answered %d", status)
	}
}

func TestMiddleware_SkipsConfiguredPaths(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	if status, body, _ := env.call(http.MethodGet, "/network/", nil); status != http.StatusOK || !strings.Contains(string(body), `"UserID":""`) {
		t.Errorf("the version document answered %d %s", status, body)
	}
}

func TestTokens_AreRenewedByGophercloudAfterRevocation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	options := env.password()
	options.AllowReauth = true
	client := env.signedIn(options)
	network := &gophercloud.ServiceClient{ProviderClient: client, Endpoint: env.server.URL + "/network/v2.0/"}
	env.RevokeAll()
	env.clock.SetTime(env.clock.Now().Add(time.Second))
	var caller keystone.Caller
	if _, err := network.Get(t.Context(), network.ServiceURL("whoami"), &caller, nil); err != nil || caller.UserID != env.user.ID {
		t.Errorf("after a revocation: %v, caller %+v", err, caller)
	}
}

func TestVersions_AreServedWithAndWithoutSlash(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	for _, endpoint := range []string{"/identity", "/identity/", "/identity/v3", "/identity/v3/"} {
		options := env.password()
		options.IdentityEndpoint = env.server.URL + endpoint
		if _, err := env.signIn(options); err != nil {
			t.Errorf("sign-in at %s: %v", endpoint, err)
		}
	}
	status, body, _ := env.call(http.MethodGet, "/identity/", nil)
	if status != http.StatusMultipleChoices || !strings.Contains(string(body), env.server.URL+"/identity/v3/") {
		t.Errorf("the root answered %d %s", status, body)
	}
	for _, path := range []string{"/identity/v3", "/identity/v3/"} {
		if status, body, _ := env.call(http.MethodGet, path, nil); status != http.StatusOK || !strings.Contains(string(body), `"status":"stable"`) {
			t.Errorf("%s answered %d %s", path, status, body)
		}
	}
}

func TestTokens_AreIssuedOnlyToUserWithRole(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	if _, err := env.IssueToken("nobody", env.project.ID); err == nil {
		t.Error("issued a token to nobody")
	}
	if _, err := env.IssueToken(env.user.ID, "nowhere"); err == nil {
		t.Error("issued a token without a role")
	}
}

func TestSignIn_SucceedsForManyAtOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, keystone.Options{})
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			client, err := env.signIn(env.password())
			if err != nil {
				t.Error(err)
				return
			}
			if status, _ := env.caller(client.Token()); status != http.StatusOK {
				t.Errorf("answered %d", status)
			}
			env.SetBaseURL("")
		})
	}
	wait.Wait()
}

func TestCaller_KnowsItsRoles(t *testing.T) {
	t.Parallel()
	caller := keystone.Caller{Roles: []string{"member", "manager"}}
	if caller.IsAdmin() || !caller.HasRole("admin", "manager") || caller.HasRole("reader") {
		t.Errorf("roles of %+v", caller)
	}
}
