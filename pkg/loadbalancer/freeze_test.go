package loadbalancer_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// nodePorts gives the IDs of the ports of servers.
func (w *world) nodePorts() []string {
	var ids []string
	for _, port := range w.cloud.Neutron.Ports() {
		if strings.HasPrefix(port.DeviceOwner, "compute") {
			ids = append(ids, port.ID)
		}
	}
	return ids
}

// Whatever is refused, and by whom, what a Service has goes on: when all its nodes are
// replaced, its members and their security groups are the new ones; an address that
// is taken off is put back; and when it is deleted, nothing is left. Also if the
// controller is started anew in between, and knows nothing but what it sees.
func TestWhatARefusedServiceHasIsKeptAlive(t *testing.T) {
	t.Parallel()
	for name, way := range waysOfRefusal() {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				keptAlive(t, way, restart)
			})
		}
	}
}

func keptAlive(t *testing.T, way refusing, restart bool) {
	w := newWorld(t, worldOptions{keys: managed("per-service", "create-monitor", "true")})
	nodes, svc := w.nodes(3), service("web", 2)
	if way.prepare != nil {
		way.prepare(w, svc)
	}
	w.ensure(svc, nodes)
	address, id := svc.Status.LoadBalancer.Ingress[0].IP, w.loadBalancer().ID
	way.spoil(w, svc)
	begin := func() {
		if restart {
			w.restart()
		}
	}
	others := len(w.cloud.Octavia.Snapshot()) - 1
	refusal := func(nodes []*v1.Node) {
		t.Helper()
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		if err == nil || !strings.Contains(err.Error(), way.want) || !strings.Contains(err.Error(), "follows the nodes") {
			t.Fatalf("got %v, want that %q is refused, and that the nodes are followed", err, way.want)
		}
		if got := w.refusedFor(); got != way.reason {
			t.Errorf("counted as %q, want %q", got, way.reason)
		}
	}
	refusal(nodes)

	begin()
	replaced := []*v1.Node{w.node(3), w.node(4), w.node(5)}
	if _, err := w.engine.Repair(w.ctx, svc, replaced, there); err != nil {
		t.Fatalf("the change of nodes: %v", err)
	}
	w.kept(id, replaced, address)

	for _, fip := range w.cloud.Neutron.FloatingIPs() {
		if fip.Address == address {
			if _, err := w.cloud.Neutron.AssociateFloatingIP(fip.ID, "", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin()
	if restart {
		refusal(replaced)
	} else {
		w.notice(svc)
		if _, err := w.engine.Repair(w.ctx, svc, replaced, there); err != nil {
			t.Fatalf("the lost address: %v", err)
		}
	}
	w.kept(id, replaced, address)
	w.cloud.Books.Reset()
	if _, err := w.engine.Repair(w.ctx, svc, replaced, there); err != nil {
		t.Errorf("once more: %v", err)
	}
	if !way.byCloud {
		w.writes(0)
	}

	begin()
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	w.delete(leaving)
	if way.shared {
		if left := ports(w.loadBalancer()); len(left) != 1 {
			t.Errorf("listeners %v are left", left)
		}
		if left := w.groups(); len(left) > 0 {
			t.Errorf("security groups are left: %v", left)
		}
	} else {
		w.loadBalancers(others)
		if _, left := w.addresses()[address]; left {
			t.Error("the floating IP is left")
		}
		w.goneWithGroups(leaving)
	}
	if got := w.refusedFor(); got != "" {
		t.Errorf("a Service that is gone counts as %q", got)
	}
}

// kept fails unless a load balancer serves these nodes, which its security group is
// on, at its address, with monitors.
func (w *world) kept(id string, nodes []*v1.Node, address string) {
	w.t.Helper()
	if err := w.cloud.WaitSettled(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	lb, ok := w.find(id)
	if !ok {
		w.t.Fatal("the load balancer is gone")
	}
	if got := w.addresses()[address]; got != lb.VIP.PortID {
		w.t.Errorf("address %s is on port %q, want the VIP", address, got)
	}
	for _, listener := range lb.Listeners {
		if listener.ProtocolPort > 81 {
			continue
		}
		at := slices.IndexFunc(lb.Pools, func(p *octavia.Pool) bool { return p.ID == listener.DefaultPoolID })
		w.poolIs(lb.Pools[at], nodes)
		if lb.Pools[at].Monitor == nil {
			w.t.Errorf("port %d has lost its monitor", listener.ProtocolPort)
		}
	}
	w.uses(w.group().ID, nodes...)
}

// After a restart nobody knows what was last good: it is what is seen first. What
// others change from then on is brought back.
func TestDriftOfARefusedServiceIsRepaired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*world, octavia.LoadBalancer) error
		told  string
	}{
		"a listener deleted": {func(w *world, lb octavia.LoadBalancer) error {
			return octaviaAsSomebodyElse(w.t, w).Octavia().DeleteListener(w.ctx, lb.Listeners[0].ID)
		}, "listener TCP/"},
		"a monitor deleted": {func(w *world, lb octavia.LoadBalancer) error {
			return octaviaAsSomebodyElse(w.t, w).Octavia().DeleteMonitor(w.ctx, lb.Pools[0].Monitor.ID)
		}, "create TCP every"},
		"a security group taken off": {func(w *world, _ octavia.LoadBalancer) error {
			for _, id := range w.nodePorts() {
				if _, err := w.cloud.Neutron.UpdatePort(id, neutron.PortUpdate{SecurityGroups: &[]string{w.defaultGroup()}}); err != nil {
					return err
				}
			}
			return nil
		}, "security group"},
		"the floating IP deleted": {func(w *world, _ octavia.LoadBalancer) error {
			return w.cloud.Neutron.ReleaseFloatingIP(w.cloud.Neutron.FloatingIPs()[0].ID)
		}, "floating IP"},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{keys: managed("per-service", "create-monitor", "true")})
				nodes, svc := w.nodes(3), service("web", 2)
				w.ensure(svc, nodes)
				svc.Annotations[annotation.MaxMembers] = "many"
				if restart {
					w.restart()
				}
				w.refused(svc, nodes, "follows the nodes")
				lb := w.loadBalancer()
				w.told()
				if err := c.spoil(w, lb); err != nil {
					t.Fatal(err)
				}
				if err := w.cloud.WaitSettled(w.ctx); err != nil {
					t.Fatal(err)
				}
				w.repair(svc, nodes)
				w.kept(lb.ID, nodes, svc.Status.LoadBalancer.Ingress[0].IP)
				if got := ports(w.loadBalancer()); !slices.Equal(got, ports(lb)) {
					t.Errorf("listeners %v, were %v", got, ports(lb))
				}
				w.floatingIPs(1)
				if told := w.told(); !strings.Contains(told, "LoadBalancerDrifted") || !strings.Contains(told, c.told) {
					t.Errorf("events:\n%s\nwant one of drift with %q", told, c.told)
				}
				delete(svc.Annotations, annotation.MaxMembers)
				w.ensure(svc, nodes)
				if got := w.refusedFor(); got != "" {
					t.Errorf("a Service that is good again counts as %q", got)
				}
				w.unchanged(svc, nodes)
			})
		}
	}
}

// The status that comes with the refusal is to be published: clients would go to an
// address that is somebody else's by then.
func TestARefusedServiceWhoseFloatingIPIsGoneGetsAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes)
	before := w.cloud.Neutron.FloatingIPs()[0]
	svc.Annotations[annotation.MaxMembers] = "many"
	w.restart()
	w.floatingIP("127.200.7.7", "somebody's")
	if err := w.cloud.Neutron.ReleaseFloatingIP(before.ID); err != nil {
		t.Fatal(err)
	}
	status, err := w.engine.Ensure(w.ctx, svc, nodes)
	if err == nil || status == nil || len(status.Ingress) != 1 {
		t.Fatalf("status %v, error %v", status, err)
	}
	if got, want := w.addresses()[status.Ingress[0].IP], w.loadBalancer().VIP.PortID; got != want {
		t.Errorf("address %s is on port %q, want %s", status.Ingress[0].IP, got, want)
	}
	w.floatingIPs(2)
}

// The load balancer of a refused Service that is deleted by somebody else is made anew
// as it was last good, as long as that is known.
func TestARefusedServiceGetsItsLoadBalancerBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 2)
	w.ensure(svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Annotations[annotation.MaxMembers] = "many"
	w.refused(svc, nodes, "many")
	if err := octaviaAsSomebodyElse(t, w).Octavia().DeleteLoadBalancer(w.ctx, w.loadBalancer().ID, true); err != nil {
		t.Fatal(err)
	}
	w.loadBalancers(0)
	w.repair(svc, nodes)
	if lb := w.loadBalancer(); len(lb.Listeners) != 2 || w.addresses()[address] != lb.VIP.PortID {
		t.Errorf("listeners %v, addresses %v", ports(lb), w.addresses())
	}
}

// A new load balancer that cannot be finished in the place of the old one does not take
// the nodes away from that.
func TestALoadBalancerThatIsBeingReplacedFollowsItsNodes(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{true: "after a restart"}[restart], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: map[string]string{"provider-requires-serial-api-calls": "true"}})
			nodes, svc := w.nodes(3), service("web", 1)
			w.ensure(svc, nodes)
			old, address := w.loadBalancer().ID, svc.Status.LoadBalancer.Ingress[0].IP
			svc.Annotations[annotation.AllowReplace], svc.Annotations[annotation.FlavorID] = "true", w.catalogue().ID
			w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: listenersRoute, Status: http.StatusForbidden,
				Body: `{"faultcode": "Client", "faultstring": "Quota has been met for resources: Listener"}`})
			w.refused(svc, nodes, "follows the nodes")
			w.loadBalancers(2)
			if restart {
				w.restart()
			}
			replaced := []*v1.Node{w.node(3), w.node(4)}
			if _, err := w.engine.Repair(w.ctx, svc, replaced, there); err != nil {
				t.Fatal(err)
			}
			w.loadBalancers(2)
			lb, _ := w.find(old)
			w.poolIs(lb.Pools[0], replaced)
			if w.addresses()[address] != lb.VIP.PortID {
				t.Errorf("addresses %v", w.addresses())
			}
			w.cloud.Faults.Clear()
			w.ensure(svc, replaced)
			if lb := w.loadBalancer(); lb.ID == old || w.addresses()[address] != lb.VIP.PortID {
				t.Errorf("it is not replaced: %v", w.addresses())
			}
			w.membersAre(replaced)
		})
	}
}

// Where the quota of members does not let a pool grow, those that are gone make room.
func TestMembersThatAreGoneMakeRoomInTheirQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Quota: map[string]int{"member": 3}}})
	nodes, svc := w.nodes(3), service("web", 1)
	w.ensure(svc, nodes)
	var grown []*v1.Node
	for i := range 5 {
		grown = append(grown, w.node(3+i))
	}
	for range 2 { // nobody else tells it, nor tries again
		if _, err := w.engine.Repair(w.ctx, svc, grown, there); err == nil || !strings.Contains(err.Error(), "follows the nodes") {
			t.Errorf("got %v, want the refusal", err)
		}
		w.membersAre(grown[:3])
		if got := w.refusedFor(); got != "quota" {
			t.Errorf("counted as %q", got)
		}
	}
	w.refused(svc, grown, "follows the nodes")
	if _, err := w.engine.Repair(w.ctx, svc, grown, there); err != nil {
		t.Errorf("told twice: %v", err)
	}
	w.cloud.Octavia.SetQuota(w.cloud.Account.ProjectID, "member", -1)
	w.ensure(svc, grown)
	w.membersAre(grown)
	if got := w.refusedFor(); got != "" {
		t.Errorf("counted as %q", got)
	}
}

// With provider ovn the security group is what keeps clients out: it stays as it is while
// nobody knows whom the Service lets in, and nodes on which it would be of no use stay
// out.
func TestARefusedServiceIsOpenedNoWider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service", "lb-provider", "ovn")})
	nodes, svc := w.nodes(2), service("web", 1)
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"}
	w.ensure(svc, nodes)
	rules := rulesOf(w.group())
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "all"}
	w.restart()
	replaced := []*v1.Node{w.node(2), w.node(3)}
	w.refused(svc, replaced, "follows the nodes")
	w.membersAre(replaced)
	w.rules(w.group(), rules...)
	w.uses(w.group().ID, replaced...)

	open, off := w.node(4), false
	for _, p := range w.cloud.Neutron.Ports() {
		if p.FixedIPs[0].Address == open.Status.Addresses[0].Address {
			if _, err := w.cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{SecurityGroups: &[]string{}, PortSecurity: &off}); err != nil {
				t.Fatal(err)
			}
		}
	}
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"}
	w.refused(svc, []*v1.Node{replaced[1], open}, "follows the nodes")
	w.membersAre(replaced[1:])
	w.rules(w.group(), rules...)
}

// Who shares a load balancer is kept alive there as well.
func TestARefusedServiceOnASharedLoadBalancerFollowsItsNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(2)
	w.ensure(service("owner", 1), nodes)
	guest := onto("guest", w.loadBalancer(), 443)
	w.ensure(guest, nodes)
	guest.Annotations[annotation.MaxMembers] = "many"
	w.restart()
	replaced := []*v1.Node{w.node(2), w.node(3)}
	w.refused(guest, replaced, "follows the nodes")
	lb := w.loadBalancer()
	for _, pool := range lb.Pools {
		if strings.Contains(pool.Name, "guest") {
			w.poolIs(pool, replaced)
		} else {
			w.poolIs(pool, nodes)
		}
	}
	w.delete(guest)
	if left := ports(w.loadBalancer()); len(left) != 1 {
		t.Errorf("listeners %v are left", left)
	}
}

// A refusal is one event, and so is what else is told: however often it is tried
// again, and whatever is tried in between.
func TestARefusalIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes)
	svc.Annotations[annotation.MaxMembers] = "many"
	svc.Annotations["loadbalancer.openstack.org/floating-netwrok-id"] = "x"
	w.told()
	for range 3 {
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		var later *api.RetryError
		if !errors.As(err, &later) || later.RetryAfter() < time.Minute {
			t.Errorf("it is tried again at once: %v", err)
		}
		if _, err := w.engine.Repair(w.ctx, svc, nodes, there); err != nil {
			t.Error(err)
		}
	}
	if told := w.told(); strings.Count(told, "\n") != 0 || !strings.Contains(told, "did you mean") {
		t.Errorf("events:\n%s\nwant one", told)
	}
}
