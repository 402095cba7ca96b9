package goal

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Commands and deletions find the same load balancer as a round without memory.
func TestFinder_FindsTheLoadBalancerOfAService(t *testing.T) {
	t.Parallel()
	owner := inputsAt().Owner
	for name, test := range map[string]struct {
		rig     []func(*rig)
		found   int
		claimed bool
	}{
		"none": {nil, 0, false}, "its own": {[]func(*rig){balancer("lb")}, 1, true}, "another's": {[]func(*rig){balancer("lb", ofAnother)}, 0, false},
	} {
		r := newRig(t, test.rig...)
		found, err := r.Finder.Find(t.Context(), by("", servedInOctavia), "")
		if err != nil || len(found.LoadBalancers) != test.found || found.As != rigIdentity() {
			t.Errorf("%s: %+v, error %v", name, found, err)
		}
		if claimed, err := r.Finder.Claimed(t.Context(), owner); claimed != test.claimed || err != nil {
			t.Errorf("%s: claimed: %v, error %v", name, claimed, err)
		}
	}
	assertErrors(t, "find", func(r *rig) error {
		_, err := r.Finder.Find(t.Context(), by("", servedInOctavia), "")
		return err
	})
	assertErrors(t, "claimed", func(r *rig) error {
		claimed, err := r.Finder.Claimed(t.Context(), owner)
		if err != nil && claimed {
			t.Error("after an error it is claimed")
		}
		return err
	}, balancer("lb"))
	r := newRig(t, balancer("shared", ofAnother), balancer("lb"))
	if found, err := r.Finder.Find(t.Context(), by(""), "shared"); err != nil || len(found.LoadBalancers) != 1 || found.LoadBalancers[0].ID != "shared" || !found.As.Sharing.Is {
		t.Errorf("the one that it names: %+v, error %v", found, err)
	}
}

// Hints come from the memory of this process, the published status, the annotations and the record.
func TestHints_AreWhatIsKnownOfTheLoadBalancer(t *testing.T) {
	t.Parallel()
	r := newRig(t, knowing(state.Entry{Made: state.Made{LoadBalancerID: "made", ServedOn: "served"}}), func(r *rig) {
		r.records.text = state.Record{LoadBalancerID: "written", Service: serviceUID}.String()
	})
	svc := by("", placed("place"), func(svc *v1.Service) {
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}, {Hostname: "203.0.113.8.nip.io"}}
	})
	hints := r.Finder.hints(serviceUID, PublishedOf(svc), "named")
	got := []string{hints.LoadBalancerID, hints.Remembered, hints.ServedOn, hints.Recorded, hints.Written, strings.Join(hints.Addresses, " "), strings.Join(hints.NamedAddresses, " ")}
	if want := []string{"named", "made", "served", "place", "written", "203.0.113.7", "203.0.113.8"}; !slices.Equal(got, want) || hints.Place == nil {
		t.Errorf("%q, want %q", got, want)
	}
	if hints := newRig(t).Finder.hints(serviceUID, Published{}, ""); hints.Written != "" || hints.Recorded != "" {
		t.Errorf("nothing is known: %+v", hints)
	}
}

// A load balancer is in the place of the cluster if it is in a subnet of cloud.conf, of a class or of a node.
func TestPlace_HasTheSubnetsOfCloudConfAndOfTheNodes(t *testing.T) {
	t.Parallel()
	classes := func(r *rig) {
		r.conf.LoadBalancer.NetworkID = "conf-net"
		r.conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": {SubnetID: "class-subnet", NetworkID: "class-net"}}
	}
	r := newRig(t, classes, func(r *rig) { r.ports[1].FixedIPs[0].SubnetID = "another" })
	nodes := func(context.Context) ([]v1.Node, error) {
		return []v1.Node{*r.nodes[0], *fixture.Node("elsewhere", "192.0.2.1"), *r.nodes[1]}, nil
	}
	for name, test := range map[string]struct {
		nodes   func(context.Context) ([]v1.Node, error)
		subnets string
		sent    string
	}{
		"nodes are not read": {nil, "subnet class-subnet", ""},
		"with nodes":         {nodes, "subnet class-subnet another subnet subnet6", "ports-of " + serverAt("10.0.0.1") + " " + serverAt("10.0.0.2")},
	} {
		r.sent, r.Finder.Cluster.Nodes = nil, test.nodes
		place, err := r.Finder.place(t.Context())
		if err != nil || strings.Join(place.Subnets, " ") != test.subnets || strings.Join(place.Networks, " ") != "conf-net class-net" || strings.Join(r.sent, " ") != test.sent {
			t.Errorf("%s: %+v, error %v, sent %q", name, place, err, r.sent)
		}
	}
	assertErrors(t, "place", func(r *rig) error {
		r.Finder.Cluster.Nodes = nodes
		_, err := r.Finder.place(t.Context())
		return err
	})
	r.Finder.Cluster.Nodes = func(context.Context) ([]v1.Node, error) { return nil, errFailed }
	if _, err := r.Finder.place(t.Context()); err == nil || err.Error() != "list nodes: failed" {
		t.Errorf("nodes that cannot be read: %v", err)
	}
}

// A found load balancer is remembered: a list may come from a replica that lacks the last changes.
func TestFinder_RemembersWhereItHasFoundTheService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc   *v1.Service
		named string
		rig   []func(*rig)
		want  state.Made
		id    string
	}{
		"none":                      {by("", servedInOctavia), "", nil, state.Made{}, ""},
		"its own":                   {by(""), "", []func(*rig){balancer("lb")}, state.Made{LoadBalancerID: "lb"}, "lb"},
		"another's":                 {by(""), "shared", []func(*rig){balancer("shared", ofAnother)}, state.Made{}, "shared"},
		"another's, at its address": {by("", internalAt), "shared", []func(*rig){balancer("shared", ofAnother)}, state.Made{ServedOn: "shared"}, "shared"},
	} {
		r := newRig(t, test.rig...)
		in := inputsOf(test.svc)
		in.ID = rigIdentity()
		have, err := r.Finder.read(t.Context(), in, test.named, reading.Scope{}, new(async.Guard), new(reading.Search))
		made := r.store.Get(serviceUID).Made
		if err != nil || made.LoadBalancerID != test.want.LoadBalancerID || made.ServedOn != test.want.ServedOn || !have.Confirmed || have.Has(test.id) != (test.id != "") || have.As.Sharing.Is != (test.id == "shared") {
			t.Errorf("%s: made %+v, observed %+v, error %v", name, made, have, err)
		}
	}
	assertErrors(t, "read", func(r *rig) error {
		have, err := r.Finder.read(t.Context(), inputsAt(), "", reading.Scope{}, new(async.Guard), new(reading.Search))
		if err != nil && (have.Observed != nil || r.store.Get(serviceUID).Made.LoadBalancerID != "") {
			t.Errorf("observed %+v beside the error", have)
		}
		return err
	}, balancer("lb"), listenerOn("lb", true))
}

// A search for remains is left out only where there are certainly none.
func TestElsewhere_SearchesUnlessTheServiceIsSettled(t *testing.T) {
	t.Parallel()
	shared := []func(*rig){balancer("shared", ofAnother), listenerOn("shared", true), balancer("lb")}
	for name, test := range map[string]struct {
		lb                *model.LoadBalancer
		share             string
		previous, entered []string
		want              string
		reads             bool
	}{
		"nothing is known":             {nil, "", nil, nil, "", false},
		"it may have joined":           {nil, "front", nil, nil, "lb shared", true},
		"it was on another one":        {&model.LoadBalancer{ID: "lb"}, "", []string{"lb", "old"}, nil, "shared", true},
		"it has entered another one":   {&model.LoadBalancer{ID: "lb"}, "", nil, []string{"old"}, "shared", true},
		"it is on the one of before":   {&model.LoadBalancer{ID: "lb"}, "", []string{"lb"}, nil, "", false},
		"it shares, on that of before": {&model.LoadBalancer{ID: "lb"}, "front", []string{"lb"}, nil, "", false},
		"it has none, and was on one":  {nil, "", []string{"old"}, nil, "lb shared", true},
	} {
		r := newRig(t, shared...)
		in := inputsAt()
		in.Previous, in.Entered, in.Settings.LoadBalancer.Share = test.previous, test.entered, test.share
		found, err := r.Finder.elsewhere(t.Context(), in, test.lb)
		var ids []string
		for _, one := range found {
			ids = append(ids, one.LoadBalancers[0].ID)
		}
		if err != nil || strings.Join(ids, " ") != test.want || len(r.sent) > 0 != test.reads {
			t.Errorf("%s: %q, error %v, sent %q", name, ids, err, r.sent)
		}
		if test.reads && slices.Contains(slices.Concat(test.previous, test.entered), "old") != r.has("load-balancer old") {
			t.Errorf("%s: sent %q", name, r.sent)
		}
	}
}

// The state that this process has applied is used while Octavia shows the same time of the last change.
func TestFinderRecall_ReturnsTheLastAppliedStateWhileItIsUnchanged(t *testing.T) {
	t.Parallel()
	applied := func(change func(*state.Applied)) *state.Applied {
		a := &state.Applied{
			LoadBalancer: state.LoadBalancer{ID: "lb", Provider: "amphora"}, Identity: rigIdentity(), Knowledge: model.Knowledge{Depth: model.Full},
			Contents: &model.LoadBalancer{ID: "lb", UpdatedAt: noon},
		}
		if change != nil {
			change(a)
		}
		return a
	}
	onShared := func(served bool) func(*state.Applied) {
		return func(a *state.Applied) { a.LoadBalancer.Shared, a.Identity.Sharing.Served = &model.Shared{}, served }
	}
	depth := func(d model.Depth) func(*state.Applied) { return func(a *state.Applied) { a.Depth = d } }
	later := applied(func(a *state.Applied) { a.Contents = &model.LoadBalancer{ID: "lb", Name: "later", UpdatedAt: noon} })
	for name, test := range map[string]struct {
		applied, now *state.Applied
		subnet       string // of the members
		changes      bool
		rig          []func(*rig)
		known        bool
		confirmed    bool
		servedOn     string
		shared       bool
	}{
		"none":                          {},
		"for comparison":                {applied: applied(nil), known: true},
		"to change it":                  {applied: applied(nil), changes: true, rig: []func(*rig){balancer("lb")}, known: true, confirmed: true},
		"to change it, it has changed":  {applied: applied(func(a *state.Applied) { a.Contents.UpdatedAt = noon.Add(time.Second) }), changes: true, rig: []func(*rig){balancer("lb")}},
		"a record":                      {applied: applied(depth(model.Listed))},
		"settings of members unread":    {applied: applied(depth(model.Settings)), known: true},
		"the same, and they shall move": {applied: applied(depth(model.Settings)), subnet: "other"},
		"all is known, and they move":   {applied: applied(nil), subnet: "other", known: true},
		"another's":                     {applied: applied(onShared(false)), known: true, shared: true},
		"another's, at its address":     {applied: applied(onShared(true)), known: true, servedOn: "lb", shared: true},
		"another's, by a record":        {applied: applied(func(a *state.Applied) { onShared(true)(a); a.Depth = model.Listed }), shared: true},
		"another round was before":      {applied: applied(nil), now: later, known: true},
	} {
		r := newRig(t, test.rig...)
		r.store.Update(serviceUID, func(e *state.Entry) { e.Applied = test.now })
		in, lock := inputsAt(), new(async.Guard)
		in.Settings.Members.SubnetID = test.subnet
		have, err := r.Finder.recall(t.Context(), in, test.applied, test.changes, lock)
		if err != nil || (have.Observed != nil) != test.known || have.Confirmed != test.confirmed || r.store.Get(serviceUID).Made.ServedOn != test.servedOn || have.As.Sharing.Is != test.shared || have.As.ServiceUID != "service-uid" {
			t.Errorf("%s: %+v, error %v, known %+v", name, have, err, r.store.Get(serviceUID).Made)
		}
		if have.Observed != nil && (have.Source != model.Memory || have.Depth != test.applied.Depth || have.LoadBalancer == test.applied.Contents || (have.LoadBalancer.Name == "later") != (test.now != nil)) {
			t.Errorf("%s: %+v of %+v", name, have.LoadBalancer, have.Knowledge)
		}
		if r.Cloud.Locks.Held("lb") != (test.applied != nil) {
			t.Errorf("%s: the load balancer is locked: %v", name, test.applied == nil)
		}
		lock.Release()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRig(t, balancer("lb"))
	r.fails["load-balancer-state"] = errFailed // the wait for it has no result when its context ends
	var held async.Guard
	if have, err := r.Finder.recall(ended, inputsAt(), applied(nil), true, &held); err == nil || have.Observed != nil {
		t.Errorf("a read that ends: %+v, error %v", have, err)
	}
	held.Release()
	if _, err := held.Acquire(t.Context(), r.Cloud.Locks, "lb"); err != nil {
		t.Fatal(err)
	}
	if have, err := r.Finder.recall(ended, inputsAt(), applied(nil), false, new(async.Guard)); err == nil || have.Observed != nil {
		t.Errorf("without the lock: %+v, error %v", have, err)
	}
}

// A deletion as a whole reads less.
func TestLeaving_HasTheKnownContentsAndTheWayOfDeletion(t *testing.T) {
	t.Parallel()
	known := &model.LoadBalancer{ID: "lb"}
	for _, cascade := range []bool{false, true} {
		conf := fixture.Config(func(c *config.LoadBalancer) { c.CascadeDelete = cascade })
		if got := leaving(conf, known); !got.Leaving || got.Cascade != cascade || got.Known != known {
			t.Errorf("cascade %v: %+v", cascade, got)
		}
	}
}
