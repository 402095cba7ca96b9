package goal

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
)

// A monitor that ovn leaves PENDING is waited for by whoever reads the load balancer as a
// whole: waiting before that too held the worker for two minutes, which is a Warning.
func TestTakeOver_WaitsForNoPendingPart(t *testing.T) {
	t.Parallel()
	active := model.Status{Provisioning: "ACTIVE", Operating: "ONLINE"}
	lb := &model.LoadBalancer{ID: "lb", Status: active, Listeners: []model.Listener{{Status: active, Pool: model.Pool{
		ID: "pool", Status: active, Monitor: &model.Monitor{ID: "monitor", Status: model.Status{Provisioning: "PENDING_CREATE"}},
	}}}}
	if !model.AnyPending(lb.Unsound()) {
		t.Fatalf("nothing is PENDING: %v", lb.Unsound())
	}
	e := (&Engine{}).with(&observe.Observer{Brief: true}) // has nothing to wait with
	got, _, err := e.settleChildren(t.Context(), lb)
	if err != nil || got != lb {
		t.Errorf("got %v, error %v", got, err)
	}
}
