package loadbalancer

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
)

func TestKeptFloatingIPsThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	web, at := types.NamespacedName{Namespace: "default", Name: "web"}, time.Unix(1_800_000_000, 0)
	var kept keptFloatingIPs
	kept.add(web, "there", at)
	kept.add(web, "gone", at)
	look := &snapshot.Look{Began: at, FloatingIPs: map[string]snapshot.FloatingIP{"there": {}}}
	kept.sweep(look)
	if got := kept.of(web); !slices.Equal(got, []string{"gone", "there"}) {
		t.Errorf("a look that began before has left %v", got)
	}
	look.Began = at.Add(time.Second)
	kept.sweep(look)
	if got := kept.of(web); !slices.Equal(got, []string{"there"}) {
		t.Errorf("a look has left %v", got)
	}
	look.FloatingIPs = nil
	kept.sweep(look)
	if len(kept.ids) > 0 {
		t.Errorf("%d names are kept", len(kept.ids))
	}
}
