package apply

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// written records the changes of members that a run has sent since all of them were done.
type written struct {
	// removed are the members that the cloud has accepted to remove.
	removed []observe.RemovedMember
	// batch is set from a batch to the end of all that it does.
	batch bool
}

// note adds a step that was sent for the pool with this ID.
func (w *written) note(step plan.Step, poolID string) {
	switch s := step.(type) {
	case plan.AddMember:
		w.comeBack(poolID, s.Member)
	case plan.UpdateMember:
		w.comeBack(poolID, s.To)
	case plan.RemoveMember:
		w.remove(poolID, s.Member)
	case plan.SetMembers:
		w.batch = true
		w.remove(poolID, s.Removed...)
		w.comeBack(poolID, s.Added...)
	}
}

// comeBack drops the removal of members that exist again.
func (w *written) comeBack(poolID string, members ...model.Member) {
	if len(w.removed) == 0 {
		return
	}
	back := model.MembersByKey(members)
	w.removed = slices.DeleteFunc(w.removed, func(r observe.RemovedMember) bool { return r.ID == "" && r.Pool == poolID && back.Get(r.Key) != nil })
}

func (w *written) remove(poolID string, members ...model.Member) {
	for _, m := range members {
		w.removed = append(w.removed, observe.RemovedMember{Pool: poolID, ID: m.ID, Key: m.Key()})
	}
}

// settled records that all removals are done.
func (w *written) settled() { w.removed, w.batch = nil, false }
