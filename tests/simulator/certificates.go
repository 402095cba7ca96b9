package simulator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"strings"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/barbican"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// AddCertificate stores a certificate for these hosts in the project's key manager, as a PKCS #12 bundle with its key,
// and returns the reference. The certificate signs itself.
func (c *Cloud) AddCertificate(hosts ...string) (reference string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: hosts, NotAfter: c.options.signInClock.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return "", err
	}
	bundle, err := pkcs12.Modern.Encode(key, leaf, nil, "")
	if err != nil {
		return "", err
	}
	stored := c.Barbican.AddSecret(barbican.Secret{ProjectID: c.Account.ProjectID, Type: "opaque", Payload: bundle})
	return c.keyManagerURL() + "v1/secrets/" + stored.ID, nil
}

func (c *Cloud) keyManagerURL() string { return c.URL() + "/key-manager/" }

// findCertificate returns an error if a reference names a missing object of this cloud's key manager, or a secret that
// is no PKCS #12 bundle. Objects of other key managers are assumed to be good.
func (c *Cloud) findCertificate(reference string) error {
	if !strings.HasPrefix(reference, c.keyManagerURL()) {
		return nil
	}
	if _, found := c.Barbican.Container(reference); found {
		return nil
	}
	secret, found := c.Barbican.Secret(reference)
	if !found {
		return fmt.Errorf("the key manager has no %s", reference)
	}
	if _, _, _, err := pkcs12.DecodeChain(secret.Payload, ""); err != nil {
		return fmt.Errorf("%w: %w", octavia.ErrUnreadableBundle, err)
	}
	return nil
}
