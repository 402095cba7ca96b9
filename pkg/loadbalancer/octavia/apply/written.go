package apply

import (
	"slices"

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
}

// note records an accepted step for the pool with this ID.
func (w *written) note(step plan.Step, poolID string) {
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

// settled records that all removals are done.
func (w *written) settled() { w.removed, w.batch = nil, false }
