package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is longer than any control plane of a test lives; backdating is for
// clocks that are set back.
const (
	validity   = 30 * 24 * time.Hour
	backdating = time.Hour
)

// authority signs certificates. PEM is its own certificate.
type authority struct {
	PEM         []byte
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// keyPair is a certificate and its private key, both in PEM.
type keyPair struct{ Certificate, Key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of authority %s: %w", name, err)
	}
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}
	return &authority{PEM: encodePEM("CERTIFICATE", der), certificate: certificate, key: key}, nil
}

// serverCertificate names the addresses and names that clients may dial.
func (a *authority) serverCertificate(name string, addresses []net.IP, names []string) (keyPair, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return keyPair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses, template.DNSNames = addresses, names
	return a.sign(template)
}

// clientCertificate makes its bearer the user, a member of the groups
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/, X.509).
func (a *authority) clientCertificate(user string, groups []string) (keyPair, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return keyPair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (keyPair, error) {
	subject := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("make the key of %s: %w", subject, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign the certificate of %s: %w", subject, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("encode the key of %s: %w", subject, err)
	}
	return keyPair{Certificate: encodePEM("CERTIFICATE", der), Key: keyPEM}, nil
}

func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-backdating),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// pki is every key and certificate of one control plane. The API server reads
// its own from files in dir; clients get theirs inside kubeconfigs.
type pki struct {
	dir string
	ca  *authority
}

// pkiDirectory is its directory in that of the control plane.
const pkiDirectory = "pki"

// The files of a pki, by what they are for.
const (
	caFile             = "ca.crt"
	frontProxyCAFile   = "front-proxy-ca.crt"
	serverFile         = "kube-apiserver.crt"
	serverKeyFile      = "kube-apiserver.key"
	serviceAccountFile = "service-account.key"
)

func newPKI(dir string) (*pki, error) {
	ca, err := newAuthority("test-control-plane")
	if err != nil {
		return nil, err
	}
	frontProxy, err := newAuthority("test-control-plane-front-proxy")
	if err != nil {
		return nil, err
	}
	server, err := ca.serverCertificate("kube-apiserver",
		[]net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(apiServiceAddress)},
		[]string{"localhost", "kubernetes.default.svc"})
	if err != nil {
		return nil, err
	}
	tokens, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of service account tokens: %w", err)
	}
	tokensPEM, err := encodeKey(tokens)
	if err != nil {
		return nil, fmt.Errorf("encode the key of service account tokens: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{
		caFile:             ca.PEM,
		frontProxyCAFile:   frontProxy.PEM,
		serverFile:         server.Certificate,
		serverKeyFile:      server.Key,
		serviceAccountFile: tokensPEM,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return &pki{dir: dir, ca: ca}, nil
}

func (p *pki) file(name string) string { return filepath.Join(p.dir, name) }
