package routes_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// interference is a network that another client changes after our read and before our
// write.
type interference struct {
	routes.Network
	writes atomic.Int32
	// change is what the other client does before the n-th write, counting from 1.
	change func(n int)
}

func (i *interference) meanwhile() { i.change(int(i.writes.Add(1))) }

func (i *interference) SetAddressPairs(ctx context.Context, port *neutron.RoutedPort, pairs []neutron.AddressPair) error {
	i.meanwhile()
	return i.Network.SetAddressPairs(ctx, port, pairs)
}

func (i *interference) SetRoutes(ctx context.Context, router *neutron.Router, all []neutron.ExtraRoute) (*neutron.Router, error) {
	i.meanwhile()
	return i.Network.SetRoutes(ctx, router, all)
}

func (i *interference) AddRoutes(ctx context.Context, routerID string, added []neutron.ExtraRoute) error {
	i.meanwhile()
	return i.Network.AddRoutes(ctx, routerID, added)
}

func (i *interference) RemoveRoutes(ctx context.Context, routerID string, removed []neutron.ExtraRoute) error {
	i.meanwhile()
	return i.Network.RemoveRoutes(ctx, routerID, removed)
}

// meanwhile lets another client interfere with all that the cluster does from now on.
func (k *cluster) meanwhile(change func(n int)) {
	before := k.network
	if inner, is := before.(*interference); is {
		before = inner.Network
	}
	k.network = &interference{Network: before, change: change}
	k.restart()
	k.spent()
}

// allow makes these the allowed address pairs of a node's port.
func (k *cluster) allow(node string, addresses ...string) {
	k.Helper()
	pairs := []simneutron.AddressPair{}
	for _, address := range addresses {
		pairs = append(pairs, simneutron.AddressPair{Address: address})
	}
	k.update(node, simneutron.PortUpdate{AddressPairs: &pairs})
}

// What another client writes to the port between our read and our write is kept, and
// what it takes away stays away.
func TestPairs_AreWrittenAgainAfterStaleRevision(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.allow("node-1", "10.6.77.1")
	k.meanwhile(func(n int) {
		switch n {
		case 2: // the first write is that of the route
			k.allow("node-1", "10.6.77.1", "10.6.77.2")
		case 3:
			k.allow("node-1", "10.6.77.2", "10.6.77.3")
		}
	})
	k.settle()
	k.wantPairs("node-1", "10.6.77.2", "10.6.77.3", "10.244.1.0/24")
	if got := count(k.spent(), "PUT ports"); got != 3 {
		t.Errorf("%d writes, want 3", got)
	}

	k.leave(node)
	k.meanwhile(func(n int) {
		switch n {
		case 1:
			k.allow("node-1", "10.6.77.2", "10.244.1.0/24", "10.6.77.4")
		case 2:
			k.allow("node-1", "10.244.1.0/24", "10.6.77.4", "10.6.77.5")
		}
	})
	k.settle()
	k.wantRoutes()
	k.wantPairs("node-1", "10.6.77.4", "10.6.77.5")
	if got := count(k.spent(), "PUT ports"); got != 3 {
		t.Errorf("%d writes, want 3", got)
	}
}

// A client that is always faster is not overruled.
func TestPairs_YieldToClientThatChangesPortAllTheTime(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	k.join("node-1", "10.244.1.0/24")
	k.meanwhile(func(n int) { k.allow("node-1", fmt.Sprintf("10.6.77.%d", n)) })
	k.mentions(k.sync(), k.ports["node-1"], "during each of 10 attempts")
	if got := k.pairs("node-1"); len(got) != 1 || got[0] == "10.244.1.0/24" {
		t.Errorf("allowed address pairs are %q, want the other client's last", got)
	}
	k.meanwhile(func(int) {})
	k.settle()
	if got := k.pairs("node-1"); len(got) != 2 || got[1] != "10.244.1.0/24" {
		t.Errorf("allowed address pairs are %q, want ours beside the other client's", got)
	}
}

// Neutron refuses pairs on a port without port security, and it needs none.
func TestPairs_AreNotWrittenOncePortSecurityIsOff(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.meanwhile(func(n int) {
		if n == 2 {
			k.unguard("node-1")
		}
	})
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + k.address(node))
	k.wantPairs("node-1")
	if got := count(k.spent(), "PUT ports"); got != 1 {
		t.Errorf("%d writes, want the one that came too late", got)
	}
}

// Routes that another client adds or removes between our read and our write are what it
// has made of them, with each of the two ways to write ours.
func TestRoutes_ThatAnotherClientChangesMeanwhileAreAsItWantsThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options simulator.Options
		changes int // of the other client
		writes  int
	}{
		"extraroute-atomic": {simulator.Options{}, 1, 1},
		"whole list":        {without("extraroute-atomic"), 3, 4}, // the first tells that it must be the whole list
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newCloud(t, test.options).cluster("a")
			node := k.join("node-1", "10.244.1.0/24")
			k.unguard("node-1") // so that only routes are written
			ours := [2]string{"10.244.1.0/24", k.address(node)}
			office, lab, home := [2]string{"192.168.0.0/24", "10.6.3.1"}, [2]string{"192.168.1.0/24", "10.6.3.2"}, [2]string{"192.168.2.0/24", "10.6.3.3"}
			k.setRoutes(office)
			for _, theirs := range [][][][2]string{
				{{office, lab}, {lab}, {lab, home}},                // while ours is added
				{{ours, lab}, {ours, lab, office}, {ours, office}}, // and removed
			} {
				k.meanwhile(func(n int) {
					if n <= test.changes {
						k.setRoutes(theirs[n-1]...)
					}
				})
				k.settle()
				want := slices.DeleteFunc(theirs[test.changes-1], func(r [2]string) bool { return r == ours })
				if len(k.nodes.List()) > 0 {
					want = append(want, ours)
				}
				k.wantRoutes(texts(want)...)
				if got := count(k.spent(), "PUT routers"); got != test.writes {
					t.Errorf("%d writes, want %d", got, test.writes)
				}
				k.leave(node)
			}
		})
	}
}

func texts(all [][2]string) []string {
	var texts []string
	for _, r := range all {
		texts = append(texts, r[0]+" via "+r[1])
	}
	return texts
}
