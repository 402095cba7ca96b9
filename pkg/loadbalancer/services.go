package loadbalancer

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// services answers questions about Services by their settings and the state of this process, without
// a request.
type services struct {
	// engines has the engine of new rounds: see Reconfigure.
	engines atomic.Pointer[goal.Engine]
	store   *state.Store
}

// engine returns the engine of new rounds.
func (s *services) engine() *goal.Engine { return s.engines.Load() }

// Name returns the name of a Service's load balancer in OpenStack.
func (s *services) Name(svc *v1.Service) string {
	return s.engine().Cluster.Identity(settings.OwnerOf(svc), driver.VersionTags).Name()
}

// SelectsNodes reports whether labels decide which nodes are members of a Service.
func (s *services) SelectsNodes(svc *v1.Service) bool {
	return s.engine().Settings.SelectsNodes(svc)
}

// FollowsEndpoints reports whether the members of a Service may follow its endpoints. It is false if
// all nodes are members of its load balancer for certain.
func (s *services) FollowsEndpoints(svc *v1.Service) bool {
	return s.engine().Settings.MayFollowEndpoints(svc) || s.hasPods(svc.UID)
}

// FollowsPods reports whether pods are the members of a Service, and not nodes, or were before a
// refused change.
func (s *services) FollowsPods(svc *v1.Service) bool {
	return s.engine().Settings.FollowsPods(svc) || s.hasPods(svc.UID)
}

// WeighsNodes reports whether the weights of nodes follow the number of a Service's ready endpoints.
func (s *services) WeighsNodes(svc *v1.Service) bool { return s.engine().Settings.WeighsNodes(svc) }

// Stay returns how long members of a Service stay after their endpoints began to terminate: see
// package members.
func (s *services) Stay(svc *v1.Service) model.Stay { return s.store.Get(svc.UID).Stay }

// IsRefused reports whether a Service is refused: its load balancer keeps the state before.
func (s *services) IsRefused(svc *v1.Service) bool { return s.store.Get(svc.UID).Refusal.Reason != "" }

func (s *services) hasPods(service types.UID) bool {
	applied := s.store.Get(service).Applied
	return applied != nil && applied.LoadBalancer.Pods
}

// Untouched reports whether a Service has its desired state, now or in the record of an earlier
// process, and this process has begun no change of it.
func (s *services) Untouched(service types.UID) bool { return s.engine().Memory.Untouched(service) }

// IsWritten reports whether two versions of a Service differ only in the annotations and the status
// that this process has written.
func (s *services) IsWritten(before, now *v1.Service) bool {
	return before.UID == now.UID && before.DeletionTimestamp.Equal(now.DeletionTimestamp) &&
		annotation.IsWritten(before.Annotations, now.Annotations, now.UID, s.store.Get(now.UID).LoadBalancerID()) &&
		equality.Semantic.DeepEqual(&before.Spec, &now.Spec)
}

// untried reports whether a Service waits for its first address, and no round for it has failed:
// then the service controller has no back-off for it.
func (s *services) untried(svc *v1.Service) bool {
	entry := s.store.Get(svc.UID)
	return len(svc.Status.LoadBalancer.Ingress) == 0 && entry.Unsettled.Spent.Sum() == 0 && entry.Refusal == (state.Refusal{})
}
