package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
)

// operation is what a request wants done.
type operation string

const (
	operationEnsure operation = "ensure"
	operationUpdate operation = "update"
	operationRepair operation = "repair"
	operationDelete operation = "delete"
)

// request asks for one round of work on a Service.
type request struct {
	operation operation
	svc       *v1.Service
	nodes     []*v1.Node
	mayCreate func(context.Context) (bool, error)
	progress  *progress
}

// actors do the work of Services, one piece at a time for each.
type actors = async.Actors[request, *v1.LoadBalancerStatus]

// places is how many rounds are at work at the same time, those of the service
// controller and those of our own; rounds that wait for the cloud do not count.
const places = 300

func newActors(r *Reconciler) *actors {
	return async.NewActors(async.Behavior[request, *v1.LoadBalancerStatus]{
		Serve: r.serve,
		Merge: merged,
		Joins: func(serving, later request) bool {
			return serving.operation == later.operation &&
				(later.operation == operationDelete || later.operation == operationEnsure && serving.asks(later.svc))
		},
	})
}

// Actors gives how many Services are being worked on, and of how many there is a result
// that no call has fetched yet.
func (r *Reconciler) Actors() (working, left int) { return r.actors.Size() }

// merged makes one request of two that wait for the same turn: the newer Service and
// its nodes count, and what may make a load balancer.
func merged(queued, later request) (request, bool) {
	if (queued.operation == operationDelete) != (later.operation == operationDelete) {
		return queued, false
	}
	if older(later.svc, queued.svc) {
		later.svc = queued.svc
	}
	if queued.operation == operationEnsure {
		later.operation, later.mayCreate = queued.operation, queued.mayCreate
	}
	later.progress = queued.progress
	return later, true
}

// asks reports whether a Service asks for what it asks for in the request.
func (r request) asks(svc *v1.Service) bool {
	return reflect.DeepEqual(r.svc.Spec, svc.Spec) && maps.Equal(r.svc.Annotations, svc.Annotations)
}

// older reports whether a Service is surely older than another state of it.
func older(a, b *v1.Service) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}

// progress is when a request began, and when it is expected to end.
type progress struct {
	began time.Time

	mu  sync.Mutex
	end time.Time // zero as long as nobody knows
}

func (p *progress) expect(end time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = end
}

func (p *progress) expected() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

// call does the work of a call that holds a worker of the service controller, and
// waits for its end as long as the call may hold it. Past that the work goes on by
// itself, and the call ends with an *api.RetryError that asks for the next call at
// about the time of its end; that one has the result. Calls of the same kind that
// come meanwhile wait for the same end.
func (r *Reconciler) call(ctx context.Context, req request) (*v1.LoadBalancerStatus, error) {
	key := string(req.svc.UID)
	before, status, err, ok := r.actors.Left(key)
	if ok && before.operation == req.operation && (req.operation == operationDelete || before.asks(req.svc)) {
		return status, err
	}
	req.svc, req.progress = req.svc.DeepCopy(), &progress{began: r.options.Clock.Now()}
	task, err := r.actors.Submit(ctx, key, req)
	if err != nil {
		return nil, errClosed(err)
	}
	back, release := r.workers.Hold(ctx, req.svc.Namespace, r.options.Hold)
	defer release()
	status, ended, err := task.Wait(ctx, back)
	if !ended {
		return nil, r.handBack(req.svc, task.Request())
	}
	return status, errClosed(err)
}

// errClosed tells the end of the process in one way.
func errClosed(err error) error {
	if errors.Is(err, async.ErrClosed) {
		return watcher.ErrClosed
	}
	return err
}

// own does work of our own controller, which holds no worker of anybody: it returns
// at the end.
func (r *Reconciler) own(ctx context.Context, req request) (*v1.LoadBalancerStatus, error) {
	req.svc, req.progress = req.svc.DeepCopy(), &progress{began: r.options.Clock.Now()}
	task, err := r.actors.Submit(ctx, string(req.svc.UID), req)
	if err != nil {
		return nil, errClosed(err)
	}
	status, _, err := task.Wait(ctx, nil)
	return status, errClosed(err)
}

// serve does what a request asks for, when the turn of its Service has come.
func (r *Reconciler) serve(ctx context.Context, req request) (*v1.LoadBalancerStatus, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Patience, errPatience)
	defer cancel()
	free := r.places.calls
	if req.operation == operationRepair || req.operation == operationUpdate {
		free = r.places.own
	}
	ctx, leave, err := free.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	progress := func(left time.Duration) { req.progress.expect(r.options.Clock.Now().Add(left)) }
	if req.operation == operationDelete {
		return nil, r.delete(ctx, req.svc, progress)
	}
	svc, nodes, ok := r.newest(req)
	if !ok {
		return svc.Status.LoadBalancer.DeepCopy(), nil
	}
	drift := r.store.Get(svc.UID).Drift
	return r.bring(ctx, svc, nodes, call{mayCreate: req.mayCreate, tells: req.operation == operationEnsure, drift: drift, progress: progress})
}

// newest gives the Service of a request and its nodes as they are when its turn has
// come. It is false where nothing is to be done: the Service does not want a load
// balancer any more, or a newer state of it has been served.
func (r *Reconciler) newest(req request) (*v1.Service, []*v1.Node, bool) {
	svc, nodes := req.svc, req.nodes
	if r.options.Newest != nil {
		switch now, all := r.options.Newest(svc); {
		case now == nil && nodes == nil:
			return svc, nil, false
		case now != nil && !older(now, svc):
			svc, nodes = now, all
		}
	}
	if !wanted(svc) {
		return svc, nil, false
	}
	if !r.store.Advance(svc) {
		return svc, nil, false
	}
	return svc, nodes, true
}

// handBack says when the result of a request is to be asked for.
func (r *Reconciler) handBack(svc *v1.Service, req request) error {
	now := r.options.Clock.Now()
	left := r.usual(svc, req.operation) // unless it waits for the cloud by now
	if at := req.progress.expected(); !at.IsZero() {
		left = at.Sub(now)
	}
	doing := "brought up to date"
	switch {
	case req.operation == operationDelete:
		doing = "deleted"
	case len(svc.Status.LoadBalancer.Ingress) == 0:
		doing = "created"
	}
	const margin, soonest, latest = time.Second, 3 * time.Second, 5 * time.Minute
	if left > 0 {
		again := max(left+margin, soonest).Round(time.Second)
		return api.NewRetryError(fmt.Sprintf("the load balancer is being %s, which goes on by itself: looking again in %s", doing, again), again)
	}
	again := min(max(soonest, -left), latest).Round(time.Second) // twice as late at most
	return api.NewRetryError(fmt.Sprintf("the load balancer is still being %s, after %s, which is longer than usual: looking again in %s",
		doing, now.Sub(req.progress.began).Round(time.Second), again), again)
}

// usual gives how long a request usually takes.
func (r *Reconciler) usual(svc *v1.Service, operation operation) time.Duration {
	switch {
	case operation == operationDelete:
		return r.applier.EstimateDeletion()
	case len(svc.Status.LoadBalancer.Ingress) == 0:
		return r.applier.EstimateCreation(r.options.Config.LoadBalancer.LBProvider)
	}
	return time.Duration(len(svc.Spec.Ports)) * r.applier.EstimateChange(r.options.Config.LoadBalancer.LBProvider)
}
