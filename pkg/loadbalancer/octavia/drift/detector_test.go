package drift_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func TestWatch_TakesSnapshotsAtIntervals(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.watch()
		f.advance(10 * interval)
		if n := len(f.cloud.looks); n < 10 || n > 12 {
			t.Errorf("%d snapshots", n)
		}
		for i, at := range f.cloud.looks[1:] {
			if pause := at.Sub(f.cloud.looks[i]); pause < interval*9/10 || pause > interval*11/10 {
				t.Errorf("pause %s", pause)
			}
		}
		f.assertDrift("")
		f.assertReads()
	})
}

// The first look shares the snapshot of the rounds of a start, if that has just been read; later ones read a
// new one.
func TestWatch_SharesSnapshotOfStart(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.watch()
		f.advance(2 * interval)
		if first := f.cloud.ages[0]; first <= 0 || first > interval/50 {
			t.Errorf("the first look takes a snapshot of %s", first)
		}
		for _, age := range f.cloud.ages[1:] {
			if age != 0 {
				t.Errorf("a later look takes a snapshot of %s", age)
			}
		}
	})
}

func TestWatch_ReturnsAtOnceWithoutInterval(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.detector.Watch(t.Context(), func(types.NamespacedName) { t.Error("drifted") })
		if n := len(f.cloud.looks); n != 0 {
			t.Errorf("%d snapshots", n)
		}
	})
}

func TestWatch_TakesFailedSnapshotForNoDrift(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.cloud.lookErr, f.cloud.groups = errors.New("broken"), map[string]string{string(uid): "changed"}
		f.watch()
		f.assertDrift("")
		f.cloud.lookErr = nil
		f.advance(interval * 11 / 10)
		f.assertDrift("changed")
	})
}

func TestWatch_LeavesAloneWhatThisProcessIsChanging(t *testing.T) {
	t.Parallel()
	for _, busy := range []string{string(uid), "lb"} {
		run(t, interval, func(f *fixture) {
			f.cloud.seen.UpdatedAt, f.cloud.groups = time.Now(), map[string]string{string(uid): "changed"}
			foreignListener(f)
			f.busy[busy] = true
			f.watch()
			f.assertDrift("")
			f.assertReads()
			f.busy[busy] = false
			f.advance(interval * 11 / 10)
			f.assertDrift(state.ReasonChanged)
		})
	}
}

// A state that was applied during the read is newer than the read.
func TestWatch_KeepsWhatWasAppliedMeanwhile(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.cloud.seen.UpdatedAt = time.Now()
		f.cloud.parts.Listeners = nil
		var newer *state.Applied
		f.cloud.reading = func() {
			f.change(func(a *state.Applied) { a.Seen.Since = time.Now() })
			newer = f.applied()
		}
		f.watch()
		f.assertDrift("")
		if f.applied() != newer {
			t.Errorf("known is %+v, want %+v", f.applied(), newer)
		}
	})
}

func TestWatch_ReportsDuplicates(t *testing.T) {
	t.Parallel()
	another := project.LoadBalancer{ID: "another", Status: model.StatusActive, Tags: identity().Tags()}
	const duplicate = "a second load balancer was made"
	for name, test := range map[string]struct {
		lb      func(*project.LoadBalancer)
		applied func(*state.Applied)
		want    string
	}{
		"ACTIVE":                  {want: duplicate},
		"in ERROR":                {lb: func(lb *project.LoadBalancer) { lb.Status = model.StatusError }, want: duplicate},
		"only being made":         {lb: func(lb *project.LoadBalancer) { lb.Status = model.StatusPendingCreate }},
		"of another cluster":      {lb: func(lb *project.LoadBalancer) { lb.Tags = otherCluster() }},
		"known, and left alone":   {applied: func(a *state.Applied) { a.LoadBalancer.Duplicates = []string{"another"} }},
		"the Service is a guest":  {applied: func(a *state.Applied) { a.LoadBalancer.Shared = &model.Shared{} }},
		"made after the snapshot": {applied: func(a *state.Applied) { a.Seen.Since = time.Now().Add(time.Second) }},
		"it is its replacement": {lb: func(lb *project.LoadBalancer) {
			lb.Tags = append(identity().Tags(), ownership.ReplacesTag("lb", "hash"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, interval, func(f *fixture) {
				lb := another
				if test.lb != nil {
					test.lb(&lb)
				}
				f.cloud.others = append(f.cloud.others, lb)
				if test.applied != nil {
					f.change(test.applied)
				}
				f.watch()
				f.assertDrift(test.want)
			})
		})
	}
}

// otherCluster are tags for a Service of the same UID in another cluster.
func otherCluster() []string {
	id := identity()
	id.ClusterID = "other"
	return id.Tags()
}

func TestWatch_DropsRetainedFloatingIPsThatAreGone(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.store.Retained.Add(web(), "fip")
		f.advance(time.Second)
		f.watch()
		if retained := f.store.Retained.IDs(web()); len(retained) > 0 {
			t.Errorf("retained are %v", retained)
		}
	})
}

func TestWatch_ReportsChangedSecurityGroups(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.cloud.groups = map[string]string{string(uid): "a rule is gone", "unknown": "a rule is gone"}
		f.cloud.groupsErr = errors.New("half of them cannot be read")
		f.watch()
		f.assertDrift("a rule is gone")
		if want := []string{"unknown", string(uid)}; len(f.cloud.reread) != 2 || !slices.Contains(f.cloud.reread, want[0]) || !slices.Contains(f.cloud.reread, want[1]) {
			t.Errorf("groups of %q are read again, not of %q", f.cloud.reread, want)
		}
	})
}

// A change for another Service on the load balancer does not lose the drift.
func TestWatch_LeavesChangedSecurityGroupToNextLookDuringChange(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.cloud.groups = map[string]string{string(uid): "a rule is gone"}
		f.busy["lb"] = true
		f.watch()
		if len(f.cloud.reread) > 0 {
			t.Errorf("groups of %q are read again, which nobody does", f.cloud.reread)
		}
		f.busy["lb"] = false
		f.watch()
		f.assertDrift("a rule is gone")
	})
}
