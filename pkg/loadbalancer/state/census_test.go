package state_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

func TestStore_CountsWaitForFirstTurnAsPartOfItsRound(t *testing.T) {
	t.Parallel()
	store, clock := newStore()
	svc := service("web", "1")
	at := func(seconds int) { clock.SetTime(began.Add(time.Duration(seconds) * time.Second)) }
	check := func(wantBegan int, wantSpent time.Duration) {
		t.Helper()
		unsettled := store.Get(svc.UID).Unsettled
		if got := unsettled.Since.Sub(began); got != time.Duration(wantBegan)*time.Second {
			t.Errorf("the first round began after %v, want %d s", got, wantBegan)
		}
		if got := unsettled.Spent.Sum(); got != wantSpent {
			t.Errorf("its rounds have taken %v, want %v", got, wantSpent)
		}
	}
	at(60) // the first round has waited since 10 for its turn
	store.Advance(svc.UID, svc.ResourceVersion)
	at(70)
	store.Update(svc.UID, func(e *state.Entry) {
		e.Unsettled.Spend(clock.Now(), telemetry.Times{telemetry.Queue: 50 * time.Second, telemetry.Octavia: 10 * time.Second})
	})
	check(10, time.Minute)
	at(90) // the second since 75
	store.Advance(svc.UID, svc.ResourceVersion)
	at(95)
	store.Update(svc.UID, func(e *state.Entry) {
		e.Unsettled.Spend(clock.Now(), telemetry.Times{telemetry.Queue: 15 * time.Second, telemetry.Octavia: 5 * time.Second})
	})
	check(10, 80*time.Second)
}
