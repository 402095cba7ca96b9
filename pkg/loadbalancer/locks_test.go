package loadbalancer

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
)

func TestWhoComesFirstHasTheLockFirst(t *testing.T) {
	t.Parallel()
	var locks keyedLocks
	first, second, third := locks.queue("a"), locks.queue("a"), locks.queue("a")
	has := func(turn *turn) bool {
		select {
		case <-turn.come:
			return true
		default:
			return false
		}
	}
	if !has(first) || has(second) || has(third) || first.waited || !second.waited {
		t.Error("the first does not have the lock alone")
	}
	if other := locks.queue("b"); !has(other) {
		t.Error("another key's lock is held up")
	} else {
		other.leave()
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := second.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("who gives up gets %v", err)
	}
	if has(third) {
		t.Error("who gave up has let the next one in")
	}
	first.leave()
	first.leave()
	unlock, err := third.wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if len(locks.lines) > 0 {
		t.Errorf("left are %v", locks.lines)
	}
}

// A creation that went on without its worker, and began late, is not overtaken by the
// deletion: the load balancer would be made after it, and stay.
func TestWhatGoesOnByItselfIsDoneInTheOrderOfTheCalls(t *testing.T) {
	t.Parallel()
	r := &Reconciler{
		options: Options{Clock: clock.RealClock{}, Hold: time.Millisecond, Config: &config.Config{}},
		jobs:    newJobs(), applier: &apply.Applier{},
	}
	svc := &v1.Service{}
	svc.UID = types.UID("uid")
	begin, order := make(chan struct{}), make(chan string, 2)
	does := func(call string, begin <-chan struct{}) task {
		return func(ctx context.Context, _ *v1.Service, turn *turn) (*v1.LoadBalancerStatus, error) {
			<-begin
			unlock, err := turn.wait(ctx)
			if err != nil {
				return nil, err
			}
			defer unlock()
			order <- call
			return nil, nil
		}
	}
	var later *api.RetryError
	if _, err := r.work(t.Context(), svc, callEnsure, does(callEnsure, begin)); !errors.As(err, &later) {
		t.Fatalf("got %v, want to be called again", err)
	}
	at := make(chan struct{})
	close(at) // the deletion begins at once
	if _, err := r.work(t.Context(), svc, callDelete, does(callDelete, at)); !errors.As(err, &later) {
		t.Fatalf("got %v, want to be called again", err)
	}
	close(begin)
	if first, second := <-order, <-order; first != callEnsure || second != callDelete {
		t.Errorf("%s came before %s", first, second)
	}
	r.jobs.close()
}
