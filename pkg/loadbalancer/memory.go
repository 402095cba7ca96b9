package loadbalancer

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// remembered is what is known of a Service whose last call ended well.
type remembered struct {
	service types.NamespacedName
	// digest is of the load balancer that the Service asked for: as long as it
	// asks for the same, there is nothing to do.
	digest string
	// frame condenses the same without the nodes; "" where that says nothing.
	frame string
	// address is what is published, in whatever form the Service asks for.
	address string
	// The load balancer, and what tells whether anybody has changed it since.
	loadBalancerID string
	provider       string
	vipSubnetID    string // known after a restart only
	vipPortID      string
	// shared is set when the load balancer is another's; named is the one that the
	// Service named then.
	shared       *model.Shared
	named        string
	unmonitored  bool // model.LoadBalancer.Unmonitored
	updatedAt    time.Time
	operating    string // the operating status of the load balancer
	floatingIPID string
	// duplicates are further load balancers of the Service that are left alone.
	duplicates []string
	// since is when the cloud was last known to be like this.
	since time.Time
	// confirmed tells that all is surely as updatedAt was. See check.
	confirmed bool
	// others tells that somebody else has changed something since it was last confirmed.
	others bool
	// written tells that it stands in the Service's annotations, announced that the ID and
	// the address of the load balancer do.
	written, announced bool
	// as is who the Service is on the load balancer.
	as ownership.Identity
	// contents is all that is in the load balancer. It is nil after a restart,
	// until something has to change.
	contents *model.Packed
	// reported are the steps that would bring back what somebody else has changed, which
	// is only to be told (drift-policy=report); they are not carried out.
	reported map[string]bool
}

// driftChanged is said where a load balancer has another updated_at than is remembered.
const driftChanged = "the load balancer was changed"

// drifted tells how a look at the cloud differs from what is remembered; "" when it
// does not, or cannot tell.
func (r *remembered) drifted(look *snapshot.Look) string {
	if look.Began.Before(r.since) {
		return ""
	}
	lb, there := look.LoadBalancers[r.loadBalancerID]
	switch {
	case !there:
		return "the load balancer is gone"
	case lb.Status == openstack.StatusError:
		return "the load balancer is in ERROR"
	case lb.Status != openstack.StatusActive:
		return "" // somebody works on it; the next look tells
	case !lb.UpdatedAt.Equal(r.updatedAt):
		return driftChanged
	}
	return r.floatingIPDrifted(look)
}

// floatingIPDrifted tells the same of the floating IP alone, which no change of the
// load balancer tells of.
func (r *remembered) floatingIPDrifted(look *snapshot.Look) string {
	port := look.LoadBalancers[r.loadBalancerID].VIPPortID
	if r.floatingIPID == "" {
		if on := look.OnPort(port); len(on) > 0 {
			return fmt.Sprintf("the floating IP %s was put on the load balancer", on[0].Address)
		}
		return ""
	}
	fip, there := look.FloatingIPs[r.floatingIPID]
	switch {
	case !there:
		return "the floating IP is gone"
	case fip.PortID != port:
		return "the floating IP was taken off the load balancer"
	}
	return ""
}

// memory keeps what is remembered of each Service. Its zero value is ready. Who
// holds the lock of a Service owns what is remembered of it.
type memory struct {
	mu   sync.Mutex
	kept map[types.UID]*remembered
}

func (m *memory) keep(uid types.UID, r *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[types.UID]*remembered{}
	}
	m.kept[uid] = r
}

func (m *memory) recall(uid types.UID) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[uid]
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, uid)
}

// forgetThis forgets a Service. It is false when something newer is remembered of it by
// now, which stays.
func (m *memory) forgetThis(uid types.UID, r *remembered) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[uid] != r {
		return false
	}
	delete(m.kept, uid)
	return true
}

// exchange remembers something else of a Service, unless something newer is remembered
// of it by now. What was meanwhile noted of the same state, that it is confirmed or
// stands in the Service's annotations, stays.
func (m *memory) exchange(uid types.UID, before, now *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.kept[uid]
	if kept == nil || kept != before && (kept.contents != before.contents || !kept.updatedAt.Equal(before.updatedAt)) {
		return
	}
	if kept != before && now.updatedAt.Equal(before.updatedAt) {
		now.confirmed = now.confirmed || kept.confirmed
		now.announced = now.announced || kept.announced
		now.written = now.written || kept.written
	}
	m.kept[uid] = now
}

// all gives what is remembered at this moment.
func (m *memory) all() map[types.UID]*remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[types.UID]*remembered, len(m.kept))
	for uid, r := range m.kept {
		all[uid] = r
	}
	return all
}
