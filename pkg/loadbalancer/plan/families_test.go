package plan_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// VIPs cannot be added to a load balancer, or removed from it.
func TestNeedsReplacement_ForOtherAdditionalVIPs(t *testing.T) {
	t.Parallel()
	type vips = []model.AdditionalVIP
	six := model.AdditionalVIP{Family: model.IPv6, SubnetID: "six", Address: "fd00::5"}
	four := model.AdditionalVIP{Family: model.IPv4, SubnetID: "four", Address: "10.1.0.5"}
	for name, c := range map[string]struct {
		desired, there vips
		want           bool
	}{
		"none":                       {nil, nil, false},
		"any of the family":          {vips{{Family: model.IPv6}}, vips{six}, false},
		"any of the family, missing": {vips{{Family: model.IPv6}}, nil, true},
		"any of the family, another": {vips{{Family: model.IPv6}}, vips{four}, true},
		"of the subnet":              {vips{{Family: model.IPv6, SubnetID: "six"}}, vips{six}, false},
		"of another subnet":          {vips{{Family: model.IPv6, SubnetID: "other"}}, vips{six}, true},
		"with the address":           {vips{{Family: model.IPv6, Address: "fd00::5"}}, vips{six}, false},
		"with another address":       {vips{{Family: model.IPv6, Address: "fd00::6"}}, vips{six}, true},
		"in another order":           {vips{{SubnetID: "four"}, {SubnetID: "six"}}, vips{six, four}, false},
		"one more":                   {vips{{SubnetID: "six"}, {SubnetID: "four"}}, vips{six}, true},
		"one less":                   {nil, vips{six}, true},
	} {
		desired := web(func(lb *model.LoadBalancer) { lb.VIP.Additional = c.desired })
		there := web(func(lb *model.LoadBalancer) { lb.VIP.Address, lb.VIP.Additional = "10.0.0.5", c.there })
		if got := plan.NeedsReplacement(desired, there); got != c.want {
			t.Errorf("%s: needs a replacement: %v, want %v", name, got, c.want)
		}
	}
}
