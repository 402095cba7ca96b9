package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// limited returns the load balancer with a connection limit on its listener.
func limited(lb LoadBalancer, limit int) LoadBalancer {
	lb.Listeners = slices.Clone(lb.Listeners)
	lb.Listeners[0].ConnectionLimit = limit
	return lb
}

// waiting connects and expects no greeting for a moment.
func waiting(t *testing.T, at netip.AddrPort) net.Conn {
	t.Helper()
	connection, err := net.DialTimeout("tcp", at.String(), await.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	_ = connection.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := connection.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a connection beyond the limit read %d bytes, %v", n, err)
	}
	return connection
}

// served reads the greeting's first byte.
func served(connection net.Conn) error {
	_ = connection.SetReadDeadline(time.Now().Add(await.Patience))
	_, err := connection.Read(make([]byte, 1))
	return err
}

func TestLimit_MakesConnectionsBeyondItWait(t *testing.T) {
	t.Parallel()
	tests := map[string]func(source *memory, lb LoadBalancer, first *session){
		"until another ends":      func(_ *memory, _ LoadBalancer, first *session) { _ = first.Close() },
		"until the limit is more": func(source *memory, lb LoadBalancer, _ *session) { source.put(limited(lb, 2)) },
		"until there is no limit": func(source *memory, lb LoadBalancer, _ *session) { source.put(limited(lb, -1)) },
	}
	for name, relieve := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := limited(balancer(t, "TCP", backend(t, "a")), 1)
			source := newMemory(lb)
			start(t, source)
			first := open(t, vip(lb))
			second := waiting(t, vip(lb))
			relieve(source, lb, first)
			if err := served(second); err != nil {
				t.Errorf("the second connection: %v", err)
			}
		})
	}
}

func TestLimit_CountsOverAllAddresses(t *testing.T) {
	t.Parallel()
	lb := limited(balancer(t, "TCP", backend(t, "a")), 1)
	lb.Addresses = append(lb.Addresses, ownAddress(t, "floating"))
	start(t, newMemory(lb))
	floating := netip.AddrPortFrom(lb.Addresses[1], lb.Listeners[0].Port)
	first := open(t, floating)
	second := waiting(t, vip(lb))
	_ = first.Close()
	if err := served(second); err != nil {
		t.Errorf("the second connection: %v", err)
	}
}

func TestLimit_EndsWaitingConnectionWithItsListener(t *testing.T) {
	t.Parallel()
	lb := limited(balancer(t, "TCP", backend(t, "a")), 1)
	source := newMemory(lb)
	start(t, source)
	open(t, vip(lb))
	second := waiting(t, vip(lb))
	source.remove(lb.ID)
	if err := served(second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the waiting connection: %v, want its end", err)
	}
}

func TestLimit_LeavesWaitingConnectionToNextListener(t *testing.T) {
	t.Parallel()
	lb := limited(balancer(t, "TCP", backend(t, "a")), 1)
	source := newMemory(lb)
	start(t, source)
	open(t, vip(lb))
	second := waiting(t, vip(lb))
	next := limited(lb, 1)
	next.Listeners[0].ID = "another"
	source.put(next)
	if err := served(second); err != nil {
		t.Errorf("the waiting connection: %v", err)
	}
}

func TestLimit_CountsUDPClientsPerMember(t *testing.T) {
	t.Parallel()
	lb := limited(balancer(t, ProtocolUDP, udpBackend(t, "a"), udpBackend(t, "b")), 1)
	start(t, newMemory(lb))
	first, second, third := newUDPClient(t, vip(lb)), newUDPClient(t, vip(lb)), newUDPClient(t, vip(lb))
	a, _ := first.answered(t)
	b, _ := second.answered(t)
	if a == b {
		t.Errorf("both clients are on %s", a)
	}
	if member, _, err := third.ask(); err == nil {
		t.Errorf("a third client was answered by %s", member)
	}
}

// many is how many connections the data path must carry at one time.
const many = 1000

// crowd runs join for many clients, 50 at a time, and returns the first error.
func crowd(join func(i int) error) error {
	var (
		wait   sync.WaitGroup
		places = make(chan struct{}, 50)
		errs   = make(chan error, many)
	)
	for i := range many {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			errs <- join(i)
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTCP_ServesThousandConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"), backend(t, "b"))
	lb.Pools[0].Algorithm = AlgorithmLeastConnections
	lb.Listeners[0].Timeouts = Timeouts{ClientData: time.Hour, MemberData: time.Hour}
	start(t, newMemory(lb))
	open(t, vip(lb))
	sessions := make([]*session, many)
	t.Cleanup(func() {
		for _, s := range sessions {
			if s != nil {
				_ = s.Close()
			}
		}
	})
	for range 2 {
		err := crowd(func(i int) (err error) {
			if sessions[i] == nil {
				if sessions[i], err = connect(vip(lb)); err != nil {
					return err
				}
			}
			_ = sessions[i].SetDeadline(time.Now().Add(await.Patience))
			return sessions[i].echo(fmt.Sprint(i))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	counts := map[string]int{}
	for _, s := range sessions {
		counts[s.member]++
	}
	if difference := counts["a"] - counts["b"]; difference < -60 || difference > 60 {
		t.Errorf("connections per member: %v", counts)
	}
}

func TestHTTP_ServesThousandConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	lb := balancer(t, ProtocolHTTP, webMember(t, "a"), webMember(t, "b"))
	serveWeb(t, lb)
	wires := make([]*wire, many)
	for i := range wires {
		wires[i] = dialWire(t, vip(lb))
	}
	err := crowd(func(i int) error {
		got, err := wires[i].ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if err == nil && got.StatusCode != http.StatusOK {
			err = errors.New(got.Status)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
