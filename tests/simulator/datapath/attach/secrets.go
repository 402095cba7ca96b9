package attach

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
)

// Secret is what the key manager has behind a reference. Of a container of type certificate
// all parts are set, of a plain secret only Certificate.
type Secret struct {
	// Certificate is in PEM, or a PKCS #12 bundle without a password that holds the key and
	// the intermediates too.
	Certificate []byte
	// PrivateKey is in PEM, Intermediates too, the signer of Certificate first.
	PrivateKey, Intermediates []byte
}

// Secrets looks up a reference, as listeners and pools hold them. It is called from one
// goroutine at a time.
type Secrets func(ref string) (Secret, error)

// Certificate implements datapath.Certificates.
func (s Secrets) Certificate(ref string) (tls.Certificate, error) {
	secret, err := s(ref)
	if err != nil {
		return tls.Certificate{}, err
	}
	if block, _ := pem.Decode(secret.Certificate); block == nil {
		return bundle(secret.Certificate)
	}
	chain := bytes.Join([][]byte{secret.Certificate, secret.Intermediates}, []byte("\n"))
	return tls.X509KeyPair(chain, secret.PrivateKey)
}

func bundle(pfx []byte) (tls.Certificate, error) {
	key, leaf, chain, err := pkcs12.DecodeChain(pfx, "")
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("neither PEM nor PKCS #12: %w", err)
	}
	read := tls.Certificate{PrivateKey: key, Leaf: leaf, Certificate: [][]byte{leaf.Raw}}
	for _, signer := range chain {
		read.Certificate = append(read.Certificate, signer.Raw)
	}
	return read, nil
}

// Authorities implements datapath.Certificates.
func (s Secrets) Authorities(ref string) (*x509.CertPool, error) {
	secret, err := s(ref)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(secret.Certificate) {
		return nil, errors.New("no certificate in PEM")
	}
	return trusted, nil
}

var _ datapath.Certificates = Secrets(nil)
