package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
)

// versions remembers nothing: every Service is the newest.
type versions struct{}

func (versions) Advance(*v1.Service) bool { return true }

func service(version string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: version},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
	}
}

// start returns a Dispatcher whose rounds are done by reconcile.
func start(t *testing.T, change func(*dispatch.Options)) *dispatch.Dispatcher {
	t.Helper()
	options := dispatch.Options{
		Clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Timeout: time.Hour, Hold: time.Hour,
		Usual: func(dispatch.Request) time.Duration { return time.Minute }, Served: versions{},
	}
	change(&options)
	d := dispatch.New(options)
	t.Cleanup(d.Close)
	return d
}

// handedBack returns a Dispatcher with a round that has gone on by itself, and has ended
// with a status and an error, or none.
func handedBack(t *testing.T, operation dispatch.Operation, status *v1.LoadBalancerStatus, result error) *dispatch.Dispatcher {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	began, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	d := start(t, func(o *dispatch.Options) {
		o.Clock, o.Hold = clk, time.Minute
		o.Reconcile = func(_ context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
			r.Progress(90 * time.Second)
			close(began)
			<-release
			return status, result
		}
	})
	go func() {
		_, err := d.Call(t.Context(), dispatch.Request{Operation: operation, Service: service("3")})
		ended <- err
	}()
	<-began
	var err error
	for err == nil { // the call waits by a timer of the clock, once it has begun to
		clk.Step(time.Minute)
		select {
		case err = <-ended:
		case <-time.After(time.Millisecond):
		}
	}
	var retry *api.RetryError
	if !errors.As(err, &retry) {
		t.Fatalf("handed back with %v", err)
	}
	close(release)
	for working, unfetched := d.Size(); working != 0 || unfetched != 1; working, unfetched = d.Size() {
		time.Sleep(time.Millisecond)
	}
	return d
}

func TestCall_BeginsWithTheNewestState(t *testing.T) {
	t.Parallel()
	var seen string
	d := start(t, func(o *dispatch.Options) {
		o.Newest = func(*v1.Service) (*v1.Service, []*v1.Node) { return service("7"), []*v1.Node{{}} }
		o.Reconcile = func(_ context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
			seen = r.Service.ResourceVersion
			return &v1.LoadBalancerStatus{}, nil
		}
	})
	if _, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: service("3")}); err != nil {
		t.Fatal(err)
	}
	if seen != "7" {
		t.Errorf("began with version %s", seen)
	}
}

func TestCall_DoesNothingForAServiceThatWantsNoLoadBalancer(t *testing.T) {
	t.Parallel()
	d := start(t, func(o *dispatch.Options) {
		o.Reconcile = func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) {
			return nil, errors.New("reconciled")
		}
	})
	svc := service("3")
	svc.Spec.Type = v1.ServiceTypeClusterIP
	if _, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: svc}); err != nil {
		t.Error(err)
	}
}

func TestWait_DoesNothingForAnUpdateOfAServiceThatHasGone(t *testing.T) {
	t.Parallel()
	d := start(t, func(o *dispatch.Options) {
		o.Newest = func(*v1.Service) (*v1.Service, []*v1.Node) { return nil, nil }
		o.Reconcile = func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) {
			return nil, errors.New("reconciled")
		}
	})
	if _, err := d.Wait(t.Context(), dispatch.Request{Operation: dispatch.Update, Service: service("3"), Nodes: []*v1.Node{{}}}); err != nil {
		t.Error(err)
	}
}

func TestCall_HandsItsWorkerBackAndHasTheResultLater(t *testing.T) {
	t.Parallel()
	d := handedBack(t, dispatch.Ensure, &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}}, nil)
	status, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: service("3")})
	if err != nil || len(status.Ingress) != 1 {
		t.Errorf("the next call has %v, %v", status, err)
	}
}
