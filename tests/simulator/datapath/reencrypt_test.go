package datapath

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// secureMember is an HTTPS server with a certificate; clients of another authority than
// asks, if that is not nil, are not served.
func secureMember(t *testing.T, name string, certificate tls.Certificate, asks *x509.CertPool) Member {
	t.Helper()
	server := httptest.NewUnstartedServer(named(name, http.HandlerFunc(describe)))
	server.Config.ErrorLog = silent()
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	if asks != nil {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, asks
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return member(name, addrPort(server.Listener.Addr()))
}

func TestReencryption_ProtectsTrafficToMembers(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	certificates := &store{
		certificates: map[string]tls.Certificate{"client": ours.clientNamed(t, "lb")},
		authorities:  map[string]*x509.CertPool{"ours": ours.pool(), "theirs": theirs.pool()},
	}
	tests := []struct {
		name string
		tls  PoolTLS
		asks *x509.CertPool
		want string
	}{
		{"members are not verified", PoolTLS{}, nil, "a"},
		{"by the right authority", PoolTLS{CARef: "ours"}, nil, "a"},
		{"by the wrong authority", PoolTLS{CARef: "theirs"}, nil, "503"},
		{"with a client certificate", PoolTLS{CertificateRef: "client"}, ours.pool(), "a"},
		{"without the store's answer", PoolTLS{CARef: "absent"}, nil, "503"},
		{"with versions and ALPN", PoolTLS{Versions: []string{"TLSv1.2"}, ALPN: []string{"h2", "http/1.1"}}, nil, "a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, ProtocolHTTP, secureMember(t, "a", ours.serverFor(t, "node.example"), test.asks))
			lb.Pools[0].TLS = test.tls
			lb.Pools[0].TLS.Enabled = true
			serveWeb(t, lb, withStore(certificates))
			if got := mustGet(t, webClient(t), vip(lb), "/"); got.member() != test.want {
				t.Errorf("got %s, want %s", got.member(), test.want)
			}
		})
	}
}

func TestTLS_ReachesMembersThroughHTTPSListeners(t *testing.T) {
	t.Parallel()
	signer := newAuthority(t, "ca")
	lb := balancer(t, "HTTPS", secureMember(t, "a", signer.serverFor(t, "www.example"), nil))
	serveWeb(t, lb)
	client := secureClient(t, &tls.Config{RootCAs: signer.pool(), ServerName: "www.example"})
	if got := mustGet(t, client, vip(lb), "/", secure); got.member() != "a" {
		t.Errorf("got %s, want a, with its own certificate", got.member())
	}
}

func TestReencryption_ProtectsTrafficOfTCPListeners(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", secureMember(t, "a", newAuthority(t, "ca").serverFor(t, "node.example"), nil))
	lb.Pools[0].TLS.Enabled = true
	serveWeb(t, lb)
	if got := mustGet(t, webClient(t), vip(lb), "/"); got.member() != "a" {
		t.Errorf("got %s, want a", got.member())
	}
}

func TestReencryption_ProtectsProbesLikeTheirPool(t *testing.T) {
	t.Parallel()
	a := secureMember(t, "a", newAuthority(t, "ca").serverFor(t, "node.example"), nil)
	plain := webMember(t, "plain")
	elsewhere := a
	elsewhere.ID, elsewhere.MonitorPort = "elsewhere", plain.Port
	lb := balancer(t, ProtocolHTTP, a, plain, elsewhere)
	lb.Pools[0].TLS.Enabled = true
	lb.Pools[0].Monitor = monitor(MonitorHTTP)
	lb.Pools[0].Monitor.DomainName = "node.example"
	source := newMemory(lb)
	start(t, source)
	wantStatus(t, source, "a", StatusOnline)
	wantStatus(t, source, "plain", StatusError)
	wantStatus(t, source, "elsewhere", StatusOnline)
}

func TestKeyring_ReadsCertificatesOnceUntilForgotten(t *testing.T) {
	t.Parallel()
	signer := newAuthority(t, "ca")
	counted := &countingStore{store: store{certificates: map[string]tls.Certificate{"ref": signer.serverFor(t, "x")}}}
	keys := newKeyring(counted)
	for range 3 {
		if _, err := keys.certificate("ref"); err != nil {
			t.Fatal(err)
		}
	}
	keys.forget(map[string]bool{"ref": true})
	if _, err := keys.certificate("ref"); err != nil || counted.asked != 1 {
		t.Errorf("the store was asked %d times (%v), want once", counted.asked, err)
	}
	keys.forget(map[string]bool{"other": true})
	_, err := keys.certificate("ref")
	if err != nil || counted.asked != 2 {
		t.Errorf("the store was asked %d times (%v) after nothing referred to it, want twice", counted.asked, err)
	}
	if _, err := keys.authoritiesOf("ca"); err == nil || !strings.Contains(err.Error(), "authorities ca") {
		t.Errorf("absent authorities: %v", err)
	}
}

// countingStore counts how often a certificate is read.
type countingStore struct {
	store
	asked int
}

func (s *countingStore) Certificate(ref string) (tls.Certificate, error) {
	s.asked++
	found, err := s.store.Certificate(ref)
	if err != nil {
		return found, fmt.Errorf("read %s: %w", ref, err)
	}
	return found, nil
}
