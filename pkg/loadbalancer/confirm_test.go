package loadbalancer_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// slow replaces the controller by one that polls for the end of a change only after a second.
func (env *environment) slow() {
	env.T.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		env.T.Fatal(err)
	}
	env.T.Cleanup(session.Close)
	timing := fastTiming()
	timing.Update = driver.PollInterval{First: time.Second, Step: time.Second, Cap: time.Second}
	env.events = record.NewFakeRecorder(1000)
	env.engine, err = loadbalancer.New(loadbalancer.Options{
		Config: env.Conf, Session: session, ClusterName: env.clusterName, ClusterID: env.clusterUID, Records: env.records,
		Recorder: env.events, Clock: clock.RealClock{}, Timing: timing, Patience: time.Minute,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	env.T.Cleanup(env.engine.Close)
}

// ensureMeanwhile ensures a Service, and calls meanwhile between the end of the change and the poll
// that detects it.
func (env *environment) ensureMeanwhile(svc *v1.Service, nodes []*v1.Node, meanwhile func(*openstack.Session, simoctavia.LoadBalancer) error) {
	env.T.Helper()
	env.Cloud.RequestLog.Reset()
	done := make(chan error, 1)
	go func() { _, err := env.engine.Ensure(env.ctx, svc, nodes); done <- err }()
	for len(env.Cloud.RequestLog.Requests(requestlog.Writes())) == 0 && env.ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := meanwhile(octaviaAsSomebodyElse(env.T, env), env.loadBalancer()); err != nil {
		env.T.Fatal(err)
	}
	if err := <-done; err != nil {
		env.T.Fatal(err)
	}
	env.loadBalancer()
}

// Parts that another client removes or adds while we wait for our own change are found at its end.
//
//proves:89
func TestDrift_OfPartsDuringOwnChangeIsRepairedAtItsEnd(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes[:2])
	env.slow()
	env.ensureMeanwhile(svc, nodes, func(s *openstack.Session, lb simoctavia.LoadBalancer) error {
		return s.Octavia().RemoveMember(env.ctx, lb.Pools[0].ID, lb.Pools[0].Members[0].ID)
	})
	if n := len(env.loadBalancer().Pools[0].Members); n != 3 {
		t.Errorf("the pool has %d members, want 3", n)
	}
	if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") {
		t.Errorf("events %q, want one of drift", emitted)
	}
	env.unchanged(svc, nodes)
}

// Settings that another client changes during that time are found by the first check, or by the
// next process if that starts earlier.
//
//proves:89
func TestDrift_OfSettingsDuringOwnChangeIsFoundByFirstLook(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"the first look", "the next process", "the first look of the next process"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(3), service("web", 1)
			svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
			env.ensure(svc, nodes[:2])
			env.writeDown(svc)
			env.slow()
			env.ensureMeanwhile(svc, nodes, func(s *openstack.Session, lb simoctavia.LoadBalancer) error {
				_, err := s.Octavia().UpdateListener(env.ctx, lb.Listeners[0].ID, octavia.Changes{"allowed_cidrs": []string{}})
				return err
			})
			switch by {
			case "the first look":
				env.repair(svc, nodes)
			case "the next process": // the last process has crashed
				env.restart()
				env.ensure(svc, nodes)
			default:
				env.end()
				env.restart()
				env.ensure(svc, nodes)
				env.repair(svc, nodes)
			}
			if got := env.loadBalancer().Listeners[0].AllowedCIDRs; len(got) != 1 {
				t.Errorf("allowed CIDRs are %v: it is open to all", got)
			}
			env.unchanged(svc, nodes)
		})
	}
}

// Background requests after a change: the first check reads the settings once, and the next process
// then trusts them.
func TestRecord_OfChangeIsConfirmedOnceByNextLook(t *testing.T) {
	t.Parallel()
	for monitors, want := range map[string]int{"false": 2, "true": 3} {
		env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": monitors}})
		nodes, svc := env.nodes(3), service("web", 2)
		env.ensure(svc, nodes)
		env.Cloud.RequestLog.Reset()
		env.writeDown(svc)
		if reads := env.contentReads(); len(reads) != want {
			t.Errorf("with monitors %s: read\n%swant %d", monitors, printed(reads), want)
		}
		env.writes(0)
		env.Cloud.RequestLog.Reset()
		env.look()
		if reads := env.contentReads(); len(reads) != 0 {
			t.Errorf("read once more:\n%s", printed(reads))
		}
	}
}

// Load balancers of many Services that have changed, as after a new node, are read together.
func TestRecord_OfManyChangesIsConfirmedByRequestsForAllOfThem(t *testing.T) {
	t.Parallel()
	for monitors, want := range map[string]int{"false": 2, "true": 3} {
		env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": monitors}})
		nodes := env.nodes(3)
		var all []*v1.Service
		for i := range 6 {
			svc := service("web-"+itoa(i), 2)
			env.ensure(svc, nodes)
			all = append(all, svc)
		}
		time.Sleep(state.ConfirmAfter) // one check can confirm all of them
		env.Cloud.RequestLog.Reset()
		env.writeDown(all...)
		if reads := env.contentReads(); len(reads) != want {
			t.Errorf("with monitors %s: read\n%swant %d", monitors, printed(reads), want)
		}
		env.restart()
		env.Cloud.RequestLog.Reset()
		for _, svc := range all {
			env.ensure(svc, nodes)
		}
		if reads := env.contentReads(); len(reads) != 0 {
			t.Errorf("read after a restart:\n%s", printed(reads))
		}
		env.writes(0)
	}
}

// Without a drift-policy nothing watches for drift, but the record is confirmed.
func TestRecord_IsConfirmedWhenDriftPolicyIsOff(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": "off"}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	env.writeDown(svc)
	if reads := env.contentReads(); len(reads) == 0 {
		t.Error("nothing was read")
	}
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	if reads := env.contentReads(); len(reads) != 0 {
		t.Errorf("read after a restart:\n%s", printed(reads))
	}
}

// Without a watch, a load balancer that another client has changed does not cause reads for ever.
func TestRecord_IsDroppedAfterOneLookAtForeignChangeWhenPolicyIsOff(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": "off"}})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	if err := octaviaAsSomebodyElse(t, env).Octavia().RemoveMember(env.ctx, lb.Pools[0].ID, lb.Pools[0].Members[0].ID); err != nil {
		t.Fatal(err)
	}
	env.loadBalancer()
	env.Cloud.RequestLog.Reset()
	ctx, stop := context.WithCancel(env.ctx)
	defer stop()
	looks := func() int { return env.Cloud.RequestLog.Count(http.MethodGet, lbRoute) }
	go func() {
		for looks() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(3 * time.Second) // time for more checks
		stop()
	}()
	env.records.recorded = func(uid types.UID) { t.Errorf("recorded: %s", env.records.texts[uid]) }
	env.engine.PersistRecords(ctx, func(context.Context, types.NamespacedName, types.UID, annotation.Record) error { return nil })
	if n := looks(); n != 1 {
		t.Errorf("%d looks, want 1", n)
	}
	env.ensure(svc, nodes) // which reads the load balancer
	if n := len(env.loadBalancer().Pools[0].Members); n != 3 {
		t.Errorf("%d members, want 3", n)
	}
}

// ID and address are recorded before that confirmation.
func TestRecord_OfIDAndAddressPrecedesConfirmation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	ctx, stop := context.WithCancel(env.ctx)
	defer stop()
	var all []annotation.Record
	env.engine.PersistRecords(ctx, func(_ context.Context, _ types.NamespacedName, _ types.UID, text annotation.Record) error {
		all = append(all, text)
		stop()
		return nil
	})
	want := annotation.Record{Service: svc.UID, LoadBalancerID: env.loadBalancer().ID, Address: svc.Status.LoadBalancer.Ingress[0].IP}
	if len(all) != 1 || all[0] != want {
		t.Errorf("written %+v, want %+v", all, want)
	}
}

// Our own change takes time. A check during it does not take the change for that of another client.
//
//proves:89
func TestDrift_IgnoresOwnChanges(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"repair", "report"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			ownChange(t, policy)
		})
	}
}

// ownChange makes checks during each of the eight steps of a change of nodes, of a load balancer
// with a guest.
func ownChange(t *testing.T, policy string) {
	t.Helper()
	d := simoctavia.Delays{Create: 20 * time.Millisecond, Update: 30 * time.Millisecond, Delete: 5 * time.Millisecond}
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": policy}, simulator: simulator.Options{Delays: map[string]simoctavia.Delays{simoctavia.ProviderAmphora: d}}})
	nodes, owner, guest := env.nodes(4), service("a", 8), service("b", 1)
	guest.Spec.Ports[0] = port(v1.ProtocolTCP, 9000)
	env.ensure(owner, nodes[:2])
	guest.Annotations[annotation.LoadBalancerID] = env.loadBalancer().ID
	env.ensure(guest, nodes[:2])
	env.ensure(owner, nodes[:3]) // it detects its guest
	stop := env.watchDrift(env.ctx, func(name types.NamespacedName) { t.Errorf("%s was taken for changed by another client", name) })
	looks := func() int { return env.Cloud.RequestLog.Count(http.MethodGet, lbRoute) }
	for looks() < 2 && env.ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	before := looks()
	if _, err := env.engine.Repair(env.ctx, owner, nodes, there); err != nil { // as after a change of nodes
		t.Fatal(err)
	}
	if during := looks() - before; during < 2 {
		t.Errorf("only %d looks fell into the change", during)
	}
	for before := looks(); looks() < before+3 && env.ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	stop()
	for number := range 8 {
		if n := len(env.poolOf(80 + number).Members); n != len(nodes) {
			t.Errorf("port %d has %d members", 80+number, n)
		}
	}
	if emitted := env.emitted(); strings.Contains(emitted, "LoadBalancerDrifted") {
		t.Errorf("events\n%s", emitted)
	}
}

// A change of health is no drift: it costs a read of the status tree, and nothing else. It is found
// even if the health has recovered by the time of the check, with the settings of that time.
func TestDrift_ReadsLittleAndReportsNothingWhenOnlyHealthChanges(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}, simulator: simulator.Options{Release: "2024.2"}})
	nodes, svc := env.nodes(3), service("web", 3)
	env.ensure(svc, nodes)
	env.writeDown(svc)
	env.emitted()
	member := env.loadBalancer().Pools[0].Members[0].ID
	health := func(status string) {
		t.Helper()
		if err := env.Cloud.Octavia.SetMemberOperatingStatus(member, status); err != nil {
			t.Fatal(err)
		}
	}
	quietly := func(what string, want int) {
		t.Helper()
		env.Cloud.RequestLog.Reset()
		stop := env.watchDrift(env.ctx, func(types.NamespacedName) { t.Errorf("%s: somebody is accused", what) })
		for env.Cloud.RequestLog.Count(http.MethodGet, lbRoute) < 4 && env.ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		stop()
		if reads := env.contentReads(); len(reads) != want {
			t.Errorf("%s: read\n%swant %d", what, printed(reads), want)
		}
		if emitted := env.emitted(); emitted != "" {
			t.Errorf("%s: events %q", what, emitted)
		}
	}
	quietly("nothing", 0)
	health(simoctavia.Error)
	quietly("a member fails", 1)
	health(simoctavia.Online)
	health(simoctavia.Error)
	quietly("it came back and failed again", 6) // and the settings of members, for each pool
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	if all := env.Cloud.RequestLog.Requests(); len(all) != 0 {
		t.Errorf("then a sync costs\n%s", printed(all))
	}
	env.unchanged(svc, nodes)
}
