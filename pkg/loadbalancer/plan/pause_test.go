package plan_test

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

func TestPauses_NameWhatClientsLoseForAWhile(t *testing.T) {
	t.Parallel()
	tcp := model.ListenerKey{Transport: "TCP", Port: 80}
	old := &model.LoadBalancer{ID: "old"}
	next := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}
	made := plan.CreateListener{Listener: model.Listener{Protocol: "TCP", Port: 80}}
	for name, test := range map[string]struct {
		before model.Observed
		steps  []plan.Step
		want   []string
	}{
		"recreated":            {model.Observed{LoadBalancer: old}, []plan.Step{plan.DeleteLoadBalancer{ID: "old"}, next}, []string{"all ports, until the new load balancer is ready", ""}},
		"replaced":             {model.Observed{LoadBalancer: &model.LoadBalancer{ID: "new"}, Outgoing: old}, []plan.Step{plan.DeleteLoadBalancer{ID: "old", Replaced: true}}, []string{""}},
		"a duplicate":          {model.Observed{LoadBalancer: old}, []plan.Step{plan.DeleteLoadBalancer{ID: "second"}}, []string{""}},
		"deleted for good":     {model.Observed{LoadBalancer: old}, []plan.Step{plan.DeleteLoadBalancer{ID: "old"}}, []string{""}},
		"failed over":          {model.Observed{LoadBalancer: old}, []plan.Step{plan.FailOver{ID: "old"}}, []string{"all ports, while the provider rebuilds it"}},
		"a listener replaced":  {model.Observed{LoadBalancer: old}, []plan.Step{plan.DeleteListener{Key: tcp}, made}, []string{"TCP/80, until its listener is made again", ""}},
		"a port less":          {model.Observed{LoadBalancer: old}, []plan.Step{plan.DeleteListener{Key: tcp}}, []string{""}},
		"the address moves":    {model.Observed{LoadBalancer: old}, []plan.Step{plan.MoveFloatingIP{Address: "203.0.113.7"}}, []string{"connections to 203.0.113.7, for as long as the move takes"}},
		"another address":      {model.Observed{LoadBalancer: old}, []plan.Step{plan.DisassociateFloatingIP{Address: "203.0.113.7"}, plan.AssociateFloatingIP{}}, []string{"connections to 203.0.113.7", ""}},
		"no address any more":  {model.Observed{LoadBalancer: old}, []plan.Step{plan.DisassociateFloatingIP{Address: "203.0.113.7"}}, []string{""}},
		"forwardings give way": {model.Observed{LoadBalancer: old}, []plan.Step{plan.SetForwardings{FloatingIP: model.FloatingIP{Address: "203.0.113.7"}, From: []model.Forwarding{{}}}, plan.AssociateFloatingIP{}}, []string{"connections to 203.0.113.7, for as long as the move takes", ""}},
		"forwardings deleted":  {model.Observed{LoadBalancer: old}, []plan.Step{plan.SetForwardings{From: []model.Forwarding{{}}}}, []string{""}},
		"forwardings instead":  {model.Observed{LoadBalancer: old}, []plan.Step{plan.DisassociateFloatingIP{Address: "203.0.113.7"}, plan.SetForwardings{To: []model.Forwarding{{}}}}, []string{"connections to 203.0.113.7", ""}},
		"members and settings": {model.Observed{LoadBalancer: old}, []plan.Step{plan.SetMembers{}, plan.UpdateListener{}, plan.UpdatePool{}}, []string{"", "", ""}},
	} {
		if got := plan.Pauses(test.steps, test.before); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
