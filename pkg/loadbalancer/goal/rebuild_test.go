package goal

import (
	"context"
	"errors"
	"slices"
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
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
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

// A record is complete with the status tree, if nothing that it does not show can differ. Else everything is read.
func TestRebuild_TakesTheRecordWhereNothingElseCanDiffer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*scene, *Inputs, *state.Applied, *Desired)
		rebuilt bool
		polled  bool // the load balancer is asked for its updated_at
		err     error
	}{
		"nothing differs":       {rebuilt: true, polled: true},
		"with a floating IP":    {change: withRecordedFloatingIP("port of lb", ""), rebuilt: true, polled: true},
		"its owner is not sure": {change: withRecordedFloatingIP("port of lb", "legacy")},
		"it was detached":       {change: withRecordedFloatingIP("", "")},
		"no digest":             {change: func(_ *scene, _ *Inputs, applied *state.Applied, _ *Desired) { applied.Digests.Nodeless = "" }},
		"another request":       {change: func(_ *scene, _ *Inputs, _ *state.Applied, want *Desired) { want.LoadBalancer.Listeners[0].Port = 443 }},
		"groups are managed": {change: func(_ *scene, in *Inputs, _ *state.Applied, _ *Desired) {
			in.Settings.Access.SecurityGroupMode = "shared"
		}},
		"it is gone": {change: func(s *scene, _ *Inputs, _ *state.Applied, _ *Desired) { s.balancers = nil }},
		"it is another's": {change: func(s *scene, _ *Inputs, _ *state.Applied, _ *Desired) {
			s.balancers[0].Tags = s.other("other").Tags()
		}},
		"it was changed": {change: func(s *scene, _ *Inputs, _ *state.Applied, _ *Desired) { s.balancers[0].UpdatedAt.Time = noon }, polled: true},
		"it has another listener": {change: func(s *scene, _ *Inputs, _ *state.Applied, _ *Desired) {
			s.tree.Listeners = append(s.tree.Listeners, octavia.ListenerStatus{})
		}, polled: true},
		"no snapshot":    {change: func(s *scene, _ *Inputs, _ *state.Applied, _ *Desired) { s.fails["load balancers"] = errFailed }, err: errFailed},
		"no status tree": {change: func(s *scene, _ *Inputs, _ *state.Applied, _ *Desired) { s.fails["status tree"] = errFailed }, polled: true, err: errFailed},
	} {
		s := newScene(t, fixture.Config())
		in, want := s.ask().in, &Desired{LoadBalancer: fixture.Desired(t, s.svc, fixture.Config(), fixture.Amphora())}
		want.LoadBalancer.Listeners[0].Pool.Members = want.LoadBalancer.Listeners[0].Pool.Members.Map(func(_ int, m model.Member) model.Member {
			m.SubnetID = "subnet"
			return m
		})
		s.add("lb", s.id(), func(lb *octavia.LoadBalancer) {
			lb.AdditionalVIPs = []octavia.AdditionalVIP{{SubnetID: "subnet6", Address: "fd00::5"}}
		})
		s.treeOf(want.LoadBalancer)
		applied := &state.Applied{
			LoadBalancer: state.LoadBalancer{ID: "lb", Provider: "amphora", Adopted: true}, Seen: state.Seen{UpdatedAt: s.balancers[0].UpdatedAt.Time},
			Digests: state.Digests{Nodeless: digest.Nodeless(want.LoadBalancer, in.Settings)},
		}
		if test.change != nil {
			test.change(s, &in, applied, want)
		}
		s.sent = nil
		got, err := s.engine.recaller.rebuild(s.ctx, in, applied, want)
		if !errors.Is(err, test.err) || (got != nil) != test.rebuilt || slices.Contains(s.sent, "load balancer") != test.polled {
			t.Errorf("%s: %+v, error %v, requests %v", name, got, err, s.sent)
		}
		if want.LoadBalancer.ID != "" || want.LoadBalancer.FloatingIP == nil || want.LoadBalancer.FloatingIP.ID != "" {
			t.Errorf("%s: the desired state is changed: %+v", name, want.LoadBalancer)
		}
		if got == nil {
			continue
		}
		lb := got.LoadBalancer
		if lb.ID != "lb" || lb.Provider != "amphora" || !lb.UpdatedAt.Equal(applied.Seen.UpdatedAt) || lb.VIP.PortID != "port of lb" || lb.VIP.Address != "10.0.0.100" || len(lb.VIP.Additional) != 1 || !lb.Adopted {
			t.Errorf("%s: %+v", name, lb)
		}
		if lb.Listeners[0].ID != "listener" || lb.Listeners[0].Pool.Members.Len() != 1 || (lb.FloatingIP != nil) != (applied.LoadBalancer.FloatingIPID != "") {
			t.Errorf("%s: listener %+v, floating IP %+v", name, lb.Listeners[0], lb.FloatingIP)
		}
	}
}

// treeOf sets the status tree to that of a load balancer with one listener and one member.
func (s *scene) treeOf(lb *model.LoadBalancer) {
	l := lb.Listeners[0]
	pool := octavia.PoolStatus{NodeStatus: octavia.NodeStatus{ID: "pool", Name: l.Pool.Name}, Members: []octavia.MemberStatus{{NodeStatus: octavia.NodeStatus{ID: "member", Name: "node-1"}, Address: "10.0.0.1", Port: 30080}}}
	s.tree.Listeners = []octavia.ListenerStatus{{NodeStatus: octavia.NodeStatus{ID: "listener", Name: l.Name}, Pools: []octavia.PoolStatus{pool}}}
}

// withRecordedFloatingIP records a floating IP, which is on a port now.
func withRecordedFloatingIP(port, kind string) func(*scene, *Inputs, *state.Applied, *Desired) {
	return func(s *scene, _ *Inputs, applied *state.Applied, _ *Desired) {
		fip := floatingips.FloatingIP{ID: "fip", FloatingIP: "203.0.113.7", PortID: port, Description: s.id().FloatingIPs().Description()}
		if kind == "legacy" {
			fip.Description = s.id().FloatingIPs().LegacyDescription()
		}
		s.floatingIPs, applied.LoadBalancer.FloatingIPID = []floatingips.FloatingIP{fip}, "fip"
	}
}
