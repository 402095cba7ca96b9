package observe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// TestLimits_AreAskedForByMarkOrLegacyValue reads listeners with a timeout of 60 seconds and of 50,
// Octavia's default. ovn stores none, so that none was requested.
//
//proves:42
func TestLimits_AreAskedForByMarkOrLegacyValue(t *testing.T) {
	t.Parallel()
	id := ownership.Identity{ClusterName: "rig", ClusterID: "c", ServiceUID: "u", Namespace: "default", Service: "web"}
	theirs := []string{id.Name()}
	for what, test := range map[string]struct {
		tags        []string
		description string
		timeout     int
		asked       bool
	}{
		"made by cloud-provider-openstack, which always sends it":        {theirs, "", 50000, false},
		"made by cloud-provider-openstack, with the annotation":          {theirs, "", 60000, true},
		"made by it, and set back by us to what the operator chose":      {theirs, model.Limits{}.Mark(), 60000, false},
		"ours, left to the operator":                                     {id.Tags(), "", 60000, false},
		"ours, asked for":                                                {id.Tags(), "Set by Kubernetes: timeout_client_data", 60000, true},
		"ours, asked for what the operator has":                          {id.Tags(), "Set by Kubernetes: connection_limit, timeout_client_data", 50000, true},
		"ours, another one asked for":                                    {id.Tags(), "Set by Kubernetes: connection_limit", 60000, false},
		"ours, with somebody's own text, which says nothing of any wish": {id.Tags(), "timeout_client_data", 60000, false},
	} {
		for _, provider := range []string{"amphora", "ovn"} {
			lb := observe.Parts{
				LoadBalancer: octavia.LoadBalancer{ID: "lb", Name: id.Name(), Provider: provider},
				Listeners: []octavia.Listener{{
					ID: "l", Name: id.ListenerName(0), Protocol: "TCP", Port: 80, Tags: test.tags, Description: test.description,
					ConnectionLimit: new(-1), TimeoutClientData: new(test.timeout), TimeoutMemberConnect: new(5000), TimeoutMemberData: new(50000),
				}},
			}.Model(id)
			want := model.Limit{Value: test.timeout, Asked: test.asked && provider != "ovn"}
			if diff := cmp.Diff(want, lb.Listeners[0].Limits.TimeoutClientData); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
			if lb.Listeners[0].Limits.TimeoutMemberData.Asked {
				t.Errorf("%s: what Octavia starts with is taken for a wish", what)
			}
		}
	}
}
