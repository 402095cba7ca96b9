// Package loadbalancer makes the load balancer in OpenStack what a Service of type
// LoadBalancer asks for. reconcile.go is the whole of it on one screen:
//
//	Service, Nodes, Config ──goal──▶ desired ──┐
//	                                           ├─plan──▶ steps ──apply──▶ OpenStack
//	state, OpenStack ──observe────▶ observed ──┘                           │
//	     ▲                                                                 │
//	     └──────────────────────────commit─────────────────────────────────┘
//
// One round works on one Service at a time; rounds of different Services do not hold each
// other up, and share one watcher to wait for load balancers.
package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Options are what a Reconciler needs.
type Options struct {
	Config  *config.Config
	Session *openstack.Session
	// ClusterName is --cluster-name; ClusterID is the UID of the namespace
	// kube-system, empty when it could not be read.
	ClusterName, ClusterID string
	// Namespace reads a namespace, for whom it lets share its load balancers; nil:
	// none lets anybody.
	Namespace func(ctx context.Context, name string) (*v1.Namespace, error)
	// Nodes lists the nodes of the cluster, for the subnets that its load balancers can
	// be in; nil: only what cloud.conf says counts.
	Nodes func(ctx context.Context) ([]v1.Node, error)
	// Records are kept for the next process; nil: nothing is.
	Records goal.Records
	// Recorder takes the events on Services, Conditions what is said in their status; nil:
	// nothing is.
	Recorder   record.EventRecorder
	Conditions Conditions
	Clock      clock.WithTickerAndDelayedExecution
	// Timing replaces that of every driver, unless it is zero.
	Timing driver.Timing
	// Patience is how long one round goes on before it is given up until the next call, but for
	// what it waits for its turn; 0 means 15 minutes.
	Patience time.Duration
	// Workers is the number of workers of the service controller (--concurrent-service-syncs), 0 if it is
	// unlimited. Hold is how long a call of Ensure or Delete waits for the end of its round: see
	// dispatch.Options. 0 means DefaultHold.
	Workers int
	Hold    time.Duration
	// Ended is called at the end of a round with a call that has not waited for it: the next call returns
	// its result. Nil: such a call returns when to call again.
	Ended func(*v1.Service)
	// Newest gives a Service and the nodes that can be its members as they are now, nil
	// when there is no such Service any more. What it gives is not changed. Nil: what a
	// call is given is the newest.
	Newest func(*v1.Service) (*v1.Service, []*v1.Node)
	// ScopeRecorded reports whether credentials of another project would be noticed; nil: they would.
	ScopeRecorded func() bool
	// Refused is told how many Services are refused for a reason, one of refusal.Reasons,
	// when that changes; nil: nobody asks. It is called from one goroutine at a time, and
	// must not block.
	Refused func(reason string, services int)
	// Tracer records what rounds do; nil: nothing is recorded.
	Tracer trace.TracerProvider
	// Metrics; nil: none are kept.
	Metrics *Metrics
}

// DefaultHold is long enough for most changes, and for the deletion of a load balancer.
const DefaultHold = 10 * time.Second

// lookupAge is how long networks, subnets and the nodes' ports are taken to stay as they
// were read.
const lookupAge = 10 * time.Minute

// Reconciler implements the life of load balancers. Its methods may be called from many
// goroutines.
type Reconciler struct {
	options Options
	// engines has the engine of rounds that begin now: see Reconfigure.
	engines    atomic.Pointer[goal.Engine]
	store      *state.Store
	groups     *securitygroup.Groups
	applier    *apply.Applier
	dispatcher *dispatch.Dispatcher
	detector   *drift.Detector
	locks      async.Locks // of load balancers
}

// New returns a Reconciler. Close ends it. It is an error if cloud.conf names annotations
// that there are not.
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
	r := &Reconciler{options: options, store: state.New(options.Clock, options.Refused)}
	r.engines.Store(r.newEngine(parser))
	r.dispatcher = dispatch.New(dispatch.Options{
		Clock: options.Clock, Timeout: options.Patience, Workers: options.Workers, Hold: options.Hold,
		Newest: options.Newest, Begin: r.begin, Members: r.members,
		Served: r.store, Written: r.written, Ended: options.Ended, New: r.untried,
	})
	r.detector = r.newDetector()
	if options.Metrics != nil {
		options.Metrics.of.Store(r)
	}
	return r, nil
}

func (r *Reconciler) newEngine(parser *settings.Parser) *goal.Engine {
	options, conf := r.options, r.options.Config.LoadBalancer
	octavia, neutron := options.Session.Octavia(), options.Session.Neutron()
	drivers := driver.NewRegistry(driver.Settings{
		DefaultProvider: conf.LBProvider, Serial: conf.ProviderRequiresSerialAPICalls, Timing: options.Timing,
	})
	reader := lookup.New(neutron, octavia, options.Session.LoadBalancerVersion, options.Clock, lookupAge)
	shared := watcher.New(octavia, options.Clock)
	r.groups = securitygroup.New(neutron, reader, r.store, options.Clock, conf.SecurityGroups())
	observer := &observe.Observer{Octavia: octavia, Neutron: neutron, Version: options.Session.LoadBalancerVersion, ScopeRecorded: options.ScopeRecorded}
	r.applier = apply.New(apply.Applier{Octavia: octavia, Neutron: neutron, Observer: observer, Watcher: shared, Clock: options.Clock, Drivers: drivers})
	return &goal.Engine{
		Config:   options.Config,
		Cluster:  goal.Cluster{Name: options.ClusterName, ID: options.ClusterID, Nodes: options.Nodes},
		Clock:    options.Clock,
		Settings: parser,
		Cloud: goal.Cloud{
			Octavia: octavia, Barbican: options.Session.Barbican(), Observer: observer, Watcher: shared,
			Applier:   r.applier,
			Snapshots: snapshot.New(octavia, neutron, options.Clock), Projects: observe.NewProjects(octavia, neutron, options.Clock), Locks: &r.locks,
		},
		Lookup:    reader,
		Groups:    r.groups,
		Drivers:   drivers,
		Failovers: goal.NewFailovers(options.Clock),
		Sharing:   sharing.Policy{Config: conf, Namespace: options.Namespace},
		Members:   &members.Selector{},
		Store:     r.store,
		Records:   options.Records,
		Events:    events.New(options.Recorder, eventMemory{r.store}),
	}
}

// engine returns the engine of a round that begins now.
func (r *Reconciler) engine() *goal.Engine { return r.engines.Load() }

// Reconfigure has every round that begins from now on go by another configuration, and leaves
// those that run with theirs. Only a round for a Service finds out what that means for it.
// Of [LoadBalancer], the keys whose change needs a restart (config.Change) stay what they
// were at the start. An error is that of New, and nothing has changed then.
func (r *Reconciler) Reconfigure(conf *config.Config) error {
	parser, err := settings.NewParser(conf)
	if err != nil {
		return err
	}
	r.engines.Store(r.engine().With(conf, parser))
	return nil
}

// noRecords keeps nothing.
type noRecords struct{}

func (noRecords) Get(types.UID) string  { return "" }
func (noRecords) Set(types.UID, string) {}

// Close ends all rounds and every wait.
func (r *Reconciler) Close() {
	r.dispatcher.Close()
	r.engine().Cloud.Watcher.Close()
}

// Name returns the name of a Service's load balancer in OpenStack.
func (r *Reconciler) Name(svc *v1.Service) string {
	return r.engine().Identity(svc, octavia.VersionTags).Name()
}

// SelectsNodes reports whether labels decide which nodes are members of a Service.
func (r *Reconciler) SelectsNodes(svc *v1.Service) bool {
	return r.engine().Settings.SelectsNodes(svc)
}

// Untouched reports whether a Service has what it asks for, or an earlier process has seen that, and
// this one has begun no change of it.
func (r *Reconciler) Untouched(service types.UID) bool { return r.engine().Untouched(service) }

// DropAllBut drops what nobody asks for again of Services that are gone, given those that there are; nil
// where that is not known.
func (r *Reconciler) DropAllBut(live map[types.UID]bool) {
	if live != nil {
		r.store.DropAllBut(live)
	}
}

// IsWritten reports whether all that has changed of a Service is what this process has written into
// its annotations and its status.
func (r *Reconciler) IsWritten(before, now *v1.Service) bool { return r.written(before, now) }

func (r *Reconciler) written(before, now *v1.Service) bool {
	return before.UID == now.UID && before.DeletionTimestamp.Equal(now.DeletionTimestamp) &&
		annotation.IsWritten(before.Annotations, now.Annotations, now.UID, r.store.LoadBalancerID(now.UID)) &&
		equality.Semantic.DeepEqual(&before.Spec, &now.Spec)
}

// untried reports whether a Service is to have an address for the first time, and no round has failed
// to give it one: the service controller has no delay to remember between the tries of it.
func (r *Reconciler) untried(svc *v1.Service) bool {
	entry := r.store.Get(svc.UID)
	return len(svc.Status.LoadBalancer.Ingress) == 0 && entry.Unsettled.Spent.Sum() == 0 && entry.Refusal == (state.Refusal{})
}

// Actors returns how many Services are being worked on, and of how many there is a result
// that no call has fetched yet.
func (r *Reconciler) Actors() (working, left int) { return r.dispatcher.Size() }

// Ensure makes the load balancer what the Service asks for and returns its address. A
// Service that asks for what cannot be is an error that names the field, before the first
// write; where its load balancer is kept alive meanwhile, the status is what to publish of
// it. When the worker is wanted back before the end it is ErrGoesOn, or an *api.RetryError: see
// Options.Hold and Options.Ended.
func (r *Reconciler) Ensure(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	status, err := r.dispatcher.Call(ctx, dispatch.Request{Operation: dispatch.Ensure, Service: svc, Nodes: nodes, MayCreate: always})
	return status, closed(err)
}

// Update brings an existing load balancer to these nodes, and to whatever else the Service
// asks for, and returns at the end. It never creates one: the Service may be deleted
// already. Where there is none it is ErrNoLoadBalancer.
func (r *Reconciler) Update(ctx context.Context, svc *v1.Service, nodes []*v1.Node) error {
	_, err := r.dispatcher.Wait(ctx, dispatch.Request{Operation: dispatch.Update, Service: svc, Nodes: nodes, MayCreate: never})
	return closed(err)
}

// Repair brings back what another client changed, as Ensure would; the Service is one that
// WatchDrift has named. A load balancer that is gone is created again, if alive says, right
// before, that the Service is still there. It returns the status to publish.
func (r *Reconciler) Repair(ctx context.Context, svc *v1.Service, nodes []*v1.Node, alive func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	status, err := r.dispatcher.Wait(ctx, dispatch.Request{Operation: dispatch.Repair, Service: svc, Nodes: nodes, MayCreate: alive})
	return status, closed(err)
}

// StartRepair is Repair for a caller that does not wait: ended is called with the result.
func (r *Reconciler) StartRepair(ctx context.Context, svc *v1.Service, alive func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error)) {
	err := r.dispatcher.Submit(ctx, dispatch.Request{Operation: dispatch.Repair, Service: svc, MayCreate: alive}, func(status *v1.LoadBalancerStatus, err error) {
		ended(status, closed(err))
	})
	if err != nil {
		ended(nil, closed(err))
	}
}

// Delete removes everything that was made for the Service, and returns when it is gone.
// Where the creation of its load balancer had no answer it waits until that can have none
// any more. The service controller does not heed what an error of this call asks for: it
// calls again after five seconds, then ten, and so on.
func (r *Reconciler) Delete(ctx context.Context, svc *v1.Service) error {
	_, err := r.dispatcher.Call(ctx, dispatch.Request{Operation: dispatch.Delete, Service: svc})
	return closed(err)
}

func always(context.Context) (bool, error) { return true, nil }
func never(context.Context) (bool, error)  { return false, nil }

// closed returns one error for the end of the process.
func closed(err error) error {
	if errors.Is(err, dispatch.ErrClosed) {
		return watcher.ErrClosed
	}
	return err
}

// Get reports whether anything that was made for the Service is left. The service
// controller asks before it deletes, and never deletes once the answer is no; so it is yes
// until load balancer, floating IP and security groups are gone, and no load balancer can
// appear any more that was asked for without an answer.
//
// It also asks when an Update failed, and gives up on a no. For a Service that wants a load
// balancer the answer then is yes, so that it is created again.
//
// While something is being done for the Service, which may create a load balancer, the
// answer is yes, at once.
func (r *Reconciler) Get(ctx context.Context, svc *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	wanted := dispatch.Wanted(svc)
	if r.dispatcher.Busy(string(svc.UID)) {
		return svc.Status.LoadBalancer.DeepCopy(), true, nil
	}
	if !wanted && r.dispatcher.Deleted(string(svc.UID)) {
		return &v1.LoadBalancerStatus{}, false, nil
	}
	if r.store.Get(svc.UID).Applied != nil || !r.store.CreationUntil(svc).IsZero() {
		return svc.Status.LoadBalancer.DeepCopy(), true, nil
	}
	gone, err := r.engine().NewGone(ctx, goal.Subject{Service: svc}, nil, r.engine().Previous(svc))
	if err != nil {
		return nil, false, err
	}
	status, exists, err := gone.Exists(ctx, wanted)
	if !exists && err == nil { // the service controller never asks for it again
		r.dispatcher.Forget(string(svc.UID))
		r.store.Forget(svc)
	}
	return status, exists, err
}

// members returns how many members a request is about at the most.
func (r *Reconciler) members(req dispatch.Request) int {
	nodes := len(req.Nodes)
	if most := int(r.engine().Config.LoadBalancer.MaxMembers); most > 0 {
		nodes = min(nodes, most)
	}
	return nodes * len(req.Service.Spec.Ports)
}

// eventMemory is the events.Memory of rounds.
type eventMemory struct{ *state.Store }

// Place implements events.Memory: what this process knows, or the last one has written down.
func (m eventMemory) Place(svc *v1.Service) (loadBalancerID, address string) {
	written, address := annotation.PlaceOf(svc)
	return cmp.Or(m.LoadBalancerID(svc.UID), written), address
}
