package datapath

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestHTTP_SendsRequestsToMembersAsTheyAre(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
	serveWeb(t, lb)

	request, err := http.NewRequest(http.MethodPut, "http://"+vip(lb).String()+"/a%2Fb?x=1;y", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "app.example.com"
	request.Header.Set("X-Forwarded-For", "192.0.2.9")
	request.Header.Set("Cookie", "theme=dark")
	got, err := do(webClient(t), request)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.body, "PUT /a%2Fb?x=1;y\nHost: app.example.com\n") || !strings.HasSuffix(got.body, "\n\nhello") {
		t.Errorf("the member saw\n%s", got.body)
	}
	for _, line := range []string{"X-Forwarded-For: 192.0.2.9", "Cookie: theme=dark"} {
		if !got.line(line) {
			t.Errorf("the member did not see %q in\n%s", line, got.body)
		}
	}
	if strings.Contains(got.body, "X-Forwarded-Proto") || strings.Contains(got.body, "127.0.0.1") {
		t.Errorf("headers were inserted that nobody asked for:\n%s", got.body)
	}
}

func TestHTTP_AddsNothingToAnswer(t *testing.T) {
	t.Parallel()
	bare := webMemberOf(t, "a", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
		_, _ = io.WriteString(w, "<html>")
	}))
	lb := balancer(t, ProtocolHTTP, bare)
	serveWeb(t, lb)
	got := mustGet(t, webClient(t), vip(lb), "/")
	got.Header.Del("Content-Length")
	if len(got.Header) != 1 || got.member() != "a" {
		t.Errorf("got headers %v, want the member's only", got.Header)
	}
}

func TestHTTP_InsertsConfiguredHeaders(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
	lb.Listeners[0].InsertHeaders = map[string]string{
		"X-Forwarded-For": "true", "X-Forwarded-Port": "True", "X-Forwarded-Proto": "true", "X-SSL-Client-Verify": "false",
	}
	serveWeb(t, lb)
	got := mustGet(t, webClient(t), vip(lb), "/",
		withHeader("X-Forwarded-For", "192.0.2.9"), withHeader("X-Forwarded-Proto", "gopher"))
	for _, want := range []string{
		"X-Forwarded-For: 192.0.2.9", "X-Forwarded-For: 127.0.0.1",
		fmt.Sprintf("X-Forwarded-Port: %d", vip(lb).Port()), "X-Forwarded-Proto: http",
	} {
		if !got.line(want) {
			t.Errorf("the member did not see %q in\n%s", want, got.body)
		}
	}
	if strings.Contains(got.body, "gopher") || strings.Contains(got.body, "Ssl-Client") {
		t.Errorf("the member saw what it should not:\n%s", got.body)
	}
}

func TestHTTP_BalancesEachRequestOfConnection(t *testing.T) {
	t.Parallel()
	a := webMember(t, "a")
	a.Weight = 2
	lb := balancer(t, ProtocolHTTP, a, webMember(t, "b"))
	serveWeb(t, lb)
	w := dialWire(t, vip(lb))
	var members []string
	for range 6 {
		got, err := w.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, got.member())
	}
	if got := strings.Join(members, ""); got != "abaaba" {
		t.Errorf("one connection's requests went to %s, want abaaba", got)
	}
}

func TestHTTP_Answers503WithoutMemberAndStaysConnected(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T, *LoadBalancer){
		"listener without a pool": func(_ *testing.T, lb *LoadBalancer) { lb.Listeners[0].PoolID = "" },
		"pool is disabled":        func(_ *testing.T, lb *LoadBalancer) { lb.Pools[0].AdminUp = false },
		"member is in ERROR":      func(_ *testing.T, lb *LoadBalancer) { lb.Pools[0].Members[0].Status = StatusError },
		"members refuse": func(t *testing.T, lb *LoadBalancer) {
			lb.Pools[0].Members = []Member{refusing(t, "b"), refusing(t, "c")}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
			change(t, &lb)
			serveWeb(t, lb)
			w := dialWire(t, vip(lb))
			for range 2 {
				got, err := w.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				if err != nil || got.StatusCode != http.StatusServiceUnavailable {
					t.Fatalf("got %v, %v; want 503", got.Response, err)
				}
			}
		})
	}
}

func TestHTTP_SendsRequestToAnotherMemberWhenOneRefuses(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, refusing(t, "b"), refusing(t, "c"), webMember(t, "a"))
	serveWeb(t, lb)
	request, err := http.NewRequest(http.MethodPost, "http://"+vip(lb).String()+"/", strings.NewReader("kept"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := do(webClient(t), request)
	if err != nil || got.member() != "a" || !strings.HasSuffix(got.body, "kept") {
		t.Errorf("got %v, %v; want a to have the whole request", got, err)
	}
}

func TestHTTP_Answers502WhenMemberHangsUp(t *testing.T) {
	t.Parallel()
	rude := webMemberOf(t, "a", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	lb := balancer(t, ProtocolHTTP, rude)
	serveWeb(t, lb)
	if got := mustGet(t, webClient(t), vip(lb), "/"); got.StatusCode != http.StatusBadGateway {
		t.Errorf("got %d, want 502", got.StatusCode)
	}
}

func TestHTTP_FollowsConfigurationOnOpenConnection(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
	source := serveWeb(t, lb)
	w := dialWire(t, vip(lb))
	who := func() string {
		got, err := w.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		return got.member()
	}
	if got := who(); got != "a" {
		t.Fatalf("got %s, want a", got)
	}
	next := lb
	next.Pools = slices.Clone(lb.Pools)
	next.Pools[0].Members = []Member{webMember(t, "b")}
	source.put(next)
	becomes(t, "the same connection", "b", who)
}

func TestHTTP_KeepsConnectionForOneRequestAfterItsListener(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"))
	source := serveWeb(t, lb)
	w := dialWire(t, vip(lb))
	if _, err := w.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	next := lb
	next.Listeners = nil
	source.put(next)
	waitClosed(t, vip(lb))
	got, err := w.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if err != nil || got.member() != "a" || !got.Close {
		t.Errorf("got %v, %v; want a last answer by a", got.Response, err)
	}
}

func TestHTTP_EndsConnectionsWithTheirLoadBalancer(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	stuck := webMemberOf(t, "a", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	lb := balancer(t, ProtocolHTTP, stuck)
	source := serveWeb(t, lb)
	idle, busy := dialWire(t, vip(lb)), dialWire(t, vip(lb))
	if _, err := io.WriteString(busy, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-asked
	source.remove(lb.ID)
	for name, w := range map[string]*wire{"idle": idle, "busy": busy} {
		if got, err := w.read(); err == nil {
			t.Errorf("%s connection: got %d, want its end", name, got.StatusCode)
		}
	}
}

func TestHTTP_CarriesTunnels(t *testing.T) {
	t.Parallel()
	echo := webMemberOf(t, "a", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(connection, buffered)
	}))
	lb := balancer(t, ProtocolHTTP, echo)
	serveWeb(t, lb)
	w := dialWire(t, vip(lb))
	if _, err := io.WriteString(w, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(w.reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v, %v; want 101", answer, err)
	}
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
		if got, err := w.reader.ReadString('\n'); err != nil || got != line {
			t.Errorf("through the tunnel: %q, %v; want %q", got, err, line)
		}
	}
}

func TestHTTP_ForwardsAnswerAsItComes(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	slow := webMemberOf(t, "a", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		<-next
		_, _ = io.WriteString(w, "second\n")
	}))
	lb := balancer(t, ProtocolHTTP, slow)
	serveWeb(t, lb)
	answer, err := webClient(t).Get("http://" + vip(lb).String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	if got, err := lines.ReadString('\n'); got != "first\n" {
		t.Errorf("first part: %q, %v", got, err)
	}
	close(next)
	if got, err := lines.ReadString('\n'); got != "second\n" {
		t.Errorf("second part: %q, %v", got, err)
	}
}

func TestHTTP_HonorsAllowedCIDRs(t *testing.T) {
	t.Parallel()
	lb := withCIDRs(balancer(t, ProtocolHTTP, webMember(t, "a")), "10.0.0.0/8", "127.0.0.9/32")
	serveWeb(t, lb)
	if got, err := get(webClient(t), vip(lb), "/"); err == nil {
		t.Errorf("a client outside of the allowed CIDRs got %d", got.StatusCode)
	}
	if got := mustGet(t, webClientFrom(t, "127.0.0.9"), vip(lb), "/"); got.member() != "a" {
		t.Errorf("a client within got %s, want a", got.member())
	}
}

// webClientFrom is a client with an address of its own.
func webClientFrom(t *testing.T, address string) *http.Client {
	t.Helper()
	client := webClient(t)
	dialer := &net.Dialer{LocalAddr: localAddr(networkTCP, netip.MustParseAddr(address))}
	client.Transport.(*http.Transport).DialContext = dialer.DialContext
	return client
}
