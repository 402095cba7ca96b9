package state_test

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// entriesOf yields entries in their order.
func entriesOf(all ...state.Entry) iter.Seq2[types.UID, state.Entry] {
	return func(yield func(types.UID, state.Entry) bool) {
		for _, e := range all {
			if !yield("", e) {
				return
			}
		}
	}
}

func TestCensusOf_CountsServicesByPhaseWithTheOldestOfEach(t *testing.T) {
	t.Parallel()
	since := func(minutes int) state.Unsettled {
		return state.Unsettled{Since: began.Add(time.Duration(minutes) * time.Minute)}
	}
	deleting := since(3)
	deleting.Deleting = true
	refused := state.Refusal{Reason: "quota"}
	all := []state.Entry{
		{Accepted: &v1.Service{}}, {Accepted: &v1.Service{}, Made: state.Made{Touched: true}},
		{Unsettled: since(2)}, {Unsettled: since(1), Accepted: &v1.Service{}}, {Unsettled: since(4)},
		{Unsettled: since(6), Refusal: refused}, {Unsettled: since(5), Refusal: refused, Accepted: &v1.Service{}},
		{Unsettled: deleting, Refusal: refused},
		{Made: state.Made{Touched: true}}, {Namespace: "default"}, {Served: "7"}, // of which nothing says that they want a load balancer
	}
	want := state.Census{
		Services: map[state.Phase]int{state.Settled: 2, state.Pending: 3, state.Refused: 2, state.Deleting: 1},
		Oldest: map[state.Phase]time.Time{
			state.Pending: since(1).Since, state.Refused: since(5).Since, state.Deleting: since(3).Since,
		},
	}
	for range 2 {
		if diff := cmp.Diff(want, state.CensusOf(entriesOf(all...))); diff != "" {
			t.Error(diff)
		}
		slices.Reverse(all)
	}
}

func TestPartsOf_CountsPartsOfAllLoadBalancersByStatus(t *testing.T) {
	t.Parallel()
	active, failed := model.Status{Provisioning: "ACTIVE", Operating: "ONLINE"}, model.Status{Provisioning: "ERROR", Operating: "OFFLINE"}
	contents := &model.LoadBalancer{Listeners: []model.Listener{
		{Status: active, Protocol: model.Prometheus}, // which has no pool
		{Status: failed, Protocol: model.TCP, Pool: model.Pool{Status: failed, Monitor: &model.Monitor{Status: active}, Members: model.MembersOf(
			model.Member{Address: "10.0.0.1", Status: active}, model.Member{Address: "10.0.0.2", Status: failed},
			model.Member{Address: "10.0.0.3", Status: model.Status{Provisioning: "ACTIVE", Operating: "ERROR"}},
		)}},
		{Status: active, Protocol: model.UDP, Pool: model.Pool{Status: active}},
	}}
	got := state.PartsOf(map[types.UID]*state.Applied{
		"a": {Contents: contents}, "b": {Contents: contents},
		"restored": {Knowledge: model.Knowledge{Depth: model.Listed}}, // without contents
	})
	provisioning := func(status string) model.Status { return model.Status{Provisioning: status} }
	want := map[state.Part]int{
		{Kind: "listener", Status: active}: 4, {Kind: "listener", Status: failed}: 2,
		{Kind: "pool", Status: active}: 2, {Kind: "pool", Status: failed}: 2, {Kind: "health_monitor", Status: active}: 2,
		{Kind: "member", Status: provisioning("ACTIVE")}: 4, {Kind: "member", Status: provisioning("ERROR")}: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnsettled_BeginsWithTheFirstRoundAndAgainWithADeletion(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	took := telemetry.Times{telemetry.Octavia: 5 * time.Second}
	var u state.Unsettled
	u.Spend(at(10), took)
	if u != (state.Unsettled{}) {
		t.Errorf("a settled Service spends time: %+v", u)
	}
	if got := u.Began(at(10), took); !got.Equal(at(5)) {
		t.Errorf("the first round began at %s", got)
	}
	u.Since = at(7)
	for now, want := range map[int]int{11: 6, 12: 7, 13: 7} {
		if got := u.Began(at(now), took); !got.Equal(at(want)) {
			t.Errorf("a round that ends at %d began at %s", now, got)
		}
	}
	u.Spend(at(11), took)
	u.Spend(at(20), took)
	if want := (state.Unsettled{Since: at(6), Spent: took.Plus(took)}); u != want {
		t.Errorf("after two rounds: %+v, want %+v", u, want)
	}
	u.MarkDeleting(at(30))
	u.MarkDeleting(at(40))
	if want := (state.Unsettled{Since: at(30), Deleting: true}); u != want {
		t.Errorf("while it is deleted: %+v, want %+v", u, want)
	}
}

func TestStore_CountsServiceAsUnsettledFromTheFirstVersionThatItHasNotApplied(t *testing.T) {
	t.Parallel()
	store, clock := newStore()
	svc := service("web", "5")
	unsettled := func() state.Unsettled { return store.Get(svc.UID).Unsettled }
	store.Advance(svc.UID, "5")
	clock.SetTime(began.Add(time.Minute))
	store.Advance(svc.UID, "6")
	store.Advance(svc.UID, "4")
	if got := unsettled(); got != (state.Unsettled{Since: began}) {
		t.Errorf("two versions later: %+v", got)
	}
	store.Update(svc.UID, func(e *state.Entry) { e.Unsettled.MarkDeleting(began) })
	store.Advance(svc.UID, "7") // the finalizer was removed by hand, and the Service is another one
	if got := unsettled(); got != (state.Unsettled{Since: began.Add(time.Minute)}) {
		t.Errorf("after a deletion: %+v", got)
	}
	store.Update(svc.UID, func(e *state.Entry) { e.Trouble.Meet("k", began, func(time.Time) string { return "" }); e.Accept(svc) })
	if e := store.Get(svc.UID); e.Unsettled != (state.Unsettled{}) || e.Trouble != (state.Trouble{}) {
		t.Errorf("after it was applied: %+v, trouble %+v", e.Unsettled, e.Trouble)
	}
	store.Advance(svc.UID, "4")
	if got := unsettled(); got != (state.Unsettled{}) {
		t.Errorf("an older version unsettles it: %+v", got)
	}
}

func TestTrouble_CountsRoundsThatMeetTheSameAndKeepsTheFirstReport(t *testing.T) {
	t.Parallel()
	var trouble state.Trouble
	for i, step := range []struct {
		key  string
		want state.Trouble
	}{
		{"quota", state.Trouble{Key: "quota", Times: 1, Text: "quota 0"}},
		{"quota", state.Trouble{Key: "quota", Times: 2, Text: "quota 0"}},
		{"pending", state.Trouble{Key: "pending", Times: 1, Text: "pending 2"}},
		{"quota", state.Trouble{Key: "quota", Times: 1, Text: "quota 3"}},
	} {
		now := began.Add(time.Duration(i) * time.Second)
		trouble.Meet(step.key, now, func(since time.Time) string {
			return step.key + " " + string(rune('0'+int(since.Sub(began).Seconds())))
		})
		if trouble != step.want {
			t.Errorf("round %d: %+v, want %+v", i, trouble, step.want)
		}
	}
}

func TestShortage_LastsTenMinutesAndIsKnownToPreviews(t *testing.T) {
	t.Parallel()
	store, clock := newStore()
	if store.Shortage.Recent() {
		t.Error("a quota is exhausted at the start")
	}
	store.Shortage.Mark()
	for _, test := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {10*time.Minute - 1, true}, {10 * time.Minute, false}} {
		clock.SetTime(began.Add(test.after))
		if got := store.Shortage.Recent(); got != test.want {
			t.Errorf("after %s: %v", test.after, got)
		}
		if got := store.Fork("web").Shortage.Recent(); got != test.want {
			t.Errorf("in a preview after %s: %v", test.after, got)
		}
	}
	fork := store.Fork("web")
	fork.Shortage.Mark()
	if !fork.Shortage.Recent() || store.Shortage.Recent() {
		t.Error("the controller knows of the shortage of a preview")
	}
}
