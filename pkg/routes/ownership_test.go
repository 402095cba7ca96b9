package routes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Not the destination but the Node makes a route ours: one to the network of pods may
// be another cluster's, or a person's own.
//
//proves:111
func TestRoutes_OfOthersOnSameRouterStay(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	others := [][2]string{
		{"192.168.0.0/16", "10.6.3.1"},       // to the office
		{"10.244.7.0/24", "10.6.3.2"},        // among our pods' networks, through a stranger
		{"10.244.9.0/24", k.address(node)},   // through our node, but none of its pods
		{"10.244.128.0/17", k.address(node)}, // the same, and wide
	}
	k.setRoutes(others...)
	k.settle()
	if listed := k.list(); len(listed) != 1 {
		t.Errorf("listed are %v", listed)
	}
	for _, r := range others {
		name := r[0] + " via " + r[1]
		err := k.table.DeleteRoute(t.Context(), "", &cloudprovider.Route{Name: name, DestinationCIDR: r[0]})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	k.leave(node)
	k.settle()
	k.restart()
	k.settle()
	k.wantRoutes("192.168.0.0/16 via 10.6.3.1", "10.244.7.0/24 via 10.6.3.2",
		"10.244.9.0/24 via "+k.address(node), "10.244.128.0/17 via "+k.address(node))
}

// Two clusters with the same pod CIDRs cannot both be routed, but neither removes the other's
// routes.
//
//proves:111
func TestRoutes_OfTwoClustersOnOneRouterStayApart(t *testing.T) {
	t.Parallel()
	c := newCloud(t, simulator.Options{})
	a, b := c.cluster("a"), c.cluster("b")
	first, second := a.join("a-1", "10.244.1.0/24"), b.join("b-1", "10.244.2.0/24")
	a.settle()
	b.settle()
	late := b.join("b-2", "10.244.1.0/24")
	b.mentions(b.sync(), "10.244.1.0/24", a.address(first), "b-2", c.Router.ID)
	a.settle()
	c.wantRoutes("10.244.1.0/24 via "+a.address(first), "10.244.2.0/24 via "+b.address(second))
	b.wantPairs("b-2")
	a.leave(first)
	a.settle()
	b.settle()
	c.wantRoutes("10.244.1.0/24 via "+b.address(late), "10.244.2.0/24 via "+b.address(second))
}

// What another client adds beside ours is neither reported nor removed.
func TestRoutes_KeepSecondNextHopOfAnotherClient(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.settle()
	k.setRoutes([2]string{"10.244.1.0/24", "10.6.3.1"}, [2]string{"10.244.1.0/24", k.address(node)})
	k.restart()
	k.update("node-1", neutron.PortUpdate{AddressPairs: &[]neutron.AddressPair{}})
	k.settle()
	k.wantRoutes("10.244.1.0/24 via 10.6.3.1", "10.244.1.0/24 via "+k.address(node))
	k.wantPairs("node-1", "10.244.1.0/24")
}

//proves:111
func TestRecord_ProvesRouteOfNodeThatWentWhileNothingRan(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.settle()
	k.leave(node)
	k.restart()
	k.settle()
	k.wantRoutes()
	k.wantPairs("node-1")
	stored, err := k.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), routes.RecordName, metav1.GetOptions{})
	if err != nil || strings.TrimSpace(stored.Data[k.Router.ID]) != "" {
		t.Errorf("the record says %v, %v", stored, err)
	}
}

func TestRecord_ProvesNothingWhenOfAnotherCluster(t *testing.T) {
	t.Parallel()
	c := newCloud(t, simulator.Options{})
	a := c.cluster("a")
	node := a.join("node-1", "10.244.1.0/24")
	a.settle()
	b := c.cluster("b")
	stored, err := a.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), routes.RecordName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(t.Context(), stored, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if listed := b.list(); len(listed) > 0 {
		t.Errorf("listed are %v", listed)
	}
	b.join("node-2", "10.244.2.0/24")
	b.settle()
	if got := c.routes(); len(got) != 2 || got[0] != "10.244.1.0/24 via "+a.address(node) {
		t.Errorf("routes are %q", got)
	}
}

// The address of a node that went may by now be another cluster's node's, with a
// route that is spelled like ours was.
func TestRoutes_AreLeftToClusterThatInheritedThem(t *testing.T) {
	t.Parallel()
	c := newCloud(t, simulator.Options{})
	a, b := c.cluster("a"), c.cluster("b")
	gone := a.join("a-1", "10.244.1.0/24")
	a.settle()
	a.leave(gone)
	if err := c.Neutron.DeletePort(a.ports["a-1"]); err != nil {
		t.Fatal(err)
	}
	heir := b.join("b-1", "10.244.1.0/24")
	port, err := c.Neutron.UpdatePort(b.ports["b-1"], neutron.PortUpdate{FixedIPs: &[]neutron.FixedIP{{SubnetID: c.Subnet.ID, Address: a.address(gone)}}})
	if err != nil {
		t.Fatal(err)
	}
	heir.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: port.FixedIPs[0].Address}}
	b.settle()
	a.settle()
	c.wantRoutes("10.244.1.0/24 via " + b.address(heir))
	b.wantPairs("b-1", "10.244.1.0/24")
	if listed := a.list(); len(listed) > 0 {
		t.Errorf("listed are %v", listed)
	}
}

// Without the right to keep a record there are routes all the same, and those of a
// node that goes are removed as long as the process lives.
func TestRoutes_WorkWithoutRightToKeepRecord(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"get", "create"} {
		k := newCloud(t, simulator.Options{}).cluster("a")
		k.client.PrependReactor(verb, "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource("configmaps"), routes.RecordName, nil)
		})
		node := k.join("node-1", "10.244.1.0/24")
		k.settle()
		k.wantRoutes("10.244.1.0/24 via " + k.address(node))
		k.leave(node)
		k.settle()
		k.wantRoutes()
	}
}

func TestRecord_IsReadAgainAfterAnotherWrite(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	first := k.join("node-1", "10.244.1.0/24")
	k.settle()
	other := k.table // the process that led before, and has not ended yet
	k.restart()
	k.join("node-2", "10.244.2.0/24")
	k.settle()
	conflicts := 0
	k.client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts++; conflicts > 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(v1.Resource("configmaps"), routes.RecordName, nil)
	})
	k.table = other
	k.join("node-3", "10.244.3.0/24")
	k.settle()
	k.restart()
	k.leave(first)
	k.settle()
	if got := k.routes(); len(got) != 2 {
		t.Errorf("routes are %q", got)
	}
	stored, err := k.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), routes.RecordName, metav1.GetOptions{})
	if err != nil || strings.Count(stored.Data[k.Router.ID], "\n") != 2 {
		t.Errorf("the record says %v, %v", stored, err)
	}
}

func TestRecord_IsWrittenBeforeRoute(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	k.client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("etcd is away"))
	})
	k.join("node-1", "10.244.1.0/24")
	k.mentions(k.sync(), "which routes are ours")
	k.wantRoutes()
}

// What cloud-provider-openstack left is taken over as it is, and goes with its node.
func TestRoutes_OfPeerAreTakenOverWithoutWrite(t *testing.T) {
	t.Parallel()
	k := newCloud(t, dualStack()).cluster("a")
	node := k.join("node-1", "10.244.1.0/24", "fd00:244:0:1::/64")
	k.setRoutes([2]string{"10.244.1.0/24", node.Status.Addresses[0].Address}, [2]string{"fd00:0244::1:0:0:0:0/64", node.Status.Addresses[1].Address})
	pairs := []neutron.AddressPair{{Address: "10.244.1.0/24"}, {Address: "fd00:244:0:1::/64"}}
	if _, err := k.Neutron.UpdatePort(k.ports["node-1"], neutron.PortUpdate{AddressPairs: &pairs}); err != nil {
		t.Fatal(err)
	}
	k.settle()
	if written := k.RequestLog.Requests(requestlog.Writes()); len(written) > 0 {
		t.Errorf("written was %v", written)
	}
	k.leave(node)
	k.restart()
	k.settle()
	k.wantRoutes()
	k.wantPairs("node-1")
}

// A start at which kube-system may not be read yet must not cost the record.
func TestRecord_StaysUnchangedWithoutIdentity(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	first := k.join("node-1", "10.244.1.0/24")
	k.settle()
	before := k.record()
	k.name = ""
	k.restart()
	k.leave(first)
	second := k.join("node-2", "10.244.2.0/24")
	k.settle()
	k.wantRoutes("10.244.1.0/24 via "+k.address(first), "10.244.2.0/24 via "+k.address(second))
	if diff := cmp.Diff(before, k.record()); diff != "" {
		t.Errorf("the record changed (-before +after):\n%s", diff)
	}
	k.name = "a"
	k.restart()
	k.settle()
	k.wantRoutes("10.244.2.0/24 via " + k.address(second))
}

func TestRecord_GetsMissingIdentity(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("")
	node := k.join("node-1", "10.244.1.0/24")
	k.settle()
	if owner := k.record()["cluster"]; owner != "" {
		t.Fatalf("the record is of %q", owner)
	}
	k.leave(node)
	k.name = "a"
	k.restart()
	k.settle()
	k.wantRoutes()
	if owner := k.record()["cluster"]; owner != "a" {
		t.Errorf("the record is of %q", owner)
	}
}
