package attach

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/barbican"
)

// vault is a key manager with fixed contents, by reference or ID.
type vault struct {
	secrets    map[string]barbican.Secret
	containers map[string]barbican.Container
}

func (v vault) Secret(reference string) (barbican.Secret, bool) {
	found, ok := v.secrets[reference]
	return found, ok
}

func (v vault) Container(reference string) (barbican.Container, bool) {
	found, ok := v.containers[reference]
	return found, ok
}

func TestSecretsOf_FindsSecretsAndContainersByReference(t *testing.T) {
	t.Parallel()
	keys := vault{
		secrets: map[string]barbican.Secret{
			"http://keys/v1/secrets/p12": {Payload: []byte("bundle")},
			"c":                          {Payload: []byte("certificate")},
			"k":                          {Payload: []byte("key")},
			"i":                          {Payload: []byte("chain")},
		},
		containers: map[string]barbican.Container{
			"http://keys/v1/containers/full": {SecretIDs: map[string]string{"certificate": "c", "private_key": "k", "intermediates": "i"}},
			"http://keys/v1/containers/few":  {SecretIDs: map[string]string{"certificate": "c", "private_key": "k"}},
			"http://keys/v1/containers/torn": {SecretIDs: map[string]string{"certificate": "c", "private_key": "gone"}},
		},
	}
	tests := []struct {
		ref     string
		want    Secret
		problem string
	}{
		{"http://keys/v1/secrets/p12", Secret{Certificate: []byte("bundle")}, ""},
		{"http://keys/v1/containers/full", Secret{Certificate: []byte("certificate"), PrivateKey: []byte("key"), Intermediates: []byte("chain")}, ""},
		{"http://keys/v1/containers/few", Secret{Certificate: []byte("certificate"), PrivateKey: []byte("key")}, ""},
		{"http://keys/v1/containers/torn", Secret{}, "no secret gone for private_key"},
		{"http://keys/v1/containers/absent", Secret{}, "no container"},
		{"http://keys/v1/secrets/absent", Secret{}, "no secret"},
	}
	for _, test := range tests {
		got, err := SecretsOf(keys)(test.ref)
		if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v, want %q", test.ref, err, test.problem)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.ref, diff)
		}
	}
}

func TestSecretsOf_ReadsCertificateOfSimulatedKeyManager(t *testing.T) {
	t.Parallel()
	server := issue(t, "server")
	keys := barbican.New(barbican.Options{})
	stored := keys.AddSecret(barbican.Secret{Type: "opaque", Payload: server.bundled(t)})
	read, err := SecretsOf(keys).Certificate("http://127.0.0.1/key-manager/v1/secrets/" + stored.ID)
	if err != nil || read.Leaf.Subject.CommonName != "server" {
		t.Errorf("read %v, %v; want the certificate of server", read.Leaf, err)
	}
}
