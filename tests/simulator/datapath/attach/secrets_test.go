package attach

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// issued is a certificate with its key, signed by itself.
type issued struct {
	leaf *x509.Certificate
	key  *ecdsa.PrivateKey
}

func issue(t *testing.T, name string) issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return issued{leaf, key}
}

func (i issued) certificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.leaf.Raw})
}

func (i issued) keyPEM(t *testing.T) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// bundled is a PKCS #12 bundle as openssl 3 writes it.
func (i issued) bundled(t *testing.T, chain ...*x509.Certificate) []byte {
	t.Helper()
	pfx, err := pkcs12.Modern.Encode(i.key, i.leaf, chain, "")
	if err != nil {
		t.Fatal(err)
	}
	return pfx
}

func TestSecrets_ReadCertificatesFromContainersAndBundles(t *testing.T) {
	t.Parallel()
	server, signer := issue(t, "server"), issue(t, "signer")
	tests := []struct {
		name   string
		secret Secret
		chain  int
	}{
		{"container", Secret{Certificate: server.certificatePEM(), PrivateKey: server.keyPEM(t)}, 1},
		{"container with intermediates", Secret{
			Certificate: server.certificatePEM(), PrivateKey: server.keyPEM(t), Intermediates: signer.certificatePEM(),
		}, 2},
		{"bundle", Secret{Certificate: server.bundled(t)}, 1},
		{"bundle with intermediates", Secret{Certificate: server.bundled(t, signer.leaf)}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			secrets := Secrets(func(string) (Secret, error) { return test.secret, nil })
			got, err := secrets.Certificate("ref")
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Certificate) != test.chain || got.Leaf.Subject.CommonName != "server" {
				t.Errorf("read a chain of %d for %s, want %d for server", len(got.Certificate), got.Leaf.Subject, test.chain)
			}
		})
	}
}

func TestSecrets_RefuseWhatIsNoCertificate(t *testing.T) {
	t.Parallel()
	server, other := issue(t, "server"), issue(t, "other")
	for name, secret := range map[string]Secret{
		"nothing":             {},
		"noise":               {Certificate: []byte("noise")},
		"key of another":      {Certificate: server.certificatePEM(), PrivateKey: other.keyPEM(t)},
		"certificate but key": {Certificate: server.certificatePEM()},
	} {
		secrets := Secrets(func(string) (Secret, error) { return secret, nil })
		if _, err := secrets.Certificate("ref"); err == nil {
			t.Errorf("%s: accepted as a certificate", name)
		}
	}
	if _, err := Secrets(func(string) (Secret, error) { return Secret{}, nil }).Authorities("ref"); err == nil {
		t.Error("nothing is accepted as authorities")
	}
}

func TestSecrets_ReturnErrorsOfKeyManager(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	secrets := Secrets(func(string) (Secret, error) { return Secret{}, gone })
	if _, err := secrets.Certificate("ref"); !errors.Is(err, gone) {
		t.Errorf("certificate: %v", err)
	}
	if _, err := secrets.Authorities("ref"); !errors.Is(err, gone) {
		t.Errorf("authorities: %v", err)
	}
}

func TestSecrets_ReadAuthoritiesFromPEM(t *testing.T) {
	t.Parallel()
	signer := issue(t, "signer")
	trusted, err := Secrets(func(string) (Secret, error) {
		return Secret{Certificate: signer.certificatePEM()}, nil
	}).Authorities("ref")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signer.leaf.Verify(x509.VerifyOptions{Roots: trusted, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Errorf("a certificate of the authorities is not trusted: %v", err)
	}
}
