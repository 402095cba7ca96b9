package loadbalancer

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// Options are the dependencies and settings of a Reconciler.
type Options struct {
	Config  *config.Config
	Session *openstack.Session
	// ClusterName is --cluster-name; ClusterID is the UID of the namespace kube-system, "" if it
	// could not be read.
	ClusterName, ClusterID string
	// Namespace reads a namespace, to find the namespaces that may share its load balancers; if
	// nil, none may.
	Namespace func(ctx context.Context, name string) (*v1.Namespace, error)
	// Nodes lists the nodes of the cluster, to find the subnets of its load balancers; if nil, only
	// the subnets in cloud.conf count.
	Nodes func(ctx context.Context) ([]v1.Node, error)
	// Records are for the next process; if nil, nothing is recorded.
	Records goal.Records
	// Recorder emits events of Services, Conditions writes their conditions; nil disables them.
	Recorder   record.EventRecorder
	Conditions Conditions
	Clock      clock.WithTickerAndDelayedExecution
	// Timing replaces the timing of each driver, unless it is zero.
	Timing driver.Timing
	// Patience is the time after which a round is aborted until the next call, without the wait for
	// its turn; 0 means 15 minutes.
	Patience time.Duration
	// Workers is the number of workers of the service controller (--concurrent-service-syncs), 0
	// for unlimited. Hold is how long Ensure and Delete wait for the end of their round: see
	// dispatch.Options. 0 means DefaultHold.
	Workers int
	Hold    time.Duration
	// Ended is called at the end of a round if its call has not waited: the next call returns the
	// result. If nil, such a call returns the time to call again.
	Ended func(*v1.Service)
	// Newest returns the current version of a Service and its possible members, nil if the Service
	// is gone. The results are not changed. If nil, those of the call are current.
	Newest func(*v1.Service) (*v1.Service, []*v1.Node)
	// Endpoints returns the endpoints of Services; if nil, all nodes are members.
	Endpoints goal.Endpoints
	// Services returns the Services of a namespace, of which some may share a load balancer by name, or
	// the ports of nodes; if nil, none do.
	Services goal.Services
	// Pods reads a pod of a Service, to compare its grace with the time that the removal of a member
	// takes; if nil, nothing is compared.
	Pods goal.Pods
	// Routes has the Table of each router; nil: a new one for each.
	Routes *routes.Tables
	// ScopeRecorded reports whether credentials of another project would be detected; nil means
	// true.
	ScopeRecorded func() bool
	// Refused is called with the number of Services refused for a reason, one of refusal.Reasons,
	// whenever it changes; may be nil. Calls are sequential and must not block.
	Refused func(reason string, services int)
	// Tracer records spans of rounds; may be nil.
	Tracer trace.TracerProvider
	// Metrics may be nil.
	Metrics *Metrics
}

// DefaultHold covers most changes, and the deletion of a load balancer.
const DefaultHold = 10 * time.Second

// lookupAge is how long networks, subnets and the nodes' ports are cached.
const lookupAge = 10 * time.Minute

// Reconciler creates, updates and deletes load balancers. It is safe for concurrent use.
type Reconciler struct {
	*services

	options    Options
	rounds     *rounds
	dispatcher *dispatch.Dispatcher
	detector   *drift.Detector
	locks      async.Locks // of load balancers
}

// New returns a Reconciler. Close ends it. The error is one of cloud.conf: unknown annotations.
func New(options Options) (*Reconciler, error) {
	parser, err := settings.NewParser(options.Config)
	if err != nil {
		return nil, err
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Patience == 0 {
		options.Patience = 15 * time.Minute
	}
	if options.Hold == 0 {
		options.Hold = DefaultHold
	}
	if options.Records == nil {
		options.Records = noRecords{}
	}
	if options.Routes == nil {
		options.Routes = &routes.Tables{New: func(routerID string) *routes.Table {
			return routes.New(routes.Options{Network: options.Session.Neutron(), RouterID: routerID, Clock: options.Clock})
		}}
	}
	r := &Reconciler{options: options}
	r.rounds = newRounds(options, parser, &r.locks)
	r.services = r.rounds.services
	r.dispatcher = dispatch.New(dispatch.Options{
		Clock: options.Clock, Timeout: options.Patience, Workers: options.Workers, Hold: options.Hold,
		Newest: options.Newest, Begin: r.rounds.beginManaged, Members: r.rounds.members,
		Served: r.store, Written: r.IsWritten, Ended: options.Ended, New: r.untried,
	})
	r.detector = r.newDetector()
	if options.Metrics != nil {
		options.Metrics.of.Store(r)
	}
	return r, nil
}

// Reconfigure sets the configuration of new rounds; running rounds keep theirs. The effect on a
// Service appears with its next round. In [LoadBalancer], keys whose change needs a restart
// (config.Change) keep their values of the start. The error is that of New; nothing has changed
// then.
func (r *Reconciler) Reconfigure(conf *config.Config) error {
	parser, err := settings.NewParser(conf)
	if err != nil {
		return err
	}
	r.engines.Store(r.engine().With(conf, parser))
	return nil
}

// noRecords discards records.
type noRecords struct{}

func (noRecords) Get(types.UID) string  { return "" }
func (noRecords) Set(types.UID, string) {}

// Close ends all rounds and waits.
func (r *Reconciler) Close() {
	r.dispatcher.Close()
	r.engine().Cloud.Watcher.Close()
}

// DropAllBut drops the state of all Services but the live ones; nil if they are unknown, which
// drops nothing.
func (r *Reconciler) DropAllBut(live map[types.UID]bool) {
	if live != nil {
		r.store.DropAllBut(live)
	}
}

// Ensure brings the load balancer to the Service's desired state, and returns the status to
// publish. If the settings are impossible, the error names the field, before the first write; if
// the Service keeps its load balancer meanwhile, there is a status, too. If Options.Hold ends
// first, the error is ErrInProgress or an *api.RetryError: see Options.Ended.
func (r *Reconciler) Ensure(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	status, err := r.dispatcher.Call(ctx, dispatch.Request{Operation: dispatch.Ensure, Service: svc, Nodes: nodes, MayCreate: always})
	return status, closed(err)
}

// Repair reverts another client's changes, like Ensure, for a Service that WatchDrift has reported.
// It recreates a deleted load balancer if alive, called immediately before, reports that the
// Service still exists. It returns the status to publish.
func (r *Reconciler) Repair(ctx context.Context, svc *v1.Service, nodes []*v1.Node, alive func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	status, err := r.dispatcher.Wait(ctx, dispatch.Request{Operation: dispatch.Repair, Service: svc, Nodes: nodes, MayCreate: alive})
	return status, closed(err)
}

// StartRepair is Repair without waiting: ended is called with the result.
func (r *Reconciler) StartRepair(ctx context.Context, svc *v1.Service, alive func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error)) {
	err := r.dispatcher.Submit(ctx, dispatch.Request{Operation: dispatch.Repair, Service: svc, MayCreate: alive}, func(status *v1.LoadBalancerStatus, err error) {
		ended(status, closed(err))
	})
	if err != nil {
		ended(nil, closed(err))
	}
}

// Delete deletes all objects of the Service, and returns when they are gone. If the creation of its
// load balancer got no answer, it waits until that load balancer cannot appear any more. The
// service controller ignores the retry time of an error: it calls again after five seconds, then
// ten, and so on.
func (r *Reconciler) Delete(ctx context.Context, svc *v1.Service) error {
	_, err := r.dispatcher.Call(ctx, dispatch.Request{Operation: dispatch.Delete, Service: svc})
	return closed(err)
}

func always(context.Context) (bool, error) { return true, nil }

// closed returns watcher.ErrClosed for all errors of the end of the process.
func closed(err error) error {
	if errors.Is(err, dispatch.ErrClosed) {
		return watcher.ErrClosed
	}
	return err
}

// Get reports whether any object of the Service is left. The service controller calls it before it
// deletes, and never deletes after false. So it returns true until load balancer, floating IP and
// security groups are gone, and no load balancer can appear from a creation without an answer.
//
// The service controller also calls it after a failed Update, and gives up after false. For a
// Service that wants a load balancer the result is true, so that it is created again.
//
// While a round of the Service runs, which may create a load balancer, the result is true, without
// a request.
//
// Nothing of a Service that is not managed counts as left, so that it can be deleted: see unmanaged.
func (r *Reconciler) Get(ctx context.Context, svc *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	wanted := dispatch.Wanted(svc)
	if r.dispatcher.Busy(string(svc.UID)) {
		return svc.Status.LoadBalancer.DeepCopy(), true, nil
	}
	if !r.manages(svc) {
		if !wanted {
			r.dispatcher.Forget(string(svc.UID))
			r.store.Forget(svc.UID, svc.DeletionTimestamp != nil)
		}
		return svc.Status.LoadBalancer.DeepCopy(), wanted, nil
	}
	if !wanted && r.dispatcher.Deleted(string(svc.UID)) {
		return &v1.LoadBalancerStatus{}, false, nil
	}
	if known := r.store.Get(svc.UID); known.Applied != nil || known.Routed != nil || !r.store.Creations.Until(svc.UID, goal.PublishedOf(svc).Unserved()).IsZero() {
		return svc.Status.LoadBalancer.DeepCopy(), true, nil
	}
	status, exists, err := r.exists(ctx, svc, wanted)
	if !exists && err == nil { // the service controller does not call again
		r.dispatcher.Forget(string(svc.UID))
		r.store.Forget(svc.UID, svc.DeletionTimestamp != nil)
	}
	return status, exists, err
}

// exists reports whether any object of a Service is left, of any provider.
func (r *Reconciler) exists(ctx context.Context, svc *v1.Service, wanted bool) (*v1.LoadBalancerStatus, bool, error) {
	only, err := r.engine().Providers.OnlyRouted(ctx, svc)
	if err != nil {
		return nil, false, err
	}
	if status, exists, err := r.getRouted(ctx, svc, wanted, only); err != nil || exists || only {
		return status, exists, err
	}
	var status *v1.LoadBalancerStatus
	exists := false
	gone, err := r.engine().NewGone(ctx, goal.Subject{Service: svc}, nil, r.engine().Memory.Previous(svc.UID))
	if err == nil {
		status, exists, err = gone.Exists(ctx, wanted)
	}
	if r.rounds.neverThere(ctx, svc, false, err) {
		return nil, false, nil
	}
	return status, exists, err
}
