// Package loadbalancer makes the load balancer in OpenStack what a Service of type
// LoadBalancer asks for. It is the shell around the engine:
//
//	Service, Nodes, Config ──build──▶ desired ─┐
//	                                           ├─plan──▶ steps ──apply──▶ OpenStack
//	OpenStack ──observe──────────▶ observed ───┘
//
// One call works on one Service at a time; calls for different Services do not
// hold each other up, and share one watcher to wait for load balancers.
package loadbalancer

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
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
	// Recorder takes the events on Services.
	Recorder record.EventRecorder
	Clock    clock.WithTicker
	// Timing replaces that of every driver, unless it is zero.
	Timing driver.Timing
	// Patience is how long the work of one call goes on before it is given up until
	// the next call; 0 means 15 minutes.
	Patience time.Duration
	// Workers is how many workers the service controller has (--concurrent-service-syncs);
	// 0 means that they are always plentiful.
	Workers int
	// Hold is how long a call of Ensure or Delete may hold its worker while workers are
	// plentiful: past that its work goes on by itself. 0 means async.MostHeld.
	Hold time.Duration
	// Newest gives a Service and the nodes that can be its members as they are now, nil
	// when there is no such Service any more. What it gives is not changed. Nil: what a
	// call is given is the newest.
	Newest func(*v1.Service) (*v1.Service, []*v1.Node)
	// Refused is told how many Services are refused for a reason, one of refusal.Reasons,
	// when that changes; nil: nobody asks. It is called from one goroutine at a time, and
	// must not block.
	Refused func(reason string, services int)
}

// factsAge is how long networks, subnets and the nodes' ports are taken to stay as
// they were read.
const factsAge = 10 * time.Minute

// Reconciler implements the life of load balancers. Its methods may be called
// from many goroutines.
type Reconciler struct {
	options   Options
	parser    *settings.Parser
	observer  *observe.Observer
	facts     *lookup.Reader
	groups    *securitygroup.Groups
	applier   *apply.Applier
	watcher   *watcher.Watcher
	octavia   *octavia.Client
	barbican  *barbican.Client
	inventory *snapshot.Inventory
	// actors do the work of Services, places bounds how many at the same time, and
	// workers how long a call waits for it. locks are of load balancers.
	actors  *actors
	workers *async.Workers
	places  struct{ calls, own *async.Places }
	locks   async.Locks
	// store has what is known of each Service.
	store   *state.Store
	events  *events.Recorder
	drivers *driver.Registry
	// detector finds what other clients change.
	detector *drift.Detector
}

// New makes a Reconciler. Close ends it. It is an error if cloud.conf names annotations
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
		options.Hold = async.MostHeld
	}
	octaviaAPI, neutronAPI := options.Session.Octavia(), options.Session.Neutron()
	observer := &observe.Observer{Octavia: octaviaAPI, Neutron: neutronAPI, Version: options.Session.LoadBalancerVersion}
	watcher := watcher.New(octaviaAPI, options.Clock)
	drivers := driver.NewRegistry(driver.Settings{
		DefaultProvider: options.Config.LoadBalancer.LBProvider,
		Serial:          options.Config.LoadBalancer.ProviderRequiresSerialAPICalls,
		Timing:          options.Timing,
	})
	reader := lookup.New(neutronAPI, octaviaAPI, options.Session.LoadBalancerVersion, options.Clock, factsAge)
	store := state.New(options.Clock, options.Refused)
	r := &Reconciler{
		options:   options,
		parser:    parser,
		store:     store,
		events:    events.New(options.Recorder, store),
		observer:  observer,
		facts:     reader,
		groups:    securitygroup.New(neutronAPI, reader, store, options.Clock, options.Config.LoadBalancer.SecurityGroups()),
		watcher:   watcher,
		workers:   async.NewWorkers(options.Workers, options.Clock),
		drivers:   drivers,
		octavia:   octaviaAPI,
		barbican:  options.Session.Barbican(),
		inventory: snapshot.New(octaviaAPI, neutronAPI, options.Clock),
		applier: &apply.Applier{
			Octavia: octaviaAPI, Neutron: neutronAPI, Observer: observer, Watcher: watcher, Clock: options.Clock, Drivers: drivers,
		},
	}
	r.actors = newActors(r)
	r.detector = r.newDetector()
	r.places.calls, r.places.own = async.NewPlaces(places), async.NewPlaces(places)
	return r, nil
}

// Close ends all work and every wait.
func (r *Reconciler) Close() {
	r.actors.Close()
	r.watcher.Close()
}

// Name gives the name of a Service's load balancer in OpenStack.
func (r *Reconciler) Name(svc *v1.Service) string {
	return r.identity(svc, octavia.VersionTags).Name()
}

// SelectsNodes tells whether labels decide which nodes are members of a Service.
func (r *Reconciler) SelectsNodes(svc *v1.Service) bool {
	return r.parser.SelectsNodes(svc)
}

func (r *Reconciler) identity(svc *v1.Service, version octavia.Version) ownership.Identity {
	return ownership.Identity{
		ClusterName: r.options.ClusterName,
		ClusterID:   r.options.ClusterID,
		ServiceUID:  string(svc.UID),
		Namespace:   svc.Namespace,
		Service:     svc.Name,
		Untagged:    !version.AtLeast(octavia.VersionTags),
	}
}

// Ensure makes the load balancer what the Service asks for and gives its address.
// A Service that asks for what cannot be is an error that names the field, before
// the first write; where its load balancer is kept alive meanwhile, the status is what to
// publish of it. When the worker is wanted back before the end it is an
// *api.RetryError: see Options.Hold.
func (r *Reconciler) Ensure(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	return r.call(ctx, request{operation: operationEnsure, svc: svc, nodes: nodes, mayCreate: always})
}

// Update brings an existing load balancer to these nodes, and to whatever else the
// Service asks for, and returns at the end. It never makes one: the Service may be
// deleted already. Where there is none it is an error.
func (r *Reconciler) Update(ctx context.Context, svc *v1.Service, nodes []*v1.Node) error {
	_, err := r.own(ctx, request{operation: operationUpdate, svc: svc, nodes: nodes, mayCreate: never})
	return err
}

func always(context.Context) (bool, error) { return true, nil }
func never(context.Context) (bool, error)  { return false, nil }

// bring makes the load balancer of a Service, whose turn it is, what the Service asks
// for, and gives the address to publish. Where that cannot be it keeps alive what the
// Service has; then it is an error of Ensure alone, where that tells it and tries again, as
// nobody else can do more. The address comes with that error too.
func (r *Reconciler) bring(ctx context.Context, svc *v1.Service, nodes []*v1.Node, c call) (*v1.LoadBalancerStatus, error) {
	published, err := r.round(ctx, svc, nodes, c)
	reason := refusal.Reason(err)
	if err == nil {
		r.store.Accept(svc)
	}
	if reason == "" {
		return published, refusal.Retry(err, r.expired(ctx))
	}
	told := r.store.Refuse(svc.UID, reason, c.tells)
	wasGood := r.store.Get(svc.UID).Accepted != nil // else Ensure is still to come for it, after a restart
	published, failure := r.keepAlive(ctx, svc, nodes, c, err)
	if failure == nil {
		r.store.DropDrift(svc.UID)
		if !c.tells && (told || !wasGood) {
			return published, nil
		}
	}
	return published, refusal.Explain(err, failure, r.expired(ctx))
}

// round makes one pass for a Service.
func (r *Reconciler) round(ctx context.Context, svc *v1.Service, nodes []*v1.Node, c call) (*v1.LoadBalancerStatus, error) {
	p, err := r.newPass(ctx, svc, nodes, c)
	if err != nil {
		return nil, err
	}
	defer p.holder.letGo()
	published, err := p.run(ctx)
	if err != nil && (p.wrote || refusal.Reason(err) == "") {
		r.store.DropApplied(svc.UID)
	}
	return published, err
}

func (r *Reconciler) planOptions(svc *v1.Service, settings settings.Settings, drv driver.Driver) plan.Options {
	return plan.Options{
		KeepFloatingIP: settings.Floating.Keep,
		Published:      len(svc.Status.LoadBalancer.Ingress) > 0,
		Addresses:      publishedAddresses(svc),
		Cascade:        r.options.Config.LoadBalancer.CascadeDelete,
		Driver:         drv,
		MoveMembers:    settings.Members.SubnetID != "",
		NodesSubnets:   settings.Members.InNodeSubnets(),
	}
}

// errPatience ends a call that has waited long enough.
var errPatience = errors.New("patience is at its end")

// expired returns the time after which a call has been ended, 0 where it has not.
func (r *Reconciler) expired(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), errPatience) {
		return r.options.Patience
	}
	return 0
}
