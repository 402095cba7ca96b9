package state

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// QuotaError reports that a namespace has reached the limit of load balancers in cloud.conf.
type QuotaError struct {
	Namespace string
	Most      int
}

// Error implements error.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("namespace %s has %d Services with load balancers, which is max-services-per-namespace of cloud.conf: delete one first, or ask the cluster's operator for more", e.Namespace, e.Most)
}

// Count counts a Service that has a load balancer, or is about to. It returns a *QuotaError, and
// counts nothing, if as many others in the namespace as the limit are counted; 0 is no limit. After
// a start, a Service is counted from its first call.
func (s *Store) Count(owner model.Owner, limit int) error {
	var err error
	s.Update(owner.UID, func(e *Entry) {
		if e.Namespace == "" && limit > 0 && s.index.inNamespace[owner.Namespace] >= limit {
			err = &QuotaError{owner.Namespace, limit}
			return
		}
		e.Namespace = owner.Namespace
	})
	return err
}
