package apply

import (
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// written records the changes of members that a run has sent, until they have finished.
type written struct {
	// removed are the members with an accepted removal.
	removed []observe.RemovedMember
	// batch is set from a batch until all of its changes have finished.
	batch bool
	// pools are those with changes of members, since the first of them was accepted; nil for none.
	pools map[string]bool
	since time.Time
}

// note records a step for the pool with this ID that was accepted now.
func (w *written) note(step plan.Step, poolID string, now time.Time) {
	switch step.(type) {
	case plan.AddMember, plan.UpdateMember, plan.RemoveMember, plan.SetMembers:
		if w.pools == nil {
			w.pools, w.since = map[string]bool{}, now
		}
		w.pools[poolID] = true
	}
	switch s := step.(type) {
	case plan.AddMember:
		w.comeBack(poolID, model.MembersOf(s.Member))
	case plan.UpdateMember:
		w.comeBack(poolID, model.MembersOf(s.To))
	case plan.RemoveMember:
		w.remove(poolID, model.MembersOf(s.Member))
	case plan.SetMembers:
		w.batch = true
		w.remove(poolID, s.Removed)
		w.comeBack(poolID, s.Added)
	}
}

// comeBack drops the removal of members that exist again.
func (w *written) comeBack(poolID string, members model.Members) {
	w.removed = slices.DeleteFunc(w.removed, func(r observe.RemovedMember) bool {
		_, back := members.Find(r.Key)
		return back && r.ID == "" && r.Pool == poolID
	})
}

func (w *written) remove(poolID string, members model.Members) {
	for _, m := range members.All() {
		w.removed = append(w.removed, observe.RemovedMember{Pool: poolID, ID: m.ID, Key: m.Key()})
	}
}

// settled records that all changes are done now, and returns how long those of a pool took on average, 0 if there were
// none.
func (w *written) settled(now time.Time) (took time.Duration) {
	if len(w.pools) > 0 {
		took = now.Sub(w.since) / time.Duration(len(w.pools))
	}
	*w = written{}
	return took
}
