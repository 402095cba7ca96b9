package model_test

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestVIP_KnowsTheAddressesOfEachIPFamily(t *testing.T) {
	t.Parallel()
	four, six := model.AdditionalVIP{Family: model.IPv4, Address: "10.0.0.6"}, model.AdditionalVIP{Family: model.IPv6, Address: "fd00::6"}
	for name, c := range map[string]struct {
		vip    model.VIP
		dual   bool
		v4, v6 []string
		fixed  string
	}{
		"one VIP":              {model.VIP{Address: "10.0.0.5"}, false, []string{"10.0.0.5"}, nil, ""},
		"IPv4-mapped":          {model.VIP{Address: "::ffff:10.0.0.5"}, false, []string{"::ffff:10.0.0.5"}, nil, ""},
		"two of one family":    {model.VIP{Address: "10.0.0.5", Additional: []model.AdditionalVIP{four}}, false, []string{"10.0.0.5", "10.0.0.6"}, nil, "10.0.0.5"},
		"IPv4 first":           {model.VIP{Address: "10.0.0.5", Additional: []model.AdditionalVIP{six}}, true, []string{"10.0.0.5"}, []string{"fd00::6"}, "10.0.0.5"},
		"IPv6 first":           {model.VIP{Address: "fd00::5", Additional: []model.AdditionalVIP{four}}, true, []string{"10.0.0.6"}, []string{"fd00::5"}, "10.0.0.6"},
		"addresses not chosen": {model.VIP{Family: model.IPv6, Additional: []model.AdditionalVIP{{Family: model.IPv4}}}, true, []string{""}, []string{""}, ""},
		"nothing known":        {model.VIP{}, false, nil, nil, ""},
	} {
		if got := c.vip.DualStack(); got != c.dual {
			t.Errorf("%s: dual-stack: %v", name, got)
		}
		if v4, v6 := c.vip.InFamily(model.IPv4), c.vip.InFamily(model.IPv6); !slices.Equal(v4, c.v4) || !slices.Equal(v6, c.v6) {
			t.Errorf("%s: addresses %q and %q, want %q and %q", name, v4, v6, c.v4, c.v6)
		}
		if got := c.vip.FixedAddress(); got != c.fixed {
			t.Errorf("%s: the floating IP is on %q, want %q", name, got, c.fixed)
		}
	}
}

func TestVIP_HasAddressesInOrderAndFamilyOfTheFirst(t *testing.T) {
	t.Parallel()
	six := model.AdditionalVIP{Family: model.IPv6, Address: "fd00::6"}
	four := model.AdditionalVIP{Family: model.IPv4, Address: "10.0.0.6"}
	for name, test := range map[string]struct {
		vip       model.VIP
		addresses []string
		family    string
	}{
		"one":                             {model.VIP{Address: "10.0.0.5"}, []string{"10.0.0.5"}, model.IPv4},
		"several":                         {model.VIP{Address: "fd00::5", Additional: []model.AdditionalVIP{four, six}}, []string{"fd00::5", "10.0.0.6", "fd00::6"}, model.IPv6},
		"the address decides":             {model.VIP{Address: "10.0.0.5", Family: model.IPv6}, []string{"10.0.0.5"}, model.IPv4},
		"only the family is known":        {model.VIP{Family: model.IPv6}, []string{""}, model.IPv6},
		"of further ones it says nothing": {model.VIP{Additional: []model.AdditionalVIP{six}}, []string{"", "fd00::6"}, ""},
	} {
		if got := test.vip.Addresses(); !slices.Equal(got, test.addresses) {
			t.Errorf("%s: addresses %q, want %q", name, got, test.addresses)
		}
		if got := test.vip.IPFamily(); got != test.family {
			t.Errorf("%s: family %q, want %q", name, got, test.family)
		}
	}
}
