package simulator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

func TestDisconnect_LetsUnansweredRequestFinish(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud := start(t, simulator.Options{Clock: clock, VIPPortDelay: time.Minute})
	service := client(t, cloud, cloud.Account)
	if clock.HasWaiters() {
		t.Fatal("somebody waits already")
	}
	asked := make(chan error, 1)
	go func() {
		asked <- loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Err
	}()
	await.Condition(t, "the creation begins", clock.HasWaiters)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := cloud.Disconnect(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Disconnect while a creation is under way: %v", err)
	}
	if err := <-asked; err == nil {
		t.Error("the creation was answered")
	}
	if n := len(cloud.Octavia.Snapshot()); n != 0 {
		t.Errorf("%d load balancers before the end", n)
	}
	clock.Step(time.Minute)
	if err := cloud.Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(cloud.Octavia.Snapshot()); n != 1 {
		t.Errorf("%d load balancers, want 1", n)
	}
}
