package resync

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// emitted returns the reasons of the events since the last call.
func (f *fixture) emitted() (reasons []string) {
	for {
		select {
		case event := <-f.events:
			reasons = append(reasons, strings.Fields(event)[1])
		default:
			return reasons
		}
	}
}

// After an event that a load balancer could not follow its nodes, another event reports the
// recovery.
func TestController_TellsOnceThatALoadBalancerIsUpToDateAgain(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]string{
		0: "",
		1: "UpdateLoadBalancerFailed UpdatedLoadBalancer",
		3: "UpdateLoadBalancerFailed UpdateLoadBalancerFailed UpdateLoadBalancerFailed UpdatedLoadBalancer",
	} {
		tries := 0
		engine := &fakeEngine{serve: func(context.Context, *v1.Service) error {
			if tries++; tries <= failures {
				return errors.New("broken")
			}
			return nil
		}}
		run(t, engine, objects(newService("web")), func(f *fixture) {
			f.deleteNode("b")
			f.advance(promptBatchPeriod)
			f.advance(10 * time.Minute)
			if got := strings.Join(f.emitted(), " "); got != want {
				t.Errorf("%d failures: events %q, want %q", failures, got, want)
			}
			f.addNode(newNode("c", "10.0.0.3"))
			f.advance(batchPeriod)
			if got := f.emitted(); len(got) > 0 {
				t.Errorf("%d failures: later events %q", failures, got)
			}
		})
	}
}

// A later Service of the same name has not failed.
func TestController_TellsOfNoRecoveryOfAnotherService(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	engine := &fakeEngine{serve: func(context.Context, *v1.Service) error {
		if broken.Load() {
			return errors.New("broken")
		}
		return nil
	}}
	run(t, engine, objects(newService("web")), func(f *fixture) {
		f.deleteNode("b")
		f.advance(promptBatchPeriod)
		if got := f.emitted(); len(got) != 1 || got[0] != string(reason.UpdateFailed) {
			t.Errorf("events %q", got)
		}
		second := newService("web")
		second.UID = "uid-of-the-second"
		services := f.client.CoreV1().Services("default")
		if err := services.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := services.Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		broken.Store(false)
		f.advance(lastRetryDelay)
		if got := f.emitted(); len(got) > 0 {
			t.Errorf("events %q", got)
		}
	})
}

// A repair of a Service that the service controller retries because it is refused ends without an error.
func TestController_TellsOfNoRecoveryWhileServiceIsRefused(t *testing.T) {
	t.Parallel()
	tries := 0
	engine := &fakeEngine{serve: func(context.Context, *v1.Service) error {
		if tries++; tries == 1 {
			return errors.New("refused")
		}
		return nil
	}}
	engine.refused.Store(true)
	run(t, engine, objects(newService("web")), func(f *fixture) {
		f.deleteNode("b")
		f.advance(promptBatchPeriod)
		f.advance(10 * time.Minute)
		if got := strings.Join(f.emitted(), " "); got != string(reason.UpdateFailed) {
			t.Errorf("events %q", got)
		}
		engine.refused.Store(false)
		f.addNode(newNode("c", "10.0.0.3"))
		f.advance(batchPeriod)
		if got := strings.Join(f.emitted(), " "); got != string(reason.Updated) {
			t.Errorf("after the refusal: events %q", got)
		}
	})
}
