package attach

import (
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/barbican"
)

// KeyManager is what the data path needs of the key manager service.
type KeyManager interface {
	// Secret and Container find what a reference leads to.
	Secret(reference string) (barbican.Secret, bool)
	Container(reference string) (barbican.Container, bool)
}

// SecretsOf reads the certificates of listeners and pools from a key manager, as Octavia
// does: from containers of type certificate, and from secrets that hold a PKCS #12 bundle or,
// for authorities, a certificate. Private keys that need a passphrase are not read.
func SecretsOf(keys KeyManager) Secrets {
	return func(ref string) (Secret, error) {
		if strings.Contains(ref, "/containers/") {
			return contained(keys, ref)
		}
		found, ok := keys.Secret(ref)
		if !ok {
			return Secret{}, fmt.Errorf("the key manager has no secret %s", ref)
		}
		return Secret{Certificate: found.Payload}, nil
	}
}

func contained(keys KeyManager, ref string) (Secret, error) {
	container, ok := keys.Container(ref)
	if !ok {
		return Secret{}, fmt.Errorf("the key manager has no container %s", ref)
	}
	var read Secret
	parts := map[string]*[]byte{
		"certificate": &read.Certificate, "private_key": &read.PrivateKey, "intermediates": &read.Intermediates,
	}
	for name, payload := range parts {
		id := container.SecretIDs[name]
		if id == "" {
			continue
		}
		found, ok := keys.Secret(id)
		if !ok {
			return Secret{}, fmt.Errorf("container %s: the key manager has no secret %s for %s", ref, id, name)
		}
		*payload = found.Payload
	}
	return read, nil
}
