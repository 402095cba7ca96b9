package goal

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Pods reads a pod.
type Pods func(ctx context.Context, namespace, name string) (*v1.Pod, error)

// graceAge is how long the grace of a Service's pods is cached, also if it could not be read.
const graceAge = 10 * time.Minute

// rollouts compares the time that the removal of members takes with that for which pods serve after
// their deletion.
type rollouts struct {
	pods   Pods
	took   func(watcher.Kind) (time.Duration, bool)
	store  *state.Store
	events *events.Recorder
	clock  clock.PassiveClock
}

// compare records how long members stay in a rollout of a Service, and reports whether connections fail during
// one: they do if members follow its endpoints, only the pods at a member serve, and they stop before it is
// removed, which takes one change of the load balancer for each port. It reports nothing that it cannot know. If
// removed members lose their connections, and the pods cannot be read, members stay until these stop. The time is that of
// the Service's own changes, because a driver may work longer on larger pools, else that of others on its provider.
func (r *rollouts) compare(ctx context.Context, in Inputs, round Round) {
	settings, drv := in.Settings.On(round.Have.LoadBalancer), round.Want.Facts.Driver
	if !settings.ByPods() && !settings.Traffic.Local || !settings.For(drv).FollowsEndpoints() || round.Want.Followed.Placeless {
		r.store.Update(in.Owner.UID, func(e *state.Entry) { e.Stay = model.Stay{} })
		r.events.Warn(in.Object(), events.RolloutLoses(""))
		return
	}
	provider := round.Have.LoadBalancer.Provider
	cycle, measured := r.store.Get(in.Owner.UID).MemberChanges.Median()
	if !measured {
		cycle, measured = r.took(watcher.Kind{Provider: provider, Operation: watcher.ChangingMembers})
	}
	if !measured {
		cycle, measured = r.took(watcher.Kind{Provider: provider, Operation: watcher.Updating})
	}
	if !measured || in.Endpoints.Pod() == "" {
		return
	}
	rollout := members.Rollout{Removal: cycle * time.Duration(len(settings.Traffic.Ports)), Cuts: drv.Quirks.CutsRemoved, Pods: settings.ByPods()}
	grace, known := r.grace(ctx, in)
	if !known && !rollout.Cuts {
		return
	}
	rollout.Grace, rollout.Unread = grace, !known
	if families := settings.Families(); len(families) == 1 {
		rollout.Family = string(families[0])
	}
	r.store.Update(in.Owner.UID, func(e *state.Entry) { e.Stay = rollout.Stay() })
	r.events.Warn(in.Object(), events.RolloutLoses(rollout.Problem(in.Owner.Name)))
}

// grace returns how long the pods of a Service serve after their deletion, by one of them.
func (r *rollouts) grace(ctx context.Context, in Inputs) (grace time.Duration, known bool) {
	uid, name := in.Owner.UID, in.Endpoints.Pod()
	if last := r.store.Get(uid).Grace; r.clock.Now().Before(last.Until) {
		return last.Grace, last.Known
	}
	if r.pods == nil || name == "" {
		return 0, false
	}
	pod, err := r.pods(ctx, in.Owner.Namespace, name)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read a pod, so that rollouts are not checked", "pod", name, "err", err)
	} else {
		grace, known = members.Grace(pod), true
	}
	until := r.clock.Now().Add(graceAge)
	r.store.Update(uid, func(e *state.Entry) { e.Grace = state.Grace{Grace: grace, Known: known, Until: until} })
	return grace, known
}
