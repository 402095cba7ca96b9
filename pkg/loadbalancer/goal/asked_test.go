package goal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Invalid settings refuse a Service before the first request. Settings without effect are reported, unless they are not the
// present ones.
func TestNewAsked_RefusesAndReportsSettings(t *testing.T) {
	t.Parallel()
	typo := fixture.Annotated(annotation.Prefix+"lb-metod", "ROUND_ROBIN")
	s := newScene(t, fixture.Config(), typo, func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"everyone"} })
	asked, err := s.engine.NewAsked(s.ctx, s.subject(), false)
	if invalid := new(message.InvalidError); asked != nil || !errors.As(err, &invalid) || len(s.sent) > 0 {
		t.Errorf("%+v, error %v, requests %v", asked, err, s.sent)
	}
	if event := s.events(); !strings.Contains(event, "lb-metod") {
		t.Errorf("events %q", event)
	}
	for _, quiet := range []bool{false, true} {
		s = newScene(t, fixture.Config(), typo)
		if _, err := s.engine.NewAsked(s.ctx, s.subject(), quiet); err != nil || strings.Contains(s.events(), "lb-metod") == quiet {
			t.Errorf("quiet: %v, error %v", quiet, err)
		}
	}
}

// The warnings of the process before are not sent again.
func TestNewAsked_RecallsTheWarningsOfTheProcessBefore(t *testing.T) {
	t.Parallel()
	const warnings = "settings:00000000000000ff"
	s := newScene(t, fixture.Config())
	s.records.text = state.Record{LoadBalancerID: "lb", Service: s.svc.UID, Digests: state.Digests{Full: "d", Nodeless: "n"}, FloatingIPID: "fip", Warnings: warnings}.String()
	s.ask()
	if got := s.store.Get(s.svc.UID).Warnings.String(); got != warnings {
		t.Errorf("recalled %q", got)
	}
}

// Nodes that cannot be members are reported, and a Service whose inputs cannot be read does not begin a round.
func TestNewAsked_NeedsItsInputs(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixture.Config())
	s.nodes[0].Status.Addresses = s.nodes[0].Status.Addresses[1:]
	s.nodes[1].Labels[v1.LabelNodeExcludeBalancers] = ""
	s.nodes = append(s.nodes, fixture.Node("node-3", "10.0.0.3"))
	if s.ask(); !strings.Contains(s.events(), "no IPv4 address: node-1") {
		t.Error("a node without an address of the family is not reported")
	}
	s.nodes = s.nodes[1:2]
	if s.ask(); !strings.Contains(s.events(), "The load balancer has no members") {
		t.Error("a Service without members is not reported")
	}
	for name, change := range map[string]func(*scene){
		"no nodes": func(s *scene) { s.nodes = nil },
		"endpoints are not known": func(s *scene) {
			s.engine.Candidates.read = func(*v1.Service) (members.Endpoints, settings.Watch, bool) { return nil, settings.Unreadable, false }
		},
	} {
		s := newScene(t, fixture.Config(), fixture.Annotated(annotation.Members, annotation.MembersEndpointNodes))
		change(s)
		if a, err := s.engine.NewAsked(s.ctx, s.subject(), false); a != nil || err == nil {
			t.Errorf("%s: %+v, error %v", name, a, err)
		}
		if k, err := s.engine.NewKept(s.ctx, s.subject(), Limits{}); k != nil || err == nil {
			t.Errorf("%s: kept: %+v, error %v", name, k, err)
		}
	}
}

// A Service that has what it asks for costs no request. Its status is that of the last round.
func TestRecall_ComparesWithoutARequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change         func(*scene)
		same, recalled bool
		words          string
	}{
		"nothing has changed":     {func(*scene) {}, true, false, ""},
		"a port more":             {func(s *scene) { s.svc.Spec.Ports = append(s.svc.Spec.Ports, fixture.Port(v1.ProtocolTCP, 443)) }, false, true, ""},
		"changed by another":      {func(s *scene) { s.svc.Spec.Ports[0].Port = 443; s.balancers[0].UpdatedAt.Time = noon }, false, false, ""},
		"changed, other nodes":    {func(s *scene) { s.nodes = s.nodes[:1]; s.balancers[0].UpdatedAt.Time = noon }, false, false, ""},
		"a floating IP was left":  {func(s *scene) { s.store.Update(s.svc.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true }) }, false, false, ""},
		"another one is named":    {func(s *scene) { s.svc.Annotations[annotation.LoadBalancerID] = "other" }, false, false, ""},
		"the facts are not known": {func(s *scene) { s.svc.Annotations[annotation.FlavorID] = "big"; s.fails["flavors"] = errFailed }, false, false, "failed"},
	} {
		s := newScene(t, fixture.Config())
		first, err := s.round(s.ask())
		if err != nil {
			t.Fatal(err)
		}
		applied := s.store.Get(s.svc.UID).Applied
		s.add(applied.LoadBalancer.ID, s.id(), func(lb *octavia.LoadBalancer) { lb.UpdatedAt.Time = applied.Contents.UpdatedAt })
		s.serve("203.0.113.99")
		test.change(s)
		s.lock.Release()
		s.store.Update(s.svc.UID, func(e *state.Entry) {
			written := *e.Applied // to annotations, which a delayed write has changed since
			written.Persisted.Address, e.Namespace, e.Applied = true, "", &written
		})
		applied = s.store.Get(s.svc.UID).Applied
		a := s.ask()
		s.sent = nil
		known, err := a.Recall(s.ctx, &s.lock)
		if (err != nil) != (test.words != "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
		if (known.Status != nil) != test.same || known.Status != nil && printed(known.Status) != printed(first) || test.same && len(s.sent) > 0 {
			t.Errorf("%s: status %v, requests %v", name, known.Status, s.sent)
		}
		if entry := s.store.Get(s.svc.UID); test.same && (entry.Namespace != s.svc.Namespace || entry.Applied.Persisted.Address) {
			t.Errorf("%s: counted in %q, annotations written: %v", name, entry.Namespace, entry.Applied.Persisted.Address)
		}
		if slices.Contains(s.sent, "load balancers") {
			t.Errorf("%s: more than one load balancer is read: %v", name, s.sent)
		}
		if (known.Have.Observed != nil) != test.recalled || test.recalled && (known.Want == nil || known.Applied != applied) {
			t.Errorf("%s: known %+v", name, known)
		}
	}
}

// A setting that the provider ignores may change without the desired state. It is reported nevertheless.
func TestRecall_ReportsASettingWithoutEffect(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixture.Config(func(c *config.LoadBalancer) { c.LBProvider, c.LBMethod = "ovn", "SOURCE_IP_PORT" }))
	if _, err := s.round(s.ask()); err != nil {
		t.Fatal(err)
	}
	s.svc.Annotations[annotation.ConnLimit] = "100"
	s.events()
	s.lock.Release()
	known, err := s.ask().Recall(s.ctx, &s.lock)
	if events := s.events(); known.Status == nil || err != nil || !strings.Contains(events, annotation.ConnLimit) {
		t.Errorf("status %v, error %v, events %q", known.Status, err, events)
	}
}

// After a restart, the record and one status tree are enough for a Service of which only the nodes have changed.
func TestRecall_RebuildsTheLoadBalancerFromItsRecord(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"with a status tree": false, "without": true} {
		s := newScene(t, fixture.Config(func(c *config.LoadBalancer) { c.MemberSubnetID = "subnet" }))
		if _, err := s.round(s.ask()); err != nil {
			t.Fatal(err)
		}
		applied := s.store.Get(s.svc.UID).Applied
		s.serve(applied.Address)
		s.add("lb", s.id())
		s.floatingIPs = []floatingips.FloatingIP{{ID: "fip", FloatingIP: applied.Address, PortID: "port of lb", Description: s.id().FloatingIPs().Description()}}
		s.records.text = state.Record{LoadBalancerID: "lb", UpdatedAt: s.balancers[0].UpdatedAt.Time, Service: s.svc.UID, Digests: applied.Digests, FloatingIPID: "fip"}.String()
		s.treeOf(applied.Contents)
		s.store.Update(s.svc.UID, func(e *state.Entry) { *e = state.Entry{} })
		s.nodes = s.nodes[:1]
		if s.lock.Release(); fails {
			s.fails["status tree"] = errFailed
		}
		known, err := s.ask().Recall(s.ctx, &s.lock)
		if errors.Is(err, errFailed) != fails || (known.Have.Observed != nil) == fails || !fails && (known.Have.Source != model.Record || known.Have.LoadBalancer.Listeners[0].ID != "listener") {
			t.Errorf("%s: %+v, error %v", name, known, err)
		}
	}
}

// At the first start after another controller, the lists of the project show what a Service has.
func TestObserve_TakesOverFromLists(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]bool{"served": true, "unserved": false} {
		s := newScene(t, fixture.Config())
		s.add("lb", s.id())
		s.listen("lb", s.id())
		if published {
			s.serve("10.0.0.100")
		}
		have, err := s.ask().Observe(s.ctx, &s.lock)
		if err != nil || have.LoadBalancer == nil || (have.Source == model.Lists) != published || slices.Contains(s.sent, "all listeners") != published {
			t.Errorf("%s: %+v, error %v, requests %v", name, have, err, s.sent)
		}
	}
}

// VIPs of another provider that the Service leaves are not in the applied state: everything is read.
func TestRecall_ReadsAServiceThatLeavesVIPs(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixture.Config())
	if _, err := s.round(s.ask()); err != nil {
		t.Fatal(err)
	}
	a := s.ask()
	a.in.VIPs = []model.LoadBalancer{{ID: "vip"}}
	if known, err := a.Recall(s.ctx, &s.lock); known.Applied != nil || known.Status != nil || err != nil {
		t.Errorf("%+v, error %v", known, err)
	}
	s.serve("10.0.0.5")
	s.sent = nil
	if have, err := a.Observe(s.ctx, &s.lock); err != nil || len(have.Duplicates) != 1 || slices.Contains(s.sent, "all listeners") {
		t.Errorf("%+v, error %v, requests %v", have, err, s.sent)
	}
}

// A load balancer of another owner needs its permission, whether it is read or recalled.
func TestAsked_NeedsPermissionForAnothersLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, owner := range map[string]string{"of its namespace": "default", "of another namespace": "theirs"} {
		s := newScene(t, fixture.Config(), fixture.Annotated(annotation.LoadBalancerID, "lb"))
		of := s.other("other")
		of.Namespace = owner
		s.add("lb", of)
		a := s.ask()
		have, err := a.Observe(s.ctx, &s.lock)
		if (err != nil) != (owner == "theirs") || err != nil && !strings.Contains(err.Error(), "cannot be shared") {
			t.Errorf("%s: read: %+v, error %v", name, have, err)
		}
		have.LoadBalancer.UpdatedAt = s.balancers[0].UpdatedAt.Time
		s.store.Update(s.svc.UID, func(e *state.Entry) {
			e.Applied = &state.Applied{Identity: have.As, Contents: have.LoadBalancer, LoadBalancer: state.LoadBalancer{ID: "lb", Named: "lb", Provider: "amphora", Shared: &model.Shared{}}}
		})
		s.lock.Release()
		if _, err := s.ask().Recall(s.ctx, &s.lock); (err != nil) != (owner == "theirs") {
			t.Errorf("%s: recalled: %v", name, err)
		}
	}
}

// A share of which the load balancer is gone gets another one: that of the others, or its own.
func TestObserve_LooksForAnotherLoadBalancerOfTheShare(t *testing.T) {
	t.Parallel()
	on := func(name, id string) func(*scene) {
		return func(s *scene) {
			s.services = append(s.services, sharingOne(types.UID(name), "front"))
			s.store.Update(s.services[len(s.services)-1].UID, func(e *state.Entry) {
				e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: id, Share: "front"}}
			})
		}
	}
	for name, test := range map[string]struct {
		others []func(*scene)
		want   string // the load balancer that it gets, "" for its own
	}{
		"of another":          {[]func(*scene){on("a", "there")}, "there"},
		"gone, of nobody":     {[]func(*scene){on("a", "gone")}, ""},
		"gone, another is on": {[]func(*scene){on("a", "gone"), on("b", "there")}, "there"},
	} {
		s := newScene(t, fixture.Config(), fixture.Annotated(annotation.Share, "front"))
		s.add("there", s.other("owner"))
		for _, other := range test.others {
			other(s)
		}
		s.engine.sharers.rehearsed = true // it does not wait for another Service
		a := s.ask()
		if _, err := s.lock.Acquire(s.ctx, s.engine.Cloud.Locks, "gone"); err != nil { // as after Recall
			t.Fatal(err)
		}
		have, err := a.Observe(s.ctx, &s.lock)
		if waits := new(WaitsError); test.want == "" && errors.As(err, &waits) {
			err = nil
		}
		if id := a.in.Settings.LoadBalancer.ID; err != nil || id != test.want || test.want != "" && have.LoadBalancer.ID != id {
			t.Errorf("%s: on %q: %+v, error %v", name, id, have, err)
		}
		if test.want == "" && s.engine.Cloud.Locks.Held("gone") {
			t.Errorf("%s: what is gone is still locked", name)
		}
		asked := count(s.sent, "Services")
		if _, err := a.Observe(s.ctx, &s.lock); test.want != "" && (err != nil || count(s.sent, "Services") != asked) {
			t.Errorf("%s: the share is looked for again, error %v", name, err)
		}
	}
}

// A search for another load balancer of the share that fails ends the round, and goes on in the next one.
func TestObserve_FailsWhereTheShareCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixture.Config(), fixture.Annotated(annotation.Share, "front"))
	s.services = append(s.services, sharingOne("a", "front"))
	s.store.Update("a", func(e *state.Entry) {
		e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "gone", Share: "front"}}
	})
	a := s.ask()
	s.fails["Services"] = errFailed
	for range 2 {
		if have, err := a.Observe(s.ctx, &s.lock); !errors.Is(err, errFailed) || have.Observed != nil {
			t.Errorf("%+v, error %v", have, err)
		}
	}
	s.fails, s.engine.sharers.services = nil, nil // it is alone by now
	if have, err := a.Observe(s.ctx, &s.lock); err != nil || have.LoadBalancer != nil || a.in.Settings.LoadBalancer.ID != "" {
		t.Errorf("%+v, error %v", have, err)
	}
}

// A changed request for a floating IP is compared with those that exist.
func TestVerify_ReadsTheFloatingIPThatIsRequestedNow(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixture.Config(), askedAddress("203.0.113.7"))
	s.floatingIPs = []floatingips.FloatingIP{{ID: "asked", FloatingIP: "203.0.113.7"}, {ID: "there", FloatingIP: "203.0.113.8", PortID: "port of lb"}}
	a, stale := s.ask(), &model.Observed{
		LoadBalancer:          &model.LoadBalancer{ID: "lb", VIP: model.VIP{PortID: "port of lb"}, FloatingIP: &model.FloatingIP{ID: "there", Address: "203.0.113.8"}},
		UnattachedFloatingIPs: []model.FloatingIP{{ID: "before"}},
	}
	r := Round{Have: Observation{Observed: stale}, Want: &Desired{LoadBalancer: &model.LoadBalancer{FloatingIP: &model.FloatingIP{}}}}
	have, another, err := a.Verify(s.ctx, r)
	if err != nil || !another || len(have.UnattachedFloatingIPs) != 1 || have.UnattachedFloatingIPs[0].ID != "asked" {
		t.Errorf("%+v, another plan: %v, error %v", have, another, err)
	}
	if len(stale.UnattachedFloatingIPs) != 1 || stale.UnattachedFloatingIPs[0].ID != "before" {
		t.Errorf("the observation before is changed: %+v", stale)
	}
	s.fails["floating IPs"] = errFailed
	if _, _, err := a.Verify(s.ctx, r); !errors.Is(err, errFailed) {
		t.Errorf("a failed request: %v", err)
	}
}

// What makes a plan other than the two states: earlier refusals, and what the Service had requested.
func TestPlan_FollowsEarlierRefusalsAndRequests(t *testing.T) {
	t.Parallel()
	created := func(s *scene, change func(*Asked, *Round)) plan.Plan {
		a := s.ask()
		r := Round{Have: nothing(s.id()), Want: &Desired{LoadBalancer: fixture.Desired(s.t, s.svc, fixture.Config(), fixture.Amphora())}}
		change(a, &r)
		todo, err := a.Plan(s.ctx, r)
		if err != nil {
			s.t.Fatal(err)
		}
		return todo
	}
	for name, test := range map[string]struct {
		change func(*scene)
		empty  bool
	}{
		"nothing":                                {func(*scene) {}, false},
		"a creation with everything was refused": {func(s *scene) { s.store.Update(s.svc.UID, func(e *state.Entry) { e.Made.CreateEmpty = true }) }, true},
		"a quota was exhausted":                  {func(s *scene) { s.store.Shortage.Mark() }, true},
	} {
		s := newScene(t, fixture.Config())
		test.change(s)
		todo := created(s, func(*Asked, *Round) {})
		at := slices.IndexFunc(todo.Steps, func(step plan.Step) bool { _, creates := step.(plan.CreateLoadBalancer); return creates })
		if empty := len(todo.Steps[at].(plan.CreateLoadBalancer).LoadBalancer.Listeners) == 0; empty != test.empty {
			t.Errorf("%s: created empty: %v", name, empty)
		}
	}
	for address, detached := range map[string]bool{"203.0.113.7": true, "203.0.113.8": false} { // the published one, and another client's
		s := newScene(t, fixture.Config(), fixture.Annotated(annotation.Internal, "true"))
		todo := created(s, func(a *Asked, r *Round) {
			lb := r.Want.LoadBalancer.Clone()
			lb.ID, lb.FloatingIP, r.Want.LoadBalancer.FloatingIP = "lb", &model.FloatingIP{ID: "fip", Address: address}, nil
			a.in.Published, r.Have.LoadBalancer = published("203.0.113.7"), lb
		})
		if strings.Contains(todo.String(), "disassociate") != detached {
			t.Errorf("%s: %s", address, todo)
		}
	}
}

// A load balancer that cannot become the desired one refuses the Service, which an event explains.
func TestPlan_IsBlockedByWhatMustNotChange(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixture.Config())
	want := &Desired{LoadBalancer: fixture.Desired(t, s.svc, fixture.Config(), fixture.Amphora())}
	for name, test := range map[string]struct {
		lb     model.LoadBalancer
		failed bool
	}{
		"a port that another has": {model.LoadBalancer{ID: "lb", Shared: &model.Shared{}, Foreign: []model.Foreign{{Kind: "listener", ID: "l", Key: model.ListenerKey{Transport: model.TCP, Port: 80}}}}, false},
		"another's in ERROR":      {model.LoadBalancer{ID: "lb", Shared: &model.Shared{}, Status: model.Status{Provisioning: "ERROR"}}, true},
	} {
		var blocked *refusal.BlockedError
		if _, err := s.ask().Plan(s.ctx, Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &test.lb}}, Want: want}); !errors.As(err, &blocked) || blocked.Failed != test.failed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
