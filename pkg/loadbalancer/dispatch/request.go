package dispatch

import (
	"context"
	"maps"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

// Operation is what a request wants done.
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
	// MayCreate reports whether a load balancer may be made where there is none. It is
	// asked right before that.
	MayCreate func(context.Context) (bool, error)

	// current reports what NodesCurrent does; nil: true.
	current func() bool
}

// NodesCurrent reports whether no round, of any Service, has begun with later nodes than this one that
// differ from its own in a name, an address or a server. Such nodes bring every Service another round.
func (r Request) NodesCurrent() bool { return r.current == nil || r.current() }

// merge returns one request for two that wait for the same turn: the newer Service and
// its nodes count, and what may make a load balancer. It is false where one of them
// alone is a deletion.
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

// joins reports whether a request that is being served answers a later one too.
func (d *Dispatcher) joins(serving, later Request) bool {
	return serving.Operation == later.Operation &&
		(later.Operation == Delete || later.Operation == Ensure && d.asksFor(serving, later.Service))
}

// asksFor reports whether a Service asks for what it asks for in a request.
func (d *Dispatcher) asksFor(r Request, svc *v1.Service) bool {
	return reflect.DeepEqual(r.Service.Spec, svc.Spec) && maps.Equal(r.Service.Annotations, svc.Annotations) ||
		d.options.Written != nil && d.options.Written(r.Service, svc)
}

// Older reports whether a Service is surely older than another state of it.
func Older(a, b *v1.Service) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}

// Wanted reports whether a Service is to have a load balancer of ours.
func Wanted(svc *v1.Service) bool {
	return svc.DeletionTimestamp == nil && cluster.IsOurs(svc)
}
