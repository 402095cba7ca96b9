// Package goal says what a round of reconciliation is to arrive at for a Service: what it
// asks for (Asked), what it has as long as what it asks for is refused (Kept), or nothing
// (Gone). Each goal has the same stages; loadbalancer.Reconciler goes through them:
//
//	Recall ──▶ Observe ──▶ Desire ──▶ Plan ──(apply)──▶ … ──▶ Commit
//
// Every stage takes values and returns values: what one has found out, the next is given.
package goal

import (
	"cmp"
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Goal is what a round is to arrive at. Its stages write nothing in the cloud, but Commit,
// which takes the Service off load balancers where it was before, and closes or removes
// security groups.
type Goal interface {
	// Inputs returns what the round goes by.
	Inputs() Inputs
	// Owner returns who the Service is to what a plan makes.
	Owner(r Round) ownership.Identity
	// Recall returns what is known without reading the load balancer. Of one that is known
	// it takes the lock.
	Recall(ctx context.Context, lock *async.Guard) (Known, error)
	// Observe reads what the Service has, and takes the lock of its load balancer.
	Observe(ctx context.Context, lock *async.Guard) (Observation, error)
	// Verify returns an observation that was recalled, now that its load balancer is known
	// to be unchanged and is going to be changed. It is another one, for which there is
	// another plan, where more had to be read.
	Verify(ctx context.Context, r Round) (have Observation, another bool, err error)
	// Desire returns what the Service is to have, given what it has. It is asked once for
	// each Basis.
	Desire(ctx context.Context, r Round) (*Desired, error)
	// Plan compares what there is with what is desired. The error is a refusal where the
	// Service may not have that.
	Plan(ctx context.Context, r Round) (plan.Plan, error)
	// Begin settles, by the first plan of a round, what is done about the security groups of
	// the nodes, and what is only reported.
	Begin(ctx context.Context, r Round, first plan.Plan) (SecurityGroups, plan.Report, error)
	// Announce emits what is going to be done, and what has no effect.
	Announce(r Round, todo, reported plan.Plan)
	// Prepare refuses a plan before it is applied: for limits of cloud.conf, for what it
	// needs and is not there. It notes what must be known whatever becomes of the plan.
	Prepare(ctx context.Context, r Round, todo plan.Plan) error
	// Commit ends a round that has arrived: state, status and events. It returns the status
	// to publish.
	Commit(ctx context.Context, r Round, reported plan.Plan, lock *async.Guard) (*v1.LoadBalancerStatus, error)
}

// Inputs are what a round goes by; nothing in them changes.
type Inputs struct {
	Service *v1.Service
	// Nodes are all of the cluster, Members those that are members of this Service.
	Nodes    []*v1.Node
	Members  *members.Set
	Settings *settings.Settings
	ID       ownership.Identity
	Version  octavia.Version
	// Previous are the load balancers that the Service is known to have been on.
	Previous []string
	// Entered are the load balancers where this process has begun to change something for the
	// Service: see state.Made.
	Entered []string
	// Drift is what another client has changed, if that was noticed.
	Drift state.Drift
	// NodesCurrent reports whether no round has begun with later nodes; nil: it is so.
	NodesCurrent func() bool
}

// Subject is whom a round is for.
type Subject struct {
	Service *v1.Service
	Nodes   []*v1.Node
	// Drift and NodesCurrent are those of Inputs.
	Drift        state.Drift
	NodesCurrent func() bool
}

// Observation is what a Service has in the cloud.
type Observation struct {
	// Observed is nil as long as it was not read.
	*model.Observed
	// As is who the Service is on the load balancer.
	As ownership.Identity
	// Current is set where it was read, or verified, in this round, Unchanged where it was
	// recalled and the load balancer is known to have been like that in this round.
	Current, Unchanged bool
	// Listed is when the lists of the project began that it was read from, zero where it was
	// read on its own. No plan is carried out on the basis of lists.
	Listed time.Time
	// Brief is set where of members no more was read than observe.Observer.Brief has.
	Brief bool
	// Elsewhere is what a Service that goes has on other load balancers.
	Elsewhere []observe.Found
	// Replaced is set where another load balancer was being made in place of the one that
	// is kept. Lost is the published address that this one has no more, and Restored the
	// floating IP in its place; nil where none is to be had.
	Replaced bool
	Lost     string
	Restored *model.FloatingIP
}

// Known is what a round begins with.
type Known struct {
	// Applied is what was applied last, by this process or the one before; nil: nobody knows.
	Applied *state.Applied
	// Have has no Observed where the load balancer must be read.
	Have Observation
	// Want is what was compared with what was applied last; nil: nothing was.
	Want *Desired
	// Status is what to publish where nothing is to be done, else nil.
	Status *v1.LoadBalancerStatus
}

// Desired is what a Service is to have.
type Desired struct {
	// LoadBalancer is nil where nothing is to be left.
	LoadBalancer *model.LoadBalancer
	// digest condenses it; "" until it is first needed.
	digest string
	// Facts are what the cloud has decided; of one that is kept or goes, its driver.
	Facts desire.Facts
	// Basis is what of the load balancer that is there has entered.
	Basis Basis
}

// Basis is what of the load balancer that is there decides on what a Service is to have: on
// another's it gets no floating IP, one that exists keeps its VIP, and so on. As long as it
// is the same, so is what is desired.
type Basis struct {
	Exists, Shared, Unmonitored, FloatingIPFits bool
	Provider, VIPAddress                        string
}

// SecurityGroups is what is to be done about those of the nodes, for a VIP in a subnet.
type SecurityGroups struct {
	*securitygroup.Task
	VIPSubnet string
}

// Round is what a round has found out so far.
type Round struct {
	// Applied is what was applied last; nil: nobody knows. Recalled is set where that was
	// enough to begin without reading the load balancer.
	Applied  *state.Applied
	Recalled bool
	Have     Observation
	Want     *Desired
	// Before is what was there before the first change; nil where nobody has looked yet.
	Before *state.Version
	Groups SecurityGroups
	Report plan.Report
	// Wrote is set where the round has changed something. Interfered is set where another
	// client has changed the load balancer at the same time.
	Wrote, Interfered bool
	// Serial is the step of this round that was refused and is done in single steps in the rest of it; nil:
	// none was.
	Serial *Serial
	// Broken are the parts that the last plan has left in ERROR; nil where it has left none.
	Broken *apply.ChildrenError
}

// Begin returns the first state of a round.
func Begin(known Known) Round {
	return Round{Applied: known.Applied, Recalled: known.Have.Observed != nil, Have: known.Have, Want: known.Want}
}

// Forget has the load balancer read again.
func (r *Round) Forget() { r.Have, r.Before = Observation{}, nil }

// HasMembers reports whether the Service has what is desired once a plan was carried out that changes
// nothing but members: the cloud was asked for the result. Security groups of nodes are closed by another plan.
func (r *Round) HasMembers(in Inputs) bool {
	return r.Want != nil && r.Have.Observed != nil && r.Broken == nil && !managesGroups(in)
}

// lastApplied returns what was applied last before another client changed it, else what was
// applied last; nil where nobody knows.
func (r Round) lastApplied(drift state.Drift) *state.Applied { return cmp.Or(drift.Before, r.Applied) }
