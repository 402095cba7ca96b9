package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
)

// unconnected is a Reconciler that sends no request, with its clock and metrics.
type unconnected struct {
	*Reconciler

	t        *testing.T
	clock    *clocktesting.FakeClock
	registry metrics.KubeRegistry
}

func newUnconnected(t *testing.T, change func(*config.LoadBalancer)) *unconnected {
	t.Helper()
	u := &unconnected{t: t, clock: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)), registry: metrics.NewKubeRegistry()}
	conf, counts := &config.Config{}, NewMetrics()
	change(&conf.LoadBalancer)
	if err := counts.Register(u.registry.Register); err != nil {
		t.Fatal(err)
	}
	var err error
	if u.Reconciler, err = New(Options{Config: conf, Session: &openstack.Session{}, ClusterID: "cluster", Clock: u.clock, Metrics: counts}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

func usual(*config.LoadBalancer) {}

// value returns the value of a metric with these labels, as pairs.
func (u *unconnected) value(name string, labels ...string) float64 {
	u.t.Helper()
	with := map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		with[labels[i]] = labels[i+1]
	}
	return metricstest.Value(u.t, u.registry, "cloudprovider_openstack_"+name, with)
}

// look makes this the last snapshot of the project.
func (u *unconnected) look(all ...octavia.LoadBalancer) {
	u.t.Helper()
	engine := *u.engine()
	engine.Cloud.Project = project.New(listed{balancers: all}, listed{}, u.clock)
	u.engines.Store(&engine)
	if _, err := engine.Cloud.Project.Snapshot(u.t.Context(), 0); err != nil {
		u.t.Fatal(err)
	}
}

// listed is a project that is only listed.
type listed struct {
	project.Octavia

	balancers []octavia.LoadBalancer
}

func (l listed) LoadBalancers(context.Context, octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return l.balancers, nil
}

func (listed) FloatingIPs(context.Context, neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return nil, nil
}

// applied makes a load balancer the Service's.
func (u *unconnected) applied(uid types.UID, change func(*state.Applied)) {
	a := &state.Applied{
		Service: types.NamespacedName{Namespace: "default", Name: string(uid)}, LoadBalancer: state.LoadBalancer{ID: "lb-" + string(uid)}, Address: "203.0.113.7",
		Contents: &model.LoadBalancer{}, Persisted: state.Persisted{Address: true, Record: true},
	}
	change(a)
	u.store.Update(uid, func(e *state.Entry) { e.SetApplied(a) })
}

// named returns a Service of type LoadBalancer.
func named(name string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}},
	}
}

// In the last snapshot of the project there are load balancers of all clusters.
func TestMetrics_CountLoadBalancersOfTheClusterOnly(t *testing.T) {
	t.Parallel()
	u := newUnconnected(t, usual)
	if got := u.value("loadbalancer_objects"); got != 0 {
		t.Errorf("%v objects before the first snapshot", got)
	}
	at := func(minutes int) octavia.Timestamp {
		return octavia.Timestamp{Time: u.clock.Now().Add(time.Duration(minutes) * time.Minute)}
	}
	tagged := []string{ownership.ClusterTag("cluster")}
	u.applied("adopted", func(*state.Applied) {})
	u.look(
		octavia.LoadBalancer{ID: "a", Tags: tagged, ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE", UpdatedAt: at(-90)},
		octavia.LoadBalancer{ID: "b", Tags: tagged, ProvisioningStatus: "PENDING_UPDATE", OperatingStatus: "ONLINE", UpdatedAt: at(-5)},
		octavia.LoadBalancer{ID: "c", Tags: tagged, ProvisioningStatus: "PENDING_CREATE", OperatingStatus: "", UpdatedAt: at(-7)},
		octavia.LoadBalancer{ID: "new", Tags: tagged, ProvisioningStatus: "PENDING_CREATE", OperatingStatus: "FROZEN"},
		octavia.LoadBalancer{ID: "lb-adopted", ProvisioningStatus: "ACTIVE", OperatingStatus: "ERROR", UpdatedAt: at(-90)},
		octavia.LoadBalancer{ID: "theirs", Tags: []string{ownership.ClusterTag("other")}, ProvisioningStatus: "PENDING_UPDATE", OperatingStatus: "ONLINE", UpdatedAt: at(-90)},
		octavia.LoadBalancer{ID: "a person's", ProvisioningStatus: "PENDING_UPDATE", OperatingStatus: "ONLINE", UpdatedAt: at(-90)},
	)
	for operating, want := range map[string]float64{"ONLINE": 2, "ERROR": 1, "unknown": 1, "other": 1} {
		if got := u.value("loadbalancer_objects", "kind", "load_balancer", "operating_status", operating); got != want {
			t.Errorf("%v load balancers are %s, want %v", got, operating, want)
		}
	}
	if got, want := u.value("oldest_pending_loadbalancer_timestamp_seconds"), float64(at(-7).Unix()); got != want {
		t.Errorf("the oldest is PENDING since %v, want %v", got, want)
	}
	u.look(octavia.LoadBalancer{ID: "a", Tags: tagged, ProvisioningStatus: "ACTIVE", UpdatedAt: at(-90)})
	if got := u.value("oldest_pending_loadbalancer_timestamp_seconds"); got != 0 {
		t.Errorf("none is PENDING, and the oldest is since %v", got)
	}
}

func TestMetrics_CountServicesAndPartsOfTheState(t *testing.T) {
	t.Parallel()
	u := newUnconnected(t, usual)
	u.store.Update("pending", func(e *state.Entry) { e.Unsettled.Since = u.clock.Now() })
	for _, uid := range []types.UID{"settled", "warned"} {
		u.store.Update(uid, func(e *state.Entry) { e.Accept(named("x")) })
	}
	u.store.Update("warned", func(e *state.Entry) { e.Warn(events.Rollouts, "text") })
	u.applied("settled", func(a *state.Applied) {
		a.Contents.Listeners = []model.Listener{{Protocol: model.Prometheus, Status: model.Status{Provisioning: "ACTIVE", Operating: "ONLINE"}}}
	})
	for phase, want := range map[string]float64{"pending": 1, "settled": 2, "refused": 0, "deleting": 0} {
		if got := u.value("services", "phase", phase); got != want {
			t.Errorf("%v Services are %s, want %v", got, phase, want)
		}
	}
	if got := u.value("oldest_service_timestamp_seconds", "phase", "pending"); got != float64(u.clock.Now().Unix()) {
		t.Errorf("the oldest is pending since %v", got)
	}
	if got := u.value("loadbalancer_objects", "kind", "listener", "provisioning_status", "ACTIVE"); got != 1 {
		t.Errorf("%v listeners", got)
	}
	if got := u.value("rollout_losing_services"); got != 1 {
		t.Errorf("%v Services lose connections in rollouts", got)
	}
}

// A wait may begin between the counts of rounds and of waits.
func TestMetrics_DivideRoundsByWhatTheyDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rounds, waiting, unfetched, working float64 }{{0, 0, 0, 0}, {5, 2, 1, 3}, {2, 2, 0, 0}, {1, 2, 3, 0}} {
		got := map[string]float64{}
		setRounds(int(test.rounds), int(test.waiting), int(test.unfetched), func(value float64, labels ...string) { got[labels[0]] = value })
		want := map[string]float64{"working": test.working, "waiting_for_octavia": test.waiting, "unfetched": test.unfetched}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", test, diff)
		}
	}
}

func TestMetrics_CountRoundsByTheirKnowledgeAndDriftByItsResult(t *testing.T) {
	t.Parallel()
	u := newUnconnected(t, usual)
	m := u.options.Metrics
	m.began(goal.Known{}, nil)
	m.began(goal.Known{}, errors.New("broken"))
	m.began(goal.Known{Status: &v1.LoadBalancerStatus{}, Have: goal.Observation{Observed: &model.Observed{}}}, nil)
	for range 2 {
		m.began(goal.Known{Have: goal.Observation{Observed: &model.Observed{}}}, nil)
	}
	for known, want := range map[string]float64{"read": 1, "unchanged": 1, "recalled": 2} {
		if got := u.value("rounds_total", "knowledge", known); got != want {
			t.Errorf("%v rounds with knowledge %s, want %v", got, known, want)
		}
	}
	m.drifted(driftFound)
	if got := u.value("drift_total", "result", "found"); got != 1 {
		t.Errorf("%v changes are found", got)
	}
	m.quota("port", 5, 3)
	if limit, used := u.value("quota_limit", "resource", "port"), u.value("quota_used", "resource", "port"); limit != 5 || used != 3 {
		t.Errorf("%v of %v ports", used, limit)
	}
	m.quota("port", 0, 3)
	m.quota("port", -1, 4)
	if limit, used := u.value("quota_limit", "resource", "port"), u.value("quota_used", "resource", "port"); limit != 0 || used != 4 {
		t.Errorf("%v of %v ports, without a limit", used, limit)
	}
	var none *Metrics
	none.began(goal.Known{}, nil)
	none.drifted(driftFound)
	none.addressed(1, 1, telemetry.Times{})
}

func TestMetrics_CountDriftAsRepairedOrReported(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"": driftRepaired, "repair": driftRepaired, drift.PolicyReport: driftReported} {
		u := newUnconnected(t, func(conf *config.LoadBalancer) { conf.DriftPolicy = policy })
		(&round{rounds: u.rounds}).resolved()
		if got := u.value("drift_total"); got != 0 {
			t.Errorf("policy %q: %v changes without drift", policy, got)
		}
		(&round{rounds: u.rounds, before: before{drift: state.Drift{Reason: "changed"}}}).resolved()
		if got := u.value("drift_total", "result", want); got != 1 {
			t.Errorf("policy %q: %v are %s", policy, got, want)
		}
	}
}

// The time until a Service has an address has parts: its rounds, the pauses between them, and the wait for its turn.
func TestMetrics_MeasureTimeToTheFirstAddress(t *testing.T) {
	t.Parallel()
	published := &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}}
	for name, test := range map[string]struct {
		entry   state.Entry // at the beginning of the round; times are before its end
		created time.Duration
		status  *v1.LoadBalancerStatus
		err     error
		change  func(*v1.Service)

		counted                          bool
		octavia, retry, queue, unsettled time.Duration
	}{
		"the first round":           {created: 30 * time.Second, status: published, counted: true, octavia: 20 * time.Second, queue: 10 * time.Second},
		"created with the round":    {created: 20 * time.Second, status: published, counted: true, octavia: 20 * time.Second},
		"of another type until now": {created: time.Hour + 20*time.Second, status: published, counted: true, octavia: 20 * time.Second},
		"nearly an hour in a queue": {created: time.Hour + 19*time.Second, status: published, counted: true, octavia: 20 * time.Second, queue: time.Hour - time.Second},
		"the second round": {
			entry:   state.Entry{Unsettled: state.Unsettled{Spent: telemetry.Times{telemetry.Octavia: 30 * time.Second}}},
			created: 100 * time.Second, status: published, counted: true, octavia: 50 * time.Second, retry: 50 * time.Second,
		},
		"it has failed":    {err: errors.New("broken"), status: published, unsettled: 20 * time.Second},
		"no status":        {unsettled: 20 * time.Second},
		"no address":       {status: &v1.LoadBalancerStatus{}, unsettled: 20 * time.Second},
		"accepted before":  {entry: state.Entry{Accepted: named("web")}, status: published},
		"published before": {status: published, change: func(svc *v1.Service) { svc.Status.LoadBalancer = *published }},
	} {
		u := newUnconnected(t, usual)
		svc := named("web")
		if test.change != nil {
			test.change(svc)
		}
		ctx, watch := telemetry.Measure(t.Context(), u.clock)
		out := telemetry.In(ctx, telemetry.Octavia)
		u.clock.Step(20 * time.Second)
		out()
		now := u.clock.Now()
		svc.CreationTimestamp = metav1.NewTime(now.Add(-test.created))
		if test.retry > 0 {
			test.entry.Unsettled.Since = now.Add(-test.created)
		}
		u.store.Update(svc.UID, func(e *state.Entry) { e.Unsettled.Since = now })
		(&round{rounds: u.rounds, req: dispatch.Request{Service: svc}, before: before{test.entry.Applied, test.entry.Accepted, test.entry.Drift, test.entry.Unsettled}, watch: watch}).measure(test.status, test.err)
		if got := u.value("service_address_seconds") == 1; got != test.counted {
			t.Errorf("%s: counted %v", name, got)
		}
		for part, want := range map[string]time.Duration{"octavia": test.octavia, "retry": test.retry, "queue": test.queue} {
			if got := u.value("service_address_part_seconds_total", "part", part); got != want.Seconds() {
				t.Errorf("%s: %v seconds in %s, want %s", name, got, part, want)
			}
		}
		if got := u.store.Get(svc.UID).Unsettled.Spent.Sum(); got != test.unsettled {
			t.Errorf("%s: %s are spent", name, got)
		}
	}
}

func TestRoutedDrift_IsMarkedOnlyForServicesThatAreKnown(t *testing.T) {
	t.Parallel()
	u := newUnconnected(t, usual)
	service := types.NamespacedName{Namespace: "default", Name: "web"}
	u.store.Update("web", func(e *state.Entry) {
		e.SetRouted(&state.Routed{Service: service, LoadBalancer: &model.LoadBalancer{ID: "port"}})
	})
	u.applied("octavia", func(*state.Applied) {})
	for _, uid := range []types.UID{"unknown", "octavia"} {
		if of, is, marked := (routedDrift{u.Reconciler}).Mark(uid, "gone"); is || marked || of != (types.NamespacedName{}) {
			t.Errorf("%s: of %s, is %v, marked %v", uid, of, is, marked)
		}
	}
	if of, is, marked := (routedDrift{u.Reconciler}).Mark("web", "gone"); !is || !marked || of != service {
		t.Errorf("of %s, is %v, marked %v", of, is, marked)
	}
	if got := u.store.Get("web").Drift.Reason; got != "gone" {
		t.Errorf("drift %q", got)
	}
}

func TestServices_AnswerFromTheState(t *testing.T) {
	t.Parallel()
	u := newUnconnected(t, usual)
	pods, nodes := named("pods"), named("nodes")
	u.applied("pods", func(a *state.Applied) { a.LoadBalancer.Pods = true })
	u.applied("nodes", func(*state.Applied) {})
	u.store.Update("nodes", func(e *state.Entry) {
		e.Refusal.Refuse("quota", false)
		e.Stay = model.Stay{For: time.Second}
	})
	if !u.FollowsPods(pods) || u.FollowsPods(nodes) || u.FollowsPods(named("unknown")) {
		t.Error("the Service has a load balancer with pods, and pods are not its members")
	}
	if u.IsRefused(pods) || !u.IsRefused(nodes) || u.Stay(pods) != (model.Stay{}) || u.Stay(nodes).For != time.Second {
		t.Error("refusal or stay are those of another Service")
	}
	before := named("nodes")
	before.Annotations = map[string]string{"a": "b"}
	for name, test := range map[string]struct {
		change func(*v1.Service)
		want   bool
	}{
		"its record": {func(*v1.Service) {}, true},
		"the status": {func(svc *v1.Service) { svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}} }, true},
		"another record": {func(svc *v1.Service) {
			svc.Annotations[annotation.WrittenFor] = annotation.WrittenForText("theirs", "nodes", "")
		}, false},
		"another annotation":  {func(svc *v1.Service) { svc.Annotations["a"] = "c" }, false},
		"a port":              {func(svc *v1.Service) { svc.Spec.Ports[0].Port = 81 }, false},
		"its deletion":        {func(svc *v1.Service) { svc.DeletionTimestamp = &metav1.Time{Time: u.clock.Now()} }, false},
		"it is a new Service": {func(svc *v1.Service) { svc.UID = "new" }, false},
	} {
		now := before.DeepCopy()
		now.Annotations[annotation.WrittenFor], now.Annotations[annotation.LoadBalancerID] = annotation.WrittenForText("lb-nodes", "nodes", ""), "lb-nodes"
		test.change(now)
		if got := u.IsWritten(before, now); got != test.want {
			t.Errorf("%s has changed: written by this process %v", name, got)
		}
	}
}

// The service controller has a back-off for a Service with a failed round, and for no other.
func TestUntried_IsAServiceWithoutAddressAndWithoutAFailedRound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry     state.Entry
		published bool
		want      bool
	}{
		"new":       {state.Entry{}, false, true},
		"waiting":   {state.Entry{Unsettled: state.Unsettled{Since: time.Unix(1, 0)}}, false, true},
		"published": {state.Entry{}, true, false},
		"failed":    {state.Entry{Unsettled: state.Unsettled{Since: time.Unix(1, 0), Spent: telemetry.Times{telemetry.OpenStack: 1}}}, false, false},
		"refused":   {state.Entry{Refusal: state.Refusal{Reason: "quota"}}, false, false},
	} {
		u := newUnconnected(t, usual)
		svc := named("web")
		if test.published {
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
		}
		u.store.Update(svc.UID, func(e *state.Entry) { *e = test.entry })
		if got := u.untried(svc); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMembers_AreLimitedByCloudConf(t *testing.T) {
	t.Parallel()
	svc := named("web")
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Port: 81})
	req := dispatch.Request{Service: svc, Nodes: make([]*v1.Node, 5)}
	for most, want := range map[uint]int{0: 10, 3: 6, 5: 10, 9: 10} {
		u := newUnconnected(t, func(conf *config.LoadBalancer) { conf.MaxMembers = most })
		if got := u.rounds.members(req); got != want {
			t.Errorf("at most %d members of a pool: %d in all, want %d", most, got, want)
		}
	}
}

func TestEventMemory_NamesTheLoadBalancerThatTheProcessKnows(t *testing.T) {
	t.Parallel()
	u := newUnconnected(t, usual)
	m := eventMemory{u.store}
	of := events.Object{Owner: model.Owner{UID: "web"}, LoadBalancerID: "recorded", Address: "203.0.113.7"}
	if id, address := m.Place(of); id != "recorded" || address != "203.0.113.7" {
		t.Errorf("recorded is %s at %s", id, address)
	}
	u.applied("web", func(*state.Applied) {})
	if id, _ := m.Place(of); id != "lb-web" {
		t.Errorf("known is %s", id)
	}
	for _, want := range []bool{true, false} {
		if warn, announce := m.Warn("web", "nodes", "text"), m.Announce("web", "plan", "create"); warn != want || announce != want {
			t.Errorf("sent %v, announced %v, want %v", warn, announce, want)
		}
	}
}

// said records the conditions of a Service.
type said struct {
	conditions []conditions.Condition
	record     annotation.Record
	service    types.NamespacedName
	brings     bool
}

func (s *said) Set(service types.NamespacedName, _ types.UID, all []conditions.Condition, record annotation.Record) {
	s.service, s.conditions, s.record = service, all, record
}

func (s *said) Brings(types.NamespacedName, types.UID) bool { return s.brings }

// of returns the message of a condition, "" if it was not said.
func (s *said) of(condition reason.Condition) string {
	i := slices.IndexFunc(s.conditions, func(c conditions.Condition) bool { return c.Type == condition })
	if i < 0 {
		return ""
	}
	return fmt.Sprint(s.conditions[i].Is, " ", s.conditions[i].Message)
}

func TestConditions_DescribeTheLoadBalancerInOperation(t *testing.T) {
	t.Parallel()
	failure := errors.New("no answer")
	as := func(*state.Applied) {}
	for name, test := range map[string]struct {
		policy             string
		known              func(*unconnected)
		round              conditions.Round
		provisioned, drift string
		refused            string
		record             annotation.Record
	}{
		"settled": {
			known: func(u *unconnected) { u.applied("web", as) }, provisioned: "true Load balancer lb-web serves the Service at 203.0.113.7", drift: "false ", refused: "false ",
			record: annotation.Record{Service: "web", LoadBalancerID: "lb-web", Address: "203.0.113.7"},
		},
		"all nodes are members": {
			known: func(u *unconnected) { u.applied("web", func(a *state.Applied) { a.LoadBalancer.AllNodes = true }) }, provisioned: "true Load balancer lb-web serves the Service at 203.0.113.7", drift: "false ",
			refused: "false Without effect: ", record: annotation.Record{Service: "web", LoadBalancerID: "lb-web", Address: "203.0.113.7"},
		},
		"drift is only reported": {
			known: func(u *unconnected) {
				u.applied("web", func(a *state.Applied) { a.Reported = map[string]bool{"step b": true, "step a": true} })
			},
			provisioned: "true Load balancer lb-web serves the Service at 203.0.113.7", refused: "false ",
			drift: "true Changed by another client, and left as it is because of drift-policy=report; this would revert it (actual → desired): step a; step b",
		},
		"of provider router": {
			known: func(u *unconnected) {
				u.store.Update("web", func(e *state.Entry) {
					e.SetRouted(&state.Routed{LoadBalancer: &model.LoadBalancer{ID: "port", VIP: model.VIP{Address: "10.0.0.1"}}})
				})
			},
			provisioned: "true Load balancer port serves the Service at 10.0.0.1", drift: "false ", refused: "false ", record: annotation.Record{Service: "web", Left: true},
		},
		"nothing is known": {known: func(*unconnected) {}},
		"deleted by another client, and left": {
			policy: drift.PolicyReport, known: func(*unconnected) {}, provisioned: "false Another client has deleted the load balancer, and it is not created again", refused: "false ",
			drift: "true Another client has deleted the load balancer, which is left so because of drift-policy=report",
		},
		"drift that cannot be reverted yet": {
			known: func(u *unconnected) {
				u.store.Update("web", func(e *state.Entry) { e.Drift.Reason = "a listener is gone" })
			},
			round: conditions.Round{Err: failure}, provisioned: "false The load balancer could not be created yet; the controller retries: see the events of the Service",
			drift: "true Another client has changed something, and it could not be reverted yet: a listener is gone",
		},
		"an ERROR is no change of another client": {
			known: func(u *unconnected) {
				u.store.Update("web", func(e *state.Entry) { e.Drift.Reason = state.ReasonFailed })
			},
			round: conditions.Round{Err: failure}, provisioned: "false The load balancer could not be created yet; the controller retries: see the events of the Service",
		},
	} {
		writer := &said{}
		u := newUnconnected(t, func(conf *config.LoadBalancer) { conf.DriftPolicy = test.policy })
		u.rounds.conditions.writer = writer
		test.known(u)
		u.rounds.conditions.round(named("web"), test.round)
		if got := writer.of(reason.Provisioned); got != test.provisioned {
			t.Errorf("%s: provisioned %q, want %q", name, got, test.provisioned)
		}
		if got := writer.of(reason.IsDrifted); got != test.drift {
			t.Errorf("%s: drifted %q, want %q", name, got, test.drift)
		}
		if got := writer.of(reason.IsRefused); got != test.refused && (test.refused != "false Without effect: " || len(got) <= len(test.refused) || got[:len(test.refused)] != test.refused) {
			t.Errorf("%s: refused %q, want %q", name, got, test.refused)
		}
		if writer.record != test.record {
			t.Errorf("%s: annotations %+v, want %+v", name, writer.record, test.record)
		}
	}
	u := newUnconnected(t, usual)
	u.applied("web", as)
	u.rounds.conditions.round(named("web"), conditions.Round{}) // without a writer
	u.rounds.conditions.health("web", u.store.Get("web").Applied)
	if u.rounds.conditions.brought(types.NamespacedName{}, "web") {
		t.Error("nothing brings the annotations")
	}
	writer := &said{brings: true}
	u.rounds.conditions.writer = writer
	if !u.rounds.conditions.brought(types.NamespacedName{}, "web") {
		t.Error("the writer does not bring the annotations")
	}
}

func TestConditions_NamePoolsWithoutAHealthyMember(t *testing.T) {
	t.Parallel()
	u := newUnconnected(t, usual)
	writer := &said{}
	u.rounds.conditions.writer = writer
	contents := &model.LoadBalancer{Listeners: []model.Listener{
		{Protocol: model.TCP, Port: 80, Pool: model.Pool{Status: model.Status{Operating: "ERROR"}}}, {Protocol: model.TCP, Port: 81, Pool: model.Pool{Status: model.Status{Operating: "ONLINE"}}},
	}}
	for name, test := range map[string]struct {
		change func(*state.Applied)
		want   string
	}{
		"one of two": {func(a *state.Applied) { a.Contents = contents }, "true Load balancer lb-web has the operating status ERROR: no member answers of the pool for TCP/80"},
		"unknown":    {func(a *state.Applied) { a.Depth, a.Contents = model.Listed, nil }, "true Load balancer lb-web has the operating status ERROR: no member answers"},
		"healthy":    {func(a *state.Applied) { a.Seen.OperatingStatus = "ONLINE" }, "false "},
		"unclear":    {func(a *state.Applied) { a.Seen.OperatingStatus = "OFFLINE" }, ""},
	} {
		*writer = said{}
		u.applied("web", func(a *state.Applied) { a.Seen.OperatingStatus = "ERROR"; test.change(a) })
		applied := u.store.Get("web").Applied
		u.rounds.conditions.health("web", applied)
		if got := writer.of(reason.Degraded); got != test.want || test.want != "" && (writer.service != applied.Service || writer.record != drift.RecordOf("web", applied)) {
			t.Errorf("%s: %q, want %q; %+v", name, got, test.want, writer)
		}
	}
}

func TestWatchesDrift_NeedsAnIntervalAndAPolicy(t *testing.T) {
	t.Parallel()
	for interval, wants := range map[time.Duration]map[string]bool{0: {"": false, "report": false}, 1: {"": true, "report": true, "off": false}} {
		for policy, want := range wants {
			conf := config.LoadBalancer{DriftPolicy: policy, DriftInterval: config.Duration{Duration: interval}}
			if got := watchesDrift(conf); got != want {
				t.Errorf("interval %d, policy %q: %v", interval, policy, got)
			}
		}
	}
}
