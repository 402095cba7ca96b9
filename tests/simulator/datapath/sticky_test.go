package datapath

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// cookiePool makes the load balancer's pool persistent by cookie.
func cookiePool(lb *LoadBalancer, kind, name string) {
	lb.Pools[0].Persistence, lb.Pools[0].CookieName = kind, name
}

func cookieOf(r reply, name string) string {
	for _, cookie := range r.Cookies() {
		if cookie.Name == name {
			return cookie.Value
		}
	}
	return ""
}

func TestPersistence_KeepsClientByCookieOfLoadBalancer(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"), webMember(t, "b"))
	cookiePool(&lb, PersistenceHTTPCookie, "")
	serveWeb(t, lb)
	client := webClient(t)

	first := mustGet(t, client, vip(lb), "/")
	if got := first.Header.Get("Set-Cookie"); got != "SRV="+first.member()+"; path=/" {
		t.Errorf("first answer by %s sets %q", first.member(), got)
	}
	if got := first.Header.Get("Cache-Control"); got != "private" {
		t.Errorf("an answer with a cookie has Cache-Control %q, want private", got)
	}
	for range 4 {
		again := mustGet(t, client, vip(lb), "/", withHeader("Cookie", "theme=dark; SRV="+first.member()+"; lang=en"))
		if again.member() != first.member() || cookieOf(again, "SRV") != "" {
			t.Errorf("with the cookie: %s, and again a cookie %q", again.member(), cookieOf(again, "SRV"))
		}
		if !again.line("Cookie: theme=dark; lang=en") {
			t.Errorf("the member saw other cookies than the client's own:\n%s", again.body)
		}
	}
	stale := mustGet(t, client, vip(lb), "/", withHeader("Cookie", "SRV=gone"))
	if cookieOf(stale, "SRV") != stale.member() {
		t.Errorf("a cookie of a member that is gone is replaced by %q, want %q", cookieOf(stale, "SRV"), stale.member())
	}
	if strings.Contains(stale.body, "Cookie:") {
		t.Errorf("the member saw the load balancer's cookie:\n%s", stale.body)
	}
}

func TestPersistence_KeepsClientByCookieOfMember(t *testing.T) {
	t.Parallel()
	session := func(name string) Member {
		return webMemberOf(t, name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login" {
				http.SetCookie(w, &http.Cookie{Name: "SESSION", Value: "of-" + name})
			}
		}))
	}
	lb := balancer(t, ProtocolHTTP, session("a"), session("b"))
	cookiePool(&lb, PersistenceAppCookie, "SESSION")
	serveWeb(t, lb)
	client := webClient(t)

	for range 2 {
		login := mustGet(t, client, vip(lb), "/login")
		for range 3 {
			got := mustGet(t, client, vip(lb), "/", withHeader("Cookie", "SESSION="+cookieOf(login, "SESSION")))
			if got.member() != login.member() {
				t.Errorf("the session of %s went to %s", login.member(), got.member())
			}
		}
	}
	unknown := ""
	for range 4 {
		unknown += mustGet(t, client, vip(lb), "/").member()
	}
	if unknown != "abab" {
		t.Errorf("clients without a session went to %s, want abab", unknown)
	}
}

func TestPersistence_KeepsOnlyFormerClientsOnMemberOfWeightZero(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Persistence = PersistenceSourceIP }, 1, 1)
	same := func(int) netip.AddrPort { return client(1) }
	if got := picks(p, 1, same); got != "a" {
		t.Fatalf("got %s, want a", got)
	}
	config := p.config
	config.Members = append([]Member(nil), config.Members...)
	config.Members[0].Weight = 0
	p.configure(config)
	if got := picks(p, 2, same); got != "aa" {
		t.Errorf("a's client went to %s, want aa", got)
	}
	if got := picks(p, 2, func(i int) netip.AddrPort { return client(10 + i) }); got != "bb" {
		t.Errorf("new clients went to %s, want bb", got)
	}
}

func TestPersistence_TreatsNetworkAsOneClientByGranularity(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) {
		p.Persistence, p.PersistenceBits = PersistenceSourceIP, 24
	}, 1, 1)
	from := func(address string) func(int) netip.AddrPort {
		return func(int) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(address), 9) }
	}
	got := picks(p, 1, from("192.0.2.1")) + picks(p, 1, from("192.0.2.200")) + picks(p, 1, from("192.0.3.1"))
	if got != "aab" {
		t.Errorf("got %s, want one member for 192.0.2.0/24 and the next for another network", got)
	}
}

func TestPersistence_RemembersBoundedNumberOfClients(t *testing.T) {
	t.Parallel()
	p, clock := poolOf(t, func(p *Pool) { p.Persistence = PersistenceSourceIP }, 1)
	picks(p, mostBindings+10, client)
	if len(p.sticky) != mostBindings {
		t.Errorf("%d clients remembered, want %d", len(p.sticky), mostBindings)
	}
	clock.Step(defaultPersistence + time.Second)
	picks(p, 1, func(int) netip.AddrPort { return client(60_000) })
	if len(p.sticky) != 1 {
		t.Errorf("%d clients remembered after all had expired, want 1", len(p.sticky))
	}
}

func TestPersistence_KeepsUDPClientsByAddress(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolUDP, udpBackend(t, "a"), udpBackend(t, "b"))
	lb.Pools[0].Persistence = PersistenceSourceIP
	start(t, newMemory(lb))
	first, _ := newUDPClient(t, vip(lb)).answered(t)
	for range 5 {
		if again, _ := newUDPClient(t, vip(lb)).answered(t); again != first {
			t.Errorf("another port of the client went to %s, want %s", again, first)
		}
	}
}

func TestPersistence_DropsItsCookieOnly(t *testing.T) {
	t.Parallel()
	tests := []struct{ given, want []string }{
		{[]string{"SRV=a"}, nil},
		{[]string{"x=1; SRV=a; y=\"2\""}, []string{"x=1; y=\"2\""}},
		{[]string{"SRV=a", "x=1"}, []string{"x=1"}},
		{[]string{"XSRV=a"}, []string{"XSRV=a"}},
		{nil, nil},
	}
	for _, test := range tests {
		header := http.Header{}
		for _, line := range test.given {
			header.Add("Cookie", line)
		}
		dropCookie(header, "SRV")
		if got := header.Values("Cookie"); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%q without SRV: %q, want %q", test.given, got, test.want)
		}
	}
}
