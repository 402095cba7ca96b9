package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// nothingListed lets the next list of load balancers tell of none, as a replica that
// lags behind does, or one that is read before a creation under way is committed.
func (w *world) nothingListed(count int) {
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbRoute, Count: count, Status: http.StatusOK, Body: `{"loadbalancers": []}`})
}

// twins lets two creations of a Service meet: a process has ended while its own was
// under way, the next one has not seen it and makes another one. The older one is never
// served.
func (w *world) twins(svc *v1.Service, nodes []*v1.Node) (older, serving octavia.LoadBalancer) {
	w.t.Helper()
	id := ownership.Identity{ClusterName: w.clusterName, ClusterID: w.clusterUID, ServiceUID: string(svc.UID), Namespace: svc.Namespace, Service: svc.Name}
	older = w.byHand(id.Name(), id.Description(), id.Tags()...)
	w.nothingListed(1)
	w.ensure(svc, nodes)
	w.cloud.Faults.Clear()
	for _, lb := range w.loadBalancers(2) {
		if lb.ID != older.ID {
			serving = lb
		}
	}
	w.restart()
	w.cloud.Books.Reset()
	return older, serving
}

// keeps ensures the Service, and checks which of its load balancers is left and that
// its address stays.
func (w *world) keeps(svc *v1.Service, nodes []*v1.Node, id string) {
	w.t.Helper()
	address := svc.Status.LoadBalancer.Ingress[0].IP
	w.ensure(svc, nodes)
	if left := w.loadBalancer(); left.ID != id {
		w.t.Errorf("load balancer %s is left, want %s:\n%s", left.ID, id, printed(w.cloud.Books.Requests(books.Writes())))
	}
	if now := svc.Status.LoadBalancer.Ingress[0].IP; now != address {
		w.t.Errorf("the published address %s became %s", address, now)
	}
	w.unchanged(svc, nodes)
}

func TestOfTwoLoadBalancersTheOneThatServesIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	_, serving := w.twins(svc, nodes)
	w.keeps(svc, nodes, serving.ID)
	w.writes(0) // of unchanged, which is the last
	w.floatingIPs(1)
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

func TestOfTwoLoadBalancersTheOneThatIsNamedIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	_, serving := w.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = serving.ID
	w.keeps(svc, nodes, serving.ID)
	w.floatingIPs(1)
}

// Users know the address: it comes along.
func TestTheNamedLoadBalancerTakesThePublishedAddressAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	older, _ := w.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = older.ID
	w.keeps(svc, nodes, older.ID)
	w.floatingIPs(1)
}

// The same with a floating IP that the Service asks for, and that is not ours.
func TestTheNamedLoadBalancerTakesTheAddressThatIsAskedForAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	svc.Spec.LoadBalancerIP = w.floatingIP("", "reserved").Address
	older, _ := w.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = older.ID
	w.keeps(svc, nodes, older.ID)
	w.floatingIPs(1)
}

// An address that cannot be moved stays where it is, until the Service has published
// another one.
func TestALoadBalancerWithThePublishedAddressIsNotDeletedAsADuplicate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	older, serving := w.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = older.ID
	w.ensure(svc, nodes)
	for _, lb := range w.loadBalancers(2) {
		if lb.ID == serving.ID && len(lb.Listeners) != len(serving.Listeners) {
			t.Errorf("the one that served has %d listeners left", len(lb.Listeners))
		}
	}
	if told := w.told(); !strings.Contains(told, "it is left alone, as it has the address that the Service has published") {
		t.Errorf("nobody is told of it:\n%s", told)
	}
	w.restart()
	w.keeps(svc, nodes, older.ID)
}

func TestADuplicateThatFailedDoesNotBlockTheOneThatServes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(3), service("web", 1)
	older, serving := w.twins(svc, nodes)
	if err := w.cloud.Octavia.SetProvisioningStatus(older.ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	w.keeps(svc, nodes[:2], serving.ID)
	if members := w.loadBalancer().Pools[0].Members; len(members) != 2 {
		t.Errorf("%d members, want 2", len(members))
	}
}

// A duplicate goes last, and its floating IP goes with it.
func TestADuplicateGoesLastWithItsFloatingIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(3), service("web", 1)
	older, serving := w.twins(svc, nodes)
	fip := w.floatingIP("", w.cloud.Neutron.FloatingIPs()[0].Description)
	if _, err := w.cloud.Neutron.AssociateFloatingIP(fip.ID, older.VIP.PortID, ""); err != nil {
		t.Fatal(err)
	}
	address := svc.Status.LoadBalancer.Ingress[0].IP
	w.ensure(svc, nodes[:2])
	writes := w.cloud.Books.Requests(books.Writes())
	if n := len(writes); n != 3 || !strings.Contains(writes[0].Path, "/members/") || writes[1].Method != http.MethodDelete || !strings.HasSuffix(writes[2].Path, fip.ID) {
		t.Errorf("writes, want a member, the load balancer, its floating IP:\n%s", printed(writes))
	}
	w.floatingIPs(1)
	if left := w.loadBalancer(); left.ID != serving.ID || w.cloud.Neutron.FloatingIPs()[0].Address != address {
		t.Errorf("left is %s", left.ID)
	}
}

// Deletion takes both, with what is on them, and what the Service keeps is kept.
func TestDeletionTakesDuplicatesAlong(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		w := newWorld(t, worldOptions{})
		nodes, svc := w.nodes(1), service("web", 1)
		older, _ := w.twins(svc, nodes)
		fip := w.floatingIP("", w.cloud.Neutron.FloatingIPs()[0].Description)
		if _, err := w.cloud.Neutron.AssociateFloatingIP(fip.ID, older.VIP.PortID, ""); err != nil {
			t.Fatal(err)
		}
		left := 0
		if keep {
			svc.Annotations[annotation.KeepFloatingIP], left = "true", 2
		}
		w.delete(svc)
		w.loadBalancers(0)
		w.floatingIPs(left)
	}
}

// The ID of the answer to the creation finds what a list that lags behind does not tell.
func TestAListThatLagsBehindMakesNoSecondLoadBalancer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	remove := w.cloud.Faults.Add(faultOn(http.MethodPost, fipRoute, http.StatusForbidden))
	if _, err := w.engine.Ensure(w.ctx, svc, nodes); err == nil {
		t.Fatal("no error without a floating IP")
	}
	made := w.loadBalancer().ID
	remove()
	w.nothingListed(1)
	w.ensure(svc, nodes)
	if left := w.loadBalancer(); left.ID != made {
		t.Errorf("left is %s, was %s", left.ID, made)
	}
	w.unchanged(svc, nodes)
}
