package loadbalancer

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// rounds begins rounds, and has all that they share. Those of a Preview have other ones, which write nothing: see
// rehearsing.
type rounds struct {
	*services

	groups     *securitygroup.Groups
	applier    *apply.Applier
	conditions *conditionReporter
	clock      clock.WithTickerAndDelayedExecution
	patience   time.Duration
	tracer     trace.TracerProvider
	metrics    *Metrics
}

// newRounds returns the rounds that write. Locks are those of load balancers.
func newRounds(options Options, parser *settings.Parser, locks *async.Locks) *rounds {
	conf, store := options.Config.LoadBalancer, state.New(options.Clock, options.Refused)
	octavia, neutron := options.Session.Octavia(), options.Session.Neutron()
	drivers := driver.NewRegistry(driver.Settings{
		DefaultProvider: conf.LBProvider, Serial: conf.ProviderRequiresSerialAPICalls, Timing: options.Timing,
	})
	reader := lookup.New(neutron, octavia, options.Session.LoadBalancerVersion, options.Clock, lookupAge)
	shared := watcher.New(octavia, options.Clock)
	groups := securitygroup.New(neutron, reader, state.SecurityGroups{Store: store}, options.Clock, conf.SecurityGroups())
	observer := &observe.Observer{Octavia: octavia, Neutron: neutron, Version: options.Session.LoadBalancerVersion, ScopeRecorded: options.ScopeRecorded}
	vips := &router.Ports{Neutron: neutron, Table: options.Routes.Of, Pools: reader.Pools, Clock: options.Clock}
	forwardings := &router.Forwardings{Neutron: neutron, Clock: options.Clock}
	applier := apply.New(apply.Applier{
		Octavia: octavia, Neutron: neutron, Observer: observer, Watcher: shared, Clock: options.Clock, Drivers: drivers, VIPs: vips, Forwardings: forwardings,
		Guests: store.HasGuests,
	})
	services := &services{store: store}
	services.engines.Store(goal.New(goal.Dependencies{
		Config:   options.Config,
		Cluster:  goal.Cluster{Name: options.ClusterName, ID: options.ClusterID, Nodes: options.Nodes},
		Settings: parser,
		Cloud: goal.Cloud{
			Reader: reading.Reader{
				Octavia: octavia, Observer: observer, Watcher: shared, Settler: applier, Drivers: drivers, Locks: locks, Clock: options.Clock,
			},
			Lookup: reader, Barbican: options.Session.Barbican(), Applier: applier, Project: project.New(octavia, neutron, options.Clock), VIPs: vips, Forwardings: forwardings,
		},
		Groups:    groups,
		Failovers: goal.NewFailovers(options.Clock),
		Sharing:   sharing.Policy{Config: conf, Namespace: options.Namespace},
		Members:   &members.Selector{},
		Endpoints: options.Endpoints,
		Pods:      options.Pods,
		Services:  options.Services,
		Memory:    goal.Memory{Store: store, Records: options.Records},
		Events:    events.New(options.Recorder, eventMemory{store}),
	}))
	return &rounds{
		services: services, groups: groups, applier: applier,
		conditions: &conditionReporter{services: services, writer: options.Conditions, watched: watchesDrift(conf)},
		clock:      options.Clock, patience: options.Patience, tracer: options.Tracer, metrics: options.Metrics,
	}
}

// begin returns the round of a request. It starts its span, and gives its requests an ID.
func (r *rounds) begin(ctx context.Context, req dispatch.Request) (context.Context, dispatch.Round) {
	ctx, end := telemetry.Root(ctx, r.tracer, "reconcile", attribute.String("operation", string(req.Operation)),
		attribute.String("k8s.namespace.name", req.Service.Namespace), attribute.String("k8s.service.name", req.Service.Name))
	ctx, watch := telemetry.Measure(ctx, r.clock)
	return ctx, &round{rounds: r, req: req, traced: end, watch: watch}
}

// members returns the maximum number of members of a request.
func (r *rounds) members(req dispatch.Request) int {
	nodes := len(req.Nodes)
	if most := int(r.engine().Config.LoadBalancer.MaxMembers); most > 0 {
		nodes = min(nodes, most)
	}
	return nodes * len(req.Service.Spec.Ports)
}

// eventMemory implements events.Memory.
type eventMemory struct{ store *state.Store }

// Warn records the current warning about a subject of a Service.
func (m eventMemory) Warn(service types.UID, subject, text string) (send bool) {
	m.store.Update(service, func(e *state.Entry) { send = e.Warn(subject, text) })
	return send
}

// Announce records the next change of a subject of a Service.
func (m eventMemory) Announce(service types.UID, subject, change string) (say bool) {
	m.store.Update(service, func(e *state.Entry) { say = e.Announce(subject, change) })
	return say
}

// Place returns the load balancer that this process knows, or else the recorded one.
func (m eventMemory) Place(of events.Object) (loadBalancerID, address string) {
	return cmp.Or(m.store.Get(of.Owner.UID).LoadBalancerID(), of.LoadBalancerID), of.Address
}
