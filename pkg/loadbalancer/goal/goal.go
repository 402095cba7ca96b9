package goal

import (
	"cmp"
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Goal is the goal of a round. Only Commit writes in the cloud: it removes the Service from its
// previous load balancers, and closes or removes security groups.
type Goal interface {
	// Inputs returns the inputs of the round.
	Inputs() Inputs
	// Owner returns the Service's identity on the objects that a plan creates.
	Owner(r Round) ownership.Identity
	// Recall returns the knowledge of the load balancer without a full read, and locks a known one.
	Recall(ctx context.Context, lock *async.Guard) (Known, error)
	// Observe reads the Service's objects, and locks its load balancer.
	Observe(ctx context.Context, lock *async.Guard) (Observation, error)
	// Verify completes a recalled observation before its load balancer, known to be unchanged, is
	// changed. Another is true if more was read, so that a new plan is necessary.
	Verify(ctx context.Context, r Round) (have Observation, another bool, err error)
	// Desire returns the desired state, given the observation. It is called once for each Basis.
	Desire(ctx context.Context, r Round) (*Desired, error)
	// Plan compares observation and desired state. The error is a refusal if the Service may not
	// have it.
	Plan(ctx context.Context, r Round) (plan.Plan, error)
	// Begin uses the first plan of a round to plan the security groups of nodes, and to decide
	// which changes are only reported.
	Begin(ctx context.Context, r Round, first plan.Plan) (SecurityGroups, plan.Report, error)
	// Prepare refuses a plan before it is announced and applied: if it exceeds limits of cloud.conf, or lacks a
	// precondition. It records all that a failed plan must not lose.
	Prepare(ctx context.Context, r Round, todo plan.Plan) error
	// Announce emits the planned changes, and settings without effect.
	Announce(r Round, todo, reported plan.Plan)
	// Commit ends a successful round: it emits events, stores the state, and returns the status to
	// publish.
	Commit(ctx context.Context, r Round, reported plan.Plan, lock *async.Guard) (*v1.LoadBalancerStatus, error)
}

// Inputs are the immutable inputs of a round.
type Inputs struct {
	// Owner is the identity of the Service.
	Owner model.Owner
	// Published is the state that the Service shows, Annotations are all that it has.
	Published   Published
	Annotations map[string]string
	// Nodes are all nodes of the cluster, Members those that are members of this Service. Second are those
	// with their addresses of the second IP family that the Service requests, nil for none.
	Nodes           []*v1.Node
	Members, Second *members.Set
	// Endpoints are those of the Service if its members may follow them.
	Endpoints members.Endpoints
	Settings  *settings.Settings
	ID        ownership.Identity
	Version   model.Version
	// Previous are the load balancers that have served the Service, as far as known.
	Previous []string
	// Entered are the load balancers on which this process has begun changes for the Service: see
	// state.Made.
	Entered []string
	// VIPs are the load balancers of the providers router and port-forwarding that the Service leaves.
	VIPs []model.LoadBalancer
	// Drift is the detected change by another client, if any.
	Drift state.Drift
	// NodesCurrent reports whether no round has begun with later nodes; nil means true.
	NodesCurrent func() bool
}

// Object returns the Service as the object of events.
func (in Inputs) Object() events.Object { return in.Published.object(in.Owner) }

// Subject is the Service of a round, with its nodes.
type Subject struct {
	Service *v1.Service
	Nodes   []*v1.Node
	// Drift and NodesCurrent are those of Inputs.
	Drift        state.Drift
	NodesCurrent func() bool
}

// inputs returns the inputs of a round with these settings and members, nil for none.
func (e *Engine) inputs(of Subject, parsed *settings.Settings, selected *members.Set, version model.Version) Inputs {
	owner := settings.OwnerOf(of.Service)
	return Inputs{
		Owner: owner, Published: PublishedOf(of.Service), Annotations: of.Service.Annotations,
		Nodes: of.Nodes, Members: selected, Settings: parsed,
		ID: e.Cluster.Identity(owner, version), Version: version,
		Previous: e.Memory.Previous(owner.UID), Entered: e.Memory.Store.Get(owner.UID).Made.Entered,
		Drift: of.Drift, NodesCurrent: of.NodesCurrent,
	}
}

// Observation is the observed state of a Service in the cloud.
type Observation struct {
	// Observed is nil until it is read.
	*model.Observed
	// As is the Service's identity on the load balancer.
	As ownership.Identity
	// Plans are applied only if it is of the source Cloud: an observation of another source is
	// verified before (Cloud.Verify), or replaced by a read.
	model.Knowledge
	// ListedAt is the time before the first list, if the source is Lists.
	ListedAt time.Time
	// Elsewhere are the remains of a deleted Service on other load balancers.
	Elsewhere []observe.Found
	// Replaced is set if a replacement of the kept load balancer was being created. Lost is the
	// published address that the load balancer has lost, and Restored the floating IP in its place;
	// nil if there is none.
	Replaced bool
	Lost     string
	Restored *model.FloatingIP
}

// Known is the knowledge at the beginning of a round.
type Known struct {
	// Applied is the last applied state, of this process or the one before; nil if unknown.
	Applied *state.Applied
	// Have has no Observed if the load balancer must be read.
	Have Observation
	// Want is the desired state that was compared with Applied; nil if none was.
	Want *Desired
	// Status is the status to publish if there is nothing to do, else nil.
	Status *v1.LoadBalancerStatus
}

// Desired is the desired state of a Service.
type Desired struct {
	// LoadBalancer is nil if nothing shall remain.
	LoadBalancer *model.LoadBalancer
	// digest is its hash, "" until first used.
	digest string
	// Facts are the cloud's decisions; for Kept and Gone, only the driver.
	Facts desire.Facts
	// Followed are the members of each port.
	Followed members.Followed
	// Settings are those that apply on the load balancer.
	Settings *settings.Settings
	Basis    Basis
}

// Basis has the properties of the existing load balancer that the desired state depends on: for
// example, a guest gets no floating IP, and an existing load balancer keeps its VIP. The same Basis
// gives the same desired state.
type Basis struct {
	Exists, Shared, Adopted, Unmonitored, FloatingIPFits bool
	DualStack                                            bool
	Provider, VIPAddress                                 string
}

// SecurityGroups is the task for the nodes' security groups, planned for a VIP in a subnet, or for VIPs of
// both IP families.
type SecurityGroups struct {
	*securitygroup.Task
	VIPSubnet string
	DualStack bool
}

// Round is the progress of a round.
type Round struct {
	// Applied is the last applied state; nil if unknown. Recalled is set if the round could begin
	// without reading the load balancer.
	Applied  *state.Applied
	Recalled bool
	Have     Observation
	Want     *Desired
	// Before is the state before the first change; nil until read.
	Before *state.Version
	Groups SecurityGroups
	Report plan.Report
	// Wrote is set if the round has changed something, Interfered if another client has changed the
	// load balancer at the same time.
	Wrote, Interfered bool
	// Serial is the refused step that the rest of this round does in single steps; nil for none.
	Serial *Serial
	// Batched is set for the rest of this round after a quota has refused single changes of members.
	Batched bool
	// Broken are the parts in ERROR after the last plan; nil for none.
	Broken *apply.ChildrenError
}

// Begin returns the initial Round.
func Begin(known Known) Round {
	return Round{Applied: known.Applied, Recalled: known.Have.Observed != nil, Have: known.Have, Want: known.Want}
}

// Forget makes the round read the load balancer again.
func (r *Round) Forget() { r.Have, r.Before = Observation{}, nil }

// HasMembers reports whether the Service has its desired state after a plan that changes only
// members: the run has checked the result. Security groups of nodes need another plan to be closed.
func (r *Round) HasMembers(in Inputs) bool {
	return r.Want != nil && r.Have.Observed != nil && r.Broken == nil && !managesGroups(in)
}

// lastApplied returns the last applied state before another client's change; nil if unknown.
func (r Round) lastApplied(drift state.Drift) *state.Applied { return cmp.Or(drift.Before, r.Applied) }
