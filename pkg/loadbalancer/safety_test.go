package loadbalancer_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const otherCluster = "9d2f4d53-53c5-4b36-a4a7-0d7a3f0d7c55"

func TestOwnership_SeparatesClustersOfSameName(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(2)
	mine, theirs := service("web", 1), service("web", 1)
	theirs.UID = "uid-of-web-in-the-other-cluster"
	other, _ := env.controller(otherCluster)

	env.ensure(mine, nodes[:1])
	if _, err := other.Ensure(env.ctx, theirs, nodes[1:]); err != nil {
		t.Fatal(err)
	}
	env.loadBalancers(2)
	env.floatingIPs(2)

	if err := other.Delete(env.ctx, theirs); err != nil {
		t.Fatal(err)
	}
	env.floatingIPs(1)
	lb := env.loadBalancer()
	if got := lb.Pools[0].Members[0].Address; got != nodes[0].Status.Addresses[0].Address {
		t.Errorf("the load balancer that is left leads to %s", got)
	}
	env.unchanged(mine, nodes[:1])
}

func TestOwnership_IsNotProvenByIDOfLoadBalancerOfOtherCluster(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	env.ensure(service("web", 1), nodes)
	lb := env.loadBalancer()
	other, _ := env.controller(otherCluster)
	copied := service("web", 1)
	copied.UID = "uid-of-the-copy"
	copied.Annotations[annotation.LoadBalancerID] = lb.ID
	env.Cloud.RequestLog.Reset()

	if _, err := other.Ensure(env.ctx, copied, nodes); err == nil {
		t.Error("takes a load balancer that carries another identity")
	}
	if err := other.Delete(env.ctx, copied); err != nil {
		t.Errorf("cannot be deleted: %v", err)
	}
	env.writes(0)
}

// A controller is killed at every moment of a creation, in turn.
func TestCrash_DuringCreationLeavesOneLoadBalancerAndOneFloatingIP(t *testing.T) {
	t.Parallel()
	everyMoment(t, func(n int, afterWork bool) bool { return killedAt(t, n, afterWork) })
}

// everyMoment calls try with every moment of lastRequest, until there are no more.
func everyMoment(t *testing.T, try func(n int, afterWork bool) (killed bool)) {
	t.Helper()
	for _, afterWork := range []bool{false, true} {
		for n := 1; try(n, afterWork); n++ {
			if n > 100 {
				t.Fatal("it takes more than 100 requests")
			}
		}
	}
}

// killedAt kills a controller at a moment of lastRequest, and another one completes the creation.
// It returns false if the creation has fewer moments.
func killedAt(t *testing.T, n int, afterWork bool) bool {
	t.Helper()
	// The creation is still under way when the process has ended.
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{VIPPortDelay: 10 * time.Millisecond}})
	nodes, svc := env.nodes(2), service("web", 2)
	if !env.killed(svc, nodes, n, afterWork) {
		return false
	}
	env.ensure(svc, nodes)
	env.loadBalancer()
	env.floatingIPs(1)
	env.unchanged(svc, nodes)
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
	return true
}

// killed kills a new controller at a moment of lastRequest of an Ensure, and starts the next. It
// returns false if the Ensure has fewer moments.
func (env *environment) killed(svc *v1.Service, nodes []*v1.Node, n int, afterWork bool) bool {
	env.T.Helper()
	env.restart()
	return env.lastRequest(n, afterWork, env.ensuring(svc, nodes))
}

// ensuring returns an Ensure for a later call.
func (env *environment) ensuring(svc *v1.Service, nodes []*v1.Node) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := env.engine.Ensure(ctx, svc, nodes)
		return err
	}
}

// lastRequest runs a call, kills its controller, and starts the next one. With afterWork the n-th
// write is the last request: it is carried out, and not answered. Otherwise the controller is
// killed, for n from 1, by its first request, before the cloud handles it; by the first write,
// before the cloud handles it; by the request after that write's answer; by the second write, and
// so on. At every other request the state of the cloud equals that at one of these, because reads
// change nothing: only the sweep (tests/sweep) kills at all of them. It returns false if there are
// fewer moments.
func (env *environment) lastRequest(n int, afterWork bool, call func(context.Context) error) bool {
	env.T.Helper()
	ctx, kill := context.WithCancel(env.ctx)
	defer kill()
	// All later requests fail, and the process has ended.
	rule := faults.Rule{Route: "/**", FromWrite: n / 2, From: 1 + n%2, AfterWork: afterWork, Drop: true, Then: kill}
	switch {
	case afterWork:
		rule.FromWrite, rule.From = n, 1
	case n == 1:
		rule.From = 1
	}
	before := env.Cloud.Faults.Hits()
	remove := env.Cloud.Faults.Add(rule)
	err := call(ctx)
	killed := env.Cloud.Faults.Hits() > before
	if killed {
		env.buried()
	}
	remove()
	if killed && err == nil {
		env.T.Fatalf("moment %d: success without an answer", n)
	}
	env.restart()
	return killed
}

// buried waits until the cloud has carried out the requests of a killed process. The next process,
// which cannot see requests that are still under way, begins later. The tests of a second load
// balancer cover slower requests.
func (env *environment) buried() {
	env.T.Helper()
	if err := env.Cloud.Disconnect(env.ctx); err != nil {
		env.T.Fatal(err)
	}
}

func TestEnsure_RepeatsNoCreationWhenAnswerIsLost(t *testing.T) {
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
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 2)
			fault.Method, fault.Count, fault.AfterWork = http.MethodPost, 1, true
			env.Cloud.Faults.Add(fault)
			env.ensure(svc, nodes)
			env.loadBalancer()
			env.floatingIPs(1)
			env.writes(2)
			env.unchanged(svc, nodes)
		})
	}
}

//proves:80
func TestEnsure_RepeatsNoRefusedCreationWithinOneCall(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Quota: map[string]int{"listener": 1}}})
	nodes, svc := env.nodes(1), service("web", 2)
	env.refused(svc, nodes, "Quota has been met for resources: Listener")
	env.writes(1)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

//proves:81
func TestEnsure_ReplacesFailedCreationAndKeepsFloatingIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	first, address := env.loadBalancer(), svc.Status.LoadBalancer.Ingress[0].IP
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{} // it has never been published
	if err := env.Cloud.Octavia.SetProvisioningStatus(first.ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.restart()
	env.ensure(svc, nodes)
	if second := env.loadBalancer(); second.ID == first.ID {
		t.Error("the load balancer in ERROR was kept")
	}
	if got := svc.Status.LoadBalancer.Ingress[0].IP; got != address {
		t.Errorf("address %s became %s", address, got)
	}
	env.floatingIPs(1)
	env.unchanged(svc, nodes)
}

// The new load balancer goes into ERROR during the wait for it.
//
//proves:81
func TestEnsure_RecreatesLoadBalancerWhoseCreationEndsInError(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.Cloud.Octavia.FailNext(octavia.OperationCreate, 1)
	env.refused(svc, nodes, "ERROR")
	failed := env.Cloud.Octavia.Snapshot()[0] // its parts never become ACTIVE
	env.ensure(svc, nodes)
	if lb := env.loadBalancer(); lb.ID == failed.ID || lb.ProvisioningStatus != octavia.Active {
		t.Errorf("load balancer %s is %s, want another one than %s, ACTIVE", lb.ID, lb.ProvisioningStatus, failed.ID)
	}
	env.floatingIPs(1)
	env.unchanged(svc, nodes)
}

func TestEnsure_LeavesPublishedLoadBalancerInErrorAlone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	if err := env.Cloud.Octavia.SetProvisioningStatus(env.loadBalancer().ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "is in ERROR")
	env.writes(0)
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

//proves:82
func TestEnsure_RepairsChildrenInErrorBelowActiveLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, child := range map[string]func(octavia.LoadBalancer) string{
		"listener": func(lb octavia.LoadBalancer) string { return lb.Listeners[0].ID },
		"pool":     func(lb octavia.LoadBalancer) string { return lb.Pools[0].ID },
		"member":   func(lb octavia.LoadBalancer) string { return lb.Pools[0].Members[0].ID },
		"monitor":  func(lb octavia.LoadBalancer) string { return lb.Pools[0].Monitor.ID },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
			nodes, svc := env.nodes(2), service("web", 2)
			env.ensure(svc, nodes)
			lb := env.loadBalancer()
			if err := env.Cloud.Octavia.SetChildStatus(child(lb), octavia.Error); err != nil {
				t.Fatal(err)
			}
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(1)
			env.unchanged(svc, nodes)
		})
	}
}

func TestEnsure_FinishesChildrenThatStayPendingAfterCreation(t *testing.T) {
	t.Parallel()
	for name, quirks := range map[string]octavia.Quirks{
		"all children": {ChildrenStayPending: true},
		"the monitors": {MonitorsStayPending: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{
				simulator: simulator.Options{Release: "zed", Quirks: quirks},
				keys:      map[string]string{"create-monitor": "true"},
			})
			env.stuckSoon()
			nodes, svc := env.nodes(2), service("web", 2)
			env.ensure(svc, nodes)
			env.unchanged(svc, nodes)
		})
	}
}

//proves:83
func TestRepair_RestoresVanishedLoadBalancerWithFloatingIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	if err := env.Cloud.Octavia.Remove(env.loadBalancer().ID); err != nil {
		t.Fatal(err)
	}
	if _, exists, err := env.engine.Get(env.ctx, svc); !exists || err != nil {
		t.Errorf("Get: exists %v, error %v: a failed Update would be given up", exists, err)
	}
	env.repair(svc, nodes)
	env.loadBalancer()
	env.floatingIPs(1)
	if got := svc.Status.LoadBalancer.Ingress[0].IP; got != address {
		t.Errorf("address %s became %s", address, got)
	}
}

func TestUpdate_CreatesNothingAfterDeletion(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes[:1])
	env.delete(svc)
	if err := env.engine.Update(env.ctx, svc, nodes); err == nil {
		t.Error("Update succeeded without a load balancer")
	}
	env.loadBalancers(0)
	env.floatingIPs(0)
}

//proves:84
func TestDelete_RemovesFloatingIPWhenLoadBalancerVanished(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	if err := env.Cloud.Octavia.Remove(env.loadBalancer().ID); err != nil {
		t.Fatal(err)
	}
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	if _, exists, err := env.engine.Get(env.ctx, leaving); !exists || err != nil {
		t.Fatalf("Get: exists %v, error %v, but a floating IP is left", exists, err)
	}
	env.delete(leaving)
	env.floatingIPs(0)
	if _, exists, err := env.engine.Get(env.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v after everything is gone", exists, err)
	}
}

func TestFloatingIP_KeptOutlivesService(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Annotations[annotation.KeepFloatingIP] = "true"
	env.ensure(svc, nodes)
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(1)
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	if _, exists, err := env.engine.Get(env.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v: the Service would never go", exists, err)
	}
}

//proves:79
func TestEnsure_WaitsForLoadBalancerThatIsImmutable(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes[:2])
	// The cloud changes between our read and our write.
	env.Cloud.Faults.Add(faults.Rule{
		Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/pools/*/members", Count: 2, Status: http.StatusConflict,
		Body: `{"faultcode":"Client","faultstring":"Load Balancer x is immutable and cannot be updated.","debuginfo":null}`,
	})
	env.ensure(svc, nodes)
	env.unchanged(svc, nodes)
}

func TestOwnership_LeavesListenersOfOthersAlone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	foreignListener(t, env, lb.ID, 9000)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 81))
	env.restart()
	env.ensure(svc, nodes)
	if n := len(env.loadBalancer().Listeners); n != 3 {
		t.Errorf("%d listeners, want our two and the other's", n)
	}
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9000))
	env.refused(svc, nodes, "port TCP/9000 of load balancer")
	env.delete(svc)
	if left := env.loadBalancer().Listeners; len(left) != 1 || left[0].ProtocolPort != 9000 {
		t.Errorf("listeners that are left: %+v", left)
	}
}

func TestFloatingIP_NamedByAddressServesOneServiceAndOutlivesIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	fip := reserve(t, env, "127.200.7.7")
	svc.Spec.LoadBalancerIP = fip
	if status := env.ensure(svc, nodes); status.Ingress[0].IP != fip {
		t.Errorf("published %s, want %s", status.Ingress[0].IP, fip)
	}
	env.floatingIPs(1)
	env.unchanged(svc, nodes)

	second := service("second", 1)
	second.Spec.LoadBalancerIP = fip
	env.refused(second, nodes, "is in use")
	env.loadBalancers(1)

	env.delete(svc)
	env.floatingIPs(1) // the floating IP existed before the Service
	env.ensure(second, nodes)
}

func reserve(t *testing.T, env *environment, address string) string {
	t.Helper()
	fip, err := env.Cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.ExternalNetwork.ID, Address: address,
	})
	if err != nil {
		t.Fatal(err)
	}
	return fip.Address
}
