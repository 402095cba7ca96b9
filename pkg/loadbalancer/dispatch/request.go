package dispatch

import (
	"context"
	"maps"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

// Operation is the kind of a request.
type Operation string

// The operations. Ensure and Delete are calls of the service controller, Repair that of our own
// controller.
const (
	Ensure Operation = "ensure"
	Repair Operation = "repair"
	Delete Operation = "delete"
)

// Request asks for one round of reconciliation of a Service. The round may outlive the call: where
// there is a Newest, the Service must not be changed afterwards. The nodes must never be changed.
type Request struct {
	Operation Operation
	Service   *v1.Service
	Nodes     []*v1.Node
	// MayCreate reports whether a missing load balancer may be created. It is called immediately
	// before.
	MayCreate func(context.Context) (bool, error)

	// current implements NodesCurrent; nil means true.
	current func() bool
}

// NodesCurrent reports whether no round, of any Service, has begun with later nodes that differ in
// a name, an address, a server or their exclusion. Such nodes bring every Service another round.
func (r Request) NodesCurrent() bool { return r.current == nil || r.current() }

// merge returns one request for two that wait for the same turn, with the newer Service and its
// nodes; it may create a load balancer if one of them may. It is false if only one of them is a
// deletion.
func merge(queued, later Request) (Request, bool) {
	if (queued.Operation == Delete) != (later.Operation == Delete) {
		return queued, false
	}
	if Older(later.Service, queued.Service) {
		later.Service = queued.Service
	}
	if queued.Operation == Ensure {
		later.Operation, later.MayCreate = queued.Operation, queued.MayCreate
	}
	return later, true
}

// answers reports whether the result of a request is that of a later call, too: it has deleted the load
// balancer, or ensured it for a Service that differs only in values that rounds write (Options.Written).
func (r Request) answers(later Request, written func(before, now *v1.Service) bool) bool {
	if r.Operation != later.Operation || later.Operation == Repair {
		return false
	}
	was, is := r.Service, later.Service
	return later.Operation == Delete || reflect.DeepEqual(was.Spec, is.Spec) && maps.Equal(was.Annotations, is.Annotations) ||
		written != nil && written(was, is)
}

// Older reports whether a Service is certainly older than another state of it.
func Older(a, b *v1.Service) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}

// Wanted reports whether a Service wants a load balancer of this controller.
func Wanted(svc *v1.Service) bool {
	return svc.DeletionTimestamp == nil && cluster.IsOurs(svc)
}
