package openstack

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// clientThrough is a gophercloud client with a transport of ours.
func clientThrough(transport http.RoundTripper) *gophercloud.ProviderClient {
	return newProvider("http://127.0.0.1/v3/", transport, "test")
}

func requestBody(method string) *gophercloud.RequestOpts {
	opts := &gophercloud.RequestOpts{OkCodes: []int{200, 201, 202, 204}}
	if method == http.MethodPost || method == http.MethodPut {
		opts.JSONBody = map[string]any{"loadbalancer": map[string]any{"name": "a"}}
	}
	return opts
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	const id = "3f3b4a3e-0000-4000-8000-000000000001"
	tests := []struct{ method, path, want string }{
		{"POST", "/load-balancer/v2.0/lbaas/loadbalancers", "Octavia loadbalancer_create (loadbalancer_create)"},
		{"GET", "/load-balancer/v2.0/lbaas/loadbalancers", "Octavia loadbalancer_list (loadbalancer_read)"},
		{"GET", "/load-balancer/v2.0/lbaas/loadbalancers/" + id, "Octavia loadbalancer_get (loadbalancer_read)"},
		{"DELETE", "/v2/lbaas/loadbalancers/" + id, "Octavia loadbalancer_delete (loadbalancer_delete)"},
		{"GET", "/v2.0/lbaas/loadbalancers/" + id + "/status", "Octavia loadbalancer_status_get (loadbalancer_read)"},
		{"PUT", "/v2.0/lbaas/loadbalancers/" + id + "/failover", "Octavia loadbalancer_failover (loadbalancer_update)"},
		{"POST", "/v2.0/lbaas/listeners", "Octavia loadbalancer_listener_create (loadbalancer_update)"},
		{"PUT", "/v2.0/lbaas/listeners/" + id, "Octavia loadbalancer_listener_update (loadbalancer_update)"},
		{"PUT", "/v2.0/lbaas/pools/" + id + "/members", "Octavia loadbalancer_members_update (loadbalancer_update)"},
		{"PUT", "/v2.0/lbaas/pools/" + id + "/members/" + id, "Octavia loadbalancer_member_update (loadbalancer_update)"},
		{"POST", "/v2.0/lbaas/pools/" + id + "/members", "Octavia loadbalancer_member_create (loadbalancer_update)"},
		{"GET", "/v2.0/lbaas/pools/" + id + "/members", "Octavia loadbalancer_member_list (loadbalancer_read)"},
		{"DELETE", "/v2.0/lbaas/healthmonitors/" + id, "Octavia loadbalancer_healthmonitor_delete (loadbalancer_update)"},
		{"GET", "/v2.0/lbaas/" + id + "/whatever/else", "Octavia other_list (loadbalancer_read)"},
		{"POST", "/network/v2.0/floatingips", "Neutron floating_ip_create (network_write)"},
		{"PUT", "/v2.0/floatingips/" + id + "/tags", "Neutron floating_ip_tag_update (network_write)"},
		{"GET", "/v2.0/ports", "Neutron port_list (network_read)"},
		{"GET", "/v2.0/subnets/" + id, "Neutron subnet_get (network_read)"},
		{"PUT", "/v2.0/routers/" + id + "/add_extraroutes", "Neutron router_update (network_write)"},
		{"POST", "/v2.0/security-group-rules", "Neutron security_group_rule_create (network_write)"},
		{"GET", "/compute/v2.1/servers/detail", "Nova server_list (server_read)"},
		{"GET", "/compute/v2.1/servers/" + id, "Nova server_get (server_read)"},
		{"GET", "/v2.1/" + id + "/servers/" + id, "Nova server_get (server_read)"},
		{"GET", "/v2.1/servers/" + id + "/os-interface", "Nova server_os_interface_list (server_read)"},
		{"GET", "/v2.1/flavors/" + id, "Nova flavor_get (server_read)"},
		{"POST", "/v2.1/servers", "Nova server_create (other)"},
		{"GET", "/identity/v3/auth/catalog", "Keystone other_list (other)"},
		{"POST", "/identity/v3/auth/tokens", "Keystone token_create (token)"},
		{"GET", "/identity/v3/auth/tokens", "Keystone token_get (token)"},
		{"GET", "/load-balancer/", "OpenStack version_list (other)"},
		{"GET", "/", "OpenStack version_list (other)"},
		{"GET", "/v2.0/", "OpenStack version_list (other)"},
		{"PUT", "/v1/AUTH_x/container/object", "OpenStack other_update (other)"},
		{"GET", "/v2.0/lbaas", "Octavia other_list (loadbalancer_read)"},
	}
	for _, test := range tests {
		kind := request.KindOf(test.method, test.path)
		got := fmt.Sprintf("%s %s (%s)", kind.Service, kind.Name, kind.Class)
		if got != test.want {
			t.Errorf("%s %s\n got %s\nwant %s", test.method, test.path, got, test.want)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2.0/ports/refused" {
			w.WriteHeader(http.StatusBadRequest)
		}
		for range 1 << 10 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<10))
		}
	}))
	t.Cleanup(server.Close)
	base := freshConnections(t)
	ex := &exchange{base: base, timeout: time.Minute, maxBody: 1 << 19}
	get := func(path string) (*http.Response, bool, error) {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+path, nil)
		return ex.do(req)
	}
	_, sent, err := get("/v2.0/ports")
	var tooLarge *apierror.TooLargeError
	if !errors.As(err, &tooLarge) || tooLarge.Limit != 1<<19 || !sent {
		t.Errorf("sent %t, error %v; want a TooLargeError", sent, err)
	}
	resp, _, err := get("/v2.0/ports/refused")
	if err != nil {
		t.Fatalf("the start of an error's body is enough: %v", err)
	}
	body, _ := io.ReadAll(resp.Body)
	if len(body) != maxErrorBody {
		t.Errorf("kept %d bytes of an error's body, want %d", len(body), maxErrorBody)
	}
	ex.maxBody = 1 << 20
	resp, _, err = get("/v2.0/ports")
	if err != nil || resp.ContentLength != 1<<20 {
		t.Errorf("an answer of exactly the limit: %v", err)
	}
}

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
// and tells who they were.
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

func getOverTLS(t *testing.T, cfg config.Global, url string) error {
	t.Helper()
	transport, err := newTransport(cfg, 2)
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
func TestClientCertificateIsShownAndReadAgain(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	p.issue("client", "ccm")
	server, names := newTLSCloud(t, p, func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert })
	cfg := config.Global{CAFile: p.file("ca.pem"), CertFile: p.file("client.pem"), KeyFile: p.file("client.key")}

	transport, err := newTransport(cfg, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ccm", "ccm, renewed"} {
		p.issue("client", want)
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

func TestServersAreVerified(t *testing.T) {
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

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	server, _ := newTLSCloud(t, p, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 })
	if err := getOverTLS(t, config.Global{CAFile: p.file("ca.pem")}, server.URL); err == nil {
		t.Error("spoke TLS 1.1")
	}
}

func TestBadTLSFilesAreNamed(t *testing.T) {
	t.Parallel()
	p := newTestPKI(t)
	p.issue("client", "ccm")
	tests := map[string]struct {
		cfg  config.Global
		want string
	}{
		"no CA file":         {config.Global{CAFile: p.file("none")}, "read ca-file"},
		"CA without a cert":  {config.Global{CAFile: p.file("client.key")}, "no certificate in"},
		"key missing":        {config.Global{CertFile: p.file("client.pem")}, "cert-file and key-file belong together"},
		"key is no key":      {config.Global{CertFile: p.file("client.pem"), KeyFile: p.file("ca.pem")}, "read cert-file and key-file"},
		"certificate absent": {config.Global{CertFile: p.file("none"), KeyFile: p.file("client.key")}, "read cert-file and key-file"},
	}
	for name, test := range tests {
		if _, err := newTransport(test.cfg, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want something about %q", name, err, test.want)
		}
	}
}

func TestPoolHoldsAConnectionPerRequestInFlight(t *testing.T) {
	t.Parallel()
	limits := Limits{}.withDefaults()
	transport, err := newTransport(config.Global{}, limits.perHost())
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

// A token must not leave for another host, and a write must not become a read.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var other *httptest.Server
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/stolen", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/here/", http.StatusMovedPermanently)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			fmt.Fprint(w, "{}")
		}
	}))
	t.Cleanup(server.Close)
	other = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed to another host: %s", r.URL)
	}))
	t.Cleanup(other.Close)
	client := http.Client{CheckRedirect: sameHostReads, Transport: freshConnections(t)}
	status := func(method, path string) int {
		req, _ := http.NewRequestWithContext(context.Background(), method, server.URL+path, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	got := []int{status("GET", "/away"), status("GET", "/here"), status("POST", "/here"), status("GET", "/loop")}
	if diff := cmp.Diff([]int{302, 200, 301, 302}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if most := int32(1 + 2 + 1 + 1 + maxRedirects); requests.Load() > most {
		t.Errorf("%d requests, want at most %d", requests.Load(), most)
	}
}
