package goal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A refused Service keeps its load balancer with the present nodes, whichever setting is refused.
func TestNewKept_ReadsWhatIsValid(t *testing.T) {
	t.Parallel()
	weighed := func(r *rig) { r.store.Update(r.svc.UID, func(e *state.Entry) { e.Applied = appliedOn("lb", true) }) }
	for name, test := range map[string]struct {
		change  func(*v1.Service)
		prepare func(*rig)
		limits  Limits
		holds   func(*Kept) bool
		nodes   []string
	}{
		"nothing":                         {holds: func(k *Kept) bool { return !k.in.Settings.Members.Drains() && !k.unread.Selector }, nodes: []string{"node-1", "node-2"}},
		"without a node":                  {limits: Limits{Without: []string{"node-1"}}, nodes: []string{"node-2"}},
		"weights that cannot be read":     {change: fixture.Annotated(annotation.MemberWeights, "heavy"), prepare: weighed, holds: func(k *Kept) bool { return k.in.Settings.Members.Drains() }, nodes: []string{"node-1", "node-2"}},
		"weights that it has not had":     {change: fixture.Annotated(annotation.MemberWeights, "heavy"), holds: func(k *Kept) bool { return !k.in.Settings.Members.Drains() }, nodes: []string{"node-1", "node-2"}},
		"weights that it has removed":     {prepare: weighed, holds: func(k *Kept) bool { return !k.in.Settings.Members.Drains() }, nodes: []string{"node-1", "node-2"}},
		"a selector that matches no node": {change: fixture.Annotated(annotation.NodeSelector, "gone=true"), holds: func(k *Kept) bool { return k.unread.Selector }, nodes: []string{"node-1", "node-2"}},
		"a selector that matches one":     {change: fixture.Annotated(annotation.NodeSelector, "kubernetes.io/hostname=node-2"), holds: func(k *Kept) bool { return !k.unread.Selector }, nodes: []string{"node-2"}},
		"a share, on its load balancer": {change: fixture.Annotated(annotation.Share, "front"), prepare: weighed, holds: func(k *Kept) bool {
			return k.in.Settings.LoadBalancer.ID == "lb" && k.in.Settings.LoadBalancer.Share == ""
		}, nodes: []string{"node-1", "node-2"}},
		"another's load balancer is named": {change: fixture.Annotated(annotation.LoadBalancerID, "named"), prepare: weighed, holds: func(k *Kept) bool { return k.in.Settings.LoadBalancer.ID == "named" }, nodes: []string{"node-1", "node-2"}},
		"both IP families":                 {change: dual(v1.IPFamilyPolicyRequireDualStack), holds: func(k *Kept) bool { return len(k.in.Second.Backends) == 2 }, nodes: []string{"node-1", "node-2"}},
	} {
		r := newRig(t)
		if test.change != nil {
			test.change(r.svc)
		}
		if test.prepare != nil {
			test.prepare(r)
		}
		k := r.keep(test.limits)
		var nodes []string
		for _, b := range k.in.Members.Backends {
			nodes = append(nodes, b.Node.Name)
		}
		if !slices.Equal(nodes, test.nodes) || test.holds != nil && !test.holds(k) {
			t.Errorf("%s: nodes %v, settings %+v, unread %+v", name, nodes, k.in.Settings, k.unread)
		}
	}
	r := newRig(t)
	for _, node := range r.nodes {
		node.Status.Addresses = nil
	}
	if k, err := r.NewKept(r.ctx, r.subject(), Limits{}); k != nil || err == nil {
		t.Errorf("without an address of a node: %+v, error %v", k, err)
	}
	r = newRig(t)
	r.nodes[0].Labels[v1.LabelNodeExcludeBalancers], r.nodes[1].Labels[v1.LabelNodeExcludeBalancers] = "", ""
	if r.keep(Limits{}); !strings.Contains(r.events(), "The load balancer has no members") {
		t.Error("a Service without members is not reported")
	}
}

// Keeping needs the contents: a state of settings only is read again.
func TestRecall_OfKeptNeedsTheFullContents(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		depth    model.Depth
		unknown  bool
		recalled bool
	}{"all": {model.Full, false, true}, "settings": {model.Settings, false, false}, "a record": {model.Listed, false, false}, "nothing": {model.Full, true, false}} {
		r := newRig(t)
		applied := &state.Applied{Knowledge: model.Knowledge{Depth: test.depth}, Contents: &model.LoadBalancer{ID: "lb"}, LoadBalancer: state.LoadBalancer{ID: "lb"}}
		if test.unknown {
			applied = nil
		}
		r.store.Update(r.svc.UID, func(e *state.Entry) { e.Applied = applied })
		known, err := r.keep(Limits{}).Recall(r.ctx, &r.lock)
		if err != nil || known.Applied != applied || (known.Have.Observed != nil) != test.recalled || (r.has("load-balancer") || r.has("load-balancer-state")) {
			t.Errorf("%s: %+v, error %v, requests %v", name, known, err, r.sent)
		}
	}
}

// The kept load balancer is the one that serves the Service: not one that the Service newly names, nor its replacement.
func TestObserve_OfKeptFindsWhatServes(t *testing.T) {
	t.Parallel()
	const own, next = "own", "next"
	foreignName := func(lb *octavia.LoadBalancer) { lb.Tags = nil; lb.Name = "kube_service_elsewhere_default_web" }
	replaces := func(lb *octavia.LoadBalancer) { lb.Tags = append(lb.Tags, ownership.ReplacesTag(own, "hash")) }
	for name, test := range map[string]struct {
		named    string
		prepare  func(*rig)
		want     string // "" if nothing is kept
		replaced bool
		err      error
	}{
		"its own":                           {prepare: func(r *rig) { r.add(balancer(own)) }, want: own},
		"none":                              {prepare: func(*rig) {}, err: refusal.ErrNothingKept},
		"its own, another's is named":       {named: "theirs", prepare: func(r *rig) { r.add(balancer(own)); r.add(balancer("theirs", ofAnother)) }, want: own},
		"none, another's is named":          {named: "theirs", prepare: func(r *rig) { r.add(balancer("theirs", ofAnother)) }, err: refusal.ErrNothingKept},
		"another's, on which it is":         {named: "theirs", prepare: func(r *rig) { r.add(balancer("theirs", ofAnother)); r.add(listenerOn("theirs", true)) }, want: "theirs"},
		"its own, one of no owner is named": {named: "theirs", prepare: func(r *rig) { r.add(balancer(own)); r.add(balancer("theirs", foreignName)) }, want: own},
		"none, one of no owner is named":    {named: "theirs", prepare: func(r *rig) { r.add(balancer("theirs", foreignName)) }, err: refusal.ErrNothingKept},
		"its own, a missing one is named":   {named: "missing", prepare: func(r *rig) { r.add(balancer(own)) }, want: own},
		"one that is replaced":              {prepare: func(r *rig) { r.add(balancer(own)); r.add(balancer(next, replaces)); at("10.0.0.100")(r.svc) }, want: own, replaced: true},
		"one that has replaced it":          {prepare: func(r *rig) { r.add(balancer(own)); r.add(balancer(next, replaces)); at("10.0.0.101")(r.svc) }, want: next, replaced: true},
		"one that has replaced it, floating IP": {prepare: func(r *rig) {
			r.add(balancer(own), balancer(next, replaces))
			at("203.0.113.7")(r.svc)
			r.add(floatingAt("fip", "203.0.113.8", "vip-of-next", describedAs("")))
		}, want: next, replaced: true},
		"a search that fails": {prepare: func(r *rig) { r.add(balancer(own)); r.fails["load-balancers"] = errFailed }, err: errFailed},
	} {
		r := newRig(t)
		if test.named != "" {
			r.svc.Annotations[annotation.LoadBalancerID] = test.named
		}
		test.prepare(r)
		k := r.keep(Limits{})
		have, err := k.Observe(r.ctx, &r.lock)
		if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err == nil && (have.LoadBalancer == nil || have.LoadBalancer.ID != test.want || have.Replaced != test.replaced || have.Outgoing != nil || len(have.Duplicates) > 0) {
			t.Errorf("%s: %+v", name, have)
		}
		if test.named != "" && k.in.Settings.LoadBalancer.ID != test.named {
			t.Errorf("%s: the settings name %q", name, k.in.Settings.LoadBalancer.ID)
		}
	}
}

// A floating IP that the load balancer has lost is replaced: by itself where it is free, else by a new one.
func TestRestoreFloatingIP_ReplacesALostOne(t *testing.T) {
	t.Parallel()
	const lost, network = "203.0.113.7", "public"
	own := rigIdentity().FloatingIPs().Description()
	for name, test := range map[string]struct {
		published string
		internal  bool
		shared    bool
		on        string // the port on which the lost one is
		there     bool   // the lost one exists
		foreign   bool   // another client has created it
		attached  string // another address on the VIP
		fails     string
		// restored is the floating IP in its place: by its address, or by its network; "" for none.
		lost, restored string
		err            error
	}{
		"it is free":                {published: lost, there: true, lost: lost, restored: lost},
		"it is free, of no Service": {published: lost, there: true, foreign: true, lost: lost, restored: lost},
		"it is gone":                {published: lost, lost: lost, restored: network},
		"it is in use":              {published: lost, there: true, on: "another port", lost: lost, restored: network},
		"it is gone, no network":    {published: lost, fails: "network", lost: lost},
		"it cannot be looked for":   {published: lost, fails: "floating-ips", err: errFailed},
		"another one is on the VIP": {published: lost, there: true, attached: "203.0.113.8"},
		"the VIP is published":      {published: "10.0.0.100"},
		"nothing is published":      {},
		"internal":                  {published: lost, there: true, internal: true},
		"another's":                 {published: lost, there: true, shared: true},
	} {
		r := newRig(t)
		if test.internal {
			r.svc.Annotations[annotation.Internal] = "true"
		}
		of := rigIdentity()
		if test.shared {
			of = anotherIdentity()
			r.svc.Annotations[annotation.LoadBalancerID] = "lb"
		}
		r.add(balancer("lb", identified(of)), listenerOn("lb", true))
		if test.foreign {
			r.add(floatingAt("lost", lost, "", describedAs("")))
		} else if test.there {
			r.add(floatingAt("lost", lost, test.on))
		}
		if test.attached != "" {
			r.add(floatingAt("other", test.attached, "vip-of-lb"))
		}
		if test.published != "" {
			at(test.published)(r.svc)
		}
		k := r.keep(Limits{})
		if test.fails != "" {
			r.fails[test.fails] = errFailed
		}
		have, err := k.Observe(r.ctx, &r.lock)
		if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		restored := ""
		if fip := have.Restored; fip != nil {
			if restored = fip.Address; restored == "" {
				restored = fip.NetworkID
			}
			if fip.Description != own {
				t.Errorf("%s: its description is %q", name, fip.Description)
			}
		}
		if have.Lost != test.lost || restored != test.restored {
			t.Errorf("%s: lost %q, restored %q", name, have.Lost, restored)
		}
	}
}

// The load balancer to keep is that of the first look, or that before another client's change. Its members are those of now.
func TestDesire_OfKeptKeepsTheLoadBalancerAndFollowsNodes(t *testing.T) {
	t.Parallel()
	before := func(depth model.Depth, id string) state.Drift {
		lb := &model.LoadBalancer{ID: id, Name: "before"}
		return state.Drift{Before: &state.Applied{Knowledge: model.Knowledge{Depth: depth}, Contents: lb, LoadBalancer: state.LoadBalancer{ID: id}}}
	}
	for name, test := range map[string]struct {
		drift state.Drift
		want  string
	}{
		"as it is":             {state.Drift{}, "there"},
		"as it was":            {before(model.Full, "lb"), "before"},
		"as another was":       {before(model.Full, "other"), "there"},
		"as it was listed":     {before(model.Listed, "lb"), "there"},
		"as its settings were": {before(model.Settings, "lb"), "there"},
	} {
		r := newRig(t)
		k := r.keep(Limits{})
		k.in.Drift = test.drift
		lb := &model.LoadBalancer{ID: "lb", Name: "there", Provider: "amphora"}
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}}}
		want, err := k.Desire(r.ctx, round)
		if err != nil || want.LoadBalancer.Name != test.want || want.Facts.Driver.Name != "amphora" || want.Basis != BasisOf(k.in, lb) {
			t.Errorf("%s: %+v, error %v", name, want, err)
		}
		lb.Name = "renamed"
		if want, err := k.Desire(r.ctx, round); err != nil || want.LoadBalancer.Name != test.want {
			t.Errorf("%s: after another look, %+v, error %v", name, want.LoadBalancer, err)
		}
	}
}

// Without the range of their subnet, members would get other addresses.
func TestDesire_OfKeptNeedsTheRangeOfItsMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, service(fixture.Annotated(annotation.Members, annotation.MembersPods)))
	k := r.keep(Limits{})
	r.store.Update(r.svc.UID, func(e *state.Entry) { e.Applied = appliedOn("lb", false) })
	k.choose = func(context.Context, *settings.Settings) (*members.Set, error) { return nil, errFailed }
	if _, err := k.Desire(r.ctx, Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb"}}}}); !errors.Is(err, errFailed) || k.like != nil {
		t.Errorf("error %v", err)
	}
}

// The members of a kept load balancer depend on its present ones, on the limits, and on the reads that succeed.
func TestDesire_OfKeptFollowsAsFarAsItMay(t *testing.T) {
	t.Parallel()
	inSubnets := func(c *config.LoadBalancer) { c.SubnetID = "" }
	for name, test := range map[string]struct {
		conf    func(*config.LoadBalancer)
		change  func(*rig, *Kept)
		pods    bool // that are the members of the load balancer
		limits  Limits
		members string
		fails   bool
	}{
		"nodes":                     {members: "10.0.0.1:30080 subnet, 10.0.0.2:30080 subnet"},
		"nodes, a quota":            {limits: Limits{Full: true}, members: "10.0.0.1:30080 subnet"},
		"nodes in their subnets":    {conf: inSubnets, members: "10.0.0.1:30080 subnet, 10.0.0.2:30080 subnet"},
		"their subnets are unknown": {conf: inSubnets, change: func(r *rig, _ *Kept) { r.fails["ports-of"] = errFailed }, fails: true},
		"pods":                      {pods: true, members: "10.0.0.21:8080, 10.0.0.22:8080"},
		"pods, one is unreachable":  {pods: true, change: func(r *rig, _ *Kept) { r.ports = r.ports[:len(r.ports)-1] }, members: "10.0.0.21:8080"},
		"pods, routes are unknown":  {pods: true, change: func(r *rig, _ *Kept) { r.fails["router-interfaces"] = errFailed }, fails: true},
	} {
		r := newRig(t, configured(test.conf), withPods, balancer("lb"))
		r.nodes = r.nodes[:1] // the load balancer knows one
		r.add(listenerOn("lb", true))
		r.nodes = newRig(t).nodes
		if test.pods {
			r.members["pool-of-lb"][0].Address, r.members["pool-of-lb"][0].Port, r.members["pool-of-lb"][0].SubnetID = "10.0.0.21", 8080, ""
		}
		k := r.keep(test.limits)
		have, err := k.Observe(r.ctx, &r.lock)
		if err != nil {
			t.Fatal(err)
		}
		if test.change != nil {
			test.change(r, k)
		}
		want, err := k.Desire(r.ctx, Round{Have: have})
		if errors.Is(err, errFailed) != test.fails || (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		var got []string
		for _, m := range fixture.MembersOf(want.LoadBalancer.Listeners[0].Pool) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s:%d %s", m.Address, m.Port, m.SubnetID)))
		}
		if strings.Join(got, ", ") != test.members {
			t.Errorf("%s: members %q, want %q", name, got, test.members)
		}
	}
}

// A kept load balancer loses none of its parts, and gets nothing but members and a floating IP.
func TestPlan_OfKeptChangesLittle(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{ID: "lb", Provider: "amphora", Orphans: []model.Pool{{ID: "left"}}, Status: model.Status{Provisioning: "ACTIVE"}}
	certificate := model.Listener{ID: "l", Protocol: model.TerminatedHTTPS, Port: 443, TLSContainerRef: secretRef, Pool: model.Pool{ID: "p", Protocol: model.HTTP}, Status: model.Status{Provisioning: "ERROR"}}
	for name, test := range map[string]struct {
		have   func(*Round)
		limits Limits
		want   string // "" for no step
		block  bool
	}{
		"nothing": {},
		"a pool since the start": {have: func(round *Round) {
			round.Have.LoadBalancer.Orphans = append(round.Have.LoadBalancer.Orphans, model.Pool{ID: "new"})
		}, want: "(new): delete"},
		"a lost floating IP": {have: func(round *Round) { round.Have.Restored = &model.FloatingIP{NetworkID: "public"} }, want: "floating IP: create on network public"},
		"a lost floating IP, free": {have: func(round *Round) {
			round.Have.Restored, round.Have.UnattachedFloatingIPs = &model.FloatingIP{Address: "203.0.113.7"}, []model.FloatingIP{{ID: "fip", Address: "203.0.113.7"}}
		}, want: "floating IP 203.0.113.7: associate"},
		"a floating IP that came back": {have: func(round *Round) {
			round.Have.Restored, round.Have.LoadBalancer.FloatingIP = &model.FloatingIP{NetworkID: "public"}, &model.FloatingIP{ID: "fip"}
		}},
		"an unattached floating IP":   {have: func(round *Round) { round.Have.UnattachedFloatingIPs = []model.FloatingIP{{ID: "fip", Owned: true}} }},
		"a listener in ERROR":         {have: func(round *Round) { round.Have.LoadBalancer.Listeners = []model.Listener{certificate} }, want: "listener TCP/443: repair"},
		"one with a lost certificate": {have: func(round *Round) { round.Have.LoadBalancer.Listeners = []model.Listener{certificate} }, limits: Limits{Lost: []string{secretRef}}},
		"it is in ERROR, after a start": {have: func(round *Round) {
			round.Have.LoadBalancer.Status.Provisioning, round.Have.LoadBalancer.UpdatedAt = "ERROR", noon
		}, block: true},
	} {
		r := newRig(t)
		at("10.0.0.5")(r.svc)
		k := r.keep(test.limits)
		k.like = lb
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: lb.Clone()}}}
		if test.have != nil {
			test.have(&round)
		}
		orphans := len(round.Have.LoadBalancer.Orphans)
		kept := *round.Have.LoadBalancer
		kept.Orphans = nil
		round.Want = &Desired{LoadBalancer: &kept}
		todo, err := k.Plan(r.ctx, round)
		var blocked *refusal.BlockedError
		if errors.As(err, &blocked) != test.block || test.block && !blocked.Failed || (err != nil) != test.block {
			t.Errorf("%s: %v", name, err)
		}
		if !test.block && (len(todo.Steps) > 0) != (test.want != "") || !strings.Contains(todo.String(), test.want) || len(todo.Steps) > 1 {
			t.Errorf("%s: %v, want %q", name, todo, test.want)
		}
		if len(round.Have.LoadBalancer.Orphans) != orphans {
			t.Errorf("%s: the observation is changed", name)
		}
	}
}
