package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"
)

// queue works on many Services as the service controller does: with a number of workers, and with
// retries of failed work.
type queue struct {
	workers int
	// calls reports the ends of rounds that a call has not waited for; it may be nil.
	calls   *calls
	retries atomic.Int64
}

// calls makes the service controller call again at the end of a round.
type calls struct {
	mu    sync.Mutex
	ended map[types.UID]chan struct{}
}

// again is loadbalancer.Options.Ended.
func (c *calls) again(svc *v1.Service) {
	select {
	case c.of(svc.UID) <- struct{}{}:
	default:
	}
}

// of returns the channel that receives at the end of a round of a Service.
func (c *calls) of(uid types.UID) chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = map[types.UID]chan struct{}{}
	}
	if c.ended[uid] == nil {
		c.ended[uid] = make(chan struct{}, 1)
	}
	return c.ended[uid]
}

// mostTries is the maximum number of failures of one Service.
const mostTries = 20

// each does the work on all Services and returns the errors of those that still fail in the end.
func (q *queue) each(ctx context.Context, services []*v1.Service, work func(context.Context, *v1.Service) error) error {
	waiting := make(chan task, len(services))
	var open, workers sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	open.Add(len(services))
	for _, svc := range services {
		waiting <- task{svc, 0}
	}
	for range min(q.workers, len(services)) {
		workers.Go(func() {
			for t := range waiting {
				err := work(ctx, t.service)
				switch {
				case err == nil:
					open.Done()
				case t.tries+1 >= mostTries || ctx.Err() != nil:
					mu.Lock()
					failed = append(failed, fmt.Errorf("service %s: %w", t.service.Name, err))
					mu.Unlock()
					open.Done()
				default:
					q.retries.Add(1)
					go q.later(waiting, task{t.service, t.tries + 1}, err)
				}
			}
		})
	}
	open.Wait()
	close(waiting)
	workers.Wait()
	return errors.Join(failed...)
}

type task struct {
	service *v1.Service
	tries   int
}

// later queues a task again after the retry time of its error, or after the service controller's
// growing delay.
func (q *queue) later(waiting chan<- task, t task, err error) {
	delay := min(5*time.Second<<(t.tries-1), 5*time.Minute)
	var retry *api.RetryError
	if errors.As(err, &retry) {
		delay = retry.RetryAfter()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.calls.of(t.service.UID):
	}
	waiting <- t
}
