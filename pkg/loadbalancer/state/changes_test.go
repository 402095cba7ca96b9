package state_test

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func TestMemberChange_IsMedianOfLastOnesOfService(t *testing.T) {
	t.Parallel()
	store := state.New(clock.RealClock{}, nil)
	for i, step := range []struct {
		took, want int // in seconds; want is 0 for none
	}{{60, 0}, {10, 0}, {20, 20}, {30, 30}, {9, 20}, {1, 20}, {1, 10}, {1, 10}, {1, 9}, {1, 1}} {
		store.Update("a", func(e *state.Entry) { e.MemberChanges.Add(seconds(step.took)) })
		if got, known := store.Get("a").MemberChanges.Median(); got != seconds(step.want) || known != (step.want > 0) {
			t.Errorf("after %d changes: %s (%v), want %d s", i+1, got, known, step.want)
		}
	}
	if got, known := store.Get("b").MemberChanges.Median(); known {
		t.Errorf("%s for another Service", got)
	}
	store.Forget("a", true)
	if store.Len() != 0 {
		t.Errorf("%d entries are left", store.Len())
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
