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

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// nodePorts returns the IDs of the ports of servers.
func (env *environment) nodePorts() []string {
	var ids []string
	for _, port := range env.Cloud.Neutron.Ports() {
		if strings.HasPrefix(port.DeviceOwner, "compute") {
			ids = append(ids, port.ID)
		}
	}
	return ids
}

// Whatever is refused, by the controller or by the cloud, the existing load balancer of a Service
// keeps serving: if all nodes are replaced, members and security groups follow; a floating IP that
// another client dissociates is associated again; and the deletion of the Service leaves nothing.
// All of this holds for a controller that starts in between, without any state.
func TestRefusal_KeepsAliveWhatServiceHas(t *testing.T) {
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
	env := newEnvironment(t, environmentOptions{keys: managed("per-service", "create-monitor", "true")})
	nodes, svc := env.nodes(3), service("web", 2)
	if way.prepare != nil {
		way.prepare(env, svc)
	}
	env.ensure(svc, nodes)
	address, id := svc.Status.LoadBalancer.Ingress[0].IP, env.loadBalancer().ID
	way.spoil(env, svc)
	begin := func() {
		if restart {
			env.restart()
		}
	}
	others := len(env.Cloud.Octavia.Snapshot()) - 1
	refusal := func(nodes []*v1.Node) {
		t.Helper()
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		if err == nil || !strings.Contains(err.Error(), way.want) || !strings.Contains(err.Error(), "follows its nodes or pods") {
			t.Fatalf("got %v, want that %q is refused, and that the nodes are followed", err, way.want)
		}
		if got := env.refusedFor(); got != way.reason {
			t.Errorf("counted as %q, want %q", got, way.reason)
		}
	}
	refusal(nodes)

	begin()
	replaced := []*v1.Node{env.node(3), env.node(4), env.node(5)}
	if _, err := env.engine.Repair(env.ctx, svc, replaced, there); err != nil {
		t.Fatalf("the change of nodes: %v", err)
	}
	env.kept(id, replaced, address)

	for _, fip := range env.Cloud.Neutron.FloatingIPs() {
		if fip.Address == address {
			if _, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, "", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin()
	if restart {
		refusal(replaced)
	} else {
		env.notice(svc)
		if _, err := env.engine.Repair(env.ctx, svc, replaced, there); err != nil {
			t.Fatalf("the lost address: %v", err)
		}
	}
	env.kept(id, replaced, address)
	env.Cloud.RequestLog.Reset()
	if _, err := env.engine.Repair(env.ctx, svc, replaced, there); err != nil {
		t.Errorf("once more: %v", err)
	}
	if !way.byCloud {
		env.writes(0)
	}

	begin()
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	env.delete(leaving)
	if way.shared {
		if left := ports(env.loadBalancer()); len(left) != 1 {
			t.Errorf("listeners %v are left", left)
		}
		if left := env.groups(); len(left) > 0 {
			t.Errorf("security groups are left: %v", left)
		}
	} else {
		env.loadBalancers(others)
		if _, left := env.addresses()[address]; left {
			t.Error("the floating IP is left")
		}
		env.goneWithGroups(leaving)
	}
	if got := env.refusedFor(); got != "" {
		t.Errorf("a Service that is gone counts as %q", got)
	}
}

// kept fails unless the load balancer serves these nodes at its address, with monitors, and its
// security group is on their ports.
func (env *environment) kept(id string, nodes []*v1.Node, address string) {
	env.T.Helper()
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	lb, ok := env.find(id)
	if !ok {
		env.T.Fatal("the load balancer is gone")
	}
	if got := env.addresses()[address]; got != lb.VIP.PortID {
		env.T.Errorf("address %s is on port %q, want the VIP", address, got)
	}
	for _, listener := range lb.Listeners {
		if listener.ProtocolPort > 81 {
			continue
		}
		at := slices.IndexFunc(lb.Pools, func(p *octavia.Pool) bool { return p.ID == listener.DefaultPoolID })
		env.poolIs(lb.Pools[at], nodes)
		if lb.Pools[at].Monitor == nil {
			env.T.Errorf("port %d has lost its monitor", listener.ProtocolPort)
		}
	}
	env.uses(env.group().ID, nodes...)
}

// After a restart the last accepted state is unknown. The first observed state replaces it: later
// changes by other clients are reverted.
func TestRefusal_StillRepairsDrift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil   func(*environment, octavia.LoadBalancer) error
		emitted string
	}{
		"a listener deleted": {func(env *environment, lb octavia.LoadBalancer) error {
			return octaviaAsSomebodyElse(env.T, env).Octavia().DeleteListener(env.ctx, lb.Listeners[0].ID)
		}, "listener TCP/"},
		"a monitor deleted": {func(env *environment, lb octavia.LoadBalancer) error {
			return octaviaAsSomebodyElse(env.T, env).Octavia().DeleteMonitor(env.ctx, lb.Pools[0].Monitor.ID)
		}, "create TCP every"},
		"a security group taken off": {func(env *environment, _ octavia.LoadBalancer) error {
			for _, id := range env.nodePorts() {
				if _, err := env.Cloud.Neutron.UpdatePort(id, neutron.PortUpdate{SecurityGroups: &[]string{env.defaultGroup()}}); err != nil {
					return err
				}
			}
			return nil
		}, "security group"},
		"the floating IP deleted": {func(env *environment, _ octavia.LoadBalancer) error {
			return env.Cloud.Neutron.ReleaseFloatingIP(env.Cloud.Neutron.FloatingIPs()[0].ID)
		}, "floating IP"},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: managed("per-service", "create-monitor", "true")})
				nodes, svc := env.nodes(3), service("web", 2)
				env.ensure(svc, nodes)
				svc.Annotations[annotation.MaxMembers] = "many"
				if restart {
					env.restart()
				}
				env.refused(svc, nodes, "follows its nodes or pods")
				lb := env.loadBalancer()
				env.emitted()
				if err := c.spoil(env, lb); err != nil {
					t.Fatal(err)
				}
				if err := env.Cloud.WaitSettled(env.ctx); err != nil {
					t.Fatal(err)
				}
				env.repair(svc, nodes)
				env.kept(lb.ID, nodes, svc.Status.LoadBalancer.Ingress[0].IP)
				if got := ports(env.loadBalancer()); !slices.Equal(got, ports(lb)) {
					t.Errorf("listeners %v, were %v", got, ports(lb))
				}
				env.floatingIPs(1)
				if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") || !strings.Contains(emitted, c.emitted) {
					t.Errorf("events:\n%s\nwant one of drift with %q", emitted, c.emitted)
				}
				delete(svc.Annotations, annotation.MaxMembers)
				env.ensure(svc, nodes)
				if got := env.refusedFor(); got != "" {
					t.Errorf("a Service that is good again counts as %q", got)
				}
				env.unchanged(svc, nodes)
			})
		}
	}
}

// The status that accompanies the refusal must be published: clients would use an address that may
// belong to another user by then.
func TestRefusal_ReplacesLostFloatingIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	before := env.Cloud.Neutron.FloatingIPs()[0]
	svc.Annotations[annotation.MaxMembers] = "many"
	env.restart()
	env.floatingIP("127.200.7.7", "somebody's")
	if err := env.Cloud.Neutron.ReleaseFloatingIP(before.ID); err != nil {
		t.Fatal(err)
	}
	status, err := env.engine.Ensure(env.ctx, svc, nodes)
	if err == nil || status == nil || len(status.Ingress) != 1 {
		t.Fatalf("status %v, error %v", status, err)
	}
	if got, want := env.addresses()[status.Ingress[0].IP], env.loadBalancer().VIP.PortID; got != want {
		t.Errorf("address %s is on port %q, want %s", status.Ingress[0].IP, got, want)
	}
	env.floatingIPs(2)
}

// If another client deletes the load balancer of a refused Service, it is recreated with the last
// accepted settings, if these are known.
func TestRefusal_RestoresDeletedLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Annotations[annotation.MaxMembers] = "many"
	env.refused(svc, nodes, "many")
	if err := octaviaAsSomebodyElse(t, env).Octavia().DeleteLoadBalancer(env.ctx, env.loadBalancer().ID, true); err != nil {
		t.Fatal(err)
	}
	env.loadBalancers(0)
	env.repair(svc, nodes)
	if lb := env.loadBalancer(); len(lb.Listeners) != 2 || env.addresses()[address] != lb.VIP.PortID {
		t.Errorf("listeners %v, addresses %v", ports(lb), env.addresses())
	}
}

// A replacement that cannot be completed does not stop the old load balancer from following the
// nodes.
func TestReplacement_LetsOldLoadBalancerFollowNodes(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{true: "after a restart"}[restart], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"provider-requires-serial-api-calls": "true"}})
			nodes, svc := env.nodes(3), service("web", 1)
			env.ensure(svc, nodes)
			old, address := env.loadBalancer().ID, svc.Status.LoadBalancer.Ingress[0].IP
			svc.Annotations[annotation.AllowReplace], svc.Annotations[annotation.FlavorID] = "true", env.catalogue().ID
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: listenersRoute, Status: http.StatusForbidden,
				Body: `{"faultcode": "Client", "faultstring": "Quota has been met for resources: Listener"}`})
			env.refused(svc, nodes, "follows its nodes or pods")
			env.loadBalancers(2)
			if restart {
				env.restart()
			}
			replaced := []*v1.Node{env.node(3), env.node(4)}
			if _, err := env.engine.Repair(env.ctx, svc, replaced, there); err != nil {
				t.Fatal(err)
			}
			env.loadBalancers(2)
			lb, _ := env.find(old)
			env.poolIs(lb.Pools[0], replaced)
			if env.addresses()[address] != lb.VIP.PortID {
				t.Errorf("addresses %v", env.addresses())
			}
			env.Cloud.Faults.Clear()
			env.ensure(svc, replaced)
			if lb := env.loadBalancer(); lb.ID == old || env.addresses()[address] != lb.VIP.PortID {
				t.Errorf("it is not replaced: %v", env.addresses())
			}
			env.membersAre(replaced)
		})
	}
}

// If the quota of members prevents a pool from growing, the removal of old members makes room.
func TestQuota_OfMembersIsFreedByNodesThatAreGone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Quota: map[string]int{"member": 3}}})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes)
	var grown []*v1.Node
	for i := range 5 {
		grown = append(grown, env.node(3+i))
	}
	for range 2 { // no other Service reports it or retries
		if _, err := env.engine.Repair(env.ctx, svc, grown, there); err == nil || !strings.Contains(err.Error(), "follows its nodes or pods") {
			t.Errorf("got %v, want the refusal", err)
		}
		env.membersAre(grown[:3])
		if got := env.refusedFor(); got != "quota" {
			t.Errorf("counted as %q", got)
		}
	}
	env.refused(svc, grown, "follows its nodes or pods")
	if _, err := env.engine.Repair(env.ctx, svc, grown, there); err != nil {
		t.Errorf("emitted twice: %v", err)
	}
	env.Cloud.Octavia.SetQuota(env.Cloud.Account.ProjectID, "member", -1)
	env.ensure(svc, grown)
	env.membersAre(grown)
	if got := env.refusedFor(); got != "" {
		t.Errorf("counted as %q", got)
	}
}

// unfiltered switches port security off at the port of a node.
func (env *environment) unfiltered(node *v1.Node) {
	env.T.Helper()
	off := false
	for _, p := range env.Cloud.Neutron.Ports() {
		if p.FixedIPs[0].Address == node.Status.Addresses[0].Address {
			if _, err := env.Cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{SecurityGroups: &[]string{}, PortSecurity: &off}); err != nil {
				env.T.Fatal(err)
			}
		}
	}
}

// With provider ovn the security group restricts clients. It stays unchanged while the permitted
// clients are unknown, and nodes on which it has no effect are not added.
func TestRefusal_OpensServiceNoWider(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service", "lb-provider", "ovn")})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"}
	env.ensure(svc, nodes)
	rules := rulesOf(env.group())
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "all"}
	env.restart()
	replaced := []*v1.Node{env.node(2), env.node(3)}
	env.refused(svc, replaced, "follows its nodes or pods")
	env.membersAre(replaced)
	env.rules(env.group(), rules...)
	env.uses(env.group().ID, replaced...)

	open := env.node(4)
	env.unfiltered(open)
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"}
	env.refused(svc, []*v1.Node{replaced[1], open}, "follows its nodes or pods")
	env.membersAre(replaced[1:])
	env.rules(env.group(), rules...)
}

// A guest on a shared load balancer follows the nodes as well.
func TestRefusal_FollowsNodesOnSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(2)
	env.ensure(service("owner", 1), nodes)
	guest := onto("guest", env.loadBalancer(), 443)
	env.ensure(guest, nodes)
	guest.Annotations[annotation.MaxMembers] = "many"
	env.restart()
	replaced := []*v1.Node{env.node(2), env.node(3)}
	env.refused(guest, replaced, "follows its nodes or pods")
	lb := env.loadBalancer()
	for _, pool := range lb.Pools {
		if strings.Contains(pool.Name, "guest") {
			env.poolIs(pool, replaced)
		} else {
			env.poolIs(pool, nodes)
		}
	}
	env.delete(guest)
	if left := ports(env.loadBalancer()); len(left) != 1 {
		t.Errorf("listeners %v are left", left)
	}
}

// A refusal causes one event, and so does each other report, however often the Service is retried,
// and whatever happens in between.
func TestRefusal_RepeatsNoEventAndIsRetriedSlowly(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	svc.Annotations[annotation.MaxMembers] = "many"
	svc.Annotations["loadbalancer.openstack.org/floating-netwrok-id"] = "x"
	env.emitted()
	for range 3 {
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		var later *api.RetryError
		if !errors.As(err, &later) || later.RetryAfter() < time.Minute {
			t.Errorf("it is tried again at once: %v", err)
		}
		if _, err := env.engine.Repair(env.ctx, svc, nodes, there); err != nil {
			t.Error(err)
		}
	}
	if emitted := env.emitted(); strings.Count(emitted, "\n") != 0 || !strings.Contains(emitted, "did you mean") {
		t.Errorf("events:\n%s\nwant one", emitted)
	}
}

// A change that the controller refuses is not announced before.
func TestRefusal_AnnouncesNoChange(t *testing.T) {
	t.Parallel()
	for name, way := range waysOfRefusal() {
		if way.byCloud {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed("per-service", "create-monitor", "true")})
			nodes, svc := env.nodes(2), service("web", 2)
			if way.prepare != nil {
				way.prepare(env, svc)
			}
			env.ensure(svc, nodes)
			way.spoil(env, svc)
			env.emitted()
			env.refused(svc, nodes, way.want)
			if emitted := env.emitted(); strings.Contains(emitted, string(reason.Changing)) {
				t.Errorf("announced:\n%s", emitted)
			}
		})
	}
}
