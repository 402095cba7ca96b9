package check_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string, notAfter time.Time) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: notAfter, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	return a
}

// sign creates a certificate; without a parent it is self-signed.
func (a *authority) sign(template *x509.Certificate, parent *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore = big.NewInt(1), time.Now().AddDate(-1, 0, 0)
	by, with := template, key
	if parent != nil {
		by, with = parent.cert, parent.key
	}
	text, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, with)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(text)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// serve adds a gateway with TLS to a cloud and its catalog, and to cloud.conf.
func (a *authority) serve(e *environment, notAfter time.Time) {
	cert, key := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "cloud.example.com"}, NotAfter: notAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, a)
	target, err := url.Parse(e.cloud.URL())
	if err != nil {
		a.t.Fatal(err)
	}
	gateway := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	gateway.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	gateway.StartTLS()
	a.t.Cleanup(gateway.Close)
	e.cloud.Keystone.SetBaseURL(gateway.URL)
	e.global("auth-url=" + gateway.URL + "/identity/v3")
}

// trust writes a ca-file with the authorities, and adds it to cloud.conf.
func (e *environment) trust(all ...*authority) {
	e.t.Helper()
	path := filepath.Join(e.t.TempDir(), "ca.pem")
	var text []byte
	for _, a := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		e.t.Fatal(err)
	}
	e.global("ca-file=" + path)
}

func TestCheck_TellsWhenCertificatesEnd(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good, expired := newAuthority(t, "Good CA", now.AddDate(1, 0, 0)), newAuthority(t, "Expired CA", now.AddDate(0, 0, -1))
	for name, test := range map[string]struct {
		by       *authority
		notAfter time.Time
		trusted  []*authority
		code     int
		says     []string
	}{
		"good":               {good, now.AddDate(1, 0, 0), []*authority{good}, 0, []string{"ok  [Global] ca-file", "CN=Good CA is good until"}},
		"expired CA":         {expired, now.AddDate(1, 0, 0), []*authority{expired}, 1, []string{"wrong  [Global] ca-file  CN=Expired CA has expired on"}},
		"one CA expired":     {good, now.AddDate(1, 0, 0), []*authority{expired, good}, 2, []string{"warning  [Global] ca-file", "CN=Expired CA has expired on"}},
		"service about to":   {good, now.AddDate(0, 0, 5).Add(time.Hour), []*authority{good}, 2, []string{"Keystone, Nova, Neutron, Octavia, Barbican  CN=cloud.example.com expires on 2027-05-01, in 5 days"}},
		"expired service":    {good, now.AddDate(0, 0, -1), []*authority{good}, 1, []string{"wrong  Keystone  sign in at", "expired"}},
		"another CA's cloud": {expired, now.AddDate(1, 0, 0), []*authority{good}, 1, []string{"wrong  Keystone  sign in at", "certificate"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{})
			by := *test.by
			by.t = t
			by.serve(e, test.notAfter)
			e.trust(test.trusted...)
			r := e.check(nil)
			output := findings(e.stable(text(t, r)))
			if r.ExitCode() != test.code {
				t.Errorf("exit code %d, want %d", r.ExitCode(), test.code)
			}
			for _, want := range test.says {
				if !strings.Contains(output, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if t.Failed() {
				t.Log(output)
			}
		})
	}
}
