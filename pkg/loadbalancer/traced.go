package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// traced is a goal with a span for each stage, and for each time that a stage goes on after a wait.
type traced struct{ goal.Goal }

// Recall implements goal.Goal.
func (t traced) Recall(ctx context.Context, lock *async.Guard) (known goal.Known, err error) {
	ctx, end := telemetry.Span(ctx, "recall")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Recall(ctx, lock)
}

// Observe implements goal.Goal.
func (t traced) Observe(ctx context.Context, lock *async.Guard) (have goal.Observation, err error) {
	ctx, end := telemetry.Span(ctx, "observe")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Observe(ctx, lock)
}

// Verify implements goal.Goal.
func (t traced) Verify(ctx context.Context, r goal.Round) (have goal.Observation, another bool, err error) {
	ctx, end := telemetry.Span(ctx, "verify")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Verify(ctx, r)
}

// Desire implements goal.Goal.
func (t traced) Desire(ctx context.Context, r goal.Round) (want *goal.Desired, err error) {
	ctx, end := telemetry.Span(ctx, "desire")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Desire(ctx, r)
}

// Plan implements goal.Goal.
func (t traced) Plan(ctx context.Context, r goal.Round) (todo plan.Plan, err error) {
	ctx, end := telemetry.Span(ctx, "plan")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Plan(ctx, r)
}

// Begin implements goal.Goal.
func (t traced) Begin(ctx context.Context, r goal.Round, first plan.Plan) (groups goal.SecurityGroups, report plan.Report, err error) {
	ctx, end := telemetry.Span(ctx, "begin")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Begin(ctx, r, first)
}

// Prepare implements goal.Goal.
func (t traced) Prepare(ctx context.Context, r goal.Round, todo plan.Plan) (err error) {
	ctx, end := telemetry.Span(ctx, "prepare")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Prepare(ctx, r, todo)
}

// Commit implements goal.Goal.
func (t traced) Commit(ctx context.Context, r goal.Round, reported plan.Plan, lock *async.Guard) (status *v1.LoadBalancerStatus, err error) {
	ctx, end := telemetry.Span(ctx, "commit")
	defer func() { end(async.Failure(err)) }()
	return t.Goal.Commit(ctx, r, reported, lock)
}
