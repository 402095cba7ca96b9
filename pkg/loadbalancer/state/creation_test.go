package state_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// young returns a Service that was created this long before the Store was made.
func young(age time.Duration) *v1.Service {
	svc := service("web", "1")
	svc.CreationTimestamp = metav1.NewTime(began.Add(-age))
	return svc
}

func TestStore_KnowsUntilWhenACreationWithoutAnAnswerCanComeTrue(t *testing.T) {
	t.Parallel()
	const settles = 3 * time.Minute
	published := young(time.Second)
	published.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	for name, c := range map[string]struct {
		svc  *v1.Service
		lost bool
		want time.Duration // after the Store was made, 0 for none
	}{
		"a lost one":                        {young(time.Hour), true, time.Minute + settles},
		"a lost one of a young Service":     {young(time.Second), true, time.Minute + settles},
		"young at the start":                {young(settles - 1), false, settles},
		"old at the start":                  {young(24 * time.Hour), false, settles},
		"created since":                     {young(0), false, 0},
		"young at the start, with its IP":   {published, false, 0},
		"of unknown age":                    {service("web", "1"), false, 0},
		"a lost one of a published address": {published, true, time.Minute + settles},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, clock := newStore()
			clock.SetTime(began.Add(time.Minute))
			if c.lost {
				store.CreationLost(c.svc.UID)
			}
			var want time.Time
			if c.want > 0 {
				want = began.Add(c.want)
			}
			if got := store.CreationUntil(c.svc); !got.Equal(want) {
				t.Errorf("until %s, want %s", got, want)
			}
			clock.SetTime(began.Add(c.want))
			if got := store.CreationUntil(c.svc); c.want > 0 && got.IsZero() {
				t.Error("none can appear at the last moment")
			}
			clock.SetTime(began.Add(c.want + 1))
			if got := store.CreationUntil(c.svc); c.want > 0 && !got.IsZero() {
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
		svc   *v1.Service
		begin func(*state.Store, *v1.Service)
		open  bool
	}{
		"lost":            {young(time.Hour), func(s *state.Store, svc *v1.Service) { s.CreationSent(svc.UID); s.CreationLost(svc.UID) }, false},
		"young":           {young(time.Second), func(*state.Store, *v1.Service) {}, false},
		"young, and sent": {young(time.Second), func(s *state.Store, svc *v1.Service) { s.CreationSent(svc.UID) }, false},
		"lost, then sent": {young(time.Hour), func(s *state.Store, svc *v1.Service) { s.CreationLost(svc.UID); s.CreationSent(svc.UID) }, true},
		"lost, sent, lost": {young(time.Hour), func(s *state.Store, svc *v1.Service) {
			s.CreationLost(svc.UID)
			s.CreationSent(svc.UID)
			s.CreationLost(svc.UID)
		}, true},
		"found, then lost": {young(time.Hour), func(s *state.Store, svc *v1.Service) {
			s.CreationLost(svc.UID)
			s.CreationFound(svc)
			s.CreationLost(svc.UID)
		}, false},
		"nothing was asked": {young(time.Hour), func(*state.Store, *v1.Service) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore()
			c.begin(store, c.svc)
			store.CreationFound(c.svc)
			if open := !store.CreationUntil(c.svc).IsZero(); open != c.open {
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
			s.CreationLost("other")
			s.Forget(service("other", "1"))
		},
		"a snapshot is taken": func(s *state.Store, clock *testingclock.FakePassiveClock) {
			s.Sweep(&project.Snapshot{Began: clock.Now()})
		},
		"the Service is forgotten": func(s *state.Store, _ *testingclock.FakePassiveClock) { s.Forget(deleted(young(time.Second))) },
	}
	for name, end := range ends {
		for _, found := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				store, clock := newStore()
				svc := deleted(young(time.Second))
				store.CreationLost(svc.UID)
				if found {
					store.CreationFound(svc)
				}
				end(store, clock)
				if until := store.CreationUntil(svc); until.IsZero() != found || store.Get(svc.UID).Made.Creation.Resolved != found {
					t.Errorf("found %v, and another can appear until %s", found, until)
				}
				clock.SetTime(began.Add(3*time.Minute + 1))
				end(store, clock)
				if known := store.Get(svc.UID); known.Made.Creation != (state.Creation{}) {
					t.Errorf("still known: %+v", known.Made)
				}
			})
		}
	}
}
