package members_test

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

//proves:143
func TestGrace_IsLongestPreStopWithinGracePeriod(t *testing.T) {
	t.Parallel()
	sleep := func(seconds int64) *v1.LifecycleHandler {
		return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: seconds}}
	}
	exec := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sleep", "5"}}}
	for name, c := range map[string]struct {
		period int64
		hooks  []*v1.LifecycleHandler
		want   time.Duration
	}{
		"no hook":                   {30, []*v1.LifecycleHandler{nil}, 0},
		"a hook that sleeps":        {30, []*v1.LifecycleHandler{sleep(7)}, 7 * time.Second},
		"a sidecar without one":     {30, []*v1.LifecycleHandler{nil, sleep(7), sleep(3)}, 7 * time.Second},
		"longer than the period":    {5, []*v1.LifecycleHandler{sleep(7)}, 5 * time.Second},
		"a hook of unknown time":    {40, []*v1.LifecycleHandler{exec}, 40 * time.Second},
		"the default of the period": {-1, []*v1.LifecycleHandler{exec}, 30 * time.Second},
	} {
		pod := &v1.Pod{}
		if c.period >= 0 {
			pod.Spec.TerminationGracePeriodSeconds = &c.period
		}
		for _, hook := range c.hooks {
			container := v1.Container{}
			if hook != nil {
				container.Lifecycle = &v1.Lifecycle{PreStop: hook}
			}
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
		if got := members.Grace(pod); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

//proves:143
func TestRollout_IsProblemIfPodsStopBeforeRemoval(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]members.Rollout{
		"": {Removal: 9 * time.Second, Grace: 10 * time.Second},
		"Removing a member takes about 9s; pods of web stop after 0s: connections fail": {Removal: 9100 * time.Millisecond},
		"Removing a member takes about 1s, and begins when the pods":                    {Removal: 300 * time.Millisecond, Late: true, Grace: time.Minute},
	} {
		if got := r.Problem("web"); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
