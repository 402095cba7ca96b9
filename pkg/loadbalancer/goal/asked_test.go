package goal

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
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
	r := newRig(t, service(typo, func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"everyone"} }))
	asked, err := r.NewAsked(r.ctx, r.subject(), false)
	if invalid := new(message.InvalidError); asked != nil || !errors.As(err, &invalid) || len(r.sent) > 0 {
		t.Errorf("%+v, error %v, requests %v", asked, err, r.sent)
	}
	if event := r.events(); !strings.Contains(event, "lb-metod") {
		t.Errorf("events %q", event)
	}
	for _, quiet := range []bool{false, true} {
		r = newRig(t, service(typo))
		if _, err := r.NewAsked(r.ctx, r.subject(), quiet); err != nil || strings.Contains(r.events(), "lb-metod") == quiet {
			t.Errorf("quiet: %v, error %v", quiet, err)
		}
	}
}

// The warnings of the process before are not sent again.
func TestNewAsked_RecallsTheWarningsOfTheProcessBefore(t *testing.T) {
	t.Parallel()
	const warnings = "settings:00000000000000ff"
	r := newRig(t)
	r.records.text = state.Record{LoadBalancerID: "lb", Service: r.svc.UID, Digests: state.Digests{Full: "d", Nodeless: "n"}, FloatingIPID: "fip", Warnings: warnings}.String()
	r.ask()
	if got := r.store.Get(r.svc.UID).Warnings.String(); got != warnings {
		t.Errorf("recalled %q", got)
	}
}

// Nodes that cannot be members are reported. A failed read of the inputs of a Service ends its round.
func TestNewAsked_NeedsItsInputs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.nodes[0].Status.Addresses = r.nodes[0].Status.Addresses[1:]
	r.nodes[1].Labels[v1.LabelNodeExcludeBalancers] = ""
	r.nodes = append(r.nodes, fixture.Node("node-3", "10.0.0.3"))
	if r.ask(); !strings.Contains(r.events(), "no IPv4 address: node-1") {
		t.Error("a node without an address of the family is not reported")
	}
	r.nodes = r.nodes[1:2]
	if r.ask(); !strings.Contains(r.events(), "The load balancer has no members") {
		t.Error("a Service without members is not reported")
	}
	for name, change := range map[string]func(*rig){
		"no nodes": func(r *rig) { r.nodes = nil },
		"endpoints are not known": func(r *rig) {
			r.watch = settings.Unreadable
		},
	} {
		r := newRig(t, service(fixture.Annotated(annotation.Members, annotation.MembersEndpointNodes)))
		change(r)
		if a, err := r.NewAsked(r.ctx, r.subject(), false); a != nil || err == nil {
			t.Errorf("%s: %+v, error %v", name, a, err)
		}
		if k, err := r.NewKept(r.ctx, r.subject(), Limits{}); k != nil || err == nil {
			t.Errorf("%s: kept: %+v, error %v", name, k, err)
		}
	}
}

// A Service with its desired state costs no request. Its status is that of the last round.
func TestRecall_ComparesWithoutARequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change         func(*rig)
		same, recalled bool
		words          string
	}{
		"nothing has changed":     {func(*rig) {}, true, false, ""},
		"a port more":             {func(r *rig) { r.svc.Spec.Ports = append(r.svc.Spec.Ports, fixture.Port(v1.ProtocolTCP, 443)) }, false, true, ""},
		"changed by another":      {func(r *rig) { r.svc.Spec.Ports[0].Port = 443; r.balancers[0].UpdatedAt.Time = noon.Add(time.Second) }, false, false, ""},
		"changed, other nodes":    {func(r *rig) { r.nodes = r.nodes[:1]; r.balancers[0].UpdatedAt.Time = noon.Add(time.Second) }, false, false, ""},
		"a floating IP was left":  {func(r *rig) { r.store.Update(r.svc.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true }) }, false, false, ""},
		"another one is named":    {func(r *rig) { r.svc.Annotations[annotation.LoadBalancerID] = "other" }, false, false, ""},
		"the facts are not known": {func(r *rig) { r.svc.Annotations[annotation.FlavorID] = "big"; r.fails["flavors"] = errFailed }, false, false, "failed"},
	} {
		r := newRig(t)
		first, err := r.round(r.ask())
		if err != nil {
			t.Fatal(err)
		}
		applied := r.store.Get(r.svc.UID).Applied
		r.add(balancer(applied.LoadBalancer.ID, func(lb *octavia.LoadBalancer) { lb.UpdatedAt.Time = applied.Contents.UpdatedAt }))
		at("203.0.113.99")(r.svc)
		test.change(r)
		r.lock.Release()
		r.store.Update(r.svc.UID, func(e *state.Entry) {
			written := *e.Applied // to annotations, which a delayed write has changed since
			written.Persisted.Address, e.Namespace, e.Applied = true, "", &written
		})
		applied = r.store.Get(r.svc.UID).Applied
		a := r.ask()
		r.sent = nil
		known, err := a.Recall(r.ctx, &r.lock)
		if (err != nil) != (test.words != "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
		if (known.Status != nil) != test.same || known.Status != nil && printed(known.Status) != printed(first) || test.same && len(r.sent) > 0 {
			t.Errorf("%s: status %v, requests %v", name, known.Status, r.sent)
		}
		if entry := r.store.Get(r.svc.UID); test.same && (entry.Namespace != r.svc.Namespace || entry.Applied.Persisted.Address) {
			t.Errorf("%s: counted in %q, annotations written: %v", name, entry.Namespace, entry.Applied.Persisted.Address)
		}
		if r.has("load-balancers") {
			t.Errorf("%s: more than one load balancer is read: %v", name, r.sent)
		}
		if (known.Have.Observed != nil) != test.recalled || test.recalled && (known.Want == nil || known.Applied != applied) {
			t.Errorf("%s: known %+v", name, known)
		}
	}
}

// A setting that the provider ignores may change without the desired state. It is reported nevertheless.
func TestRecall_ReportsASettingWithoutEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t, configured(func(c *config.LoadBalancer) { c.LBProvider, c.LBMethod = "ovn", "SOURCE_IP_PORT" }))
	if _, err := r.round(r.ask()); err != nil {
		t.Fatal(err)
	}
	r.svc.Annotations[annotation.ConnLimit] = "100"
	r.events()
	r.lock.Release()
	known, err := r.ask().Recall(r.ctx, &r.lock)
	if events := r.events(); known.Status == nil || err != nil || !strings.Contains(events, annotation.ConnLimit) {
		t.Errorf("status %v, error %v, events %q", known.Status, err, events)
	}
}

// If only the nodes have changed since the last process, the record and one status tree are enough.
func TestRecall_RebuildsTheLoadBalancerFromItsRecord(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"with a status tree": false, "without": true} {
		r := newRig(t, configured(func(c *config.LoadBalancer) { c.MemberSubnetID = "subnet" }))
		if _, err := r.round(r.ask()); err != nil {
			t.Fatal(err)
		}
		applied := r.store.Get(r.svc.UID).Applied
		at(applied.Address)(r.svc)
		r.add(balancer("lb"))
		r.add(floatingAt("fip", applied.Address, "vip-of-lb"))
		r.records.text = state.Record{LoadBalancerID: "lb", UpdatedAt: r.balancers[0].UpdatedAt.Time, Service: r.svc.UID, Digests: applied.Digests, FloatingIPID: "fip"}.String()
		r.treeOf(applied.Contents)
		r.store.Update(r.svc.UID, func(e *state.Entry) { *e = state.Entry{} })
		r.nodes = r.nodes[:1]
		if r.lock.Release(); fails {
			r.fails["tree"] = errFailed
		}
		known, err := r.ask().Recall(r.ctx, &r.lock)
		if errors.Is(err, errFailed) != fails || (known.Have.Observed != nil) == fails || !fails && (known.Have.Source != model.Record || known.Have.LoadBalancer.Listeners[0].ID != "listener") {
			t.Errorf("%s: %+v, error %v", name, known, err)
		}
	}
}

// At the first start after another controller, the lists of the project show what a Service has.
func TestObserve_TakesOverFromLists(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]bool{"served": true, "unserved": false} {
		r := newRig(t, balancer("lb"), listenerOn("lb", true))
		if published {
			at("10.0.0.100")(r.svc)
		}
		have, err := r.ask().Observe(r.ctx, &r.lock)
		if err != nil || have.LoadBalancer == nil || (have.Source == model.Lists) != published || r.has("all-listeners") != published {
			t.Errorf("%s: %+v, error %v, requests %v", name, have, err, r.sent)
		}
	}
}

// VIPs of another provider that the Service leaves are not in the applied state: everything is read.
func TestRecall_ReadsAServiceThatLeavesVIPs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.round(r.ask()); err != nil {
		t.Fatal(err)
	}
	a := r.ask()
	a.in.VIPs = []model.LoadBalancer{{ID: "vip"}}
	if known, err := a.Recall(r.ctx, &r.lock); known.Applied != nil || known.Status != nil || err != nil {
		t.Errorf("%+v, error %v", known, err)
	}
	at("10.0.0.5")(r.svc)
	r.sent = nil
	if have, err := a.Observe(r.ctx, &r.lock); err != nil || len(have.Duplicates) != 1 || r.has("all-listeners") {
		t.Errorf("%+v, error %v, requests %v", have, err, r.sent)
	}
}

// A load balancer of another owner needs its permission, whether it is read or recalled.
func TestAsked_NeedsPermissionForAnothersLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, owner := range map[string]string{"of its namespace": "default", "of another namespace": "theirs"} {
		r := newRig(t, service(fixture.Annotated(annotation.LoadBalancerID, "lb")))
		of := anotherIdentity()
		of.Namespace = owner
		r.add(balancer("lb", identified(of)))
		a := r.ask()
		have, err := a.Observe(r.ctx, &r.lock)
		if (err != nil) != (owner == "theirs") || err != nil && !strings.Contains(err.Error(), "cannot be shared") {
			t.Errorf("%s: read: %+v, error %v", name, have, err)
		}
		have.LoadBalancer.UpdatedAt = r.balancers[0].UpdatedAt.Time
		r.store.Update(r.svc.UID, func(e *state.Entry) {
			e.Applied = &state.Applied{Identity: have.As, Contents: have.LoadBalancer, LoadBalancer: state.LoadBalancer{ID: "lb", Named: "lb", Provider: "amphora", Shared: &model.Shared{}}}
		})
		r.lock.Release()
		if _, err := r.ask().Recall(r.ctx, &r.lock); (err != nil) != (owner == "theirs") {
			t.Errorf("%s: recalled: %v", name, err)
		}
	}
}

// If the load balancer of a share is gone, the Service gets that of the others, or its own.
func TestObserve_LooksForAnotherLoadBalancerOfTheShare(t *testing.T) {
	t.Parallel()
	on := func(name, id string) func(*rig) {
		return func(r *rig) {
			r.others = append(r.others, sharingOne(types.UID(name), "front"))
			r.store.Update(r.others[len(r.others)-1].UID, func(e *state.Entry) {
				e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: id, Share: "front"}}
			})
		}
	}
	for name, test := range map[string]struct {
		others []func(*rig)
		want   string // the load balancer that it gets, "" for its own
	}{
		"of another":          {[]func(*rig){on("a", "there")}, "there"},
		"gone, of one only":   {[]func(*rig){on("a", "gone")}, ""},
		"gone, another is on": {[]func(*rig){on("a", "gone"), on("b", "there")}, "there"},
	} {
		r := newRig(t, service(fixture.Annotated(annotation.Share, "front")), balancer("there", ofAnother))
		for _, other := range test.others {
			other(r)
		}
		r.sharers.rehearsed = true // it does not wait for another Service
		a := r.ask()
		if _, err := r.lock.Acquire(r.ctx, r.Cloud.Locks, "gone"); err != nil { // as after Recall
			t.Fatal(err)
		}
		have, err := a.Observe(r.ctx, &r.lock)
		if waits := new(WaitsError); test.want == "" && errors.As(err, &waits) {
			err = nil
		}
		if id := a.in.Settings.LoadBalancer.ID; err != nil || id != test.want || test.want != "" && have.LoadBalancer.ID != id {
			t.Errorf("%s: on %q: %+v, error %v", name, id, have, err)
		}
		if test.want == "" && r.Cloud.Locks.Held("gone") {
			t.Errorf("%s: the deleted load balancer is still locked", name)
		}
		asked := r.count("services")
		if _, err := a.Observe(r.ctx, &r.lock); test.want != "" && (err != nil || r.count("services") != asked) {
			t.Errorf("%s: the share is looked for again, error %v", name, err)
		}
	}
}

// A failed search for the load balancer of a share ends the round. The next round repeats it.
func TestObserve_FailsWhereTheShareCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, service(fixture.Annotated(annotation.Share, "front")))
	r.others = append(r.others, sharingOne("a", "front"))
	r.store.Update("a", func(e *state.Entry) {
		e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "gone", Share: "front"}}
	})
	a := r.ask()
	r.fails["services"] = errFailed
	for range 2 {
		if have, err := a.Observe(r.ctx, &r.lock); !errors.Is(err, errFailed) || have.Observed != nil {
			t.Errorf("%+v, error %v", have, err)
		}
	}
	r.fails, r.others = nil, nil // it is alone by now
	if have, err := a.Observe(r.ctx, &r.lock); err != nil || have.LoadBalancer != nil || a.in.Settings.LoadBalancer.ID != "" {
		t.Errorf("%+v, error %v", have, err)
	}
}

// A changed request for a floating IP is compared with those that exist.
func TestVerify_ReadsTheFloatingIPThatIsRequestedNow(t *testing.T) {
	t.Parallel()
	r := newRig(t, service(loadBalancerIP("203.0.113.7")))
	r.add(floatingAt("asked", "203.0.113.7", "", describedAs("")), floatingAt("there", "203.0.113.8", "vip-of-lb", describedAs("")))
	a, stale := r.ask(), &model.Observed{
		LoadBalancer:          &model.LoadBalancer{ID: "lb", VIP: model.VIP{PortID: "vip-of-lb"}, FloatingIP: &model.FloatingIP{ID: "there", Address: "203.0.113.8"}},
		UnattachedFloatingIPs: []model.FloatingIP{{ID: "before"}},
	}
	round := Round{Have: Observation{Observed: stale}, Want: &Desired{LoadBalancer: &model.LoadBalancer{FloatingIP: &model.FloatingIP{}}}}
	have, another, err := a.Verify(r.ctx, round)
	if err != nil || !another || len(have.UnattachedFloatingIPs) != 1 || have.UnattachedFloatingIPs[0].ID != "asked" {
		t.Errorf("%+v, another plan: %v, error %v", have, another, err)
	}
	if len(stale.UnattachedFloatingIPs) != 1 || stale.UnattachedFloatingIPs[0].ID != "before" {
		t.Errorf("the observation before is changed: %+v", stale)
	}
	r.fails["floating-ips"] = errFailed
	if _, _, err := a.Verify(r.ctx, round); !errors.Is(err, errFailed) {
		t.Errorf("a failed request: %v", err)
	}
}

// A plan follows earlier refusals and requests of the Service, besides the two states.
func TestPlan_FollowsEarlierRefusalsAndRequests(t *testing.T) {
	t.Parallel()
	created := func(r *rig, change func(*Asked, *Round)) plan.Plan {
		a := r.ask()
		round := Round{Have: nothing(rigIdentity()), Want: &Desired{LoadBalancer: fixture.Desired(r.t, r.svc, fixture.Config(), fixture.Amphora())}}
		change(a, &round)
		todo, err := a.Plan(r.ctx, round)
		if err != nil {
			r.t.Fatal(err)
		}
		return todo
	}
	for name, test := range map[string]struct {
		change func(*rig)
		empty  bool
	}{
		"nothing":                                {func(*rig) {}, false},
		"a creation with everything was refused": {func(r *rig) { r.store.Update(r.svc.UID, func(e *state.Entry) { e.Made.CreateEmpty = true }) }, true},
		"a quota was exhausted":                  {func(r *rig) { r.store.Shortage.Mark() }, true},
	} {
		r := newRig(t)
		test.change(r)
		todo := created(r, func(*Asked, *Round) {})
		at := slices.IndexFunc(todo.Steps, func(step plan.Step) bool { _, creates := step.(plan.CreateLoadBalancer); return creates })
		if empty := len(todo.Steps[at].(plan.CreateLoadBalancer).LoadBalancer.Listeners) == 0; empty != test.empty {
			t.Errorf("%s: created empty: %v", name, empty)
		}
	}
	for address, detached := range map[string]bool{"203.0.113.7": true, "203.0.113.8": false} { // the published one, and another client's
		r := newRig(t, service(fixture.Annotated(annotation.Internal, "true")))
		todo := created(r, func(a *Asked, round *Round) {
			lb := round.Want.LoadBalancer.Clone()
			lb.ID, lb.FloatingIP, round.Want.LoadBalancer.FloatingIP = "lb", &model.FloatingIP{ID: "fip", Address: address}, nil
			a.in.Published, round.Have.LoadBalancer = published("203.0.113.7"), lb
		})
		if strings.Contains(todo.String(), "disassociate") != detached {
			t.Errorf("%s: %s", address, todo)
		}
	}
}

// A load balancer that cannot become the desired one refuses the Service, which an event explains.
func TestPlan_IsBlockedByWhatMustNotChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	want := &Desired{LoadBalancer: fixture.Desired(t, r.svc, fixture.Config(), fixture.Amphora())}
	for name, test := range map[string]struct {
		lb     model.LoadBalancer
		failed bool
	}{
		"a port that another has": {model.LoadBalancer{ID: "lb", Shared: &model.Shared{}, Foreign: []model.Foreign{{Kind: "listener", ID: "l", Key: model.ListenerKey{Transport: model.TCP, Port: 80}}}}, false},
		"another's in ERROR":      {model.LoadBalancer{ID: "lb", Shared: &model.Shared{}, Status: model.Status{Provisioning: "ERROR"}}, true},
	} {
		var blocked *refusal.BlockedError
		if _, err := r.ask().Plan(r.ctx, Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &test.lb}}, Want: want}); !errors.As(err, &blocked) || blocked.Failed != test.failed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
