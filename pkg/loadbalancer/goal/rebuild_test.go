package goal

import (
	"context"
	"errors"
	"testing"
	"time"

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

// Record and status tree are enough, unless something that they lack can differ. Else everything is read.
func TestRebuild_TakesTheRecordWhereNothingElseCanDiffer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*rig, *Inputs, *state.Applied, *Desired)
		rebuilt bool
		polled  bool // the load balancer is asked for its updated_at
		err     error
	}{
		"nothing differs":       {rebuilt: true, polled: true},
		"with a floating IP":    {change: withRecordedFloatingIP("vip-of-lb", ""), rebuilt: true, polled: true},
		"its owner is not sure": {change: withRecordedFloatingIP("vip-of-lb", "legacy")},
		"it was detached":       {change: withRecordedFloatingIP("", "")},
		"no digest":             {change: func(_ *rig, _ *Inputs, applied *state.Applied, _ *Desired) { applied.Digests.Nodeless = "" }},
		"another request":       {change: func(_ *rig, _ *Inputs, _ *state.Applied, want *Desired) { want.LoadBalancer.Listeners[0].Port = 443 }},
		"groups are managed": {change: func(_ *rig, in *Inputs, _ *state.Applied, _ *Desired) {
			in.Settings.Access.SecurityGroupMode = "shared"
		}},
		"it is gone": {change: func(r *rig, _ *Inputs, _ *state.Applied, _ *Desired) { r.balancers = nil }},
		"it is another's": {change: func(r *rig, _ *Inputs, _ *state.Applied, _ *Desired) {
			r.balancers[0].Tags = anotherIdentity().Tags()
		}},
		"it was changed": {change: func(r *rig, _ *Inputs, _ *state.Applied, _ *Desired) {
			r.balancers[0].UpdatedAt.Time = noon.Add(time.Second)
		}, polled: true},
		"it has another listener": {change: func(r *rig, _ *Inputs, _ *state.Applied, _ *Desired) {
			r.tree.Listeners = append(r.tree.Listeners, octavia.ListenerStatus{})
		}, polled: true},
		"no snapshot":    {change: func(r *rig, _ *Inputs, _ *state.Applied, _ *Desired) { r.fails["load-balancers"] = errFailed }, err: errFailed},
		"no status tree": {change: func(r *rig, _ *Inputs, _ *state.Applied, _ *Desired) { r.fails["tree"] = errFailed }, polled: true, err: errFailed},
	} {
		r := newRig(t)
		in, want := r.ask().in, &Desired{LoadBalancer: fixture.Desired(t, r.svc, fixture.Config(), fixture.Amphora())}
		want.LoadBalancer.Listeners[0].Pool.Members = want.LoadBalancer.Listeners[0].Pool.Members.Map(func(_ int, m model.Member) model.Member {
			m.SubnetID = "subnet"
			return m
		})
		r.add(balancer("lb", func(lb *octavia.LoadBalancer) {
			lb.AdditionalVIPs = []octavia.AdditionalVIP{{SubnetID: "subnet6", Address: "fd00::5"}}
		}))
		r.treeOf(want.LoadBalancer)
		applied := &state.Applied{
			LoadBalancer: state.LoadBalancer{ID: "lb", Provider: "amphora", Adopted: true}, Seen: state.Seen{UpdatedAt: r.balancers[0].UpdatedAt.Time},
			Digests: state.Digests{Nodeless: digest.Nodeless(want.LoadBalancer, in.Settings)},
		}
		if test.change != nil {
			test.change(r, &in, applied, want)
		}
		r.sent = nil
		got, err := r.recaller.rebuild(r.ctx, in, applied, want)
		if !errors.Is(err, test.err) || (got != nil) != test.rebuilt || r.has("load-balancer-state") != test.polled {
			t.Errorf("%s: %+v, error %v, requests %v", name, got, err, r.sent)
		}
		if want.LoadBalancer.ID != "" || want.LoadBalancer.FloatingIP == nil || want.LoadBalancer.FloatingIP.ID != "" {
			t.Errorf("%s: the desired state is changed: %+v", name, want.LoadBalancer)
		}
		if got == nil {
			continue
		}
		lb := got.LoadBalancer
		if lb.ID != "lb" || lb.Provider != "amphora" || !lb.UpdatedAt.Equal(applied.Seen.UpdatedAt) || lb.VIP.PortID != "vip-of-lb" || lb.VIP.Address != "10.0.0.100" || len(lb.VIP.Additional) != 1 || !lb.Adopted {
			t.Errorf("%s: %+v", name, lb)
		}
		if lb.Listeners[0].ID != "listener" || lb.Listeners[0].Pool.Members.Len() != 1 || (lb.FloatingIP != nil) != (applied.LoadBalancer.FloatingIPID != "") {
			t.Errorf("%s: listener %+v, floating IP %+v", name, lb.Listeners[0], lb.FloatingIP)
		}
	}
}

// treeOf sets the status tree to that of a load balancer with one listener and one member.
func (r *rig) treeOf(lb *model.LoadBalancer) {
	l := lb.Listeners[0]
	pool := octavia.PoolStatus{NodeStatus: octavia.NodeStatus{ID: "pool", Name: l.Pool.Name}, Members: []octavia.MemberStatus{{NodeStatus: octavia.NodeStatus{ID: "member", Name: "node-1"}, Address: "10.0.0.1", Port: 30080}}}
	r.tree.Listeners = []octavia.ListenerStatus{{NodeStatus: octavia.NodeStatus{ID: "listener", Name: l.Name}, Pools: []octavia.PoolStatus{pool}}}
}

// withRecordedFloatingIP records a floating IP, which is on a port now.
func withRecordedFloatingIP(port, kind string) func(*rig, *Inputs, *state.Applied, *Desired) {
	return func(r *rig, _ *Inputs, applied *state.Applied, _ *Desired) {
		description := rigIdentity().FloatingIPs().Description()
		if kind == "legacy" {
			description = rigIdentity().FloatingIPs().LegacyDescription()
		}
		r.add(floatingAt("fip", "203.0.113.7", port, describedAs(description)))
		applied.LoadBalancer.FloatingIPID = "fip"
	}
}
