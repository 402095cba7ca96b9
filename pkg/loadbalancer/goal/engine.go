package goal

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
)

// Cluster identifies the cluster of this controller.
type Cluster struct {
	// Name is --cluster-name; ID is the UID of the namespace kube-system, "" if it could not be
	// read.
	Name, ID string
	// Nodes lists the nodes of the cluster, to find the subnets of its load balancers; if nil, only
	// the subnets in cloud.conf count.
	Nodes func(ctx context.Context) ([]v1.Node, error)
}

// Engine has the stages that goals share, and their dependencies. It has no state of its own, and
// is immutable while in use.
type Engine struct {
	Config  *config.Config
	Cluster Cluster
	Clock   clock.WithTickerAndDelayedExecution
	// Settings parses Services; Config has all other settings.
	Settings *settings.Parser
	Cloud    Cloud
	Lookup   *lookup.Reader
	Groups   NodeGroups
	Drivers  *driver.Registry
	Sharing  sharing.Policy
	// Failovers limits failovers of load balancers in ERROR.
	Failovers *Failovers
	Members   *members.Selector
	// Endpoints is nil if endpoints are not watched.
	Endpoints Endpoints
	Store     *state.Store
	Records   Records
	Events    *events.Recorder
}

// With returns an engine with another configuration that shares state and dependencies with this
// one.
func (e *Engine) With(conf *config.Config, parser *settings.Parser) *Engine {
	e.Drivers.SetDefault(conf.LoadBalancer.LBProvider)
	other := *e
	other.Config, other.Settings, other.Sharing.Config = conf, parser, conf.LoadBalancer
	return &other
}

// Records are the records of Services for the next process.
type Records interface {
	// Get returns the record of a Service, "" for none.
	Get(service types.UID) string
	// Set records a line of text.
	Set(service types.UID, text string)
}

// Cloud reads and writes load balancers and floating IPs.
type Cloud struct {
	reading.Reader
	Barbican *barbican.Client
	Applier  Applier
	Project  *project.Reader
}

// Applier applies plans. *apply.Applier implements it; *apply.Rehearsal does so without a write.
type Applier interface {
	Continue(ctx context.Context, run *apply.Run) (model.Observed, error)
	reading.Settler
}

// NodeGroups are the security groups of nodes. *securitygroup.Groups implements it.
type NodeGroups interface {
	Plan(ctx context.Context, r securitygroup.Request) (*securitygroup.Task, error)
	Open(ctx context.Context, t *securitygroup.Task) error
	Close(ctx context.Context, t *securitygroup.Task) error
	Remove(ctx context.Context, id ownership.Identity) error
	Exists(ctx context.Context, id ownership.Identity) (bool, error)
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
	other := *e
	other.Cloud.Applier, other.Cloud.Settler = r.Applier, r.Applier
	other.Groups, other.Store, other.Events = r.Groups, r.Store, r.Events
	other.Failovers = e.Failovers.Clone()
	return &other
}

// HasServed reports whether a record shows that this program has served a Service.
func (e *Engine) HasServed(owner types.UID) bool {
	_, recorded := e.record(owner)
	return recorded
}

// Identity returns the identity of a Service in the cloud.
func (e *Engine) Identity(owner model.Owner, version model.Version) ownership.Identity {
	return ownership.Identity{
		ClusterName: e.Cluster.Name,
		ClusterID:   e.Cluster.ID,
		ServiceUID:  string(owner.UID),
		Namespace:   owner.Namespace,
		Service:     owner.Name,
		Untagged:    !version.AtLeast(driver.VersionTags),
	}
}

// Previous returns the known and the recorded load balancer of a Service.
func (e *Engine) Previous(owner types.UID) []string {
	var ids []string
	if applied := e.Store.Get(owner).Applied; applied != nil {
		ids = append(ids, applied.LoadBalancer.ID)
	}
	if written, ok := e.record(owner); ok {
		ids = append(ids, written.LoadBalancerID)
	}
	return ids
}

// record returns the record of a Service; false if there is none, or one of another UID.
func (e *Engine) record(owner types.UID) (state.Record, bool) {
	written, ok := state.ParseRecord(e.Records.Get(owner))
	return written, ok && written.Service == owner
}

// Untouched reports whether a Service has a record, from an earlier process or because this one has
// found it unchanged, and this process has begun no change of it.
func (e *Engine) Untouched(service types.UID) bool {
	return e.hasRecord(service) && !e.Store.Get(service).Made.Touched
}

func (e *Engine) hasRecord(service types.UID) bool { return e.Records.Get(service) != "" }

// hints returns how to find a Service's load balancer, given the one that the Service names.
func (e *Engine) hints(svc *v1.Service, named string) observe.Hints {
	made := e.Store.Get(svc.UID).Made
	hints := observe.Hints{
		LoadBalancerID: named,
		Remembered:     made.LoadBalancerID,
		ServedOn:       made.ServedOn,
		Addresses:      publishedAddresses(svc),
		NamedAddresses: namedAddresses(svc),
		Place:          e.place,
	}
	hints.Recorded, _ = annotation.PlaceOf(svc)
	if written, ok := e.record(svc.UID); ok {
		hints.Written = written.LoadBalancerID
	}
	return hints
}

// place returns the subnets and networks in which load balancers of this cluster can be.
func (e *Engine) place(ctx context.Context) (ownership.Place, error) {
	conf := e.Config
	place := ownership.Place{Subnets: []string{conf.LoadBalancer.SubnetID}, Networks: []string{conf.LoadBalancer.NetworkID}}
	for _, class := range conf.LoadBalancerClass {
		place.Subnets, place.Networks = append(place.Subnets, class.SubnetID), append(place.Networks, class.NetworkID)
	}
	if e.Cluster.Nodes == nil {
		return place, nil
	}
	nodes, err := e.Cluster.Nodes(ctx)
	if err != nil {
		return place, fmt.Errorf("list nodes: %w", err)
	}
	var servers []string
	for _, node := range nodes {
		if server := cluster.ServerID(node.Spec.ProviderID); server != "" {
			servers = append(servers, server)
		}
	}
	subnets, err := e.Lookup.NodeSubnets(ctx, servers)
	place.Subnets = append(place.Subnets, subnets...)
	return place, err
}
