package barbican_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/acls"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/barbican"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// environment is a Barbican behind HTTP with tokens of the form "project user role".
type environment struct {
	*barbican.Barbican
	t      *testing.T
	server *httptest.Server
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	env := &environment{t: t, Barbican: barbican.New(barbican.Options{})}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		words := append(strings.Fields(r.Header.Get("X-Auth-Token")), "", "", "")
		caller := keystone.Caller{ProjectID: words[0], UserID: words[1], Roles: []string{words[2]}}
		env.ServeHTTP(rw, r.WithContext(keystone.WithCaller(r.Context(), caller)))
	})
	mux := http.NewServeMux()
	mux.Handle("/key-manager/", http.StripPrefix("/key-manager", handler))
	env.server = httptest.NewServer(mux)
	t.Cleanup(env.server.Close)
	return env
}

func (env *environment) client(token string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{HTTPClient: *env.server.Client()}
	provider.UseTokenLock()
	provider.SetToken(token)
	return &gophercloud.ServiceClient{
		ProviderClient: provider, Endpoint: env.server.URL + "/key-manager/", ResourceBase: env.server.URL + "/key-manager/v1/",
	}
}

func (env *environment) mine() *gophercloud.ServiceClient { return env.client("mine me member") }

func (env *environment) secret(kind secrets.SecretType, payload string) *secrets.Secret {
	env.t.Helper()
	made, err := secrets.Create(env.t.Context(), env.mine(), secrets.CreateOpts{
		Name: "web", SecretType: kind, Payload: payload, PayloadContentType: "text/plain",
	}).Extract()
	must(env.t, err)
	return made
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func id(reference string) string { return reference[strings.LastIndex(reference, "/")+1:] }

func TestContainers_StoreCertificateUntilDeleted(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	certificate, key := env.secret(secrets.CertificateSecret, "CERT"), env.secret(secrets.PrivateSecret, "KEY")
	made, err := containers.Create(t.Context(), env.mine(), containers.CreateOpts{
		Type: containers.CertificateContainer, Name: "tls",
		SecretRefs: []containers.SecretRef{
			{Name: "certificate", SecretRef: certificate.SecretRef}, {Name: "private_key", SecretRef: key.SecretRef},
		},
	}).Extract()
	must(t, err)
	found, err := containers.Get(t.Context(), env.mine(), id(made.ContainerRef)).Extract()
	must(t, err)
	if found.Name != "tls" || found.Type != "certificate" || len(found.SecretRefs) != 2 || found.ContainerRef != made.ContainerRef {
		t.Errorf("container is %+v", found)
	}
	payload, err := secrets.GetPayload(t.Context(), env.mine(), id(key.SecretRef), nil).Extract()
	if err != nil || string(payload) != "KEY" {
		t.Errorf("payload is %q %v", payload, err)
	}
	stored, known := env.Container(made.ContainerRef)
	if inside, _ := env.Secret(stored.SecretIDs["certificate"]); !known || string(inside.Payload) != "CERT" {
		t.Errorf("stored is %+v with %+v", stored, inside)
	}
	must(t, containers.Delete(t.Context(), env.mine(), id(made.ContainerRef)).ExtractErr())
	must(t, secrets.Delete(t.Context(), env.mine(), id(key.SecretRef)).ExtractErr())
	if len(env.Containers()) != 0 || len(env.Secrets()) != 1 {
		t.Errorf("left are %v and %v", env.Containers(), env.Secrets())
	}
}

func TestSecrets_TakePayloadOnceAfterCreation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	made, err := secrets.Create(t.Context(), env.mine(), secrets.CreateOpts{Name: "later", SecretType: secrets.OpaqueSecret}).Extract()
	must(t, err)
	if _, err := secrets.GetPayload(t.Context(), env.mine(), id(made.SecretRef), nil).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("before there is a payload: %v", err)
	}
	update := secrets.UpdateOpts{Payload: "data", ContentType: "text/plain"}
	must(t, secrets.Update(t.Context(), env.mine(), id(made.SecretRef), update).ExtractErr())
	if err := secrets.Update(t.Context(), env.mine(), id(made.SecretRef), update).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("a second payload: %v", err)
	}
	found, err := secrets.Get(t.Context(), env.mine(), id(made.SecretRef)).Extract()
	if err != nil || found.ContentTypes["default"] != "text/plain" || found.Status != "ACTIVE" {
		t.Errorf("secret is %+v %v", found, err)
	}
}

func TestSecrets_ReturnPayloadInAcceptedTypeOnly(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	text := env.AddSecret(barbican.Secret{ProjectID: "mine", Payload: []byte("text"), ContentType: "application/octet-stream"})
	binary := env.AddSecret(barbican.Secret{ProjectID: "mine", Payload: []byte{0xff, 0}, ContentType: "application/octet-stream"})
	for accept, want := range map[string][2]int{
		"text/plain": {200, 406}, "application/octet-stream": {200, 200}, "*/*": {200, 200}, "application/pkix-cert": {406, 406},
	} {
		for i, id := range []string{text.ID, binary.ID} {
			_, err := secrets.GetPayload(t.Context(), env.mine(), id, secrets.GetPayloadOpts{PayloadContentType: accept}).Extract()
			if refused := gophercloud.ResponseCodeIs(err, http.StatusNotAcceptable); refused != (want[i] == 406) {
				t.Errorf("secret %d as %s: %v, want %d", i, accept, err, want[i])
			}
		}
	}
}

func TestSecrets_AreListedInPages(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	for range 25 {
		env.secret(secrets.OpaqueSecret, "x")
	}
	env.AddSecret(barbican.Secret{Name: "foreign", ProjectID: "other"})
	pages, err := secrets.List(env.mine(), secrets.ListOpts{}).AllPages(t.Context())
	must(t, err)
	all, err := secrets.ExtractSecrets(pages)
	if err != nil || len(all) != 25 {
		t.Errorf("%d secrets, %v", len(all), err)
	}
	pages, err = secrets.List(env.mine(), secrets.ListOpts{Name: "nobody"}).AllPages(t.Context())
	must(t, err)
	if none, _ := secrets.ExtractSecrets(pages); len(none) != 0 {
		t.Errorf("secrets of no name: %v", none)
	}
}

func TestContainers_KeepConsumers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	made, err := containers.Create(t.Context(), env.mine(), containers.CreateOpts{Type: containers.GenericContainer}).Extract()
	must(t, err)
	at := id(made.ContainerRef)
	for range 2 {
		_, err := containers.CreateConsumer(t.Context(), env.mine(), at, containers.CreateConsumerOpts{Name: "Octavia", URL: "lb://1"}).Extract()
		must(t, err)
	}
	if stored, _ := env.Container(at); len(stored.Consumers) != 1 || stored.Consumers[0].Name != "Octavia" {
		t.Errorf("consumers are %+v", stored.Consumers)
	}
	gone := containers.DeleteConsumerOpts{Name: "Octavia", URL: "lb://1"}
	after, err := containers.DeleteConsumer(t.Context(), env.mine(), at, gone).Extract()
	if err != nil || len(after.Consumers) != 0 {
		t.Errorf("after deletion: %+v %v", after, err)
	}
	if _, err := containers.DeleteConsumer(t.Context(), env.mine(), at, gone).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("a consumer that is none: %v", err)
	}
}

func TestSecrets_AreReadByThoseAllowedTo(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	made := id(env.secret(secrets.OpaqueSecret, "x").SecretRef)
	reads := func(token string) bool {
		_, err := secrets.Get(t.Context(), env.client(token), made).Extract()
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
			t.Error(err)
		}
		return err == nil
	}
	if reads("other octavia member") || !reads("mine colleague member") || reads("other boss admin") {
		t.Error("by default a secret is its project's")
	}
	private := false
	_, err := acls.SetSecretACL(t.Context(), env.mine(), made, acls.SetOpts{
		{Type: "read", Users: &[]string{"octavia"}, ProjectAccess: &private},
	}).Extract()
	must(t, err)
	if !reads("other octavia member") || reads("mine colleague member") || !reads("mine me member") || !reads("mine boss admin") {
		t.Error("the access list is not followed")
	}
	list, err := acls.GetSecretACL(t.Context(), env.mine(), made).Extract()
	if err != nil || len((*list)["read"].Users) != 1 || (*list)["read"].ProjectAccess {
		t.Errorf("access list is %+v %v", list, err)
	}
	must(t, acls.DeleteSecretACL(t.Context(), env.mine(), made).ExtractErr())
	if reads("other octavia member") {
		t.Error("the deleted access list still holds")
	}
}

func TestContainers_AreRefusedWhenInvalid(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	known := env.secret(secrets.CertificateSecret, "CERT").SecretRef
	for name, test := range map[string]struct {
		opts   containers.CreateOpts
		status int
	}{
		"no such type":    {containers.CreateOpts{Type: "box"}, http.StatusBadRequest},
		"no certificate":  {containers.CreateOpts{Type: "certificate", SecretRefs: []containers.SecretRef{{Name: "private_key", SecretRef: known}}}, http.StatusBadRequest},
		"unknown part":    {containers.CreateOpts{Type: "certificate", SecretRefs: []containers.SecretRef{{Name: "colour", SecretRef: known}}}, http.StatusBadRequest},
		"twice the same":  {containers.CreateOpts{Type: "generic", SecretRefs: []containers.SecretRef{{Name: "a", SecretRef: known}, {Name: "a", SecretRef: known}}}, http.StatusBadRequest},
		"no such secret":  {containers.CreateOpts{Type: "generic", SecretRefs: []containers.SecretRef{{Name: "a", SecretRef: known + "0"}}}, http.StatusNotFound},
		"that is alright": {containers.CreateOpts{Type: "generic", SecretRefs: []containers.SecretRef{{Name: "a", SecretRef: known}}}, 0},
	} {
		_, err := containers.Create(t.Context(), env.mine(), test.opts).Extract()
		if test.status == 0 && err != nil || test.status != 0 && !gophercloud.ResponseCodeIs(err, test.status) {
			t.Errorf("%s: %v, want %d", name, err, test.status)
		}
	}
	for _, at := range []string{"/v1/secrets/nope", "/v1/containers/nope", "/v1/nonsense"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, env.server.URL+"/key-manager"+at, nil)
		must(t, err)
		answer, err := env.server.Client().Do(request)
		must(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s answered %d", at, answer.StatusCode)
		}
	}
}
