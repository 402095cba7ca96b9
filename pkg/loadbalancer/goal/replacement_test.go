package goal

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A load balancer is replaced if it is in ERROR or cannot become the desired one, as far as the Service permits that, and
// if only the Service uses it. The replacement is in the same subnet, and has a tag with its predecessor once an address is
// published.
func TestReplacement_IsForWhatCannotStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		allow, untagged, published bool
		change                     func(*model.LoadBalancer) // of the existing one
		ask                        func(*Inputs)
		replaced                   bool
		vip                        model.VIP
	}{
		"it stays":                            {allow: true, published: true},
		"it is unfit":                         {allow: true, published: true, change: func(lb *model.LoadBalancer) { lb.Provider = "ovn" }, replaced: true, vip: model.VIP{SubnetID: "there"}},
		"it is unfit, unpublished":            {allow: true, change: func(lb *model.LoadBalancer) { lb.Provider = "ovn" }, replaced: true, vip: model.VIP{SubnetID: "there"}},
		"it is unfit, not permitted":          {published: true, change: func(lb *model.LoadBalancer) { lb.Provider = "ovn" }},
		"it is unfit, without tags":           {allow: true, untagged: true, published: true, change: func(lb *model.LoadBalancer) { lb.Provider = "ovn" }},
		"it is in ERROR":                      {allow: true, published: true, change: failed, replaced: true, vip: model.VIP{SubnetID: "there"}},
		"it is in ERROR, not permitted":       {published: true, change: failed},
		"it is in ERROR, unpublished":         {change: failed, replaced: true, vip: model.VIP{SubnetID: "there"}},
		"it is another's":                     {allow: true, change: func(lb *model.LoadBalancer) { failed(lb); lb.Shared = &model.Shared{} }},
		"others use it":                       {allow: true, change: func(lb *model.LoadBalancer) { failed(lb); lb.Foreign = make([]model.Foreign, 1) }},
		"a subnet is named":                   {change: failed, ask: func(in *Inputs) { in.Settings.VIP.SubnetID = "subnet" }, replaced: true, vip: model.VIP{SubnetID: "subnet"}},
		"a network is named":                  {change: failed, ask: func(in *Inputs) { in.Settings.VIP.NetworkID = "network" }, replaced: true, vip: model.VIP{SubnetID: "subnet", NetworkID: "network"}},
		"a port is named, the existing one's": {change: failed, ask: func(in *Inputs) { in.Settings.VIP.PortID = "port" }, replaced: true, vip: model.VIP{PortID: "port"}},
		"another port is named":               {change: failed, ask: func(in *Inputs) { in.Settings.VIP.PortID = "free-port" }, replaced: true, vip: model.VIP{PortID: "free-port", SubnetID: "subnet"}},
	} {
		r := newRig(t)
		in := r.ask().in
		in.Settings.LoadBalancer.AllowReplace, in.ID.Untagged, in.Settings.VIP.SubnetID = test.allow, test.untagged, ""
		if test.ask != nil {
			test.ask(&in)
		}
		if in.Settings.Members.DefaultSubnetID = "subnet"; test.published {
			in.Published = published("10.0.0.5")
		}
		lb := &model.LoadBalancer{ID: "lb", Provider: "amphora", VIP: model.VIP{PortID: "port", SubnetID: "there", Address: "10.0.0.5"}, Status: model.Status{Provisioning: "ACTIVE"}}
		if test.change != nil {
			test.change(lb)
		}
		want := &Desired{LoadBalancer: fixture.Desired(t, r.svc, fixture.Config(), fixture.Amphora())}
		want.LoadBalancer.VIP = model.VIP{}
		asked := *in.Settings
		got, err := r.planner.replacement(t.Context(), in, Observation{Observed: &model.Observed{LoadBalancer: lb}}, want)
		if err != nil || (got != nil) != test.replaced {
			t.Errorf("%s: replaced by %+v, error %v", name, got, err)
			continue
		}
		if in.Settings.VIP.PortID != asked.VIP.PortID || in.Settings.VIP.SubnetID != asked.VIP.SubnetID {
			t.Errorf("%s: the settings of the Service are others", name)
		}
		if got == nil {
			continue
		}
		next := got.LoadBalancer
		if next.VIP.PortID != test.vip.PortID || next.VIP.SubnetID != test.vip.SubnetID || next.VIP.NetworkID != test.vip.NetworkID || got.Driver.Name != "amphora" {
			t.Errorf("%s: its VIP is %+v, its driver %s", name, next.VIP, got.Driver.Name)
		}
		hash := plan.ReplacementHash(want.LoadBalancer)
		marked := next.ReplacementHash == hash && slices.Contains(next.Tags, ownership.ReplacesTag("lb", hash))
		if marked != test.published || !marked && next.ReplacementHash != "" {
			t.Errorf("%s: its tag names its predecessor: %v, tags %v", name, marked, next.Tags)
		}
	}
}

func failed(lb *model.LoadBalancer) { lb.Status.Provisioning = "ERROR" }

// The addresses of a load balancer that is replaced are in use by itself, which is no obstacle.
func TestReplacement_MayHaveTheAddressOfWhatItReplaces(t *testing.T) {
	t.Parallel()
	for address, refused := range map[string]bool{"10.0.0.5": false, "10.0.0.1": true} { // the second is a node's
		r := newRig(t)
		in := r.ask().in
		in.Settings.Internal, in.Settings.LoadBalancerIP = true, address
		lb := &model.LoadBalancer{ID: "lb", Provider: "amphora", VIP: model.VIP{PortID: "port", SubnetID: "subnet", Address: "10.0.0.5"}, Status: model.Status{Provisioning: "ERROR"}}
		got, err := r.planner.replacement(t.Context(), in, Observation{Observed: &model.Observed{LoadBalancer: lb}}, &Desired{LoadBalancer: &model.LoadBalancer{}})
		if (err != nil) != refused || err == nil && got.LoadBalancer.VIP.Address != address {
			t.Errorf("%s: %+v, error %v", address, got, err)
		}
	}
}
