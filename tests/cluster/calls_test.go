package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// The only worker does not wait for slow creations. The service controller calls twice for each of
// these Services: when it is new, and when its load balancer is done. No event reports a retry.
func TestCreation_IsCalledForTwiceWhereNoWorkerWaits(t *testing.T) {
	t.Parallel()
	const services = 6
	w := startCrowd(t, 2, octavia.Delays{Create: 5 * time.Second}, "--concurrent-service-syncs=1")
	if err := w.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.addServices(services)
	w.awaitMembers(services, 2)
	calls, err := w.CCM.Ensured(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if calls > 2*services {
		t.Errorf("%d calls for %d Services", calls, services)
	}
	if log := w.CCM.Log(1000); strings.Contains(log, "retrying in") {
		t.Errorf("the service controller tries again:\n%s", log)
	}
	w.StopCCM()
	if events := w.events(); events["SyncLoadBalancerFailed"] > 0 || events["EnsuredLoadBalancer"] != services {
		t.Errorf("events %v", events)
	}
}
