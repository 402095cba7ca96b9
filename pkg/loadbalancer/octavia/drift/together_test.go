package drift_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// crowd adds Services with unconfirmed load balancers, each with this many members, and makes tags
// show all of them. It returns the UIDs.
func (f *fixture) crowd(n, members int) []types.UID {
	f.cloud.alone, f.cloud.together = map[string]observe.Parts{}, map[string]observe.Parts{}
	var all []types.UID
	for i := range n {
		id := identity()
		id.ServiceUID, id.Service = fmt.Sprintf("uid-%d", i), fmt.Sprintf("web-%d", i)
		parts := f.cloud.parts
		parts.LoadBalancer.ID, parts.LoadBalancer.Tags = fmt.Sprintf("lb-%d", i), id.Tags()
		parts.Listeners, parts.Pools = slices.Clone(parts.Listeners), slices.Clone(parts.Pools)
		parts.Listeners[0].Tags, parts.Pools[0].Tags, parts.Pools[0].Members = id.Tags(), id.Tags(), nil
		lb := parts.Model(id)
		for j := range members {
			member := model.Member{ID: fmt.Sprintf("member-%d", j), Address: fmt.Sprintf("10.1.%d.%d", j/250, j%250), Port: 30080, Status: model.Status{Provisioning: model.StatusActive}}
			lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.With(model.MembersOf(member))
			parts.Pools[0].Members = append(parts.Pools[0].Members, octavia.ObjectID{ID: member.ID})
		}
		applied := *f.applied()
		applied.Service.Name, applied.Identity, applied.LoadBalancer.ID = id.Service, id, lb.ID
		applied.Contents, applied.Confirmed, applied.Persisted.Record = lb, false, false
		uid := types.UID(id.ServiceUID)
		f.store.Update(uid, func(e *state.Entry) { e.SetApplied(&applied) })
		seen := f.cloud.seen
		seen.ID, seen.Tags = lb.ID, id.Tags()
		f.cloud.others = append(f.cloud.others, seen)
		f.cloud.alone[id.ServiceUID], f.cloud.together[id.ServiceUID] = parts, parts
		all = append(all, uid)
	}
	return all
}

// assertCrowd fails unless exactly these Services have drifted, and the others are confirmed.
func (f *fixture) assertCrowd(all []types.UID, drifted ...types.UID) {
	f.t.Helper()
	for _, uid := range all {
		is := slices.Contains(drifted, uid)
		entry := f.store.Get(uid)
		confirmed := entry.Applied != nil && entry.Applied.Confirmed
		if (entry.Drift.Reason != "") != is || confirmed == is {
			f.t.Errorf("%s: drift %q, confirmed %v", uid, entry.Drift.Reason, confirmed)
		}
	}
}

func (f *fixture) assertReadsInAnyOrder(want ...string) {
	f.t.Helper()
	got := slices.Sorted(slices.Values(f.cloud.reads))
	if !slices.Equal(got, want) {
		f.t.Errorf("read %q, want %q", got, want)
	}
}

func TestWatch_ConfirmsManyTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		n, members  int
		reads       []string
		readsSingle int
	}{
		{"two", 2, 2, []string{"settings of 2"}, 0},
		{"one", 1, 2, nil, 1},
		{"more than a request names", 43, 2, []string{"settings of 20", "settings of 20", "settings of 3"}, 0},
		{"with many members", 4, 2400, []string{"settings of 2", "settings of 2"}, 0},
		{"with more members than are read together", 3, 2600, nil, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run(t, interval, func(f *fixture) {
				all := f.crowd(test.n, test.members)
				f.watch()
				f.assertCrowd(all)
				f.assertReadsInAnyOrder(append(slices.Repeat([]string{"settings"}, test.readsSingle), test.reads...)...)
			})
		})
	}
}

func TestWatch_FindsDriftOfOneAmongManyReadTogether(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fixture, *observe.Parts){
		"a setting": func(_ *fixture, parts *observe.Parts) { parts.Pools[0].Algorithm = "SOURCE_IP" },
		"a member is another": func(_ *fixture, parts *observe.Parts) {
			parts.Pools[0].Members = []octavia.ObjectID{{ID: "member-0"}, {ID: "theirs"}}
		},
		"switched off": func(f *fixture, _ *observe.Parts) { f.cloud.others[3].AdminDown = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, interval, func(f *fixture) {
				all := f.crowd(6, 2)
				parts := f.cloud.together["uid-3"]
				parts.Pools = slices.Clone(parts.Pools)
				change(f, &parts)
				f.cloud.together["uid-3"] = parts
				f.watch()
				f.assertCrowd(all, "uid-3")
				f.assertReadsInAnyOrder("settings of 6")
			})
		})
	}
}

// A load balancer that tags do not show completely is read alone, and all are after a failure of
// the request.
func TestWatch_ReadsOnItsOwnWhatCannotBeReadTogether(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		all := f.crowd(6, 2)
		delete(f.cloud.together, "uid-3")
		f.watch()
		f.assertCrowd(all)
		f.assertReadsInAnyOrder("settings", "settings of 6")
	})
	run(t, interval, func(f *fixture) {
		all := f.crowd(6, 2)
		f.cloud.togetherErr = errors.New("broken")
		f.watch()
		f.assertCrowd(all)
		f.assertReadsInAnyOrder("settings", "settings", "settings", "settings", "settings", "settings", "settings of 6")
	})
}

// A load balancer that is shared, lacks the Service's tag or is being changed is not among them.
func TestWatch_ReadsTogetherOnlyWhatIsWhollyTheServices(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		all := f.crowd(6, 2)
		shared := *f.store.Get(all[1]).Applied
		shared.LoadBalancer.Shared = &model.Shared{}
		f.store.Update(all[1], func(e *state.Entry) { e.SetApplied(&shared) })
		f.cloud.others[2].Tags = nil
		f.busy["lb-4"] = true
		f.watch()
		f.assertCrowd(slices.DeleteFunc(slices.Clone(all), func(uid types.UID) bool { return uid == "uid-4" }))
		if reads := strings.Join(f.cloud.reads, ", "); !strings.Contains(reads, "settings of 3") || len(f.cloud.reads) != 3 {
			t.Errorf("read %s", reads)
		}
	})
}

func TestPersistRecords_ConfirmsManyTogetherWhereDriftIsNotWatched(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		all := f.crowd(6, 2)
		f.records(nil)
		f.advance(interval)
		f.assertCrowd(all)
		f.assertReadsInAnyOrder("settings of 6")
	})
}
