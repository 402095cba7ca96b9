package reading

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
)

// A full read waits for a monitor that ovn leaves PENDING: another wait before it held the worker
// for two minutes, which is a Warning. And a part that another client removes never disappears from
// earlier lists.
func TestContents_OfListsWaitForNoPendingPart(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"PENDING_CREATE", "PENDING_DELETE"} {
		waitsForNothing(t, model.Status{Provisioning: status})
	}
}

func waitsForNothing(t *testing.T, status model.Status) {
	t.Helper()
	active := model.Status{Provisioning: "ACTIVE", Operating: "ONLINE"}
	lb := &model.LoadBalancer{ID: "lb", Status: active, Listeners: []model.Listener{{Status: active, Pool: model.Pool{
		ID: "pool", Status: active, Monitor: &model.Monitor{ID: "monitor", Status: status},
	}}}}
	if !model.AnyPending(lb.Unsound()) {
		t.Fatalf("nothing is PENDING: %v", lb.Unsound())
	}
	r := Reader{Observer: &observe.Observer{Source: model.Lists}} // it cannot wait
	got, _, err := r.settleChildren(t.Context(), &Progress{lb: lb})
	if err != nil || got != lb {
		t.Errorf("%v: got %v, error %v", status, got, err)
	}
}
