package goal

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Memory is the knowledge of Services that this process has, and the records of the one before.
type Memory struct {
	Store   *state.Store
	Records Records
}

// Records are the records of Services for the next process.
type Records interface {
	// Get returns the record of a Service, "" for none.
	Get(service types.UID) string
	// Set records a line of text.
	Set(service types.UID, text string)
}

// HasServed reports whether a record shows that this program has served a Service.
func (m Memory) HasServed(owner types.UID) bool {
	_, recorded := m.record(owner)
	return recorded
}

// Previous returns the known and the recorded load balancer of a Service.
func (m Memory) Previous(owner types.UID) []string {
	var ids []string
	if applied := m.Store.Get(owner).Applied; applied != nil {
		ids = append(ids, applied.LoadBalancer.ID)
	}
	if written, ok := m.record(owner); ok {
		ids = append(ids, written.LoadBalancerID)
	}
	return ids
}

// weighed reports whether members of a Service may have weights of its own: in the last applied state, of this process
// or the one before, or by a change of this process that was interrupted.
func (m Memory) weighed(owner types.UID) bool {
	entry := m.Store.Get(owner)
	if entry.Made.Weighed {
		return true
	}
	if applied := cmp.Or(entry.Applied, entry.Drift.Before); applied != nil {
		return applied.LoadBalancer.Weighed
	}
	written, ok := m.record(owner)
	return ok && written.Weighed
}

// record returns the record of a Service; false if there is none, or one of another UID.
func (m Memory) record(owner types.UID) (state.Record, bool) {
	written, ok := state.ParseRecord(m.Records.Get(owner))
	return written, ok && written.Service == owner
}

// Untouched reports whether a Service has a record, from an earlier process or because this one has
// found it unchanged, and this process has begun no change of it.
func (m Memory) Untouched(service types.UID) bool {
	return m.hasRecord(service) && !m.Store.Get(service).Made.Touched
}

func (m Memory) hasRecord(service types.UID) bool { return m.Records.Get(service) != "" }

// begunInOctavia reports whether an unserved Service may have a load balancer in Octavia.
func (m Memory) begunInOctavia(owner model.Owner, published Published) bool {
	return m.enteredOctavia(owner.UID) || len(m.Previous(owner.UID)) > 0 || m.Store.Creations.Precedes(published.Unserved())
}

// enteredOctavia reports whether this process has begun a load balancer of a Service in Octavia, or found one, since
// the Service has had a complete state.
func (m Memory) enteredOctavia(owner types.UID) bool {
	made := m.Store.Get(owner).Made
	return made.LoadBalancerID != "" || len(made.Entered) > 0
}

// RecordedOn returns the load balancer in the record of a Service, "" for none.
func (m Memory) RecordedOn(owner types.UID) string {
	written, ok := m.record(owner)
	if !ok {
		return ""
	}
	return written.LoadBalancerID
}
