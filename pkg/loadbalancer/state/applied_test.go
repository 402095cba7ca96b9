package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// applied returns the applied state of a load balancer with one listener.
func applied(id string) *state.Applied {
	return &state.Applied{
		Service:      types.NamespacedName{Namespace: "default", Name: "web"},
		Digests:      state.Digests{Full: "digest", Nodeless: "nodeless"},
		LoadBalancer: state.LoadBalancer{ID: id},
		Contents:     balancer(id),
		Knowledge:    model.Knowledge{Confirmed: true},
		Seen:         state.Seen{UpdatedAt: began, Since: began},
		Persisted:    state.Persisted{Record: true, Address: true},
	}
}

func balancer(id string) *model.LoadBalancer {
	return &model.LoadBalancer{ID: id, UpdatedAt: began, Listeners: []model.Listener{{ID: "listener", Pool: model.Pool{ID: "pool"}}}}
}

func TestStore_DropsAndMarksNothingThatWasAppliedSince(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	old, newer := applied("lb"), applied("lb")
	store.Update("uid", func(e *state.Entry) { e.SetApplied(newer) })
	store.Update("uid", func(e *state.Entry) { e.DropAppliedIf(old) })
	if markDrifted(store, "uid", old, "changed") {
		t.Error("something newer was dropped, or marked")
	}
	if known := store.Get("uid"); known.Applied != newer || known.Drift != (state.Drift{}) {
		t.Errorf("known by now: %+v", known)
	}
	if !markDrifted(store, "uid", newer, "changed") {
		t.Error("what was applied last is not marked")
	}
	if known := store.Get("uid"); known.Applied != nil || known.Drift != (state.Drift{Reason: "changed", Before: newer}) {
		t.Errorf("after drift: %+v", known)
	}
	store.Update("uid", func(e *state.Entry) { e.SetApplied(newer) })
	if store.Update("uid", func(e *state.Entry) { e.DropAppliedIf(newer) }); store.Get("uid").Applied != nil {
		t.Error("what was applied last is not dropped")
	}
}

func TestStore_ReturnsWhatWasAppliedForEachService(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	one := applied("one")
	store.Update("a", func(e *state.Entry) { e.SetApplied(one) })
	store.Update("b", func(e *state.Entry) { e.Made.Touched = true })
	if got := store.AllApplied(); len(got) != 1 || got["a"] != one {
		t.Errorf("%v, want that of one Service", got)
	}
}

func TestStore_KnowsTheGuestsOfALoadBalancer(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	store.Update("owner", func(e *state.Entry) { e.SetApplied(applied("lb")) })
	store.Update("other", func(e *state.Entry) { e.SetApplied(applied("another")) })
	if store.HasGuests("lb", "owner") || !store.HasGuests("lb", "other") {
		t.Error("the owner is a guest, or is unknown to others")
	}
	store.Update("other", func(e *state.Entry) { e.Made.Enter("lb") })
	if !store.HasGuests("lb", "owner") {
		t.Error("a Service that has begun a change is no guest")
	}
	store.Update("other", func(e *state.Entry) { e.Made.Entered = nil })
	store.Update("third", func(e *state.Entry) { e.SetApplied(applied("lb")) })
	if !store.HasGuests("lb", "owner") {
		t.Error("a Service on the load balancer is no guest")
	}
}

func TestStore_ReturnsOfWhichServicesSomethingCanBePersisted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		confirmed bool
		persisted state.Persisted
		want      bool
	}{
		"all is persisted":                  {true, state.Persisted{Record: true, Address: true}, false},
		"the address is not":                {false, state.Persisted{}, true},
		"the record, confirmed":             {true, state.Persisted{Address: true}, true},
		"the record, not confirmed":         {false, state.Persisted{Address: true}, false},
		"the address, whatever else is not": {true, state.Persisted{Record: true}, true},
	} {
		store, _ := newStore()
		one := applied("one")
		one.Confirmed, one.Persisted = test.confirmed, test.persisted
		store.Update("a", func(e *state.Entry) { e.SetApplied(one) })
		store.Update("b", func(e *state.Entry) { e.Made.Touched = true })
		if got := store.Unpersisted(); len(got) > 1 || (got["a"] == one) != test.want {
			t.Errorf("%s: %v", name, got)
		}
		persisted := *one
		persisted.Persisted = state.Persisted{Record: true, Address: true}
		if store.Update("a", func(e *state.Entry) { e.ReplaceApplied(one, &persisted) }); len(store.Unpersisted()) > 0 {
			t.Errorf("%s: persisted meanwhile: %v", name, store.Unpersisted())
		}
		if store.Update("a", func(e *state.Entry) { e.SetApplied(one) }); (len(store.Unpersisted()) == 1) != test.want {
			t.Errorf("%s: once more: %v", name, store.Unpersisted())
		}
		if store.Update("a", (*state.Entry).DropApplied); len(store.Unpersisted()) > 0 {
			t.Errorf("%s: dropped: %v", name, store.Unpersisted())
		}
	}
}

// A check drops the contents of a record when it confirms it, while another goroutine writes the
// annotations for the same record.
func TestStore_KeepsWhatIsWrittenForARecordThatIsConfirmedMeanwhile(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	before := applied("lb")
	before.Knowledge, before.Parts, before.Persisted = model.Knowledge{Depth: model.Listed, Source: model.Record}, "parts", state.Persisted{}
	confirmed, written := *before, *before
	confirmed.Confirmed, confirmed.Contents, confirmed.Parts = true, nil, ""
	written.Persisted.Address = true
	store.Update("uid", func(e *state.Entry) { e.SetApplied(before) })
	store.Update("uid", func(e *state.Entry) { e.ReplaceApplied(before, &confirmed) })
	store.Update("uid", func(e *state.Entry) { e.ReplaceApplied(before, &written) })
	if got := store.Get("uid").Applied; !got.Confirmed || !got.Persisted.Address {
		t.Errorf("confirmed %v, persisted %+v", got.Confirmed, got.Persisted)
	}
}

// A round finds that the annotations must be written again, while a check confirms the same state.
func TestStore_KeepsThatAnnotationsMustBeWrittenAgain(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	before := applied("lb")
	before.Confirmed, before.Persisted = false, state.Persisted{Address: true}
	unwritten, confirmed := *before, *before
	unwritten.Persisted.Address, confirmed.Confirmed = false, true
	store.Update("uid", func(e *state.Entry) { e.SetApplied(&unwritten) })
	store.Update("uid", func(e *state.Entry) { e.ReplaceApplied(before, &confirmed) })
	if got := store.Get("uid").Applied; !got.Confirmed || got.Persisted.Address {
		t.Errorf("confirmed %v, persisted %+v", got.Confirmed, got.Persisted)
	}
}

func TestStore_ReplacesTheStateThatIsStillTheSame(t *testing.T) {
	t.Parallel()
	before := applied("lb")
	before.Confirmed, before.Persisted = false, state.Persisted{}
	derived := func(change func(*state.Applied)) *state.Applied {
		changed := *before
		change(&changed)
		return &changed
	}
	noted := derived(func(a *state.Applied) {
		a.Confirmed, a.Persisted = true, state.Persisted{Record: true, Address: true}
	})
	now := derived(func(a *state.Applied) { a.Seen.OperatingStatus = "DEGRADED" })
	both := derived(func(a *state.Applied) {
		a.Confirmed, a.Persisted = true, noted.Persisted
		a.Seen.OperatingStatus = "DEGRADED"
	})
	sameContents := cmp.Comparer(func(a, b *model.LoadBalancer) bool { return a == b })
	moved := derived(func(a *state.Applied) { a.Seen.UpdatedAt = began.Add(time.Second) })
	deeper := derived(func(a *state.Applied) { a.Depth = model.Settings })
	addressed := derived(func(a *state.Applied) { a.Persisted.Address = true })
	recorded := derived(func(a *state.Applied) { a.Persisted.Record = true })
	written := derived(func(a *state.Applied) { a.Persisted = state.Persisted{Record: true, Address: true} })
	confirmed := derived(func(a *state.Applied) { a.Confirmed = true })
	repacked := derived(func(a *state.Applied) { a.Contents = balancer("lb") })
	shared := derived(func(a *state.Applied) { a.LoadBalancer.Share = "apps" })
	movedWritten := derived(func(a *state.Applied) { a.Seen.UpdatedAt, a.Persisted.Address = moved.Seen.UpdatedAt, true })
	movedShared := derived(func(a *state.Applied) { a.Seen.UpdatedAt, a.LoadBalancer.Share = moved.Seen.UpdatedAt, "apps" })
	for name, c := range map[string]struct{ have, now, want *state.Applied }{
		"nothing else was recorded":            {before, now, now},
		"it was confirmed and written down":    {noted, now, both},
		"the new one was, the other not":       {now, noted, noted},
		"the new one is of another updated_at": {noted, moved, movedWritten},
		"it got a share":                       {shared, moved, movedShared},
		"it got a share before it was written": {shared, addressed, shared},
		"it was dropped":                       {nil, now, nil},
		"it was read in another depth":         {deeper, now, deeper},
		"its address was written down":         {addressed, recorded, written},
		"its record was written down":          {recorded, addressed, written},
		"only it was confirmed":                {confirmed, before, confirmed},
		"another updated_at was recorded":      {moved, now, moved},
		"other contents were recorded":         {repacked, now, repacked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore()
			if c.have != nil {
				store.Update("uid", func(e *state.Entry) { e.SetApplied(c.have) })
			}
			store.Update("uid", func(e *state.Entry) { e.ReplaceApplied(before, c.now) })
			got := store.Get("uid").Applied
			if diff := cmp.Diff(c.want, got, sameContents); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The Service's parts are foreign to the others, so that they can be compared with a read.
func TestStore_RebasesWhatIsAnothersToTheOthers(t *testing.T) {
	t.Parallel()
	later := began.Add(time.Minute)
	foreign := func(kind, id string) model.Foreign { return model.Foreign{Kind: kind, ID: id} }
	theirs := balancer("lb")
	theirs.Foreign = []model.Foreign{foreign("listener", "before"), foreign("pool", "orphan"), foreign("listener", "of a third")}
	before := &model.LoadBalancer{ID: "lb", UpdatedAt: began, Listeners: []model.Listener{{ID: "before"}}, Orphans: []model.Pool{{ID: "orphan"}}}
	after := &model.LoadBalancer{ID: "lb", UpdatedAt: later, Orphans: []model.Pool{{ID: "left", Name: "pool_0"}}, Listeners: []model.Listener{{
		ID: "new", Name: "listener_0_kube_service_kubernetes_default_guest", Protocol: model.UDP, Port: 53,
		Pool: model.Pool{ID: "pool", Protocol: model.UDP, Monitor: &model.Monitor{Type: "UDP-CONNECT"}},
	}}}
	store, _ := newStore()
	store.Update("guest", func(e *state.Entry) { e.SetApplied(applied("lb")) })
	other := applied("lb")
	other.Contents = theirs
	store.Update("other", func(e *state.Entry) { e.SetApplied(other) })
	store.RebaseOthers("guest", state.VersionOf(before), after, later)
	want := []model.Foreign{
		foreign("listener", "of a third"),
		{
			Kind: "listener", ID: "new", Name: "listener_0_kube_service_kubernetes_default_guest", Service: "default/guest", ServiceUID: "guest",
			Key: model.Listener{Protocol: model.UDP, Port: 53}.Key(), Monitored: model.UDP,
		},
		{Kind: "pool", ID: "left", Name: "pool_0", ServiceUID: "guest"},
	}
	got := store.Get("other").Applied.Contents
	if diff := cmp.Diff(want, got.Foreign); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(theirs.Listeners, got.Listeners); diff != "" {
		t.Errorf("its own listeners have changed: %s", diff)
	}
}

// A change for one Service moves updated_at for the others on its load balancer.
func TestStore_RebasesTheOthersOnALoadBalancer(t *testing.T) {
	t.Parallel()
	later := began.Add(time.Minute)
	to := func(change func(*model.LoadBalancer)) *model.LoadBalancer {
		lb := balancer("lb")
		lb.UpdatedAt = later
		change(lb)
		return lb
	}
	as := func(*model.LoadBalancer) {}
	other := func(change func(*state.Applied)) *state.Applied {
		a := applied("lb")
		change(a)
		return a
	}
	known, unknown := "with its contents", "without its contents"
	fip := &model.FloatingIP{ID: "fip"}
	for name, c := range map[string]struct {
		from, to *model.LoadBalancer
		other    *state.Applied
		want     string
	}{
		"the same listeners":        {balancer("lb"), to(as), applied("lb"), known},
		"another listener":          {balancer("lb"), to(func(lb *model.LoadBalancer) { lb.Listeners[0].ID = "new" }), applied("lb"), known},
		"another pool":              {balancer("lb"), to(func(lb *model.LoadBalancer) { lb.Listeners[0].Pool.ID = "new" }), applied("lb"), known},
		"a pool without a listener": {balancer("lb"), to(func(lb *model.LoadBalancer) { lb.Orphans = []model.Pool{{}} }), applied("lb"), known},
		"its contents are unknown":  {balancer("lb"), to(as), other(func(a *state.Applied) { a.Depth, a.Contents = model.Listed, nil }), unknown},
		"the load balancer is new":  {nil, to(as), applied("lb"), ""},
		"nothing has changed":       {balancer("lb"), balancer("lb"), applied("lb"), ""},
		"another load balancer":     {balancer("lb"), to(func(lb *model.LoadBalancer) { lb.ID = "new" }), applied("lb"), ""},
		"another floating IP":       {balancer("lb"), to(func(lb *model.LoadBalancer) { lb.FloatingIP = fip }), applied("lb"), ""},
		"the other is elsewhere":    {balancer("lb"), to(as), applied("elsewhere"), ""},
		"others changed it before":  {balancer("lb"), to(as), other(func(a *state.Applied) { a.Seen.ChangedByOthers = true }), ""},
		"the other was seen later":  {balancer("lb"), to(as), other(func(a *state.Applied) { a.Seen.UpdatedAt = began.Add(time.Second) }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore()
			ours := applied("lb")
			store.Update("ours", func(e *state.Entry) { e.SetApplied(ours) })
			store.Update("other", func(e *state.Entry) { e.SetApplied(c.other) })
			store.Update("without", func(e *state.Entry) { e.Made.Touched = true })
			store.RebaseOthers("ours", state.VersionOf(c.from), c.to, later)
			if store.Get("ours").Applied != ours {
				t.Error("what was applied for the Service itself has changed")
			}
			got := store.Get("other").Applied
			if c.want == "" {
				if got != c.other {
					t.Errorf("the other is rebased: %+v", got)
				}
				return
			}
			if want := (state.Seen{UpdatedAt: later, Since: later}); got.Seen != want || got.Persisted != (state.Persisted{Address: true}) {
				t.Errorf("seen %+v, persisted %+v", got.Seen, got.Persisted)
			}
			if c.want == known && (got.Contents == nil || !got.Contents.UpdatedAt.Equal(later) || got.Digests.Nodeless == "") {
				t.Errorf("the contents are lost, or of another time: %+v", got)
			}
			if c.want == unknown && (got.Contents != nil || got.Digests != state.Digests{Full: "digest"}) {
				t.Errorf("contents, or a digest without nodes, are still known: %+v", got)
			}
			if !c.other.Confirmed || c.other.Contents != nil && !c.other.Contents.UpdatedAt.Equal(began) {
				t.Error("what was applied was changed in place")
			}
		})
	}
}

// The record of the previous process remains comparable only while the load balancer has the same parts.
func TestStore_RebasesARecordOfThePreviousProcess(t *testing.T) {
	t.Parallel()
	later := began.Add(time.Minute)
	contents := balancer("lb")
	for name, test := range map[string]struct {
		change func(*model.LoadBalancer)
		parts  string
	}{
		"the same parts":   {func(*model.LoadBalancer) {}, "parts"},
		"another listener": {func(lb *model.LoadBalancer) { lb.Listeners[0].ID = "new" }, ""},
	} {
		store, _ := newStore()
		other := applied("lb")
		other.Depth, other.Parts, other.Contents, other.Persisted = model.Listed, "parts", contents, state.Persisted{Address: true}
		store.Update("other", func(e *state.Entry) { e.SetApplied(other) })
		if len(store.Unpersisted()) != 1 {
			t.Fatal("its record is not due")
		}
		now := balancer("lb")
		now.UpdatedAt = later
		test.change(now)
		store.RebaseOthers("ours", state.VersionOf(balancer("lb")), now, later)
		got := store.Get("other").Applied
		if got.Parts != test.parts || (got.Contents == contents) != (test.parts != "") || got.Confirmed || got.Digests != (state.Digests{Full: "digest"}) {
			t.Errorf("%s: %+v", name, got)
		}
		if due := store.Unpersisted(); len(due) > 0 {
			t.Errorf("%s: a record is due before it is confirmed: %v", name, due)
		}
	}
}
