package datapath

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	signed := authority{}.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return authority{certificate: signed.Leaf, key: signed.PrivateKey.(*ecdsa.PrivateKey)}
}

// sign completes a certificate and signs it, by itself when there is no authority.
func (a authority) sign(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.NotBefore, template.NotAfter = time.Unix(0, 0), time.Now().Add(24*time.Hour)
	parent, signer := template, key
	if a.certificate != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// serverFor is a certificate for host names.
func (a authority) serverFor(t *testing.T, names ...string) tls.Certificate {
	t.Helper()
	return a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: names[0]}, DNSNames: names})
}

func (a authority) clientNamed(t *testing.T, name string) tls.Certificate {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, OrganizationalUnit: []string{"sales"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// store is a Certificates that tests fill.
type store struct {
	mu           sync.Mutex
	certificates map[string]tls.Certificate
	authorities  map[string]*x509.CertPool
}

func (s *store) Certificate(ref string) (tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.certificates[ref]; ok {
		return found, nil
	}
	return tls.Certificate{}, errors.New("no such container")
}

func (s *store) Authorities(ref string) (*x509.CertPool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.authorities[ref]; ok {
		return found, nil
	}
	return nil, errors.New("no such secret")
}

func withStore(s *store) func(*Options) { return func(o *Options) { o.Certificates = s } }

// secureClient speaks TLS to a VIP under a host name, and HTTP over it.
func secureClient(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	client := webClient(t)
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig = config
	transport.ForceAttemptHTTP2 = true
	return client
}

func secure(request *http.Request) { request.URL.Scheme = "https" }

func TestTLS_IsTerminatedWithCertificateOfServerName(t *testing.T) {
	t.Parallel()
	signer := newAuthority(t, "ca")
	certificates := &store{certificates: map[string]tls.Certificate{
		"default": signer.serverFor(t, "default.example"), "sni": signer.serverFor(t, "www.example"),
	}}
	lb := balancer(t, ProtocolTerminatedHTTPS, webMember(t, "a"))
	lb.Listeners[0].TLS = ListenerTLS{
		DefaultRef: "default", SNIRefs: []string{"sni"}, ALPN: []string{"h2", "http/1.1"}, HSTS: "max-age=60",
	}
	lb.Listeners[0].InsertHeaders = map[string]string{"X-Forwarded-Proto": "true", "X-Forwarded-For": "true"}
	serveWeb(t, lb, withStore(certificates))
	for _, name := range []string{"default.example", "www.example"} {
		client := secureClient(t, &tls.Config{RootCAs: signer.pool(), ServerName: name})
		got := mustGet(t, client, vip(lb), "/", secure)
		if shown := got.TLS.PeerCertificates[0].Subject.CommonName; shown != name || got.ProtoMajor != 2 {
			t.Errorf("%s: shown a certificate of %s over %s", name, shown, got.Proto)
		}
		if !got.line("X-Forwarded-Proto: https") || !got.line("X-Forwarded-For: 127.0.0.1") {
			t.Errorf("the member saw\n%s", got.body)
		}
		if hsts := got.Header.Get("Strict-Transport-Security"); hsts != "max-age=60" {
			t.Errorf("HSTS is %q, want max-age=60", hsts)
		}
	}
	unknown := secureClient(t, &tls.Config{InsecureSkipVerify: true, ServerName: "other.example"})
	if got := mustGet(t, unknown, vip(lb), "/", secure); got.TLS.PeerCertificates[0].Subject.CommonName != "default.example" {
		t.Error("an unknown name is not shown the default certificate")
	}
}

func TestTLS_HonorsVersionsOfListener(t *testing.T) {
	t.Parallel()
	signer := newAuthority(t, "ca")
	certificates := &store{certificates: map[string]tls.Certificate{"ref": signer.serverFor(t, "www.example")}}
	lb := balancer(t, ProtocolTerminatedHTTPS, webMember(t, "a"))
	lb.Listeners[0].TLS = ListenerTLS{DefaultRef: "ref", Versions: []string{"TLSv1.3"}}
	serveWeb(t, lb, withStore(certificates))
	for version, want := range map[uint16]bool{tls.VersionTLS12: false, tls.VersionTLS13: true} {
		client := secureClient(t, &tls.Config{RootCAs: signer.pool(), ServerName: "www.example", MaxVersion: version})
		if _, err := get(client, vip(lb), "/", secure); (err == nil) != want {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func TestTLS_AsksClientsForCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	certificates := &store{
		certificates: map[string]tls.Certificate{"ref": ours.serverFor(t, "www.example")},
		authorities:  map[string]*x509.CertPool{"ca": ours.pool()},
	}
	anna, eve := ours.clientNamed(t, "anna"), theirs.clientNamed(t, "eve")
	tests := []struct {
		mode string
		show *tls.Certificate
		want string // the header at the member, "" for no connection
	}{
		{"NONE", nil, "X-Ssl-Client-Has-Cert: 0"},
		{"OPTIONAL", nil, "X-Ssl-Client-Has-Cert: 0"},
		{"OPTIONAL", &anna, "X-Ssl-Client-Cn: anna"},
		{"OPTIONAL", &eve, ""},
		{"MANDATORY", nil, ""},
		{"MANDATORY", &anna, "X-Ssl-Client-Has-Cert: 1"},
	}
	for _, test := range tests {
		t.Run(test.mode+" "+test.want, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, ProtocolTerminatedHTTPS, webMember(t, "a"))
			lb.Listeners[0].TLS = ListenerTLS{DefaultRef: "ref", ClientAuthentication: test.mode, ClientCARef: "ca"}
			lb.Listeners[0].InsertHeaders = map[string]string{
				"X-SSL-Client-Has-Cert": "true", "X-SSL-Client-CN": "true", "X-SSL-Client-Verify": "true",
				"X-SSL-Client-DN": "true", "X-SSL-Issuer": "true", "X-SSL-Client-SHA1": "true",
				"X-SSL-Client-Not-Before": "true", "X-SSL-Client-Not-After": "true",
			}
			serveWeb(t, lb, withStore(certificates))
			config := &tls.Config{RootCAs: ours.pool(), ServerName: "www.example"}
			if test.show != nil {
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return test.show, nil }
			}
			got, err := get(secureClient(t, config), vip(lb), "/", secure)
			if test.want == "" {
				if err == nil {
					t.Errorf("connected, and got %s", got.Status)
				}
				return
			}
			if err != nil || !got.line(test.want) {
				t.Errorf("%v: the member was not told %q:\n%s", err, test.want, got.body)
			}
			if test.show == &anna && (!got.line("X-Ssl-Client-Not-Before: 700101000000Z") || !got.line("X-Ssl-Issuer: CN=ours")) {
				t.Errorf("the member was told\n%s", got.body)
			}
		})
	}
}

func TestPolicies_MatchClientCertificates(t *testing.T) {
	t.Parallel()
	anna := newAuthority(t, "ca").clientNamed(t, "anna")
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{anna.Leaf}}
	tests := []struct {
		rule Rule
		want bool
	}{
		{Rule{Type: RuleClientHasCert, Compare: CompareEqualTo, Value: "True"}, true},
		{Rule{Type: RuleClientCertResult, Compare: CompareEqualTo, Value: "0"}, true},
		{Rule{Type: RuleClientCertField, Key: "CN", Compare: CompareStartsWith, Value: "an"}, true},
		{Rule{Type: RuleClientCertField, Key: "OU", Compare: CompareEqualTo, Value: "sales"}, true},
		{Rule{Type: RuleClientCertField, Key: "O", Compare: CompareEqualTo, Value: "sales"}, false},
		{Rule{Type: RuleClientCertField, Key: "nonsense", Compare: CompareContains, Value: ""}, false},
	}
	for _, test := range tests {
		if got := test.rule.compile()(request); got != test.want {
			t.Errorf("%+v: %v, want %v", test.rule, got, test.want)
		}
	}
}

func TestTLS_WaitsForCertificateOfListener(t *testing.T) {
	t.Parallel()
	signer := newAuthority(t, "ca")
	certificates := &store{certificates: map[string]tls.Certificate{}}
	lb := balancer(t, ProtocolTerminatedHTTPS, webMember(t, "a"))
	lb.Listeners[0].TLS.DefaultRef = "ref"
	var said reports
	start(t, newMemory(lb), withStore(certificates), func(o *Options) { o.Report = said.add })
	eventually(t, "a report", func() error {
		if got := said.list(); len(got) != 1 || !strings.Contains(got[0], "certificate ref: no such container") {
			return fmt.Errorf("reported %q", got)
		}
		return nil
	})
	waitClosed(t, vip(lb))
	certificates.mu.Lock()
	certificates.certificates["ref"] = signer.serverFor(t, "www.example")
	certificates.mu.Unlock()
	waitOpen(t, vip(lb))
}

func TestTLS_ReportsListenersWithoutStore(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolTerminatedHTTPS, webMember(t, "a"))
	lb.Listeners[0].TLS.DefaultRef = "ref"
	var said reports
	start(t, newMemory(lb), func(o *Options) { o.Report = said.add })
	eventually(t, "a report", func() error {
		if got := fmt.Sprint(said.list()); !strings.Contains(got, errNoCertificates.Error()) {
			return fmt.Errorf("reported %s", got)
		}
		return nil
	})
}
