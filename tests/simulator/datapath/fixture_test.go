package datapath

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

// memory is a Source and Sink that tests write to.
type memory struct {
	mu          sync.Mutex
	lbs         map[string]LoadBalancer
	subscribers map[int]func()
	next        int
	told        []string
}

func newMemory(lbs ...LoadBalancer) *memory {
	m := &memory{lbs: map[string]LoadBalancer{}, subscribers: map[int]func(){}}
	for _, lb := range lbs {
		m.lbs[lb.ID] = lb
	}
	return m
}

func (m *memory) LoadBalancers() []LoadBalancer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.lbs))
}

func (m *memory) Subscribe(notify func()) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	key := m.next
	m.subscribers[key] = notify
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.subscribers, key)
	}
}

func (m *memory) SetMemberOperatingStatus(memberID, status string) {
	m.edit(func(lbs map[string]LoadBalancer) {
		m.told = append(m.told, memberID+" "+status)
		for id, lb := range lbs {
			lbs[id] = withStatus(lb, memberID, status)
		}
	})
}

// withStatus returns a copy of lb, so that what LoadBalancers gave out stays as it was.
func withStatus(lb LoadBalancer, memberID, status string) LoadBalancer {
	lb.Pools = slices.Clone(lb.Pools)
	for i := range lb.Pools {
		lb.Pools[i].Members = slices.Clone(lb.Pools[i].Members)
		for j := range lb.Pools[i].Members {
			if lb.Pools[i].Members[j].ID == memberID {
				lb.Pools[i].Members[j].Status = status
			}
		}
	}
	return lb
}

func (m *memory) edit(change func(lbs map[string]LoadBalancer)) {
	m.mu.Lock()
	change(m.lbs)
	subscribers := slices.Collect(maps.Values(m.subscribers))
	m.mu.Unlock()
	for _, notify := range subscribers {
		notify()
	}
}

func (m *memory) put(lb LoadBalancer) {
	m.edit(func(lbs map[string]LoadBalancer) { lbs[lb.ID] = lb })
}

func (m *memory) remove(id string) {
	m.edit(func(lbs map[string]LoadBalancer) { delete(lbs, id) })
}

func (m *memory) status(memberID string) string {
	for _, lb := range m.LoadBalancers() {
		for _, pool := range lb.Pools {
			for _, member := range pool.Members {
				if member.ID == memberID {
					return member.Status
				}
			}
		}
	}
	return ""
}

// start runs a plane over the source until the test ends.
func start(t *testing.T, source *memory, adjust ...func(*Options)) *Plane {
	t.Helper()
	options := Options{Source: source, Sink: source, TimeScale: 0.01, BindRetry: 10 * time.Millisecond}
	for _, change := range adjust {
		change(&options)
	}
	plane := Start(options)
	t.Cleanup(plane.Close)
	return plane
}

// ownAddress returns an address of 127.0.0.0/8 that no other test uses.
func ownAddress(t *testing.T, label string) netip.Addr {
	t.Helper()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", t.Name(), label, os.Getpid()))
	return netip.AddrFrom4([4]byte{127, 16 + sum[0]%200, sum[1], 1 + sum[2]%250})
}

// backend is a TCP server that greets with its name and the client's address, and then
// echoes what it gets.
func backend(t *testing.T, name string) Member {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveBackend(t, name, listener)
}

func serveBackend(t *testing.T, name string, listener net.Listener) Member {
	t.Helper()
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer client.Close()
				_, _ = fmt.Fprintf(client, "%s %s\n", name, addrPort(client.RemoteAddr()).Addr())
				_, _ = io.Copy(client, client)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	return member(name, addrPort(listener.Addr()))
}

func member(name string, at netip.AddrPort) Member {
	return Member{ID: name, Address: at.Addr(), Port: at.Port(), Weight: 1, AdminUp: true, Status: StatusNoMonitor}
}

// balancer returns a settled load balancer with one listener of the protocol and one pool.
func balancer(t *testing.T, protocol string, members ...Member) LoadBalancer {
	t.Helper()
	vip := ownAddress(t, "vip")
	return LoadBalancer{
		ID: "lb", Settled: true, AdminUp: true, Addresses: []netip.Addr{vip},
		Listeners: []Listener{{ID: "listener", Protocol: protocol, Port: uint16(loopback.FreePort(t)), AdminUp: true, PoolID: "pool"}},
		Pools:     []Pool{{ID: "pool", Algorithm: AlgorithmRoundRobin, AdminUp: true, Members: members}},
	}
}

// vip is where the first listener of the load balancer is reached.
func vip(lb LoadBalancer) netip.AddrPort {
	return netip.AddrPortFrom(lb.Addresses[0], lb.Listeners[0].Port)
}

// session is an open connection through a VIP.
type session struct {
	*net.TCPConn
	reader *bufio.Reader
	// member and source are what the backend said: its name and the client it sees.
	member, source string
}

// connect opens a connection and reads the backend's greeting.
func connect(at netip.AddrPort) (*session, error) {
	connection, err := net.DialTimeout("tcp", at.String(), await.Patience)
	if err != nil {
		return nil, err
	}
	s := &session{TCPConn: connection.(*net.TCPConn), reader: bufio.NewReader(connection)}
	_ = s.SetDeadline(time.Now().Add(await.Patience))
	greeting, err := s.reader.ReadString('\n')
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("read greeting: %w", err)
	}
	s.member, s.source, _ = strings.Cut(strings.TrimSpace(greeting), " ")
	return s, nil
}

// open is connect, repeated until it works, and closed when the test ends.
func open(t *testing.T, at netip.AddrPort) *session {
	t.Helper()
	var s *session
	eventually(t, "connect to "+at.String(), func() (err error) {
		s, err = connect(at)
		return err
	})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// answering returns the member that accepts a new connection, or "nobody".
func answering(at netip.AddrPort) string {
	s, err := connect(at)
	if err != nil {
		return "nobody"
	}
	_ = s.Close()
	return s.member
}

// echo sends a line through the session and expects it back.
func (s *session) echo(line string) error {
	if _, err := fmt.Fprintln(s, line); err != nil {
		return err
	}
	got, err := s.reader.ReadString('\n')
	if err != nil {
		return err
	}
	if got != line+"\n" {
		return fmt.Errorf("echo: got %q, want %q", got, line)
	}
	return nil
}

// ended reads until the connection ends; a connection that stays open is an error.
func (s *session) ended() error {
	_ = s.SetReadDeadline(time.Now().Add(await.Patience))
	_, err := s.reader.ReadByte()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("connection is still open: %w", err)
	}
	return nil
}

// eventually repeats check until it succeeds.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(await.Patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// becomes repeats get until it returns want.
func becomes(t *testing.T, what, want string, get func() string) {
	t.Helper()
	eventually(t, what, func() error {
		if got := get(); got != want {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}
