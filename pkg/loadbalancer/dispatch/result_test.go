package dispatch_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
)

func TestCall_HasTheErrorOfARoundThatWentOnByItself(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	d := handedBack(t, dispatch.Ensure, nil, failed)
	if _, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: service("3")}); !errors.Is(err, failed) {
		t.Errorf("the next call has %v", err)
	}
}

func TestDeleted_ReportsADeletionThatSucceededOnce(t *testing.T) {
	t.Parallel()
	d := handedBack(t, dispatch.Delete, nil, nil)
	if d.Deleted("another") || !d.Deleted("u") || d.Deleted("u") {
		t.Error("a deletion is not reported, or twice")
	}
	if handedBack(t, dispatch.Delete, nil, errors.New("failed")).Deleted("u") {
		t.Error("a deletion that failed is reported")
	}
	if handedBack(t, dispatch.Ensure, nil, nil).Deleted("u") {
		t.Error("a round that deleted nothing is reported")
	}
}

func TestCall_HasTheErrorOfARoundThatItWaitsFor(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	d := start(t, func(o *dispatch.Options) {
		o.Reconcile = func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) { return nil, failed }
	})
	if _, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: service("3")}); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}

func TestCall_SaysWhenARoundTakesLongerThanUsual(t *testing.T) {
	t.Parallel()
	if err := unfinished(t, time.Hour, nil); !strings.Contains(err.Error(), "is being created, which goes on by itself") {
		t.Error(err)
	}
	if err := unfinished(t, 0, nil); !strings.Contains(err.Error(), "which is longer than usual") {
		t.Error(err)
	}
}

// A thousand load balancers that wait for their turn, ours or Octavia's, are asked for a few times
// each.
func TestCall_AsksAgainAfterAsLongAsARoundHasTaken(t *testing.T) {
	t.Parallel()
	for _, usual := range []time.Duration{0, held / 10} {
		var again *api.RetryError
		if err := unfinished(t, usual, nil); !errors.As(err, &again) || again.RetryAfter() != held {
			t.Errorf("usually %s: %v", usual, err)
		}
	}
}

// A new load balancer that waits for its turn behind a hundred others brings a call when it has it.
func TestCall_AsksSeldomForNewLoadBalancersOfACrowd(t *testing.T) {
	t.Parallel()
	const crowd = 110
	for name, test := range map[string]struct {
		announced bool
		operation dispatch.Operation
		services  int
		want      time.Duration
	}{
		"new":             {true, dispatch.Ensure, crowd, 5 * time.Minute},
		"there already":   {false, dispatch.Ensure, crowd, held},
		"to be deleted":   {true, dispatch.Delete, crowd, held},
		"new, few others": {true, dispatch.Ensure, 5, held},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			release, ended := make(chan struct{}), make(chan error, test.services)
			defer close(release)
			d := start(t, func(o *dispatch.Options) {
				o.Clock, o.Hold, o.Usual = clk, held, func(dispatch.Request) time.Duration { return held / 10 }
				o.Announced = func(*v1.Service) bool { return test.announced }
				o.Reconcile = func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) {
					<-release
					return &v1.LoadBalancerStatus{}, nil
				}
			})
			for i := range test.services {
				svc := service("3")
				svc.UID = types.UID(strconv.Itoa(i))
				go func() {
					_, err := d.Call(t.Context(), dispatch.Request{Operation: test.operation, Service: svc})
					ended <- err
				}()
			}
			for clk.Waiters() < 2*test.services { // the calls, and their rounds
				time.Sleep(time.Millisecond)
			}
			clk.Step(held)
			for range test.services {
				var again *api.RetryError
				if err := <-ended; !errors.As(err, &again) || again.RetryAfter() != test.want {
					t.Fatalf("%v, want it in %s", err, test.want)
				}
			}
		})
	}
}

// One that the cloud works on is ready soon after it was expected: its address is published then.
func TestCall_AsksAgainSoonWhereTheCloudIsLate(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]time.Duration{
		-20 * time.Second: 21 * time.Second,
		time.Second:       3 * time.Second,
		30 * time.Second:  30 * time.Second,
	} {
		var again *api.RetryError
		begin := func(r dispatch.Request) { r.Progress(held - late) }
		if err := unfinished(t, time.Hour, begin); !errors.As(err, &again) || again.RetryAfter() != want {
			t.Errorf("%s late: %v, want it in %s", late, err, want)
		}
	}
}

// held is how long the call of unfinished holds its worker.
const held = time.Minute

// unfinished returns the error of a call whose round goes on when it may hold its worker no longer.
func unfinished(t *testing.T, usual time.Duration, begin func(dispatch.Request)) error {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	defer close(release)
	d := start(t, func(o *dispatch.Options) {
		o.Clock, o.Hold, o.Usual = clk, held, func(dispatch.Request) time.Duration { return usual }
		o.Reconcile = func(_ context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
			if begin != nil {
				begin(r)
			}
			close(begun)
			<-release
			return &v1.LoadBalancerStatus{}, nil
		}
	})
	go func() {
		_, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: service("3")})
		ended <- err
	}()
	<-begun
	for !clk.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	clk.Step(held)
	return <-ended
}
