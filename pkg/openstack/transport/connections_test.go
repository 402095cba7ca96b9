package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// testPKI is a CA with certificates in files.
type testPKI struct {
	dir  string
	ca   *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newTestPKI(t *testing.T) *testPKI {
	t.Helper()
	p := &testPKI{dir: t.TempDir(), next: 1}
	p.key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(p.next), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &p.key.PublicKey, p.key))
	p.ca = must(x509.ParseCertificate(der))
	p.write("ca.pem", "CERTIFICATE", der)
	return p
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (p *testPKI) file(name string) string { return filepath.Join(p.dir, name) }

func (p *testPKI) write(name, kind string, der []byte) {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(p.file(name), text, 0o600); err != nil {
		panic(err)
	}
}

// issue writes NAME.pem and NAME.key for loopback.
func (p *testPKI) issue(name, subject string) tls.Certificate {
	p.next++
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(p.next), Subject: pkix.Name{CommonName: subject},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := must(x509.CreateCertificate(rand.Reader, template, p.ca, &key.PublicKey, p.key))
	p.write(name+".pem", "CERTIFICATE", der)
	p.write(name+".key", "EC PRIVATE KEY", must(x509.MarshalECPrivateKey(key)))
	return must(tls.LoadX509KeyPair(p.file(name+".pem"), p.file(name+".key")))
}

// newTLSCloud serves a fake cloud over TLS to clients with a certificate of the CA,
// and sends their names.
func newTLSCloud(t *testing.T, p *testPKI, change func(*tls.Config)) (*httptest.Server, chan string) {
	t.Helper()
	names := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := ""
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		names <- name
		fmt.Fprint(w, "{}")
	}))
	pool := x509.NewCertPool()
	pool.AddCert(p.ca)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{p.issue("server", "server")}, ClientCAs: pool}
	change(server.TLS)
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, names
}

func readTLS(t *testing.T, cfg config.Global) TLS {
	t.Helper()
	files, err := ReadTLS(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func getOverTLS(t *testing.T, cfg config.Global, url string) error {
	t.Helper()
	transport, err := newConnections(readTLS(t, cfg), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

//proves:95
func TestConnections_ShowClientCertificateAndReadItAgain(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	p.issue("client", "ccm")
	server, names := newTLSCloud(t, p, func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert })
	cfg := config.Global{CAFile: p.file("ca.pem"), CertFile: p.file("client.pem"), KeyFile: p.file("client.key")}

	transport, err := New(readTLS(t, cfg), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ccm", "ccm, renewed"} {
		p.issue("client", want)
		trial, err := transport.Try(readTLS(t, cfg))
		if err != nil {
			t.Fatal(err)
		}
		transport.Use(trial)
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		transport.CloseIdleConnections()
		if got := <-names; got != want {
			t.Errorf("the server saw %q, want %q", got, want)
		}
	}
	cfg.CertFile, cfg.KeyFile = "", ""
	if err := getOverTLS(t, cfg, server.URL); err == nil {
		t.Error("connected without the certificate that the server asks for")
	}
}

func TestConnections_VerifyServer(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	server, _ := newTLSCloud(t, p, func(*tls.Config) {})
	if err := getOverTLS(t, config.Global{}, server.URL); err == nil {
		t.Error("trusted a certificate of an unknown CA")
	}
	if err := getOverTLS(t, config.Global{CAFile: p.file("ca.pem")}, server.URL); err != nil {
		t.Errorf("with ca-file: %v", err)
	}
	if err := getOverTLS(t, config.Global{TLSInsecure: true}, server.URL); err != nil {
		t.Errorf("with tls-insecure: %v", err)
	}
}

func TestConnections_RefuseOldTLS(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	server, _ := newTLSCloud(t, p, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 })
	if err := getOverTLS(t, config.Global{CAFile: p.file("ca.pem")}, server.URL); err == nil {
		t.Error("spoke TLS 1.1")
	}
}

func TestConnections_NameBadTLSFiles(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	p.issue("client", "ccm")
	if err := os.WriteFile(p.file("empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		cfg  config.Global
		want string
	}{
		"no CA file":         {config.Global{CAFile: p.file("none")}, "read ca-file"},
		"CA without a cert":  {config.Global{CAFile: p.file("client.key")}, "no certificate in"},
		"key missing":        {config.Global{CertFile: p.file("client.pem")}, "cert-file and key-file belong together"},
		"files are empty":    {config.Global{CertFile: p.file("empty"), KeyFile: p.file("empty")}, "read cert-file and key-file"},
		"key is no key":      {config.Global{CertFile: p.file("client.pem"), KeyFile: p.file("ca.pem")}, "read cert-file and key-file"},
		"certificate absent": {config.Global{CertFile: p.file("none"), KeyFile: p.file("client.key")}, "read cert-file and key-file"},
	}
	for name, test := range tests {
		if _, err := ReadTLS(test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want something about %q", name, err, test.want)
		}
	}
}

func TestConnections_AllowOneIdlePerRequestInFlight(t *testing.T) {
	t.Parallel()
	limits := limiter.Limits{}.WithDefaults()
	transport, err := newConnections(TLS{}, limits.PerHost())
	if err != nil {
		t.Fatal(err)
	}
	want := limits.LoadBalancerCreates + limits.LoadBalancerDeletes + limits.LoadBalancerUpdates +
		limits.NetworkWrites + 3*limits.Reads
	if transport.MaxIdleConnsPerHost < want {
		t.Errorf("MaxIdleConnsPerHost %d, but %d requests can be in flight", transport.MaxIdleConnsPerHost, want)
	}
	if transport.MaxIdleConns < transport.MaxIdleConnsPerHost {
		t.Error("the pool as a whole is smaller than the part for a host")
	}
}

// A request that is under way when the connections are replaced has its answer.
//
//proves:94
func TestTransport_EndsRequestsOnConnectionsThatAreReplaced(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	entered, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-answer
		}
		fmt.Fprint(w, "{}")
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{p.issue("server", "server")}}
	server.StartTLS()
	t.Cleanup(server.Close)
	transport, err := New(readTLS(t, config.Global{CAFile: p.file("ca.pem")}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) error {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	slow := make(chan error, 1)
	go func() { slow <- get("/slow") }()
	<-entered
	other := newTestPKI(t) // the server does not trust its certificates
	trial, err := transport.Try(readTLS(t, config.Global{CAFile: other.file("ca.pem")}))
	if err != nil {
		t.Fatal(err)
	}
	transport.Use(trial)
	close(answer)
	if err := <-slow; err != nil {
		t.Errorf("the request that was under way: %v", err)
	}
	if err := get("/"); err == nil {
		t.Error("the next request went over the old connections")
	}
	transport.CloseIdleConnections()
}

func TestTLS_PrintsNothingOfItself(t *testing.T) {
	t.Parallel()
	files := TLS{ca: "s3cret", certificate: "s3cret", key: "s3cret"}
	if text := fmt.Sprintf("%v %+v %#v %s %q", files, files, files, &files, files); strings.Contains(text, "s3cret") {
		t.Errorf("printed as %s", text)
	}
}
