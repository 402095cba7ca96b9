package ownership_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

func TestPlace_HasOnlyItsSubnetsAndNetworks(t *testing.T) {
	t.Parallel()
	place := ownership.Place{Subnets: []string{"nodes", ""}, Networks: []string{"vips", ""}}
	for _, test := range []struct {
		subnet, network string
		want            bool
	}{
		{"nodes", "anything", true},
		{"anything", "vips", true},
		{"theirs", "theirs", false},
		{"vips", "nodes", false},
		{"", "", false},
	} {
		if got := place.Has(test.subnet, test.network); got != test.want {
			t.Errorf("subnet %q, network %q: %v, want %v", test.subnet, test.network, got, test.want)
		}
	}
}
