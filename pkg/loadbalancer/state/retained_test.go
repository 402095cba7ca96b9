package state

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
)

func TestStore_SweepsRetainedFloatingIPsThatAreGone(t *testing.T) {
	t.Parallel()
	web, at := types.NamespacedName{Namespace: "default", Name: "web"}, time.Unix(1_800_000_000, 0)
	store := New(testingclock.NewFakePassiveClock(at), nil)
	store.Retained.Add(web, "there")
	store.Retained.Add(web, "gone")
	snap := &project.Snapshot{Began: at, FloatingIPs: map[string]project.FloatingIP{"there": {}}}
	store.Sweep(snap)
	if got := store.Retained.IDs(web); !slices.Equal(got, []string{"gone", "there"}) {
		t.Errorf("a snapshot that began before has left %v", got)
	}
	snap.Began = at.Add(time.Second)
	store.Sweep(snap)
	if got := store.Retained.IDs(web); !slices.Equal(got, []string{"there"}) {
		t.Errorf("a snapshot has left %v", got)
	}
	snap.FloatingIPs = nil
	store.Sweep(snap)
	if store.Retained.Names() > 0 {
		t.Errorf("%d names are kept", store.Retained.Names())
	}
}
