package project_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// network has these floating IPs.
type network []floatingips.FloatingIP

func (n network) FloatingIPs(context.Context, neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return n, nil
}

// owner is the n-th Service of a cluster.
func owner(cluster string, n int) ownership.Identity {
	return ownership.Identity{
		ClusterName: "kubernetes", ClusterID: cluster, ServiceUID: fmt.Sprintf("uid-%s-%d", cluster, n), Namespace: "shop", Service: fmt.Sprintf("web-%d", n),
	}
}

// Five thousand floating IPs: those that a Service can have a claim to are found without a
// look at the others.
func TestFloatingIPs_WithWordsFindsThoseOfServiceAndNoOthers(t *testing.T) {
	t.Parallel()
	var all network
	add := func(description string) {
		all = append(all, floatingips.FloatingIP{ID: fmt.Sprintf("fip-%d", len(all)), Description: description})
	}
	for n := range 1000 {
		former := owner("a", n)
		former.ServiceUID = fmt.Sprintf("former-%d", n)
		renamed := owner("a", n)
		renamed.ClusterName = "renamed"
		for _, description := range []string{
			owner("a", n).FloatingIPs().Description(), former.FloatingIPs().Description(), renamed.FloatingIPs().Description(),
			owner("b", n).FloatingIPs().Description(), owner("a", n).FloatingIPs().LegacyDescription(), "",
		} {
			add(description)
		}
	}
	first, err := project.New(nil, all, clock.RealClock{}).FirstFloatingIPs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		id := owner("a", n)
		var want, got []string
		for _, fip := range all[6*n : 6*n+6] {
			if id.FloatingIPs().Own(fip.Description) || id.FloatingIPs().Kept(fip.Description) || fip.Description == id.FloatingIPs().LegacyDescription() {
				want = append(want, fip.ID)
			}
		}
		looked := first.WithWords(id.ServiceUID, "Floating IP for Kubernetes external service shop/web-"+fmt.Sprint(n), id.FloatingIPs().LegacyDescription())
		for _, fip := range looked {
			if id.FloatingIPs().Own(fip.Description) || id.FloatingIPs().Kept(fip.Description) || fip.Description == id.FloatingIPs().LegacyDescription() {
				got = append(got, fip.ID)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || len(want) != 4 {
			t.Fatalf("Service %d: found %v, want %v", n, got, want)
		}
		if len(looked) > 8 {
			t.Fatalf("Service %d: %d floating IPs were looked at", n, len(looked))
		}
	}
}

func BenchmarkFloatingIPs_Saying(b *testing.B) {
	for _, n := range []int{500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var all network
			for i := range n {
				all = append(all, floatingips.FloatingIP{ID: fmt.Sprint(i), Description: owner("a", i).FloatingIPs().Description()})
			}
			first, err := project.New(nil, all, clock.RealClock{}).FirstFloatingIPs(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				first.WithWords("uid-a-7", "Floating IP for Kubernetes external service shop/web-7", owner("a", 7).FloatingIPs().LegacyDescription())
			}
		})
	}
}
