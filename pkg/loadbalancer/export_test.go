package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// Known returns the number of Services with a state in memory.
func (r *Reconciler) Known() (services int) {
	for range r.store.All() {
		services++
	}
	return services
}

// Actors returns the number of Services with a running round, and of those with a result that no
// call has returned yet.
func (r *Reconciler) Actors() (working, left int) { return r.dispatcher.Size() }

// AwaitReads returns when no snapshot is being taken. A snapshot continues after its callers have
// left.
func (r *Reconciler) AwaitReads() { r.engine().Cloud.Project.Wait() }

// Stages counts the stages of a round.
type Stages struct {
	goal.Goal
	Desired, Planned, Observed int
}

// Desire implements goal.Goal.
func (s *Stages) Desire(ctx context.Context, r goal.Round) (*goal.Desired, error) {
	s.Desired++
	return s.Goal.Desire(ctx, r)
}

// Plan implements goal.Goal.
func (s *Stages) Plan(ctx context.Context, r goal.Round) (plan.Plan, error) {
	s.Planned++
	return s.Goal.Plan(ctx, r)
}

// Observe implements goal.Goal.
func (s *Stages) Observe(ctx context.Context, lock *async.Guard) (goal.Observation, error) {
	s.Observed++
	return s.Goal.Observe(ctx, lock)
}

// Recall implements goal.Goal. It counts the desired state, which is made once for a comparison.
func (s *Stages) Recall(ctx context.Context, lock *async.Guard) (goal.Known, error) {
	known, err := s.Goal.Recall(ctx, lock)
	if known.Want != nil {
		s.Desired++
	}
	return known, err
}

// CountStages brings a Service to its desired state.
func (r *Reconciler) CountStages(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (Stages, error) {
	asked, err := r.engine().NewAsked(ctx, goal.Subject{Service: svc, Nodes: nodes}, false)
	if err != nil {
		return Stages{}, err
	}
	counted := &Stages{Goal: asked}
	p := &pursuit{rounds: r.rounds, goal: counted, req: dispatch.Request{Operation: dispatch.Ensure, Service: svc, Nodes: nodes, MayCreate: always}}
	_, err = p.reconcile(ctx)
	p.distrust(err)
	p.lock.Release()
	return *counted, err
}

// Serve does a round for a Service at once, without the queue.
func (r *Reconciler) Serve(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	operation := dispatch.Delete
	if dispatch.Wanted(svc) {
		operation = dispatch.Ensure
	}
	ctx, once := r.rounds.begin(ctx, dispatch.Request{Operation: operation, Service: svc, Nodes: nodes, MayCreate: always})
	return once.Step(ctx)
}

// Update is Repair for a Service that may be deleted already: nothing is created.
func (r *Reconciler) Update(ctx context.Context, svc *v1.Service, nodes []*v1.Node) error {
	_, err := r.Repair(ctx, svc, nodes, func(context.Context) (bool, error) { return false, nil })
	return err
}

// Waits returns the number of rounds that wait for the cloud.
func (r *Reconciler) Waits() int { return r.engine().Cloud.Watcher.Waiting() }
