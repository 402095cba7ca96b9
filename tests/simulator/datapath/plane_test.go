package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

func TestPlane_StartsToServeActiveLoadBalancersOnly(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	lb.Settled = false
	other := balancer(t, "TCP", backend(t, "b"))
	other.ID, other.Addresses = "other", []netip.Addr{ownAddress(t, "other")}
	source := newMemory(lb, other)
	start(t, source)

	open(t, vip(other)) // by now the plane has seen both
	if got := answering(vip(lb)); got != "nobody" {
		t.Errorf("a load balancer that is being created is served by %s", got)
	}
	lb.Settled = true
	source.put(lb)
	open(t, vip(lb))
}

func TestPlane_AppliesUpdateWhenItIsDone(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	source := newMemory(lb)
	start(t, source)
	open(t, vip(lb))

	pending := lb
	pending.Settled = false
	pending.Addresses = []netip.Addr{lb.Addresses[0], ownAddress(t, "floating")}
	pending.Pools = []Pool{lb.Pools[0]}
	pending.Pools[0].Members = []Member{backend(t, "b")}
	source.put(pending)
	// The floating IP is Neutron's and works at once: it shows that the plane has applied the
	// change.
	floating := netip.AddrPortFrom(pending.Addresses[1], lb.Listeners[0].Port)
	if s := open(t, floating); s.member != "a" {
		t.Errorf("pending update: connection got %s, want a", s.member)
	}

	pending.Settled = true
	source.put(pending)
	becomes(t, "after the update", "b", func() string { return answering(vip(lb)) })
}

func TestPlane_KeepsConnectionsWhenConfigurationChanges(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T, *LoadBalancer){
		"member replaced":  func(t *testing.T, lb *LoadBalancer) { lb.Pools[0].Members = []Member{backend(t, "b")} },
		"member disabled":  func(_ *testing.T, lb *LoadBalancer) { lb.Pools[0].Members[0].AdminUp = false },
		"pool removed":     func(_ *testing.T, lb *LoadBalancer) { lb.Pools = nil },
		"listener removed": func(_ *testing.T, lb *LoadBalancer) { lb.Listeners = nil },
		"other algorithm":  func(_ *testing.T, lb *LoadBalancer) { lb.Pools[0].Algorithm = AlgorithmSourceIP },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, "TCP", backend(t, "a"))
			source := newMemory(lb)
			start(t, source)
			old := open(t, vip(lb))

			next := lb
			next.Pools = []Pool{lb.Pools[0]}
			next.Pools[0].Members = slices.Clone(lb.Pools[0].Members)
			change(t, &next)
			next.Addresses = append(slices.Clone(lb.Addresses), ownAddress(t, "marker"))
			next.Listeners = append(slices.Clone(next.Listeners), marker(t))
			source.put(next)
			waitOpen(t, netip.AddrPortFrom(next.Addresses[1], next.Listeners[len(next.Listeners)-1].Port))
			if err := old.echo("still here"); err != nil {
				t.Errorf("connection from before the change: %v", err)
			}
		})
	}
}

// marker is a listener that is open when the plane has applied a change.
func marker(t *testing.T) Listener {
	t.Helper()
	return Listener{ID: "marker", Protocol: "TCP", Port: uint16(loopback.FreePort(t)), AdminUp: true}
}

func waitOpen(t *testing.T, at netip.AddrPort) {
	t.Helper()
	eventually(t, "connect to "+at.String(), func() error {
		connection, err := net.DialTimeout("tcp", at.String(), await.Patience)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

func waitClosed(t *testing.T, at netip.AddrPort) {
	t.Helper()
	eventually(t, "refusal at "+at.String(), func() error {
		connection, err := net.DialTimeout("tcp", at.String(), await.Patience)
		if err != nil {
			return nil //nolint:nilerr // the wait is for this error
		}
		_ = connection.Close()
		return errors.New("still listening")
	})
}

func TestPlane_OpensAndClosesFloatingIPWithItsConnections(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	source := newMemory(lb)
	start(t, source)
	direct := open(t, vip(lb))

	withFloating := lb
	withFloating.Addresses = append(slices.Clone(lb.Addresses), ownAddress(t, "floating"))
	source.put(withFloating)
	floating := netip.AddrPortFrom(withFloating.Addresses[1], lb.Listeners[0].Port)
	through := open(t, floating)

	source.put(lb)
	waitClosed(t, floating)
	if err := through.ended(); err != nil {
		t.Errorf("connection through the floating IP: %v", err)
	}
	if err := direct.echo("still here"); err != nil {
		t.Errorf("connection through the VIP: %v", err)
	}
}

func TestPlane_StopsServingWhatIsDisabledOrDeleted(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*memory, LoadBalancer){
		"the load balancer deleted": func(source *memory, lb LoadBalancer) { source.remove(lb.ID) },
		"the load balancer disabled": func(source *memory, lb LoadBalancer) {
			lb.AdminUp = false
			source.put(lb)
		},
		"the listener disabled": func(source *memory, lb LoadBalancer) {
			lb.Listeners = slices.Clone(lb.Listeners)
			lb.Listeners[0].AdminUp = false
			source.put(lb)
		},
		"the listener deleted": func(source *memory, lb LoadBalancer) {
			lb.Listeners = nil
			source.put(lb)
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb := balancer(t, "TCP", backend(t, "a"))
			source := newMemory(lb)
			start(t, source)
			open(t, vip(lb))
			change(source, lb)
			waitClosed(t, vip(lb))
		})
	}
}

func TestPlane_EndsConnectionsWithTheirLoadBalancer(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	source := newMemory(lb)
	start(t, source)
	s := open(t, vip(lb))
	source.remove(lb.ID)
	if err := s.ended(); err != nil {
		t.Error(err)
	}
}

func TestPlane_EndsEverythingOnClose(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	source := newMemory(lb)
	plane := start(t, source)
	s := open(t, vip(lb))
	plane.Close()
	if err := s.ended(); err != nil {
		t.Error(err)
	}
	if got := answering(vip(lb)); got != "nobody" {
		t.Errorf("a closed plane is served by %s", got)
	}
	if len(source.subscribers) != 0 {
		t.Error("a closed plane is still subscribed")
	}
}

// reports collects what a plane reports.
type reports struct {
	mu   sync.Mutex
	seen []string
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, err.Error())
}

func (r *reports) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

func TestPlane_ReportsAddressInUseOnceAndRetries(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	squatter, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(vip(lb)))
	if err != nil {
		t.Fatal(err)
	}
	var said reports
	source := newMemory(lb)
	start(t, source, func(o *Options) { o.Report = said.add })
	eventually(t, "a report", func() error {
		if len(said.list()) == 0 {
			return errors.New("nothing reported")
		}
		return nil
	})
	_ = squatter.Close()
	open(t, vip(lb))
	got := said.list()
	if len(got) != 1 || !strings.Contains(got[0], "listener listener of load balancer lb") {
		t.Errorf("reported %q, want one line that names the listener", got)
	}
}

func TestPlane_ServesLoopbackAddressesOnly(t *testing.T) {
	t.Parallel()
	lb := balancer(t, "TCP", backend(t, "a"))
	lb.Addresses = append(slices.Clone(lb.Addresses), netip.MustParseAddr("0.0.0.0"))
	var said reports
	start(t, newMemory(lb), func(o *Options) { o.Report = said.add })
	open(t, vip(lb))
	eventually(t, "a report", func() error {
		if got := fmt.Sprint(said.list()); !strings.Contains(got, "no loopback address") {
			return fmt.Errorf("reported %s", got)
		}
		return nil
	})
}

func TestPlane_ServesSmallerIDOfTwoRivalsForAddress(t *testing.T) {
	t.Parallel()
	first := balancer(t, "TCP", backend(t, "a"))
	second := first
	second.ID = "lb2"
	second.Listeners = []Listener{first.Listeners[0]}
	second.Listeners[0].PoolID = "pool2"
	second.Pools = []Pool{{ID: "pool2", AdminUp: true, Members: []Member{backend(t, "b")}}}
	source := newMemory(second, first)
	start(t, source)

	if s := open(t, vip(first)); s.member != "a" {
		t.Errorf("both present: got %s, want a", s.member)
	}
	source.remove(first.ID)
	becomes(t, "the first one gone", "b", func() string { return answering(vip(first)) })
}
