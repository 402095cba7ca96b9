package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func observedSample() model.Observed {
	lb := func(id string) *model.LoadBalancer {
		pool := model.Pool{ID: "pool", Members: model.MembersOf(model.Member{Address: "10.0.0.1"}), Monitor: &model.Monitor{Delay: 5}}
		return &model.LoadBalancer{
			ID: id, FloatingIP: &model.FloatingIP{ID: "fip"}, Orphans: []model.Pool{pool},
			Listeners: []model.Listener{{Port: 80, AllowedCIDRs: []string{"10.0.0.0/8"}, InsertHeaders: []string{"X-Forwarded-For"}, Pool: pool}},
		}
	}
	return model.Observed{
		LoadBalancer: lb("lb"), Outgoing: lb("old"), Duplicates: []model.LoadBalancer{*lb("surplus")}, UnattachedFloatingIPs: []model.FloatingIP{{ID: "spare"}},
	}
}

func TestObserved_CloneIsEqual(t *testing.T) {
	t.Parallel()
	for name, observed := range map[string]model.Observed{"nothing": {}, "everything": observedSample()} {
		if diff := cmp.Diff(observed, observed.Clone()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestObserved_CloneSharesNothingThatCanBeChanged(t *testing.T) {
	t.Parallel()
	original := observedSample()
	clone := original.Clone()
	for _, lb := range []*model.LoadBalancer{clone.LoadBalancer, clone.Outgoing, &clone.Duplicates[0]} {
		lb.ID, lb.FloatingIP.ID = "changed", "changed"
		l := &lb.Listeners[0]
		l.Port, l.AllowedCIDRs[0], l.InsertHeaders[0] = 81, "changed", "changed"
		for _, pool := range []*model.Pool{&l.Pool, &lb.Orphans[0]} {
			pool.ID, pool.Members, pool.Monitor.Delay = "changed", model.Members{}, 6
		}
	}
	clone.UnattachedFloatingIPs[0].ID = "changed"
	if diff := cmp.Diff(observedSample(), original); diff != "" {
		t.Errorf("a change came through: %s", diff)
	}
}
