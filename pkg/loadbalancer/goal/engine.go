package goal

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Dependencies are the dependencies of all stages. Each stage has only those that it uses.
type Dependencies struct {
	Config  *config.Config
	Cluster Cluster
	// Settings parses Services; Config has all other settings.
	Settings *settings.Parser
	Cloud    Cloud
	Groups   NodeGroups
	Sharing  sharing.Policy
	// Failovers limits failovers of load balancers in ERROR.
	Failovers *Failovers
	Members   *members.Selector
	// Services has those that may share a load balancer by name, or the ports of nodes; nil: none do.
	Services Services
	// Endpoints is nil if endpoints are not watched.
	Endpoints Endpoints
	// Pods is nil if pods are not read.
	Pods   Pods
	Memory Memory
	Events *events.Recorder
}

// Engine has the stages that goals share. It and its stages have no state of their own, and are
// immutable.
type Engine struct {
	Dependencies
	Finder     *Finder
	Providers  *Providers
	Candidates *Candidates
	Changes    *Changes
	Troubles   *Troubles

	observer *observer
	recaller *recaller
	planner  *planner
	groups   *groups
	reporter *reporter
	checks   *checks
	leaver   *leaver
	results  *results
	rollouts *rollouts
	sharers  *sharers
	claims   *claims
	// routedReader is that of the providers router and port-forwarding.
	routedReader *routedReader
}

// New returns an engine.
func New(with Dependencies) *Engine {
	cloud, memory := with.Cloud, with.Memory
	finder := &Finder{Config: with.Config, Cluster: with.Cluster, Lookup: cloud.Lookup, Reader: cloud.Reader, Memory: memory}
	observer := &observer{Finder: finder, project: cloud.Project, sharing: with.Sharing, forwardings: cloud.Forwardings}
	planner := &planner{config: with.Config, lookup: cloud.Lookup, drivers: cloud.Drivers, failovers: with.Failovers, memory: memory}
	routed := &routedReader{
		cluster: with.Cluster, settings: with.Settings, memory: memory, observer: cloud.Observer,
		project: cloud.Project, vips: cloud.VIPs, forwardings: cloud.Forwardings,
	}
	return &Engine{
		Dependencies: with,
		Finder:       finder,
		Providers: &Providers{
			config: with.Config, cluster: with.Cluster, settings: with.Settings, memory: memory,
			pools: cloud.Lookup.Pools, project: cloud.Project, vips: cloud.VIPs, reader: routed,
		},
		routedReader: routed,
		Candidates:   &Candidates{read: with.Endpoints, selector: with.Members, lookup: cloud.Lookup, clock: cloud.Clock},
		Changes:      &Changes{store: memory.Store, drivers: cloud.Drivers, failovers: with.Failovers},
		Troubles:     &Troubles{store: memory.Store, quotas: cloud.Lookup.Quotas, events: with.Events, clock: cloud.Clock},
		observer:     observer,
		recaller:     &recaller{planner: planner, memory: memory, reader: cloud.Reader, project: cloud.Project, groups: with.Groups},
		planner:      planner,
		groups:       &groups{cloud: with.Groups, planner: planner},
		reporter:     &reporter{config: with.Config, memory: memory, planner: planner, events: with.Events},
		checks:       &checks{config: with.Config, store: memory.Store, lookup: cloud.Lookup, barbican: cloud.Barbican},
		leaver:       &leaver{config: with.Config, cloud: cloud, observer: observer, events: with.Events},
		results:      &results{store: memory.Store, clock: cloud.Clock},
		rollouts:     &rollouts{pods: with.Pods, took: cloud.Watcher.Took, store: memory.Store, events: with.Events, clock: cloud.Clock},
		claims:       &claims{services: with.Services, settings: with.Settings, store: memory.Store, clock: cloud.Clock},
		sharers:      &sharers{services: with.Services, settings: with.Settings, memory: memory, events: with.Events, clock: cloud.Clock},
	}
}

// With returns an engine with another configuration that shares state and dependencies with this
// one.
func (e *Engine) With(conf *config.Config, parser *settings.Parser) *Engine {
	e.Cloud.Drivers.SetDefault(conf.LoadBalancer.LBProvider)
	other := e.Dependencies
	other.Config, other.Settings, other.Sharing.Config = conf, parser, conf.LoadBalancer
	return New(other)
}

// Rehearsal has the dependencies of a round that writes nothing in the cloud.
type Rehearsal struct {
	Applier Applier
	Groups  NodeGroups
	Store   *state.Store
	Events  *events.Recorder
}

// Rehearsing returns an engine whose rounds write nothing in the cloud and count no failovers. It
// shares reads with this one.
func (e *Engine) Rehearsing(r Rehearsal) *Engine {
	other := e.Dependencies
	other.Cloud.Applier, other.Cloud.Settler = r.Applier, r.Applier
	other.Groups, other.Memory.Store, other.Events = r.Groups, r.Store, r.Events
	other.Failovers, other.Pods = e.Failovers.Clone(), nil
	rehearsing := New(other)
	rehearsing.sharers.rehearsed = true
	return rehearsing
}
