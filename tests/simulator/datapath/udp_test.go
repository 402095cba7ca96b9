package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
)

// udpBackend answers each datagram with its name, the client's address and port, and the
// datagram.
func udpBackend(t *testing.T, name string) Member {
	t.Helper()
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		buffer := make([]byte, datagramSize)
		for {
			n, from, err := socket.ReadFromUDPAddrPort(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_, _ = socket.WriteToUDPAddrPort(fmt.Appendf(nil, "%s %s %s", name, from, buffer[:n]), from)
			}
		}
	})
	t.Cleanup(func() {
		_ = socket.Close()
		wait.Wait()
	})
	return member(name, addrPort(socket.LocalAddr()))
}

// udpClient is a client with one port of its own.
type udpClient struct{ *net.UDPConn }

func newUDPClient(t *testing.T, at netip.AddrPort) udpClient {
	t.Helper()
	connection, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return udpClient{connection}
}

// ask sends a datagram and returns who answered and which client that member saw. A lost
// datagram is an error.
func (c udpClient) ask() (member, source string, err error) {
	if _, err := c.Write([]byte("hello")); err != nil {
		return "", "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	buffer := make([]byte, 512)
	n, err := c.Read(buffer)
	if err != nil {
		return "", "", err
	}
	var text string
	if _, err := fmt.Sscan(string(buffer[:n]), &member, &source, &text); err != nil {
		return "", "", fmt.Errorf("read answer %q: %w", buffer[:n], err)
	}
	return member, source, nil
}

// answered repeats ask until there is an answer.
func (c udpClient) answered(t *testing.T) (member, source string) {
	t.Helper()
	eventually(t, "an answer over UDP", func() (err error) {
		member, source, err = c.ask()
		return err
	})
	return member, source
}

func TestUDP_KeepsClientsOnTheirMember(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "UDP", udpBackend(t, "a"), udpBackend(t, "b"))
	start(t, newMemory(lb))

	served := map[string]int{}
	for range 4 {
		client := newUDPClient(t, vip(lb))
		first, source := client.answered(t)
		served[first]++
		for range 3 {
			if again, sourceAgain := client.answered(t); again != first || sourceAgain != source {
				t.Errorf("client moved from %s via %s to %s via %s", first, source, again, sourceAgain)
			}
		}
	}
	if served["a"] != 2 || served["b"] != 2 {
		t.Errorf("clients per member: %v, want two each", served)
	}
}

func TestUDP_ShowsVIPToMembers(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "UDP", udpBackend(t, "a"))
	start(t, newMemory(lb))
	_, source := newUDPClient(t, vip(lb)).answered(t)
	if got := netip.MustParseAddrPort(source).Addr(); got != lb.Addresses[0] {
		t.Errorf("member saw %s, want the VIP %s", got, lb.Addresses[0])
	}
}

func TestUDP_EndsIdleSession(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "UDP", udpBackend(t, "a"))
	start(t, newMemory(lb), func(o *Options) { o.UDPIdleTimeout = time.Millisecond })
	client := newUDPClient(t, vip(lb))
	_, before := client.answered(t)
	// A new session has a new port towards the member.
	eventually(t, "a new session", func() error {
		if _, after := client.answered(t); after == before {
			return fmt.Errorf("still the session from %s", before)
		}
		return nil
	})
}

func TestUDP_MovesSessionWhenItsMemberIsOut(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, pool *Pool){
		"member removed":  func(t *testing.T, pool *Pool) { pool.Members = []Member{udpBackend(t, "b")} },
		"member in ERROR": func(_ *testing.T, pool *Pool) { pool.Members[0].Status = StatusError },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spare := udpBackend(t, "b")
			spare.Backup = true
			lb := balancer(t, "UDP", udpBackend(t, "a"), spare)
			source := newMemory(lb)
			start(t, source)
			client := newUDPClient(t, vip(lb))
			if member, _ := client.answered(t); member != "a" {
				t.Fatalf("first answer from %s, want a", member)
			}
			next := lb
			next.Pools = []Pool{lb.Pools[0]}
			next.Pools[0].Members = slices.Clone(lb.Pools[0].Members)
			change(t, &next.Pools[0])
			source.put(next)
			becomes(t, "after the change", "b", func() string {
				member, _, _ := client.ask()
				return member
			})
		})
	}
}

func TestUDP_ReplacesMemberThatRefuses(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "UDP", refusing(t, "gone"), udpBackend(t, "b"))
	start(t, newMemory(lb))
	for range 3 {
		client := newUDPClient(t, vip(lb))
		becomes(t, "answer", "b", func() string {
			member, _, _ := client.ask()
			return member
		})
	}
}

func TestUDP_HonorsAllowedCIDRs(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "UDP", udpBackend(t, "a"))
	source := newMemory(withCIDRs(lb, "10.0.0.0/8"))
	start(t, source)
	client := newUDPClient(t, vip(lb))
	if member, _, err := client.ask(); err == nil {
		t.Errorf("a client outside of the allowed CIDRs was answered by %s", member)
	}
	source.put(withCIDRs(lb, "127.0.0.0/8"))
	client.answered(t)
}

func TestUDP_SharesPortWithTCP(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "tcp"))
	lb.Listeners = append(lb.Listeners, Listener{ID: "second", Protocol: "UDP", Port: lb.Listeners[0].Port, AdminUp: true, PoolID: "second"})
	lb.Pools = append(lb.Pools, Pool{ID: "second", AdminUp: true, Members: []Member{udpBackend(t, "udp")}})
	start(t, newMemory(lb))
	if s := open(t, vip(lb)); s.member != "tcp" {
		t.Errorf("TCP got %s", s.member)
	}
	if member, _ := newUDPClient(t, vip(lb)).answered(t); member != "udp" {
		t.Errorf("UDP got %s", member)
	}
}

func TestUDP_StopsWithItsListener(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "UDP", udpBackend(t, "a"))
	source := newMemory(lb)
	start(t, source)
	client := newUDPClient(t, vip(lb))
	client.answered(t)
	source.remove(lb.ID)
	eventually(t, "silence", func() error {
		if member, _, err := client.ask(); err == nil {
			return fmt.Errorf("answered by %s", member)
		}
		return nil
	})
}
