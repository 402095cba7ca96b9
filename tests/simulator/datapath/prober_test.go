package datapath

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// monitor is one of the given type that probes every few milliseconds.
func monitor(kind string) *Monitor {
	return &Monitor{
		Type: kind, AdminUp: true, MaxRetries: 1, MaxRetriesDown: 1,
		Delay: time.Second, Timeout: 5 * time.Second,
	}
}

func wantStatus(t *testing.T, source *memory, memberID, want string) {
	t.Helper()
	becomes(t, "status of "+memberID, want, func() string { return source.status(memberID) })
}

// healthServer answers with the code that was last set.
type healthServer struct {
	code     atomic.Int32
	requests chan string
	at       netip.AddrPort
}

func newHealthServer(t *testing.T, start func(http.Handler) *httptest.Server) *healthServer {
	t.Helper()
	h := &healthServer{requests: make(chan string, 1)}
	h.code.Store(http.StatusOK)
	server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case h.requests <- r.Method + " " + r.URL.String() + " " + r.Host:
		default:
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(h.code.Load()))
	}))
	t.Cleanup(server.Close)
	h.at = addrPort(server.Listener.Addr())
	return h
}

func TestMonitor_TakesMembersOutAndBackByTCP(t *testing.T) {
	t.Parallel()
	down := refusing(t, "b")
	lb := balancer(t, "TCP", backend(t, "a"), down)
	lb.Pools[0].Monitor = monitor(MonitorTCP)
	source := newMemory(lb)
	start(t, source)

	wantStatus(t, source, "a", StatusOnline)
	wantStatus(t, source, "b", StatusError)
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(down.Address, down.Port)))
	if err != nil {
		t.Fatal(err)
	}
	serveBackend(t, "b", listener)
	wantStatus(t, source, "b", StatusOnline)
}

func TestMonitor_DirectsTraffic(t *testing.T) {
	t.Parallel()
	a, b := backend(t, "a"), backend(t, "b")
	healthA, healthB := newHealthServer(t, httptest.NewServer), newHealthServer(t, httptest.NewServer)
	a.MonitorPort, b.MonitorPort = healthA.at.Port(), healthB.at.Port()
	a.MonitorAddress = healthA.at.Addr()
	healthB.code.Store(http.StatusServiceUnavailable)
	lb := balancer(t, "TCP", a, b)
	lb.Pools[0].Monitor = monitor(MonitorHTTP)
	source := newMemory(lb)
	start(t, source)

	wantStatus(t, source, "b", StatusError)
	wantStatus(t, source, "a", StatusOnline)
	open(t, vip(lb))
	three := func() string {
		return strings.Join([]string{answering(vip(lb)), answering(vip(lb)), answering(vip(lb))}, " ")
	}
	becomes(t, "traffic", "a a a", three) // the data path hears of a status after the API shows it
	for range 6 {
		if got := answering(vip(lb)); got != "a" {
			t.Fatalf("connection got %s, want a, the healthy member", got)
		}
	}
	healthA.code.Store(http.StatusServiceUnavailable)
	healthB.code.Store(http.StatusOK)
	wantStatus(t, source, "a", StatusError)
	wantStatus(t, source, "b", StatusOnline)
	becomes(t, "traffic", "b b b", three)
}

func TestMonitor_SendsConfiguredHTTPRequest(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(http.Handler) *httptest.Server{
		MonitorHTTP: httptest.NewServer, MonitorHTTPS: httptest.NewTLSServer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			health := newHealthServer(t, begin)
			lb := balancer(t, "TCP", member("a", health.at))
			probes := monitor(name)
			probes.Method, probes.Path, probes.DomainName = "HEAD", "/healthz?deep=1", "app.example.com"
			probes.ExpectedCodes = "200,302"
			lb.Pools[0].Monitor = probes
			source := newMemory(lb)
			start(t, source)

			wantStatus(t, source, "a", StatusOnline)
			if got, want := <-health.requests, "HEAD /healthz?deep=1 app.example.com"; got != want {
				t.Errorf("probe asked %q, want %q", got, want)
			}
			health.code.Store(http.StatusNoContent)
			wantStatus(t, source, "a", StatusError)
			health.code.Store(http.StatusFound)
			wantStatus(t, source, "a", StatusOnline)
		})
	}
}

func TestMonitor_ProbesByType(t *testing.T) {
	t.Parallel()
	plain := func(t *testing.T) netip.AddrPort { return newHealthServer(t, httptest.NewServer).at }
	secure := func(t *testing.T) netip.AddrPort { return newHealthServer(t, httptest.NewTLSServer).at }
	echo := func(t *testing.T) netip.AddrPort {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(connection, connection); _ = connection.Close() }()
			}
		}()
		return addrPort(listener.Addr())
	}
	udp := func(t *testing.T) netip.AddrPort {
		m := udpBackend(t, "udp")
		return netip.AddrPortFrom(m.Address, m.Port)
	}
	silent := func(t *testing.T) netip.AddrPort {
		socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = socket.Close() })
		return addrPort(socket.LocalAddr())
	}
	nobody := func(t *testing.T) netip.AddrPort {
		m := refusing(t, "nobody")
		return netip.AddrPortFrom(m.Address, m.Port)
	}
	far := func(*testing.T) netip.AddrPort { return netip.MustParseAddrPort("192.0.2.1:80") }
	tests := []struct {
		kind   string
		name   string
		target func(*testing.T) netip.AddrPort
		want   string
	}{
		{MonitorTCP, "open port", plain, StatusOnline},
		{MonitorTCP, "closed port", nobody, StatusError},
		{MonitorTCP, "not loopback", far, StatusError},
		{MonitorHTTP, "plain", plain, StatusOnline},
		{MonitorHTTP, "closed port", nobody, StatusError},
		{MonitorHTTPS, "TLS", secure, StatusOnline},
		{MonitorHTTPS, "plain", plain, StatusError},
		{MonitorTLSHello, "TLS", secure, StatusOnline},
		{MonitorTLSHello, "plain", plain, StatusError},
		{MonitorTLSHello, "echo", echo, StatusOnline},
		{MonitorUDPConnect, "answers", udp, StatusOnline},
		{MonitorUDPConnect, "is silent", silent, StatusOnline},
		{MonitorUDPConnect, "closed port", nobody, StatusError},
		{MonitorPing, "any", nobody, StatusOnline},
	}
	for _, test := range tests {
		t.Run(test.kind+" "+test.name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, "TCP", member("a", test.target(t)))
			lb.Pools[0].Monitor = monitor(test.kind)
			source := newMemory(lb)
			start(t, source)
			wantStatus(t, source, "a", test.want)
		})
	}
}

func TestMonitor_ReportsChangesOnly(t *testing.T) {
	t.Parallel()
	health := newHealthServer(t, httptest.NewServer)
	lb := balancer(t, "TCP", member("a", health.at))
	lb.Pools[0].Monitor = monitor(MonitorHTTP)
	source := newMemory(lb)
	start(t, source)
	for range 5 {
		<-health.requests
	}
	health.code.Store(http.StatusInternalServerError)
	wantStatus(t, source, "a", StatusError)
	source.mu.Lock()
	defer source.mu.Unlock()
	if want := []string{"a ONLINE", "a ERROR"}; !slices.Equal(source.told, want) {
		t.Errorf("told %q, want %q", source.told, want)
	}
}

func TestMonitor_CorrectsStatusSetByHandWithNextProbe(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	lb.Pools[0].Monitor = monitor(MonitorTCP)
	source := newMemory(lb)
	start(t, source)
	wantStatus(t, source, "a", StatusOnline)
	source.SetMemberOperatingStatus("a", StatusError)
	wantStatus(t, source, "a", StatusOnline)
}

func TestMonitor_FindsMemberOfWeightZeroDraining(t *testing.T) {
	t.Parallel()
	drained := backend(t, "a")
	drained.Weight = 0
	lb := balancer(t, "TCP", drained)
	lb.Pools[0].Monitor = monitor(MonitorTCP)
	source := newMemory(lb)
	start(t, source)
	wantStatus(t, source, "a", StatusDraining)
}

func TestMonitor_StopsProbingWhatIsDisabledOrDeleted(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*LoadBalancer){
		"monitor deleted":        func(lb *LoadBalancer) { lb.Pools[0].Monitor = nil },
		"member disabled":        func(lb *LoadBalancer) { lb.Pools[0].Members[0].AdminUp = false },
		"member deleted":         func(lb *LoadBalancer) { lb.Pools[0].Members = nil },
		"load balancer disabled": func(lb *LoadBalancer) { lb.AdminUp = false },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			health := newHealthServer(t, httptest.NewServer)
			lb := balancer(t, "TCP", member("a", health.at))
			lb.Pools[0].Monitor = monitor(MonitorHTTP)
			source := newMemory(lb)
			start(t, source)
			<-health.requests

			next := lb
			next.Pools = []Pool{lb.Pools[0]}
			next.Pools[0].Members = slices.Clone(lb.Pools[0].Members)
			change(&next)
			source.put(next)
			eventually(t, "no more probes", func() error {
				for len(health.requests) > 0 {
					<-health.requests
				}
				select {
				case <-health.requests:
					return errors.New("still probed")
				case <-time.After(200 * time.Millisecond):
					return nil
				}
			})
		})
	}
}

func TestMonitor_KeepsVerdictWhenChanged(t *testing.T) {
	t.Parallel()
	health := newHealthServer(t, httptest.NewServer)
	lb := balancer(t, "TCP", member("a", health.at))
	lb.Pools[0].Monitor = monitor(MonitorHTTP)
	source := newMemory(lb)
	start(t, source)
	wantStatus(t, source, "a", StatusOnline)

	// The changed monitor fails, but needs more failures than it will ever see.
	next := lb
	next.Pools = []Pool{lb.Pools[0]}
	patient := *monitor(MonitorHTTP)
	patient.Path, patient.ExpectedCodes, patient.MaxRetriesDown = "/changed", "204", 1_000_000
	next.Pools[0].Monitor = &patient
	next.Pools[0].Members = []Member{next.Pools[0].Members[0]}
	next.Pools[0].Members[0].Status = StatusOnline
	source.put(next)
	probed := 0
	eventually(t, "probes of the changed monitor", func() error {
		if got := <-health.requests; strings.Contains(got, "/changed") {
			probed++
		}
		if probed < 4 {
			return fmt.Errorf("probed %d times", probed)
		}
		return nil
	})
	if got := source.status("a"); got != StatusOnline {
		t.Errorf("status %s, want ONLINE: the first failure of a changed monitor does not decide", got)
	}
}
