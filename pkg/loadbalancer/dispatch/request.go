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
// a name, an address or a server. Such nodes bring every Service another round.
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

// joins reports whether the request of a running round also answers a later one.
func (d *Dispatcher) joins(serving, later Request) bool {
	return serving.Operation == later.Operation &&
		(later.Operation == Delete || later.Operation == Ensure && d.asksFor(serving, later.Service))
}

// asksFor reports whether a Service is as in a request, except for values that rounds write.
func (d *Dispatcher) asksFor(r Request, svc *v1.Service) bool {
	return reflect.DeepEqual(r.Service.Spec, svc.Spec) && maps.Equal(r.Service.Annotations, svc.Annotations) ||
		d.options.Written != nil && d.options.Written(r.Service, svc)
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
