package routes_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// without is a cloud that lacks an extension.
func without(alias string) simulator.Options {
	return simulator.Options{Neutron: func(o *neutron.Options) {
		o.Extensions = slices.DeleteFunc(neutron.DefaultExtensions(), func(has string) bool { return has == alias })
	}}
}

func (k *cluster) update(node string, update neutron.PortUpdate) {
	k.Helper()
	if _, err := k.Neutron.UpdatePort(k.ports[node], update); err != nil {
		k.Fatal(err)
	}
}

// unguard switches port security off.
func (k *cluster) unguard(node string) {
	k.Helper()
	off := false
	k.update(node, neutron.PortUpdate{SecurityGroups: &[]string{}, PortSecurity: &off})
}

func TestPairs_AreWrittenOnlyWherePortSecurityNeedsThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cloud  simulator.Options
		change func(*cluster)
		pairs  []string
	}{
		"no allowed address pairs in this cloud": {without("allowed-address-pairs"), func(*cluster) {}, nil},
		"no port security on the port":           {simulator.Options{}, func(k *cluster) { k.unguard("node-1") }, nil},
		"another client's wider pair": {simulator.Options{}, func(k *cluster) {
			k.update("node-1", neutron.PortUpdate{AddressPairs: &[]neutron.AddressPair{{Address: "10.244.0.0/16"}}})
		}, []string{"10.244.0.0/16"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newCloud(t, test.cloud).cluster("a")
			node := k.join("node-1", "10.244.1.0/24")
			test.change(k)
			k.settle()
			k.wantRoutes("10.244.1.0/24 via " + k.address(node))
			k.wantPairs("node-1", test.pairs...)
			k.clock.Step(routes.DefaultPairsAge)
			if listed := k.list(); len(listed) != 1 {
				t.Errorf("listed are %v", listed)
			}
			k.leave(node)
			k.settle()
			k.wantRoutes()
			k.wantPairs("node-1", test.pairs...)
			if spent := k.spent(); count(spent, "PUT ports") > 0 {
				t.Errorf("ports were written: %q", spent)
			}
		})
	}
}

func TestPairs_OfOthersStay(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.update("node-1", neutron.PortUpdate{AddressPairs: &[]neutron.AddressPair{{Address: "10.6.77.7"}, {Address: "10.244.1.5"}}})
	k.settle()
	k.wantPairs("node-1", "10.6.77.7", "10.244.1.5", "10.244.1.0/24")
	k.leave(node)
	k.settle()
	k.wantPairs("node-1", "10.6.77.7", "10.244.1.5")
}

func TestPairs_AreRestoredWhenRemoved(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	k.join("node-1", "10.244.1.0/24")
	k.settle()
	k.update("node-1", neutron.PortUpdate{AddressPairs: &[]neutron.AddressPair{}})
	k.settle()
	k.wantPairs("node-1") // within PairsAge the ports are not read again
	k.clock.Step(routes.DefaultPairsAge)
	k.settle()
	k.wantPairs("node-1", "10.244.1.0/24")
	k.spent()
	k.settle()
	if spent := k.spent(); len(spent) != 1 {
		t.Errorf("the round after costs %q", spent)
	}
}

// Clusters that write back the routes of one router as a whole lose none of each
// other's.
//
//proves:110
func TestRoutes_LoseNoneWithoutAtomicExtension(t *testing.T) {
	t.Parallel()
	c := newCloud(t, without("extraroute-atomic"))
	c.setRoutes([2]string{"192.168.0.0/16", "10.6.3.1"})
	clusters := []*cluster{c.cluster("a"), c.cluster("b"), c.cluster("c")}
	for i, k := range clusters {
		for j := range 4 {
			k.join(fmt.Sprintf("%s-%d", k.name, j), fmt.Sprintf("10.%d.%d.0/24", 100+i, j))
		}
	}
	var group sync.WaitGroup
	for _, k := range clusters {
		group.Go(k.settle)
	}
	group.Wait()
	if got := c.routes(); len(got) != 1+3*4 {
		t.Errorf("routes are %q", got)
	}
	for _, k := range clusters {
		for _, node := range k.nodes.List() {
			if err := k.nodes.Delete(node); err != nil {
				t.Fatal(err)
			}
		}
		group.Go(k.settle)
	}
	group.Wait()
	c.wantRoutes("192.168.0.0/16 via 10.6.3.1")
	if tried := c.RequestLog.Requests(requestlog.Method(http.MethodPut), requestlog.Status(http.StatusNotFound)); len(tried) != len(clusters) {
		t.Errorf("the extension was tried %d times, want once by each", len(tried))
	}
}

// Of several API servers one does not know the port, once.
func TestDeleteRoute_LeavesNoPairOnPortThatOneAnswerDenies(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.settle()
	k.leave(node)
	k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/ports/{id}", Status: http.StatusNotFound, Worded: true, Count: 1})
	if errs := k.sync(); len(errs) != 1 {
		t.Errorf("errors are %v, want one", errs)
	}
	k.settle()
	k.wantPairs("node-1")
	k.wantRoutes()
}
