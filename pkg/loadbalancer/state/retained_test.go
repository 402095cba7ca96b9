package state

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
)

func TestStore_SweepsRetainedFloatingIPsThatAreGone(t *testing.T) {
	t.Parallel()
	web, at := types.NamespacedName{Namespace: "default", Name: "web"}, time.Unix(1_800_000_000, 0)
	store := New(testingclock.NewFakePassiveClock(at), nil)
	store.RetainFloatingIP(web, "there")
	store.RetainFloatingIP(web, "gone")
	look := &snapshot.Look{Began: at, FloatingIPs: map[string]snapshot.FloatingIP{"there": {}}}
	store.Sweep(look)
	if got := store.RetainedFloatingIPs(web); !slices.Equal(got, []string{"gone", "there"}) {
		t.Errorf("a look that began before has left %v", got)
	}
	look.Began = at.Add(time.Second)
	store.Sweep(look)
	if got := store.RetainedFloatingIPs(web); !slices.Equal(got, []string{"there"}) {
		t.Errorf("a look has left %v", got)
	}
	look.FloatingIPs = nil
	store.Sweep(look)
	if len(store.retained) > 0 {
		t.Errorf("%d names are kept", len(store.retained))
	}
}
