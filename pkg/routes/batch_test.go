package routes_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

func TestBatch_ServesOthersAfterCallThatEndsEarly(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	stays, leaves := k.join("node-1", "10.244.1.0/24"), k.join("node-2", "10.244.2.0/24")
	ctx, leave := context.WithCancel(t.Context())
	leave()
	err := k.table.CreateRoute(ctx, "", "", &cloudprovider.Route{
		TargetNode: "node-2", TargetNodeAddresses: leaves.Status.Addresses, DestinationCIDR: "10.244.2.0/24",
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	err = k.table.CreateRoute(t.Context(), "", "", &cloudprovider.Route{
		TargetNode: "node-1", TargetNodeAddresses: stays.Status.Addresses, DestinationCIDR: "10.244.1.0/24",
	})
	if err != nil {
		t.Error(err)
	}
	k.wantRoutes("10.244.1.0/24 via " + k.address(stays))
}

// A batch without callers does not wait for its requests.
func TestBatch_EndsWithItsLastCall(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	k.join("node-1", "10.244.1.0/24")
	k.list()
	defer k.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/routers/*", Delay: time.Hour, Count: 1})()
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	k.spent()
	go func() {
		done <- k.table.DeleteRoute(ctx, "", &cloudprovider.Route{Name: "10.244.1.0/24 via 10.6.0.9"})
	}()
	time.Sleep(50 * time.Millisecond) // it may be at work by now, or not: both must end
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	await.Eventually(t, "the next batch", func(context.Context) error { return errors.Join(k.sync()...) })
}
