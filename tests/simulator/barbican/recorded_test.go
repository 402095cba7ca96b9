package barbican_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
)

// The answers are those of Barbican 20.0 (2025.1) with its own policy, to a user with the role creator and to one of
// another project.
func TestAnswers_AreThoseOfBarbican(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	text, key := env.secret(secrets.CertificateSecret, "CERT").SecretRef, env.secret(secrets.PrivateSecret, "KEY").SecretRef
	later, err := secrets.Create(t.Context(), env.mine(), secrets.CreateOpts{Name: "later"}).Extract()
	must(t, err)
	made, err := containers.Create(t.Context(), env.mine(), containers.CreateOpts{
		Type:       containers.CertificateContainer,
		SecretRefs: []containers.SecretRef{{Name: "certificate", SecretRef: text}, {Name: "private_key", SecretRef: key}},
	}).Extract()
	must(t, err)
	base := env.server.URL + "/key-manager"
	const (
		absent  = "/v1/secrets/11111111-1111-4111-8111-111111111111"
		secret  = `{"name": "x", "payload": `
		box     = `{"type": "certificate", "secret_refs": [`
		loose   = `{"type": "generic", "secret_refs": [`
		foreign = "other octavia member"
		own     = "mine me member"
	)
	ref := func(name, at string) string { return `{"name": "` + name + `", "secret_ref": "` + at + `"}` }
	notAllowed := func(action string) string {
		return action + " attempt not allowed - please review your user/project privileges"
	}
	for _, c := range []struct {
		token, method, url, body string
		status                   int
		description              string
	}{
		{own, "POST", base + "/v1/secrets", `{`, 400, "Malformed JSON"},
		{own, "POST", base + "/v1/secrets", `{"secret_type": "nonsense"}`, 400, "Provided object does not match schema 'Secret': 'nonsense' is not one of ['symmetric', 'passphrase', 'private', 'public', 'certificate', 'opaque']. Invalid property: 'secret_type'"},
		{own, "POST", base + "/v1/secrets", secret + `"x"}`, 400, "Provided object does not match schema 'Secret': If 'payload' is supplied, 'payload_content_type' must also be supplied.. Invalid property: 'payload_content_type'"},
		{own, "POST", base + "/v1/secrets", secret + `"", "payload_content_type": "text/plain"}`, 400, "Provided object does not match schema 'Secret': If 'payload' specified, must be non empty. Invalid property: 'payload'"},
		{own, "POST", base + "/v1/secrets", secret + `"x", "payload_content_type": "application/octet-stream"}`, 400, "Provided object does not match schema 'Secret': payload_content_encoding is not one of ['base64', 'binary']. Invalid property: 'payload_content_encoding'"},
		{own, "POST", base + "/v1/secrets", secret + `"%%%", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"}`, 201, ""},
		{own, "GET", base + "/v1/secrets/x", "", 404, "Not Found. Provided secret id is invalid."},
		{own, "GET", base + "/v1/secrets/00000000-0000-0000-0000-000000000000/acl", "", 404, "Not Found. Provided secret id is invalid."},
		{own, "GET", base + absent, "", 404, "Secret not found."},
		{own, "GET", later.SecretRef + "/payload", "", 404, "Not Found. Sorry but your secret has no payload."},
		{foreign, "GET", text, "", 403, notAllowed("Secret retrieval")},
		{foreign, "GET", text + "/payload", "", 403, notAllowed("Secret payload retrieval")},
		{foreign, "GET", text + "/acl", "", 403, notAllowed("SecretACL(s) retrieval")},
		{foreign, "DELETE", text, "", 403, notAllowed("Secret deletion")},
		{foreign, "GET", made.ContainerRef, "", 403, notAllowed("Container retrieval")},
		{own, "PUT", text + "/acl", `{"read": {"users": ["octavia"]}}`, 200, ""},
		{foreign, "GET", text, "", 200, ""},
		{foreign, "GET", text + "/acl", "", 403, notAllowed("SecretACL(s) retrieval")},
		{foreign, "DELETE", text, "", 403, notAllowed("Secret deletion")},
		{own, "PUT", text + "/acl", `{"read": {"project-access": false}}`, 200, ""},
		{own, "GET", text, "", 200, ""},
		{own, "POST", base + "/v1/containers", `{"type": "nonsense"}`, 400, "Provided object does not match schema 'Container': 'nonsense' is not one of ['generic', 'rsa', 'certificate']. Invalid property: 'type'"},
		{own, "POST", base + "/v1/containers", box + ref("private_key", key) + "]}", 400, "Provided object does not match schema 'Container': The minimum required reference name is 'certificate' for Certificate type. Invalid property: 'secret_refs'"},
		{own, "POST", base + "/v1/containers", loose + ref("a", text) + "," + ref("a", key) + "]}", 400, "Provided object does not match schema 'Container': Duplicate reference names are not allowed. Invalid property: 'secret_refs'"},
		{own, "POST", base + "/v1/containers", loose + ref("a", text) + "," + ref("b", text) + "]}", 400, "Provided object does not match schema 'Container': Duplicate secret ids are not allowed. Invalid property: 'secret_refs'"},
		{own, "POST", base + "/v1/containers", loose + ref("a", base+absent) + "]}", 404, "Secret provided for 'a' doesn't exist."},
		{own, "POST", base + "/v1/containers", loose + ref("a", "https://elsewhere.test/v1/secrets/"+id(text)) + "]}", 400, "Provided field value is not supported"},
		{own, "GET", base + "/v1/containers/x", "", 404, "Not Found. Provided container id is invalid."},
		{own, "DELETE", made.ContainerRef + "/consumers", `{"name": "o", "URL": "http://x/"}`, 404, "Consumer not found."},
		{own, "DELETE", key, "", 204, ""},
		{own, "DELETE", key, "", 404, "Secret not found."},
		{own, "DELETE", made.ContainerRef, "", 204, ""},
		{own, "DELETE", made.ContainerRef, "", 404, "Secrets container not found."},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(c.body))
		must(t, err)
		request.Header.Set("X-Auth-Token", c.token)
		answer, err := env.server.Client().Do(request)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		_ = answer.Body.Close()
		var refused struct{ Description string }
		_ = json.Unmarshal(body, &refused)
		if answer.StatusCode != c.status || refused.Description != c.description {
			t.Errorf("%s %s %s: %d %s, want %d %q", c.method, c.url, c.body, answer.StatusCode, body, c.status, c.description)
		}
	}
}

func TestContainers_LoseDeletedSecrets(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	certificate, key := env.secret(secrets.CertificateSecret, "CERT"), env.secret(secrets.PrivateSecret, "KEY")
	made, err := containers.Create(t.Context(), env.mine(), containers.CreateOpts{
		Type:       containers.CertificateContainer,
		SecretRefs: []containers.SecretRef{{Name: "certificate", SecretRef: certificate.SecretRef}, {Name: "private_key", SecretRef: key.SecretRef}},
	}).Extract()
	must(t, err)
	must(t, secrets.Delete(t.Context(), env.mine(), id(key.SecretRef)).ExtractErr())
	left, err := containers.Get(t.Context(), env.mine(), id(made.ContainerRef)).Extract()
	if err != nil || len(left.SecretRefs) != 1 || left.SecretRefs[0].Name != "certificate" {
		t.Errorf("after the deletion of the key: %+v %v", left, err)
	}
}
