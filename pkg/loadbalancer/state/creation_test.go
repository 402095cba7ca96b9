package state_test

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// young returns the time this long before the Store was made.
func young(age time.Duration) time.Time { return began.Add(-age) }

func TestStore_KnowsUntilWhenACreationWithoutAnAnswerCanComeTrue(t *testing.T) {
	t.Parallel()
	const settles = 3 * time.Minute
	var published, unknown time.Time
	for name, c := range map[string]struct {
		unserved time.Time
		lost     bool
		want     time.Duration // after the Store was made, 0 for none
	}{
		"a lost one":                        {young(time.Hour), true, time.Minute + settles},
		"a lost one of a young Service":     {young(time.Second), true, time.Minute + settles},
		"young at the start":                {young(settles - 1), false, settles},
		"old at the start":                  {young(24 * time.Hour), false, settles},
		"created since":                     {young(0), false, 0},
		"young at the start, with its IP":   {published, false, 0},
		"of unknown age":                    {unknown, false, 0},
		"a lost one of a published address": {published, true, time.Minute + settles},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, clock := newStore()
			clock.SetTime(began.Add(time.Minute))
			if c.lost {
				store.Creations.Lost("web")
			}
			var want time.Time
			if c.want > 0 {
				want = began.Add(c.want)
			}
			if got := store.Creations.Until("web", c.unserved); !got.Equal(want) {
				t.Errorf("until %s, want %s", got, want)
			}
			clock.SetTime(began.Add(c.want))
			if got := store.Creations.Until("web", c.unserved); c.want > 0 && got.IsZero() {
				t.Error("none can appear at the last moment")
			}
			clock.SetTime(began.Add(c.want + 1))
			if got := store.Creations.Until("web", c.unserved); c.want > 0 && !got.IsZero() {
				t.Errorf("after that, one can still appear until %s", got)
			}
		})
	}
}

// A found load balancer is that of the unanswered creation; if another was sent since, it may be of
// that one.
func TestStore_TakesALoadBalancerForTheCreationUnlessThatWasRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unserved time.Time
		begin    func(s *state.Store, unserved time.Time)
		open     bool
	}{
		"lost":            {young(time.Hour), func(s *state.Store, _ time.Time) { s.Creations.Sent("web"); s.Creations.Lost("web") }, false},
		"young":           {young(time.Second), func(*state.Store, time.Time) {}, false},
		"young, and sent": {young(time.Second), func(s *state.Store, _ time.Time) { s.Creations.Sent("web") }, false},
		"lost, then sent": {young(time.Hour), func(s *state.Store, _ time.Time) { s.Creations.Lost("web"); s.Creations.Sent("web") }, true},
		"lost, sent, lost": {young(time.Hour), func(s *state.Store, _ time.Time) {
			s.Creations.Lost("web")
			s.Creations.Sent("web")
			s.Creations.Lost("web")
		}, true},
		"found, then lost": {young(time.Hour), func(s *state.Store, unserved time.Time) {
			s.Creations.Lost("web")
			s.Creations.Found("web", unserved)
			s.Creations.Lost("web")
		}, false},
		"nothing was asked": {young(time.Hour), func(*state.Store, time.Time) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore()
			c.begin(store, c.unserved)
			store.Creations.Found("web", c.unserved)
			if open := !store.Creations.Until("web", c.unserved).IsZero(); open != c.open {
				t.Errorf("another can appear: %v, want %v", open, c.open)
			}
		})
	}
}

// A creation that can still succeed outlives the Service; then it is dropped, together with the
// entry.
func TestStore_KeepsACreationUntilItsTimeIsOver(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*state.Store, *testingclock.FakePassiveClock){
		"another creation is lost": func(s *state.Store, _ *testingclock.FakePassiveClock) {
			s.Creations.Lost("other")
			s.Forget("other", false)
		},
		"a snapshot is taken": func(s *state.Store, clock *testingclock.FakePassiveClock) {
			s.Sweep(&project.Snapshot{Began: clock.Now()})
		},
		"the Service is forgotten": func(s *state.Store, _ *testingclock.FakePassiveClock) { s.Forget("web", true) },
	}
	for name, end := range ends {
		for _, found := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				store, clock := newStore()
				unserved := young(time.Second)
				store.Creations.Lost("web")
				if found {
					store.Creations.Found("web", unserved)
				}
				end(store, clock)
				if until := store.Creations.Until("web", unserved); until.IsZero() != found {
					t.Errorf("found %v, and another can appear until %s", found, until)
				}
				clock.SetTime(began.Add(3*time.Minute + 1))
				end(store, clock)
				if store.Creations.Known("web") {
					t.Error("it is still known")
				}
			})
		}
	}
}
