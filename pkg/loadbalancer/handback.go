package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/wait"
)

// HoldFor gives how long a call may hold one of so many workers: half a second for
// each that there is. So however few they are, they begin with two Services a
// second, and Octavia makes at most about one load balancer a second in a project.
// A hundred and more, as there are by default, are enough to wait for the end: that
// is 0, no limit but Patience.
func HoldFor(workers int) time.Duration {
	const each, plenty = 500 * time.Millisecond, 100
	if workers >= plenty {
		return 0
	}
	return time.Duration(max(workers, 1)) * each
}

// The calls that hold a worker of the service controller.
const (
	callEnsure = "ensure"
	callUpdate = "update"
	callDelete = "delete"
)

// job is the work of a call. It goes on by itself when the call does not wait for
// its end.
type job struct {
	call  string
	svc   *v1.Service
	began time.Time
	done  chan struct{} // closed at the end; then status and err are set

	status *v1.LoadBalancerStatus
	err    error

	mu    sync.Mutex
	ready time.Time // when it usually ends; zero as long as nobody knows
}

func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// asks tells whether a Service asks for what it asked for when the job began.
func (j *job) asks(svc *v1.Service) bool {
	return reflect.DeepEqual(j.svc.Spec, svc.Spec) && maps.Equal(j.svc.Annotations, svc.Annotations)
}

func (j *job) expect(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ready = at
}

func (j *job) expected() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ready
}

// jobKey is a call for a Service.
type jobKey struct {
	service types.UID
	call    string
}

// jobs are those whose calls did not wait for their end.
type jobs struct {
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	mu      sync.Mutex
	left    map[jobKey]*job
	closed  bool
	running sync.WaitGroup
}

func newJobs() *jobs {
	ctx, cancel := context.WithCancel(context.Background())
	return &jobs{ctx: ctx, cancel: cancel, left: map[jobKey]*job{}}
}

// start counts a job, unless the process ends.
func (j *jobs) start() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.running.Add(1)
	return true
}

// close ends all jobs and waits for their end.
func (j *jobs) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.cancel()
	j.running.Wait()
}

func (j *jobs) leave(key jobKey, left *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.left[key] = left
}

// resume gives the job that an earlier call of this kind has left. One that has
// ended is given once. Whatever ended for another kind of call is history.
func (j *jobs) resume(key jobKey) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, call := range []string{callEnsure, callUpdate, callDelete} {
		other := jobKey{key.service, call}
		if left := j.left[other]; left != nil && left.ended() {
			delete(j.left, other)
			if other == key {
				return left
			}
		}
	}
	return j.left[key]
}

// of gives the jobs that calls for a Service have left.
func (j *jobs) of(service types.UID) (running, deleted bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, call := range []string{callEnsure, callUpdate, callDelete} {
		switch left := j.left[jobKey{service, call}]; {
		case left == nil:
		case !left.ended():
			running = true
		case call == callDelete && left.err == nil:
			deleted = true
		}
	}
	return running, deleted
}

// task is what a call has to do once it is the Service's turn, which it waits for.
type task func(context.Context, *v1.Service, *turn) (*v1.LoadBalancerStatus, error)

// work does the work of a call, and waits for its end as long as the call may hold
// its worker. Past that the work goes on by itself and the call ends with an
// *api.RetryError, which asks for the next call at about the time of its end; that
// one then has its result. Until it ends, further calls of its kind end at once.
// What calls for a Service have begun is done in the order of the calls, whether they
// waited or not: else a creation could come after the deletion.
func (r *Reconciler) work(ctx context.Context, svc *v1.Service, call string, do task) (*v1.LoadBalancerStatus, error) {
	key := jobKey{svc.UID, call}
	switch left := r.jobs.resume(key); {
	case left == nil:
	case !left.ended():
		return nil, r.handBack(svc, left)
	case call == callDelete, left.err != nil && left.asks(svc):
		return left.status, left.err
	}
	if !r.jobs.start() {
		return nil, wait.ErrClosed
	}
	j := &job{call: call, svc: svc.DeepCopy(), began: r.options.Clock.Now(), done: make(chan struct{})}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.jobs.ctx, cancel) //nolint:contextcheck // the end of the process ends the work too
	untie := context.AfterFunc(ctx, cancel)
	own = apply.Expecting(own, func(left time.Duration) { j.expect(r.options.Clock.Now().Add(left)) })
	turn := r.locks.queue(string(svc.UID)) // not by the goroutine, which may begin late
	go func() {
		defer r.jobs.running.Done()
		defer cancel()
		defer stop()
		j.status, j.err = do(own, j.svc, turn)
		turn.leave()
		close(j.done)
	}()
	timer := r.options.Clock.NewTimer(r.options.Hold)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-ctx.Done():
		<-j.done // it ends with the context
	case <-timer.C():
		if !j.ended() && untie() {
			r.jobs.leave(key, j)
			return nil, r.handBack(svc, j)
		}
		<-j.done
	}
	untie()
	return j.status, j.err
}

// holding gives a context that ends when a call may not hold its worker any longer.
func (r *Reconciler) holding(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := r.options.Clock.NewTimer(r.options.Hold)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// handBack says when the result of a job is to be asked for.
func (r *Reconciler) handBack(svc *v1.Service, j *job) error {
	now := r.options.Clock.Now()
	left := r.usual(svc, j.call) // unless it waits for the cloud by now
	if at := j.expected(); !at.IsZero() {
		left = at.Sub(now)
	}
	doing := "brought up to date"
	switch {
	case j.call == callDelete:
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
		doing, now.Sub(j.began).Round(time.Second), again), again)
}

// usual gives how long a call usually takes.
func (r *Reconciler) usual(svc *v1.Service, call string) time.Duration {
	switch {
	case call == callDelete:
		return r.applier.ExpectDeletion()
	case len(svc.Status.LoadBalancer.Ingress) == 0:
		return r.applier.ExpectCreation(r.options.Config.LoadBalancer.LBProvider)
	}
	return time.Duration(len(svc.Spec.Ports)) * r.applier.ExpectChange(r.options.Config.LoadBalancer.LBProvider)
}
