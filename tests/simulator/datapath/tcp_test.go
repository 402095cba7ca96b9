package datapath

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

func TestTCP_ReachesMemberFromVIP(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	start(t, newMemory(lb))

	s := open(t, vip(lb))
	if s.member != "a" || s.source != lb.Addresses[0].String() {
		t.Errorf("member %q saw client %q, want a and the VIP %s", s.member, s.source, lb.Addresses[0])
	}
	if err := s.echo("hello"); err != nil {
		t.Error(err)
	}
}

func TestTCP_ShowsClientToMembersWhenProviderKeepsItsAddress(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	lb.KeepClientAddress = true
	start(t, newMemory(lb))

	if s := open(t, vip(lb)); s.source != "127.0.0.1" {
		t.Errorf("member saw client %q, want 127.0.0.1", s.source)
	}
}

func TestTCP_ForwardsHalfClose(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	start(t, newMemory(lb))

	s := open(t, vip(lb))
	large := strings.Repeat("x", 1<<20)
	go func() {
		_, _ = io.WriteString(s, large)
		_ = s.CloseWrite()
	}()
	got, err := io.ReadAll(s.reader)
	if err != nil || string(got) != large {
		t.Errorf("read %d bytes after closing our side (%v), want %d", len(got), err, len(large))
	}
}

func TestTCP_FollowsWeightsByRoundRobin(t *testing.T) {
	t.Parallel()
	a, b := backend(t, "a"), backend(t, "b")
	a.Weight = 3
	lb := balancer(t, "TCP", a, b)
	start(t, newMemory(lb))

	open(t, vip(lb))
	counts := map[string]int{}
	for range 40 {
		counts[answering(vip(lb))]++
	}
	if counts["a"] != 30 || counts["b"] != 10 {
		t.Errorf("got %v, want a:30 b:10", counts)
	}
}

func TestTCP_CutsOffClientsOutsideAllowedCIDRs(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	source := newMemory(lb)
	start(t, source)
	open(t, vip(lb))

	lb = withCIDRs(lb, "10.0.0.0/8")
	source.put(lb)
	becomes(t, "with 10.0.0.0/8", "nobody", func() string { return answering(vip(lb)) })

	lb = withCIDRs(lb, "10.0.0.0/8", "127.0.0.1/32")
	source.put(lb)
	becomes(t, "with 127.0.0.1/32", "a", func() string { return answering(vip(lb)) })
}

func withCIDRs(lb LoadBalancer, cidrs ...string) LoadBalancer {
	listener := lb.Listeners[0]
	listener.AllowedCIDRs = nil
	for _, cidr := range cidrs {
		listener.AllowedCIDRs = append(listener.AllowedCIDRs, netip.MustParsePrefix(cidr))
	}
	lb.Listeners = []Listener{listener}
	return lb
}

func TestTCP_ReplacesMemberThatRefuses(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"), refusing(t, "b"), refusing(t, "c"))
	start(t, newMemory(lb))

	open(t, vip(lb))
	for range 6 {
		if got := answering(vip(lb)); got != "a" {
			t.Fatalf("connection got %q, want a", got)
		}
	}
}

func TestTCP_IgnoresMonitorsOnUncheckedFloatingIPs(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", refusing(t, "a"))
	floating := ownAddress(t, "floating")
	lb.Addresses, lb.Fixed = append(lb.Addresses, floating), map[netip.Addr]netip.Addr{floating: lb.Addresses[0]}
	lb.FloatingUnchecked = true
	b := backend(t, "b")
	b.Status = StatusError
	lb.Pools[0].Members = append(lb.Pools[0].Members, b)
	start(t, newMemory(lb))

	seen := map[string]bool{}
	eventually(t, "an answer of the one in ERROR, and none of the one that refuses", func() error {
		session, err := connect(netip.AddrPortFrom(floating, lb.Listeners[0].Port))
		if err == nil {
			defer func() { _ = session.Close() }()
			seen[session.member] = true
		} else {
			seen["nobody"] = true
		}
		if !seen["b"] || !seen["nobody"] {
			return fmt.Errorf("answered by %v", seen)
		}
		return nil
	})
	if session, err := connect(vip(lb)); err == nil {
		t.Errorf("at the VIP %s answered", session.member)
		_ = session.Close()
	}
}

// refusing is a member with a closed port.
func refusing(t *testing.T, name string) Member {
	t.Helper()
	address := ownAddress(t, name)
	return member(name, netip.AddrPortFrom(address, uint16(loopback.FreePort(t))))
}

func TestTCP_EndsConnectionsAtOnceWhenNobodyCanServe(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*LoadBalancer){
		"listener without a pool": func(lb *LoadBalancer) { lb.Listeners[0].PoolID = "" },
		"pool without members":    func(lb *LoadBalancer) { lb.Pools[0].Members = nil },
		"pool is disabled":        func(lb *LoadBalancer) { lb.Pools[0].AdminUp = false },
		"member is disabled":      func(lb *LoadBalancer) { lb.Pools[0].Members[0].AdminUp = false },
		"member has weight 0":     func(lb *LoadBalancer) { lb.Pools[0].Members[0].Weight = 0 },
		"member is in ERROR":      func(lb *LoadBalancer) { lb.Pools[0].Members[0].Status = StatusError },
		"member is not loopback": func(lb *LoadBalancer) {
			lb.Pools[0].Members[0].Address = netip.MustParseAddr("192.0.2.1")
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, "TCP", backend(t, "a"))
			change(&lb)
			start(t, newMemory(lb))
			var connection net.Conn
			eventually(t, "connect", func() (err error) {
				connection, err = net.DialTimeout("tcp", vip(lb).String(), await.Patience)
				return err
			})
			defer connection.Close()
			if n, err := connection.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("read %d bytes, %v; want the end of the connection", n, err)
			}
		})
	}
}

func TestTCP_PrefersIdleMemberByLeastConnections(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"), backend(t, "b"))
	lb.Pools[0].Algorithm = AlgorithmLeastConnections
	start(t, newMemory(lb))

	held := []*session{open(t, vip(lb))}
	for range 3 {
		held = append(held, open(t, vip(lb)))
	}
	counts := map[string]int{}
	for _, s := range held {
		counts[s.member]++
	}
	if counts["a"] != 2 || counts["b"] != 2 {
		t.Fatalf("got %v, want two each", counts)
	}
	for _, s := range held {
		if s.member == "a" {
			_ = s.Close()
		}
	}
	// The plane hears of the two closed connections at its own pace; once it has, two new
	// ones go to a.
	eventually(t, "two connections to a", func() error {
		first, err := connect(vip(lb))
		if err != nil {
			return err
		}
		defer func() { _ = first.Close() }()
		second, err := connect(vip(lb))
		if err != nil {
			return err
		}
		defer func() { _ = second.Close() }()
		if first.member != "a" || second.member != "a" {
			return fmt.Errorf("got %s and %s", first.member, second.member)
		}
		return nil
	})
}
