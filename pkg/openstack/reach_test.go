package openstack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// authority returns a certificate for 127.0.0.1 that signs itself, and its PEM.
func authority(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// estate is a cloud with a catalog and answers that depend on the password of the sign-in, which is
// also the token.
type estate struct {
	t *testing.T
	// refuse returns the status that a service answers with; 0: 200.
	refuse func(service, token string) int
	// move returns the URL that the catalog has for a service; "" for none.
	move func(service, token, url string) string

	mu    sync.Mutex
	asked []string
	urls  map[string]string
	auth  string
}

// estateTypes returns the types of the services in the catalog.
func estateTypes() map[string]string {
	return map[string]string{
		rest.Nova: "compute", rest.Neutron: "network", rest.Octavia: "load-balancer", rest.Barbican: "key-manager",
	}
}

// newEstate starts a cloud. The certificates of its services are nil for plain HTTP.
func newEstate(t *testing.T, keystone, services *tls.Certificate) *estate {
	t.Helper()
	e := &estate{
		t: t, urls: map[string]string{}, refuse: func(string, string) int { return 0 },
		move: func(_, _, url string) string { return url },
	}
	for service := range estateTypes() {
		e.urls[service] = e.serve(services, func(w http.ResponseWriter, r *http.Request) { e.answer(w, service, r.Header.Get("X-Auth-Token")) })
	}
	e.auth = e.serve(keystone, e.signIn)
	return e
}

func (e *estate) serve(certificate *tls.Certificate, handler http.HandlerFunc) string {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if certificate == nil {
		server.Start()
	} else {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		server.StartTLS()
	}
	e.t.Cleanup(server.Close)
	return server.URL
}

func (e *estate) answer(w http.ResponseWriter, service, token string) {
	e.mu.Lock()
	e.asked = append(e.asked, service+" "+token)
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if status := e.refuse(service, token); status != 0 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"faultcode":"Client","faultstring":"refused"}`)
		return
	}
	_, _ = io.WriteString(w, map[string]string{
		rest.Nova: `{"servers":[]}`, rest.Neutron: `{"ports":[{"id":"p"}]}`, rest.Octavia: `{"loadbalancers":[]}`, rest.Barbican: `{"versions":[]}`,
	}[service])
}

// requests returns what services were asked since the last call, with the tokens, in order.
func (e *estate) requests() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	asked := e.asked
	e.asked = nil
	slices.Sort(asked)
	return asked
}

func (e *estate) signIn(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	password := "old"
	if strings.Contains(string(body), `"new"`) {
		password = "new"
	}
	var catalog []any
	for service, url := range e.urls {
		if url = e.move(service, password, url); url != "" {
			catalog = append(catalog, map[string]any{
				"type": estateTypes()[service], "endpoints": []any{map[string]any{"interface": "public", "region": "R", "region_id": "R", "url": url}},
			})
		}
	}
	w.Header().Set("X-Subject-Token", password)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{
		"expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "issued_at": time.Now().UTC().Format(time.RFC3339),
		"project": map[string]any{"id": "p"}, "user": map[string]any{"id": "u"}, "catalog": catalog,
	}})
}

func (e *estate) config() config.Global {
	return config.Global{AuthURL: e.auth + "/v3", UserID: "u", Password: "old", TenantID: "p", Region: "R"}
}

func (e *estate) session(options SessionOptions) *Session {
	e.t.Helper()
	options.Retry = transport.RetryPolicy{Attempts: 1}
	return newSession(e.t, e.config(), options)
}

// A CA file that only suits Keystone is refused, and nothing is lost.
//
//proves:94
func TestReplace_RefusesAuthoritiesThatOnlySuitKeystone(t *testing.T) {
	t.Parallel()
	keystone, keystonePEM := authority(t, "keystone")
	others, othersPEM := authority(t, "services")
	e := newEstate(t, &keystone, &others)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	write := func(text ...[]byte) {
		if err := os.WriteFile(ca, slices.Concat(text...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(keystonePEM, othersPEM)
	conf := e.config()
	conf.CAFile = ca
	s := newSession(t, conf, SessionOptions{Retry: transport.RetryPolicy{Attempts: 1}})
	ask := func() error { return s.Octavia().First(t.Context(), "loadbalancers") }
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	replace := func() error {
		files, err := transport.ReadTLS(conf)
		if err != nil {
			t.Fatal(err)
		}
		return s.Replace(t.Context(), conf, files)
	}
	write(keystonePEM)
	if err := replace(); err == nil || !strings.Contains(err.Error(), "would not be usable") || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("authorities without that of the services: %v", err)
	}
	if err := ask(); err != nil {
		t.Errorf("Octavia is lost: %v", err)
	}
	write(othersPEM, keystonePEM)
	if err := replace(); err != nil || ask() != nil {
		t.Errorf("authorities of all: %v, %v", err, ask())
	}
}

// What suits Keystone alone, or all that is used, decides whether other credentials are taken.
//
//proves:94
func TestReplace_TakesOnlyWhatReachesAllServicesInUse(t *testing.T) {
	t.Parallel()
	refusing := func(service string, status int, tokens ...string) func(*estate) {
		return func(e *estate) {
			e.refuse = func(asked, token string) int {
				if asked == service && slices.Contains(tokens, token) {
					return status
				}
				return 0
			}
		}
	}
	moving := func(service, url string) func(*estate) {
		return func(e *estate) {
			e.move = func(asked, token, old string) string {
				if asked == service && token == "new" {
					return url
				}
				return old
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*estate)
		unused []string
		lost   string // "" where the credentials are taken
		asked  int
	}{
		"all is reached":                           {func(*estate) {}, nil, "", 4},
		"a role for Octavia is missing":            {refusing(rest.Octavia, 403, "new"), nil, "Octavia would not be usable", 4},
		"Nova does not take the token":             {refusing(rest.Nova, 401, "new"), nil, "Nova would not be usable", 0},
		"a catalog without Neutron":                {moving(rest.Neutron, ""), nil, "Neutron would not be usable", 2},
		"a catalog with a dead endpoint":           {moving(rest.Octavia, "http://127.0.0.1:1"), nil, "Octavia would not be usable", 3},
		"a catalog with a key manager that is not": {moving(rest.Barbican, "http://127.0.0.1:1"), nil, "Barbican would not be usable", 4},
		"Octavia is down for all":                  {refusing(rest.Octavia, 503, "old", "new"), nil, "", 5},
		"nobody may use Octavia":                   {refusing(rest.Octavia, 403, "old", "new"), nil, "", 5},
		"only the new ones may use Octavia":        {refusing(rest.Octavia, 403, "old"), nil, "", 4},
		"no role for secrets in general":           {refusing(rest.Barbican, 403, "new"), nil, "", 4},
		"Octavia is lost, which is not used":       {refusing(rest.Octavia, 403, "new"), []string{rest.Octavia, rest.Barbican}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t, nil, nil)
			test.change(e)
			s := e.session(SessionOptions{Unused: test.unused})
			conf := e.config()
			conf.Password = "new"
			err := s.Replace(t.Context(), conf, transport.TLS{})
			if asked := e.requests(); test.asked > 0 && len(asked) != test.asked {
				t.Errorf("%d requests, want %d: %v", len(asked), test.asked, asked)
			}
			token := "new"
			if test.lost != "" {
				token = "old"
				if err == nil || !strings.Contains(err.Error(), test.lost) {
					t.Errorf("got %v, want %q", err, test.lost)
				}
			} else if err != nil {
				t.Error(err)
			}
			_ = s.Nova().First(t.Context())
			if got, want := e.requests(), rest.Nova+" "+token; len(got) == 0 || got[0] != want {
				t.Errorf("goes on with %v, want %s", got, want)
			}
		})
	}
}

// Servers in other regions are asked for, too.
//
//proves:94
func TestReplace_ReachesOtherRegions(t *testing.T) {
	t.Parallel()
	e := newEstate(t, nil, nil)
	s := e.session(SessionOptions{Regions: []string{"R"}})
	conf := e.config()
	conf.Password = "new"
	if err := s.Replace(t.Context(), conf, transport.TLS{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Barbican new", "Neutron new", "Neutron new", "Nova new", "Nova new", "Octavia new"}
	if got := e.requests(); !slices.Equal(got, want) {
		t.Errorf("asked %v, want %v", got, want)
	}
}
