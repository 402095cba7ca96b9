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

// world is a Barbican behind HTTP, whose tokens are "project user role".
type world struct {
	*barbican.Barbican
	t      *testing.T
	server *httptest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, Barbican: barbican.New(barbican.Options{})}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		words := append(strings.Fields(r.Header.Get("X-Auth-Token")), "", "", "")
		caller := keystone.Caller{ProjectID: words[0], UserID: words[1], Roles: []string{words[2]}}
		w.ServeHTTP(rw, r.WithContext(keystone.WithCaller(r.Context(), caller)))
	})
	mux := http.NewServeMux()
	mux.Handle("/key-manager/", http.StripPrefix("/key-manager", handler))
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) client(token string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{HTTPClient: *w.server.Client()}
	provider.UseTokenLock()
	provider.SetToken(token)
	return &gophercloud.ServiceClient{
		ProviderClient: provider, Endpoint: w.server.URL + "/key-manager/", ResourceBase: w.server.URL + "/key-manager/v1/",
	}
}

func (w *world) mine() *gophercloud.ServiceClient { return w.client("mine me member") }

func (w *world) secret(kind secrets.SecretType, payload string) *secrets.Secret {
	w.t.Helper()
	made, err := secrets.Create(w.t.Context(), w.mine(), secrets.CreateOpts{
		Name: "web", SecretType: kind, Payload: payload, PayloadContentType: "text/plain",
	}).Extract()
	must(w.t, err)
	return made
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func id(reference string) string { return reference[strings.LastIndex(reference, "/")+1:] }

func TestACertificateIsStoredAndFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	certificate, key := w.secret(secrets.CertificateSecret, "CERT"), w.secret(secrets.PrivateSecret, "KEY")
	made, err := containers.Create(t.Context(), w.mine(), containers.CreateOpts{
		Type: containers.CertificateContainer, Name: "tls",
		SecretRefs: []containers.SecretRef{
			{Name: "certificate", SecretRef: certificate.SecretRef}, {Name: "private_key", SecretRef: key.SecretRef},
		},
	}).Extract()
	must(t, err)
	found, err := containers.Get(t.Context(), w.mine(), id(made.ContainerRef)).Extract()
	must(t, err)
	if found.Name != "tls" || found.Type != "certificate" || len(found.SecretRefs) != 2 || found.ContainerRef != made.ContainerRef {
		t.Errorf("container is %+v", found)
	}
	payload, err := secrets.GetPayload(t.Context(), w.mine(), id(key.SecretRef), nil).Extract()
	if err != nil || string(payload) != "KEY" {
		t.Errorf("payload is %q %v", payload, err)
	}
	stored, known := w.Container(made.ContainerRef)
	if inside, _ := w.Secret(stored.SecretIDs["certificate"]); !known || string(inside.Payload) != "CERT" {
		t.Errorf("stored is %+v with %+v", stored, inside)
	}
	must(t, containers.Delete(t.Context(), w.mine(), id(made.ContainerRef)).ExtractErr())
	must(t, secrets.Delete(t.Context(), w.mine(), id(key.SecretRef)).ExtractErr())
	if len(w.Containers()) != 0 || len(w.Secrets()) != 1 {
		t.Errorf("left are %v and %v", w.Containers(), w.Secrets())
	}
}

func TestASecretGetsItsPayloadLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := secrets.Create(t.Context(), w.mine(), secrets.CreateOpts{Name: "later", SecretType: secrets.OpaqueSecret}).Extract()
	must(t, err)
	if _, err := secrets.GetPayload(t.Context(), w.mine(), id(made.SecretRef), nil).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("before there is a payload: %v", err)
	}
	update := secrets.UpdateOpts{Payload: "data", ContentType: "text/plain"}
	must(t, secrets.Update(t.Context(), w.mine(), id(made.SecretRef), update).ExtractErr())
	if err := secrets.Update(t.Context(), w.mine(), id(made.SecretRef), update).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("a second payload: %v", err)
	}
	found, err := secrets.Get(t.Context(), w.mine(), id(made.SecretRef)).Extract()
	if err != nil || found.ContentTypes["default"] != "text/plain" || found.Status != "ACTIVE" {
		t.Errorf("secret is %+v %v", found, err)
	}
}

func TestPayloadsAreGivenOutAsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.AddSecret(barbican.Secret{ProjectID: "mine", Payload: []byte("text"), ContentType: "application/octet-stream"})
	binary := w.AddSecret(barbican.Secret{ProjectID: "mine", Payload: []byte{0xff, 0}, ContentType: "application/octet-stream"})
	for accept, want := range map[string][2]int{
		"text/plain": {200, 406}, "application/octet-stream": {200, 200}, "*/*": {200, 200}, "application/pkix-cert": {406, 406},
	} {
		for i, id := range []string{text.ID, binary.ID} {
			_, err := secrets.GetPayload(t.Context(), w.mine(), id, secrets.GetPayloadOpts{PayloadContentType: accept}).Extract()
			if refused := gophercloud.ResponseCodeIs(err, http.StatusNotAcceptable); refused != (want[i] == 406) {
				t.Errorf("secret %d as %s: %v, want %d", i, accept, err, want[i])
			}
		}
	}
}

func TestListsComeInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 25 {
		w.secret(secrets.OpaqueSecret, "x")
	}
	w.AddSecret(barbican.Secret{Name: "foreign", ProjectID: "other"})
	pages, err := secrets.List(w.mine(), secrets.ListOpts{}).AllPages(t.Context())
	must(t, err)
	all, err := secrets.ExtractSecrets(pages)
	if err != nil || len(all) != 25 {
		t.Errorf("%d secrets, %v", len(all), err)
	}
	pages, err = secrets.List(w.mine(), secrets.ListOpts{Name: "nobody"}).AllPages(t.Context())
	must(t, err)
	if none, _ := secrets.ExtractSecrets(pages); len(none) != 0 {
		t.Errorf("secrets of no name: %v", none)
	}
}

func TestConsumersAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := containers.Create(t.Context(), w.mine(), containers.CreateOpts{Type: containers.GenericContainer}).Extract()
	must(t, err)
	at := id(made.ContainerRef)
	for range 2 {
		_, err := containers.CreateConsumer(t.Context(), w.mine(), at, containers.CreateConsumerOpts{Name: "Octavia", URL: "lb://1"}).Extract()
		must(t, err)
	}
	if stored, _ := w.Container(at); len(stored.Consumers) != 1 || stored.Consumers[0].Name != "Octavia" {
		t.Errorf("consumers are %+v", stored.Consumers)
	}
	gone := containers.DeleteConsumerOpts{Name: "Octavia", URL: "lb://1"}
	after, err := containers.DeleteConsumer(t.Context(), w.mine(), at, gone).Extract()
	if err != nil || len(after.Consumers) != 0 {
		t.Errorf("after deletion: %+v %v", after, err)
	}
	if _, err := containers.DeleteConsumer(t.Context(), w.mine(), at, gone).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("a consumer that is none: %v", err)
	}
}

func TestOthersReadWhatTheyAreAllowedTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := id(w.secret(secrets.OpaqueSecret, "x").SecretRef)
	reads := func(token string) bool {
		_, err := secrets.Get(t.Context(), w.client(token), made).Extract()
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
			t.Error(err)
		}
		return err == nil
	}
	if reads("other octavia member") || !reads("mine colleague member") || !reads("other boss admin") {
		t.Error("by default a secret is its project's")
	}
	private := false
	_, err := acls.SetSecretACL(t.Context(), w.mine(), made, acls.SetOpts{
		{Type: "read", Users: &[]string{"octavia"}, ProjectAccess: &private},
	}).Extract()
	must(t, err)
	if !reads("other octavia member") || reads("mine colleague member") || !reads("mine me member") {
		t.Error("the access list is not followed")
	}
	list, err := acls.GetSecretACL(t.Context(), w.mine(), made).Extract()
	if err != nil || len((*list)["read"].Users) != 1 || (*list)["read"].ProjectAccess {
		t.Errorf("access list is %+v %v", list, err)
	}
	must(t, acls.DeleteSecretACL(t.Context(), w.mine(), made).ExtractErr())
	if reads("other octavia member") {
		t.Error("the deleted access list still holds")
	}
}

func TestContainersThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := w.secret(secrets.CertificateSecret, "CERT").SecretRef
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
		_, err := containers.Create(t.Context(), w.mine(), test.opts).Extract()
		if test.status == 0 && err != nil || test.status != 0 && !gophercloud.ResponseCodeIs(err, test.status) {
			t.Errorf("%s: %v, want %d", name, err, test.status)
		}
	}
	for _, at := range []string{"/v1/secrets/nope", "/v1/containers/nope", "/v1/nonsense"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/key-manager"+at, nil)
		must(t, err)
		answer, err := w.server.Client().Do(request)
		must(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s answered %d", at, answer.StatusCode)
		}
	}
}
