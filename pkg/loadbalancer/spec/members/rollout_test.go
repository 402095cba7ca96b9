package members_test

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
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
		"Removing a member takes about 9s; pods of web stop after 0s: connections fail":   {Removal: 9100 * time.Millisecond},
		"Removing a member takes about 1s, and begins when the pods at it have stopped: ": {Removal: 300 * time.Millisecond, Cuts: true, Grace: time.Second},
		"Removing a member takes about 1s, and begins when the pods at it have stopped, because the controller cannot read their preStop hooks: " +
			"connections fail during a rollout; permit it to get pods (docs/members.md#rollouts), and give them": {Removal: 300 * time.Millisecond, Cuts: true, Unread: true},
	} {
		if got := r.Problem("web"); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A driver that cuts the connections of a removed member removes it as late as possible: so long before the
// pods stop that a removal that takes twice as long as usual still ends before.
//
//proves:143
func TestRollout_MembersStayUntilPodsAreAboutToStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members.Rollout
		stay    model.Stay
		problem bool
	}{
		"pods that serve long":     {members.Rollout{Removal: 4 * time.Second, Grace: 30 * time.Second, Cuts: true}, model.Stay{For: 17 * time.Second}, false},
		"a slow driver":            {members.Rollout{Removal: 20 * time.Second, Grace: 70 * time.Second, Cuts: true}, model.Stay{For: 10 * time.Second}, false},
		"pods as members":          {members.Rollout{Removal: 4 * time.Second, Grace: 30 * time.Second, Cuts: true, Pods: true}, model.Stay{For: 17 * time.Second, Each: 4 * time.Second}, false},
		"pods of one IP family":    {members.Rollout{Removal: 4 * time.Second, Grace: 30 * time.Second, Cuts: true, Pods: true, Family: model.IPv6}, model.Stay{For: 17 * time.Second, Each: 4 * time.Second, Family: model.IPv6}, false},
		"pods that stop too early": {members.Rollout{Removal: 4 * time.Second, Grace: 13 * time.Second, Cuts: true, Pods: true}, model.Stay{}, true},
		"a driver that cuts none":  {members.Rollout{Removal: 4 * time.Second, Grace: 30 * time.Second}, model.Stay{}, false},
	} {
		if got := c.Stay(); got != c.stay {
			t.Errorf("%s: members stay for %v, want %v", name, got, c.stay)
		}
		if got := c.Problem("web"); (got != "") != c.problem {
			t.Errorf("%s: %q", name, got)
		}
	}
}
