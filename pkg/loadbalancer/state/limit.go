package state

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
func (s *Store) Count(svc *v1.Service, limit int) error {
	var err error
	s.update(svc.UID, func(e *Entry) {
		if e.Namespace == "" && limit > 0 && s.inNamespace[svc.Namespace] >= limit {
			err = &QuotaError{svc.Namespace, limit}
			return
		}
		e.Namespace = svc.Namespace
	})
	return err
}

// Uncount uncounts a Service after its deletion.
func (s *Store) Uncount(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Namespace, e.Unsettled = "", Unsettled{} })
}
