package resync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

func TestController_RepairsDriftAndPublishesTheNewAddress(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{drifted: []types.NamespacedName{{Namespace: "default", Name: "web"}}, address: "192.0.2.9"}
	run(t, engine, objects(newService("web")), func(f *fixture) {
		f.assertRepaired("web:a,b")
		if got := f.service("web").Status.LoadBalancer; len(got.Ingress) != 1 || got.Ingress[0].IP != "192.0.2.9" {
			t.Errorf("published %v", got)
		}
		if !f.engine.existed[0] {
			t.Error("the Service is there, but Repair was told otherwise")
		}
	})
}

func TestController_RetriesWhatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failure error
		after   time.Duration
	}{
		"asks to come back": {fmt.Errorf("wrapped: %w", api.NewRetryError("later", time.Minute)), time.Minute},
		"fails":             {errors.New("broken"), firstRetryDelay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			engine := &fakeEngine{serve: func(context.Context, *v1.Service) error {
				if tries++; tries == 1 {
					return test.failure
				}
				return nil
			}}
			run(t, engine, objects(newService("web")), func(f *fixture) {
				f.deleteNode("b")
				f.advance(promptBatchPeriod)
				select {
				case event := <-f.events:
					if !strings.Contains(event, test.failure.Error()) || !strings.Contains(event, string(reason.UpdateFailed)) {
						t.Errorf("event %q, want %q", event, test.failure)
					}
				default:
					t.Error("no event")
				}
				f.advance(test.after - time.Nanosecond)
				f.assertRepaired()
				f.advance(time.Nanosecond)
				f.assertRepaired("web:a")
			})
		})
	}
}

// The service controller creates the load balancer of a Service without one. A new node meanwhile
// is no error for such a Service.
func TestController_LeavesServicesWithoutLoadBalancerToTheServiceController(t *testing.T) {
	t.Parallel()
	unserved := newService("new")
	unserved.Status.LoadBalancer.Ingress = nil
	tries := 0
	engine := &fakeEngine{serve: func(_ context.Context, s *v1.Service) error {
		if s.Name != "new" {
			return nil
		}
		tries++
		return fmt.Errorf("wrapped: %w", ErrNoLoadBalancer)
	}}
	run(t, engine, objects(unserved, newService("web")), func(f *fixture) {
		f.deleteNode("b")
		f.advance(promptBatchPeriod)
		f.advance(2 * lastRetryDelay)
		f.assertRepaired("web:a")
		if tries != 1 {
			t.Errorf("%d tries", tries)
		}
		select {
		case event := <-f.events:
			t.Errorf("event %q", event)
		default:
		}
	})
}

// The service controller publishes the first address of a Service.
func TestController_DoesNotPublishTheFirstAddress(t *testing.T) {
	t.Parallel()
	unserved := newService("new")
	unserved.Status.LoadBalancer.Ingress = nil
	run(t, &fakeEngine{address: "192.0.2.9"}, objects(unserved), func(f *fixture) {
		f.controller.Enqueue(unserved)
		f.advance(batchPeriod)
		f.assertRepaired("new:a,b")
		if got := f.service("new").Status.LoadBalancer.Ingress; len(got) > 0 {
			t.Errorf("published %v", got)
		}
	})
}

// MetalLB and similar implementations publish addresses of Services that the service controller
// never handled.
func TestController_DoesNotTouchServicesOfOtherImplementations(t *testing.T) {
	t.Parallel()
	theirs := newService("theirs")
	theirs.Finalizers = nil
	engine := &fakeEngine{drifted: []types.NamespacedName{{Namespace: "default", Name: "theirs"}}, address: "203.0.113.1"}
	run(t, engine, objects(theirs, newService("web")), func(f *fixture) {
		f.addNode(newNode("c", "10.0.0.3"))
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b,c")
	})
}
