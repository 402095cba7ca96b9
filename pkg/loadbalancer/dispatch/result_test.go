package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
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

// The end of a round that has gone on by itself brings the call that has the result, for a Service
// that it has written into meanwhile; where it is not detached, the call asks for the next one.
func TestCall_IsMadeAgainAtTheEndOfADetachedRound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operation        dispatch.Operation
		detaches, joined bool
		again, called    bool
	}{
		"detached":         {operation: dispatch.Ensure, detaches: true, called: true},
		"not detached":     {operation: dispatch.Ensure, again: true},
		"a deletion":       {operation: dispatch.Delete, detaches: true, again: true},
		"joined by a call": {operation: dispatch.Ensure, detaches: true, joined: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			begun, release, ended := make(chan struct{}, 2), make(chan struct{}), make(chan *v1.Service, 2)
			d := start(t, func(o *dispatch.Options) {
				o.Clock, o.Hold = clk, held
				o.Detaches, o.Ended = func(*v1.Service) bool { return test.detaches }, func(svc *v1.Service) { ended <- svc }
				o.Written = func(_, now *v1.Service) bool { return now.Annotations["written"] != "" }
				o.Reconcile = func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) {
					begun <- struct{}{}
					<-release
					return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}}, nil
				}
			})
			returned := make(chan error)
			call := func() {
				_, err := d.Call(t.Context(), dispatch.Request{Operation: test.operation, Service: service("3")})
				returned <- err
			}
			go call()
			<-begun
			for !clk.HasWaiters() {
				time.Sleep(time.Millisecond)
			}
			clk.Step(held)
			var again *api.RetryError
			if err := <-returned; errors.As(err, &again) != test.again || errors.Is(err, dispatch.ErrGoesOn) == test.again {
				t.Fatal(err)
			}
			if d.Unclaimed("u") != test.again {
				t.Errorf("unclaimed is %v while the round goes on", !test.again)
			}
			if test.joined {
				go call()
				for !clk.HasWaiters() {
					time.Sleep(time.Millisecond)
				}
			}
			close(release)
			if test.joined {
				if err := <-returned; err != nil {
					t.Error(err)
				}
			}
			for d.Busy("u") {
				time.Sleep(time.Millisecond)
			}
			if test.called {
				if svc := <-ended; svc.UID != "u" {
					t.Errorf("Ended is called for %v", svc)
				}
				written := service("4")
				written.Annotations = map[string]string{"written": "yes"}
				status, err := d.Call(t.Context(), dispatch.Request{Operation: test.operation, Service: written})
				if err != nil || len(status.Ingress) != 1 || len(begun) > 0 {
					t.Errorf("the next call has %v, %v, after %d more rounds", status, err, len(begun))
				}
			}
			d.Close()
			if len(ended) > 0 {
				t.Error("Ended is called for what a call has by itself")
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
