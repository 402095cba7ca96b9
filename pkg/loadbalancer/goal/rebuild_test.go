package goal

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// oneBalancer is a cloud with one load balancer and no floating IP.
type oneBalancer struct {
	project.Octavia
	lb octavia.LoadBalancer
}

func (p oneBalancer) LoadBalancers(context.Context, octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return []octavia.LoadBalancer{p.lb}, nil
}

func (oneBalancer) FloatingIPs(context.Context, neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return nil, nil
}

// The snapshot can be later than the one that the record was compared with: the floating IP may be
// gone since.
func TestRebuild_ReadsAllWhereALaterLookLacksTheFloatingIP(t *testing.T) {
	t.Parallel()
	there := oneBalancer{lb: octavia.LoadBalancer{ID: "lb", VIPPortID: "vip", ProvisioningStatus: model.StatusActive}}
	member := model.Member{Name: "node", Address: "10.0.0.1", Port: 30080}
	c := &recaller{project: project.New(there, there, clock.RealClock{})} // there is no Octavia to read a tree from
	in := Inputs{Settings: &settings.Settings{}}
	want := &Desired{LoadBalancer: &model.LoadBalancer{Listeners: []model.Listener{{Pool: model.Pool{Members: model.MembersOf(member)}}}}}
	observed, err := c.rebuild(t.Context(), in, &state.Applied{
		LoadBalancer: state.LoadBalancer{ID: "lb", FloatingIPID: "fip"},
		Digests:      state.Digests{Nodeless: digest.Nodeless(want.LoadBalancer, in.Settings)},
	}, want)
	if observed != nil || err != nil {
		t.Errorf("rebuilt %v, %v", observed, err)
	}
}
