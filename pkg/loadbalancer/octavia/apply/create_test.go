package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
)

func TestWithSent_AddsMembersAndMonitorsAndLeavesWhatWasSentAsItIs(t *testing.T) {
	t.Parallel()
	pending := model.Status{Provisioning: "PENDING_CREATE"}
	wanted := &model.LoadBalancer{Listeners: []model.Listener{{Protocol: model.TCP, Port: 80, Pool: model.Pool{
		Members: model.MembersOf(model.Member{Address: "10.0.0.1", Port: 30080}, model.Member{Address: "10.0.0.2", Port: 30080}), Monitor: &model.Monitor{Type: "TCP"},
	}}}}
	sent := wanted.Clone()
	made := apply.WithSent(&model.LoadBalancer{Listeners: []model.Listener{
		{ID: "another", Protocol: model.TCP, Port: 79},
		{ID: "listener", Protocol: model.TCP, Port: 80, Pool: model.Pool{ID: "pool", Status: pending}},
	}}, wanted)
	want := model.Pool{ID: "pool", Status: pending, Monitor: &model.Monitor{Type: "TCP", Status: pending}, Members: model.MembersOf(
		model.Member{Address: "10.0.0.1", Port: 30080, Status: pending}, model.Member{Address: "10.0.0.2", Port: 30080, Status: pending},
	)}
	if diff := cmp.Diff(want, made.Listener(wanted.Listeners[0].Key()).Pool); diff != "" {
		t.Errorf("made is %s", diff)
	}
	if diff := cmp.Diff(sent, wanted); diff != "" {
		t.Errorf("what was sent is changed: %s", diff)
	}
}
