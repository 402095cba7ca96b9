package state

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// SecurityGroups is the knowledge of the security groups of Services in a Store. It implements securitygroup.Store.
type SecurityGroups struct{ Store *Store }

// All returns the knowledge of the security groups of each Service that has any.
func (g SecurityGroups) All() map[types.UID]securitygroup.Entry {
	all := map[types.UID]securitygroup.Entry{}
	for uid, e := range g.Store.All() {
		if e.SecurityGroups != (securitygroup.Entry{}) {
			all[uid] = e.SecurityGroups
		}
	}
	return all
}

// Update changes the knowledge of the security groups of a Service. Change must not
// use the Store.
func (g SecurityGroups) Update(uid types.UID, change func(*securitygroup.Entry)) {
	g.Store.Update(uid, func(e *Entry) { change(&e.SecurityGroups) })
}
