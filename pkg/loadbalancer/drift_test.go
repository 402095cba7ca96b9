package loadbalancer_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// octaviaAsSomebodyElse returns a session of another client.
func octaviaAsSomebodyElse(t *testing.T, env *environment) *openstack.Session {
	t.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

//proves:89
func TestDrift_RestoresPartsDeletedByOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil   func(context.Context, *openstack.Session, simoctavia.LoadBalancer) error
		emitted string
	}{
		"a member deleted": {
			func(ctx context.Context, s *openstack.Session, lb simoctavia.LoadBalancer) error {
				return s.Octavia().RemoveMember(ctx, lb.Pools[0].ID, lb.Pools[0].Members[0].ID)
			}, "member +node-",
		},
		"a listener deleted": {
			func(ctx context.Context, s *openstack.Session, lb simoctavia.LoadBalancer) error {
				return s.Octavia().DeleteListener(ctx, lb.Listeners[0].ID)
			}, "listener TCP/",
		},
		"a monitor deleted": {
			func(ctx context.Context, s *openstack.Session, lb simoctavia.LoadBalancer) error {
				return s.Octavia().DeleteMonitor(ctx, lb.Pools[0].Monitor.ID)
			}, "create TCP every",
		},
		"the load balancer deleted": {
			func(ctx context.Context, s *openstack.Session, lb simoctavia.LoadBalancer) error {
				return s.Octavia().DeleteLoadBalancer(ctx, lb.ID, true)
			}, "the load balancer is gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
			nodes, svc := env.nodes(3), service("web", 2)
			env.ensure(svc, nodes)
			address := svc.Status.LoadBalancer.Ingress[0].IP
			env.emitted()
			if err := c.spoil(env.ctx, octaviaAsSomebodyElse(t, env), env.loadBalancer()); err != nil {
				t.Fatal(err)
			}
			if err := env.Cloud.WaitSettled(env.ctx); err != nil {
				t.Fatal(err)
			}
			env.repair(svc, nodes)
			lb := env.loadBalancer()
			if len(lb.Listeners) != 2 || len(lb.Pools[0].Members) != 3 || lb.Pools[0].Monitor == nil {
				t.Errorf("the load balancer is\n%+v", lb)
			}
			if got := svc.Status.LoadBalancer.Ingress[0].IP; got != address {
				t.Errorf("address %s became %s", address, got)
			}
			emitted := env.emitted()
			if !strings.Contains(emitted, "LoadBalancerDrifted") || !strings.Contains(emitted, c.emitted) {
				t.Errorf("events:\n%s\nwant one of drift with %q", emitted, c.emitted)
			}
			env.floatingIPs(1)
			env.unchanged(svc, nodes)
		})
	}
}

// One rule holds for every object that can be switched off, for the watch and after a restart: the
// controller switches it on again, and reports it.
//
//proves:89
func TestDrift_SwitchesOnWhatOthersSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		off     func(context.Context, *octavia.Client, simoctavia.LoadBalancer) error
		on      func(simoctavia.LoadBalancer) bool
		emitted string
	}{
		"load balancer": {
			func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
				return o.UpdateLoadBalancer(ctx, lb.ID, octavia.Changes{"admin_state_up": false})
			},
			func(lb simoctavia.LoadBalancer) bool { return lb.AdminStateUp }, "load balancer kube_service_",
		},
		"listener": {
			func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
				_, err := o.UpdateListener(ctx, lb.Listeners[0].ID, octavia.Changes{"admin_state_up": false})
				return err
			},
			func(lb simoctavia.LoadBalancer) bool { return lb.Listeners[0].AdminStateUp }, "listener TCP/80",
		},
		"pool": {
			func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
				return o.UpdatePool(ctx, lb.Pools[0].ID, octavia.Changes{"admin_state_up": false})
			},
			func(lb simoctavia.LoadBalancer) bool { return lb.Pools[0].AdminStateUp }, "pool TCP/80",
		},
		"health monitor": {
			func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
				return o.UpdateMonitor(ctx, lb.Pools[0].Monitor.ID, octavia.Changes{"admin_state_up": false})
			},
			func(lb simoctavia.LoadBalancer) bool { return lb.Pools[0].Monitor.AdminStateUp }, "monitor TCP/80",
		},
	} {
		for _, by := range []string{"the watch", "the next process"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
				nodes, svc := env.nodes(2), service("web", 1)
				env.ensure(svc, nodes)
				env.emitted()
				if err := c.off(env.ctx, octaviaAsSomebodyElse(t, env).Octavia(), env.loadBalancer()); err != nil {
					t.Fatal(err)
				}
				if c.on(env.loadBalancer()) {
					t.Fatal("it is not off")
				}
				env.Cloud.RequestLog.Reset()
				if by == "the watch" {
					env.repair(svc, nodes)
				} else {
					env.restart()
					env.ensure(svc, nodes)
				}
				env.writes(1)
				if !c.on(env.loadBalancer()) {
					t.Error("it is still off")
				}
				if emitted, want := env.emitted(), c.emitted; !strings.Contains(emitted, want) || !strings.Contains(emitted, "admin_state_up false → true") {
					t.Errorf("events %q, want one that names %q and admin_state_up", emitted, want)
				}
				env.unchanged(svc, nodes)
			})
		}
	}
}

//proves:89
func TestDrift_RestoresFloatingIPTakenOffByOthers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	if _, err := env.Cloud.Neutron.AssociateFloatingIP(env.Cloud.Neutron.FloatingIPs()[0].ID, "", ""); err != nil {
		t.Fatal(err)
	}
	env.repair(svc, nodes)
	env.floatingIPs(1)
	if got := svc.Status.LoadBalancer.Ingress[0].IP; got != address {
		t.Errorf("address %s became %s", address, got)
	}
	env.unchanged(svc, nodes)
}

func TestDrift_IsOnlyReportedWhenPolicyIsReport(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": "report"}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	if err := octaviaAsSomebodyElse(t, env).Octavia().RemoveMember(env.ctx, lb.Pools[0].ID, lb.Pools[0].Members[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		t.Fatal(err)
	}
	env.Cloud.RequestLog.Reset()
	env.repair(svc, nodes)
	env.writes(0)
	if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") {
		t.Errorf("events:\n%s", emitted)
	}
}

func TestRepair_RestoresNoLoadBalancerOfDeletedService(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	if err := env.Cloud.Octavia.Remove(env.loadBalancer().ID); err != nil {
		t.Fatal(err)
	}
	env.notice(svc)
	gone := func(context.Context) (bool, error) { return false, nil }
	if _, err := env.engine.Repair(env.ctx, svc, nodes, gone); err == nil {
		t.Error("Repair succeeded")
	}
	env.loadBalancers(0)
}

// writeDown waits until the state of Services is recorded, and written into their annotations.
func (env *environment) writeDown(services ...*v1.Service) {
	env.T.Helper()
	ctx, stop := context.WithCancel(env.ctx)
	defer stop()
	all, left := map[types.UID]*v1.Service{}, map[types.UID]bool{}
	for _, svc := range services {
		all[svc.UID], left[svc.UID] = svc, true
	}
	env.records.recorded = func(uid types.UID) {
		if delete(left, uid); len(left) == 0 {
			stop()
		}
	}
	defer func() { env.records.recorded = nil }()
	defer env.watchDrift(ctx, func(types.NamespacedName) {})() // which confirms the state to record
	env.engine.PersistRecords(ctx, func(_ context.Context, _ types.NamespacedName, uid types.UID, record annotation.Record) error {
		if svc := all[uid]; svc != nil {
			writeRecord(svc, record)
		}
		return nil
	})
}

//proves:71
func TestRestart_CostsFewRequestsForManyUnchangedServices(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{
		Delays: map[string]simoctavia.Delays{simoctavia.ProviderAmphora: {}},
	}})
	env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, "port", -1)
	env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, "floatingip", -1)
	nodes := env.nodes(3)
	var services []*v1.Service
	for i := range 60 {
		svc := service("web-"+itoa(i), 2)
		services = append(services, svc)
		env.ensure(svc, nodes)
	}
	env.writeDown(services...)
	env.restart()
	env.Cloud.RequestLog.Reset()
	for _, svc := range services {
		before := svc.Status.LoadBalancer.DeepCopy()
		env.ensure(svc, nodes)
		if svc.Status.LoadBalancer.Ingress[0].IP != before.Ingress[0].IP {
			t.Errorf("address %v became %v", before, svc.Status.LoadBalancer)
		}
	}
	env.writes(0)
	if all := env.Cloud.RequestLog.Requests(); len(all) > 4 {
		t.Errorf("%d requests for 60 unchanged Services:\n%s", len(all), printed(all))
	}
	// A later change is still made.
	if err := env.engine.Update(env.ctx, services[7], nodes[:2]); err != nil {
		t.Fatal(err)
	}
	env.unchanged(services[7], nodes[:2])
}

func TestRecord_OfOtherServiceOrChangedLoadBalancerIsNotTrusted(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	env.writeDown(svc)
	copied := service("copy", 1)
	copied.Annotations = svc.Annotations
	copied.Status = *svc.Status.DeepCopy()
	env.restart()
	env.ensure(copied, nodes)
	env.loadBalancers(2)

	lb := env.Cloud.Octavia.Snapshot()
	i := slices.IndexFunc(lb, func(lb simoctavia.LoadBalancer) bool { return strings.HasSuffix(lb.Name, "_web") })
	if err := octaviaAsSomebodyElse(t, env).Octavia().RemoveMember(env.ctx, lb[i].Pools[0].ID, lb[i].Pools[0].Members[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		t.Fatal(err)
	}
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(1)
	env.unchanged(svc, nodes)
}

func TestDrift_IsNotReportedWhenLookFails(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	env.Cloud.Faults.Add(faultOn(http.MethodGet, lbRoute, http.StatusInternalServerError))
	ctx, stop := context.WithTimeout(env.ctx, 200*time.Millisecond)
	defer stop()
	env.engine.WatchDrift(ctx, func(name types.NamespacedName) { t.Errorf("drift of %s", name) })
}

// A write of a failed round is not taken for a change of another client.
func TestDrift_IsNotWhatFailedRoundHasWritten(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	next := service("web", 2)
	env.Cloud.Faults.Add(once(http.MethodPost, "/load-balancer/v2.0/lbaas/listeners", http.StatusForbidden))
	if _, err := env.engine.Ensure(env.ctx, next, nodes); err == nil {
		t.Fatal("the listener was not to be created")
	}
	ctx, stop := context.WithTimeout(env.ctx, 200*time.Millisecond)
	defer stop()
	env.engine.WatchDrift(ctx, func(name types.NamespacedName) { t.Errorf("drift of %s", name) })
	env.ensure(next, nodes)
	env.unchanged(next, nodes)
}

func TestMembers_AreSubsetOfNodesWhenMaxMembersIsSet(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"max-members": "4"}})
	nodes, svc := env.nodes(12), service("web", 1)
	env.ensure(svc, nodes)
	if n := len(env.loadBalancer().Pools[0].Members); n != 4 {
		t.Errorf("%d members, want 4", n)
	}
	chosen := map[string]bool{}
	for _, m := range env.loadBalancer().Pools[0].Members {
		chosen[m.Name] = true
	}
	// The loss of nodes that are no members costs nothing.
	others := slices.DeleteFunc(slices.Clone(nodes), func(n *v1.Node) bool { return !chosen[n.Name] })
	env.Cloud.RequestLog.Reset()
	if err := env.engine.Update(env.ctx, svc, others); err != nil {
		t.Fatal(err)
	}
	env.writes(0)
	svc.Annotations[annotation.MaxMembers] = "0"
	env.ensure(svc, nodes)
	if n := len(env.loadBalancer().Pools[0].Members); n != 12 {
		t.Errorf("%d members, want all 12", n)
	}
}

// Annotations that the controller writes to the Service make upstream call Ensure.
//
//proves:72
func TestRecord_OnServiceCostsNextEnsureNoRequest(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	env.writeDown(svc)
	if got, want := svc.Annotations[annotation.LoadBalancerID], env.loadBalancer().ID; got != want {
		t.Errorf("load-balancer-id %q, want %q", got, want)
	}
	if got, want := svc.Annotations[annotation.LoadBalancerAddress], svc.Status.LoadBalancer.Ingress[0].IP; got != want {
		t.Errorf("load-balancer-address %q, want %q", got, want)
	}
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	if all := env.Cloud.RequestLog.Requests(); len(all) != 0 {
		t.Errorf("requests:\n%s", printed(all))
	}
	env.unchanged(svc, nodes)
}

// Tags are never rewritten. If another client removes them, ID and names still identify the owner,
// and the Service is served.
//
//proves:89
func TestDrift_OfTagsCostsNoWriteAndServiceGoesOn(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"load balancer", "listener"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			env.writeDown(svc)
			lb, o, none := env.loadBalancer(), octaviaAsSomebodyElse(t, env).Octavia(), []string{}
			var err error
			if part == "listener" {
				_, err = o.UpdateListener(env.ctx, lb.Listeners[0].ID, octavia.Changes{"tags": none})
			} else {
				err = o.UpdateLoadBalancer(env.ctx, lb.ID, octavia.Changes{"tags": none})
			}
			if err != nil {
				t.Fatal(err)
			}
			env.loadBalancer()
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(0)
			env.ensure(svc, nodes[:1])
			if n := len(env.loadBalancer().Pools[0].Members); n != 1 {
				t.Errorf("%d members, want 1", n)
			}
		})
	}
}
