package router

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Applied is the state that the last round of a Service has left.
type Applied struct {
	// LoadBalancer has the port, the next hops and the floating IP; it is not changed.
	LoadBalancer *model.LoadBalancer
	// Service is its namespace and name.
	Service types.NamespacedName
	// Digest is the hash of the desired state.
	Digest string
	// Reported are the printed steps that would revert changes of another client, and are only reported.
	Reported map[string]bool
}

// Access are the open ports of a Service, such as TCP/80, and the clients that may use them; no ranges
// admit all.
type Access struct{ Ports, Ranges []string }

// conflicts returns a port that both have with different clients, "" for none.
func (a Access) conflicts(b Access) string {
	if slices.Equal(a.Ranges, b.Ranges) {
		return ""
	}
	for _, port := range a.Ports {
		if slices.Contains(b.Ports, port) {
			return port
		}
	}
	return ""
}

// Known has the applied states of this process. It is safe for concurrent use.
type Known struct {
	mu      sync.Mutex
	applied map[types.UID]Applied
	// access has the open ports of each Service.
	access map[types.UID]Access
	// changed are the changes of other clients that were detected and not reverted yet, lost the states that were
	// applied before them.
	changed map[types.UID]string
	lost    map[types.UID]Applied
	// tried are the Services that this process has served, or has begun to change.
	tried map[types.UID]bool
}

// NewKnown returns a Known without Services.
func NewKnown() *Known {
	return &Known{applied: map[types.UID]Applied{}, access: map[types.UID]Access{}, changed: map[types.UID]string{}, lost: map[types.UID]Applied{}, tried: map[types.UID]bool{}}
}

// Clone returns a copy.
func (k *Known) Clone() *Known {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &Known{applied: maps.Clone(k.applied), access: maps.Clone(k.access), changed: maps.Clone(k.changed), lost: maps.Clone(k.lost), tried: maps.Clone(k.tried)}
}

// Get returns the applied state of a Service; false if it must be read.
func (k *Known) Get(uid types.UID) (Applied, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	applied, ok := k.applied[uid]
	return applied, ok
}

// Set records the applied state of a Service.
func (k *Known) Set(uid types.UID, applied Applied) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.applied[uid], k.tried[uid] = applied, true
	delete(k.changed, uid)
	delete(k.lost, uid)
}

// Tried reports whether this process has served a Service, or has begun to change it.
func (k *Known) Tried(uid types.UID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tried[uid]
}

// All returns the applied states of all Services.
func (k *Known) All() map[types.UID]Applied {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.applied)
}

// MarkChanged records that another client has changed an applied state, unless another one was applied
// since. It reports whether it has recorded that.
func (k *Known) MarkChanged(uid types.UID, applied Applied, how string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.applied[uid].LoadBalancer != applied.LoadBalancer {
		return false
	}
	delete(k.applied, uid)
	k.changed[uid], k.lost[uid] = how, applied
	return true
}

// Lost returns the state that was applied before the recorded change of another client; false for none.
func (k *Known) Lost(uid types.UID) (Applied, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	applied, is := k.lost[uid]
	return applied, is
}

// Changed returns the recorded change of another client, "" for none.
func (k *Known) Changed(uid types.UID) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed[uid]
}

// Drop makes the next round of a Service read its state.
func (k *Known) Drop(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried[uid] = true
	delete(k.applied, uid)
}

// Forget drops everything about a deleted Service.
func (k *Known) Forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.applied, uid)
	delete(k.access, uid)
	delete(k.changed, uid)
	delete(k.lost, uid)
	delete(k.tried, uid)
}

// Claim records the open ports of a Service. It returns a port that another Service has with other source
// ranges, and records nothing then; "" for none. A rule of a security group cannot name the VIP, so that
// the two would share their clients.
func (k *Known) Claim(uid types.UID, access Access) (taken string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, has := range k.access {
		if port := access.conflicts(has); other != uid && port != "" {
			return port
		}
	}
	k.access[uid] = access
	return ""
}

// Hold records the open ports of a Service, in place of those that it had.
func (k *Known) Hold(uid types.UID, access Access) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.access[uid] = access
}
