package loadbalancer_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const otherCluster = "9d2f4d53-53c5-4b36-a4a7-0d7a3f0d7c55"

func TestTwoClustersOfOneNameDoNotTakeEachOthersLoadBalancers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(2)
	mine, theirs := service("web", 1), service("web", 1)
	theirs.UID = "uid-of-web-in-the-other-cluster"
	other, _ := w.controller(otherCluster)

	w.ensure(mine, nodes[:1])
	if _, err := other.Ensure(w.ctx, theirs, nodes[1:]); err != nil {
		t.Fatal(err)
	}
	w.loadBalancers(2)
	w.floatingIPs(2)

	if err := other.Delete(w.ctx, theirs); err != nil {
		t.Fatal(err)
	}
	w.floatingIPs(1)
	lb := w.loadBalancer()
	if got := lb.Pools[0].Members[0].Address; got != nodes[0].Status.Addresses[0].Address {
		t.Errorf("the load balancer that is left leads to %s", got)
	}
	w.unchanged(mine, nodes[:1])
}

func TestLoadBalancerOfAnotherClusterIsNotTakenByItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(1)
	w.ensure(service("web", 1), nodes)
	lb := w.loadBalancer()
	other, _ := w.controller(otherCluster)
	copied := service("web", 1)
	copied.UID = "uid-of-the-copy"
	copied.Annotations[annotation.LoadBalancerID] = lb.ID
	w.cloud.Books.Reset()

	if _, err := other.Ensure(w.ctx, copied, nodes); err == nil {
		t.Error("takes a load balancer that carries another identity")
	}
	if err := other.Delete(w.ctx, copied); err != nil {
		t.Errorf("cannot be deleted: %v", err)
	}
	w.writes(0)
}

// Every request of a creation is, in turn, the last one of a controller that is
// killed: before the cloud has done its work, and after.
func TestKilledDuringCreationLeavesOneLoadBalancerAndOneFloatingIP(t *testing.T) {
	t.Parallel()
	for _, afterWork := range []bool{false, true} {
		for last := 1; killedAt(t, last, afterWork); last++ {
			if last > 100 {
				t.Fatal("a creation takes more than 100 requests")
			}
		}
	}
}

// killedAt kills a controller at its n-th request and lets another one finish. It
// is false when the creation needs fewer requests.
func killedAt(t *testing.T, n int, afterWork bool) bool {
	t.Helper()
	// The creation is still being carried out when the process is gone.
	w := newWorld(t, worldOptions{simulator: simulator.Options{VIPPortDelay: 10 * time.Millisecond}})
	nodes, svc := w.nodes(2), service("web", 2)
	if !w.killed(svc, nodes, n, afterWork) {
		return false
	}
	w.restart()
	w.ensure(svc, nodes)
	w.loadBalancer()
	w.floatingIPs(1)
	w.unchanged(svc, nodes)
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(0)
	return true
}

// killed kills a new controller at the n-th request of an Ensure. It is false when
// that needs fewer requests.
func (w *world) killed(svc *v1.Service, nodes []*v1.Node, n int, afterWork bool) bool {
	w.t.Helper()
	w.restart()
	return w.lastRequest(n, afterWork, w.ensuring(svc, nodes))
}

// ensuring is an Ensure to be called later.
func (w *world) ensuring(svc *v1.Service, nodes []*v1.Node) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.engine.Ensure(ctx, svc, nodes)
		return err
	}
}

// lastRequest runs a call of which the n-th request is the last to be answered, or to
// be carried out without an answer. It is false when there are fewer.
func (w *world) lastRequest(n int, afterWork bool, call func(context.Context) error) bool {
	w.t.Helper()
	ctx, kill := context.WithCancel(w.ctx)
	defer kill()
	before := w.cloud.Faults.Hits()
	remove := w.cloud.Faults.Add(faults.Rule{Route: "/**", From: n, AfterWork: afterWork, Drop: true})
	go func() { // nothing gets through any more, and then the process is gone
		for w.cloud.Faults.Hits() == before && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		kill()
	}()
	err := call(ctx)
	killed := w.cloud.Faults.Hits() > before
	if killed {
		w.buried()
	}
	remove()
	if killed && err == nil {
		w.t.Fatalf("request %d: success without an answer", n)
	}
	w.restart()
	return killed
}

// buried waits until the cloud has carried out what a killed process has asked for.
// The next process, which cannot see requests that are still under way, begins later:
// what becomes of one that is even slower, see the tests of a second load balancer.
func (w *world) buried() {
	w.t.Helper()
	if err := w.cloud.Disconnect(w.ctx); err != nil {
		w.t.Fatal(err)
	}
}

func TestLostAnswerToACreationDoesNotMakeASecondOne(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Rule{
		"load balancer, connection closed": {Route: lbRoute, Drop: true},
		"load balancer, 502":               {Route: lbRoute, Status: http.StatusBadGateway},
		"load balancer, 504":               {Route: lbRoute, Status: http.StatusGatewayTimeout},
		"floating IP, connection closed":   {Route: fipRoute, Drop: true},
		"floating IP, 504":                 {Route: fipRoute, Status: http.StatusGatewayTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			nodes, svc := w.nodes(2), service("web", 2)
			fault.Method, fault.Count, fault.AfterWork = http.MethodPost, 1, true
			w.cloud.Faults.Add(fault)
			w.ensure(svc, nodes)
			w.loadBalancer()
			w.floatingIPs(1)
			w.writes(2)
			w.unchanged(svc, nodes)
		})
	}
}

//proves:80
func TestRefusedCreationIsNotRepeatedWithinOneCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Quota: map[string]int{"listener": 1}}})
	nodes, svc := w.nodes(1), service("web", 2)
	w.refused(svc, nodes, "Quota has been met for resources: Listener")
	w.writes(1)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

//proves:81
func TestFailedCreationIsReplacedAndKeepsItsFloatingIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	first, address := w.loadBalancer(), svc.Status.LoadBalancer.Ingress[0].IP
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{} // it has never been published
	if err := w.cloud.Octavia.SetProvisioningStatus(first.ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.ensure(svc, nodes)
	if second := w.loadBalancer(); second.ID == first.ID {
		t.Error("the load balancer in ERROR was kept")
	}
	if got := svc.Status.LoadBalancer.Ingress[0].IP; got != address {
		t.Errorf("address %s became %s", address, got)
	}
	w.floatingIPs(1)
	w.unchanged(svc, nodes)
}

// What was to be made ends in ERROR while it is waited for.
//
//proves:81
func TestACreationThatEndsInErrorIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	w.cloud.Octavia.FailNext(octavia.OperationCreate, 1)
	w.refused(svc, nodes, "ERROR")
	failed := w.cloud.Octavia.Snapshot()[0] // what is in it never gets anywhere
	w.ensure(svc, nodes)
	if lb := w.loadBalancer(); lb.ID == failed.ID || lb.ProvisioningStatus != octavia.Active {
		t.Errorf("load balancer %s is %s, want another one than %s, ACTIVE", lb.ID, lb.ProvisioningStatus, failed.ID)
	}
	w.floatingIPs(1)
	w.unchanged(svc, nodes)
}

func TestPublishedLoadBalancerInErrorIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	if err := w.cloud.Octavia.SetProvisioningStatus(w.loadBalancer().ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.cloud.Books.Reset()
	w.refused(svc, nodes, "is in ERROR")
	w.writes(0)
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

//proves:82
func TestChildrenInErrorBelowAnActiveLoadBalancerAreRepaired(t *testing.T) {
	t.Parallel()
	for name, child := range map[string]func(octavia.LoadBalancer) string{
		"listener": func(lb octavia.LoadBalancer) string { return lb.Listeners[0].ID },
		"pool":     func(lb octavia.LoadBalancer) string { return lb.Pools[0].ID },
		"member":   func(lb octavia.LoadBalancer) string { return lb.Pools[0].Members[0].ID },
		"monitor":  func(lb octavia.LoadBalancer) string { return lb.Pools[0].Monitor.ID },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: map[string]string{"create-monitor": "true"}})
			nodes, svc := w.nodes(2), service("web", 2)
			w.ensure(svc, nodes)
			lb := w.loadBalancer()
			if err := w.cloud.Octavia.SetChildStatus(child(lb), octavia.Error); err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.cloud.Books.Reset()
			w.ensure(svc, nodes)
			w.writes(1)
			w.unchanged(svc, nodes)
		})
	}
}

func TestChildrenThatStayPendingAfterACreationAreFinished(t *testing.T) {
	t.Parallel()
	for name, quirks := range map[string]octavia.Quirks{
		"all children": {ChildrenStayPending: true},
		"the monitors": {MonitorsStayPending: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{
				simulator: simulator.Options{Release: "zed", Quirks: quirks},
				keys:      map[string]string{"create-monitor": "true"},
			})
			w.stuckSoon()
			nodes, svc := w.nodes(2), service("web", 2)
			w.ensure(svc, nodes)
			w.unchanged(svc, nodes)
		})
	}
}

//proves:83
func TestVanishedLoadBalancerComesBackWithItsFloatingIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	if err := w.cloud.Octavia.Remove(w.loadBalancer().ID); err != nil {
		t.Fatal(err)
	}
	if _, exists, err := w.engine.Get(w.ctx, svc); !exists || err != nil {
		t.Errorf("Get: exists %v, error %v: a failed Update would be given up", exists, err)
	}
	w.repair(svc, nodes)
	w.loadBalancer()
	w.floatingIPs(1)
	if got := svc.Status.LoadBalancer.Ingress[0].IP; got != address {
		t.Errorf("address %s became %s", address, got)
	}
}

func TestUpdateBesideADeletionMakesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes[:1])
	w.delete(svc)
	if err := w.engine.Update(w.ctx, svc, nodes); err == nil {
		t.Error("Update succeeded without a load balancer")
	}
	w.loadBalancers(0)
	w.floatingIPs(0)
}

//proves:84
func TestServiceWhoseLoadBalancerVanishedIsDeletedWithItsFloatingIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes)
	if err := w.cloud.Octavia.Remove(w.loadBalancer().ID); err != nil {
		t.Fatal(err)
	}
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	if _, exists, err := w.engine.Get(w.ctx, leaving); !exists || err != nil {
		t.Fatalf("Get: exists %v, error %v, but a floating IP is left", exists, err)
	}
	w.delete(leaving)
	w.floatingIPs(0)
	if _, exists, err := w.engine.Get(w.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v after everything is gone", exists, err)
	}
}

func TestKeptFloatingIPOutlivesTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	svc.Annotations[annotation.KeepFloatingIP] = "true"
	w.ensure(svc, nodes)
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(1)
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	if _, exists, err := w.engine.Get(w.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v: the Service would never go", exists, err)
	}
}

//proves:79
func TestLoadBalancerThatSomebodyElseHoldsIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(3), service("web", 1)
	w.ensure(svc, nodes[:2])
	// The cloud changes under our hands, between our look and our write.
	w.cloud.Faults.Add(faults.Rule{
		Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/pools/*/members", Count: 2, Status: http.StatusConflict,
		Body: `{"faultcode":"Client","faultstring":"Load Balancer x is immutable and cannot be updated.","debuginfo":null}`,
	})
	w.ensure(svc, nodes)
	w.unchanged(svc, nodes)
}

func TestListenersOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	lb := w.loadBalancer()
	foreignListener(t, w, lb.ID, 9000)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 81))
	w.restart()
	w.ensure(svc, nodes)
	if n := len(w.loadBalancer().Listeners); n != 3 {
		t.Errorf("%d listeners, want our two and the other's", n)
	}
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9000))
	w.refused(svc, nodes, "port TCP/9000 of load balancer")
	w.delete(svc)
	if left := w.loadBalancer().Listeners; len(left) != 1 || left[0].ProtocolPort != 9000 {
		t.Errorf("listeners that are left: %+v", left)
	}
}

func TestFloatingIPAskedForByAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	fip := reserve(t, w, "127.200.7.7")
	svc.Spec.LoadBalancerIP = fip
	if status := w.ensure(svc, nodes); status.Ingress[0].IP != fip {
		t.Errorf("published %s, want %s", status.Ingress[0].IP, fip)
	}
	w.floatingIPs(1)
	w.unchanged(svc, nodes)

	second := service("second", 1)
	second.Spec.LoadBalancerIP = fip
	w.refused(second, nodes, "is in use")
	w.loadBalancers(1)

	w.delete(svc)
	w.floatingIPs(1) // it was there before us
	w.ensure(second, nodes)
}

func reserve(t *testing.T, w *world, address string) string {
	t.Helper()
	fip, err := w.cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
		ProjectID: w.cloud.Account.ProjectID, NetworkID: w.cloud.ExternalNetwork.ID, Address: address,
	})
	if err != nil {
		t.Fatal(err)
	}
	return fip.Address
}
