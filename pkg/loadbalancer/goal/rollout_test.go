package goal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// serving returns a pod that serves for some seconds after its deletion.
func serving(seconds int64) *v1.Pod {
	hook := &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: seconds}}}
	return &v1.Pod{Spec: v1.PodSpec{TerminationGracePeriodSeconds: new(int64(600)), Containers: []v1.Container{{Lifecycle: hook}}}}
}

// Connections fail in a rollout if pods stop before their members are removed. A driver that cuts connections removes members
// as late as possible. Nothing is reported that is not known.
func TestRollouts_CompareTheRemovalOfMembersWithTheEndOfPods(t *testing.T) {
	t.Parallel()
	const before = 7 * time.Second // the stored value
	took := func(kinds map[watcher.Operation]time.Duration) func(watcher.Kind) (time.Duration, bool) {
		return func(k watcher.Kind) (time.Duration, bool) {
			d, known := kinds[k.Operation]
			return d, known && k.Provider == "amphora"
		}
	}
	slow, none := took(map[watcher.Operation]time.Duration{watcher.ChangingMembers: 10 * time.Second, watcher.Updating: time.Hour}), took(nil)
	read := func(pod *v1.Pod) Pods {
		return func(context.Context, string, string) (*v1.Pod, error) { return pod, nil }
	}
	unread := func(context.Context, string, string) (*v1.Pod, error) { return nil, errors.New("forbidden") }
	pods := func(in *Inputs) { in.Settings.Members.Mode = annotation.MembersPods }
	for name, test := range map[string]struct {
		pods      Pods
		took      func(watcher.Kind) (time.Duration, bool)
		own       []time.Duration // of the Service's changes of members
		change    func(*Inputs)
		placeless bool
		cuts      bool
		stay      model.Stay
		event     string // "" for none
	}{
		"pods stop later":                     {pods: read(serving(30)), took: slow},
		"pods stop earlier":                   {pods: read(serving(5)), took: slow, event: "takes about 10s; pods of web stop after 5s"},
		"by the time of other changes":        {pods: read(serving(5)), took: took(map[watcher.Operation]time.Duration{watcher.Updating: 10 * time.Second}), event: "takes about 10s"},
		"by the Service's own changes":        {pods: read(serving(5)), took: slow, own: []time.Duration{20 * time.Second, 20 * time.Second, 20 * time.Second}, event: "takes about 20s"},
		"for each of two ports":               {pods: read(serving(15)), took: slow, change: func(in *Inputs) { in.Settings.Traffic.Ports = make([]v1.ServicePort, 2) }, event: "takes about 20s"},
		"nothing was measured":                {pods: read(serving(5)), took: none, stay: model.Stay{For: before}},
		"no pod is known":                     {pods: read(serving(5)), took: slow, change: func(in *Inputs) { in.Endpoints = nil }, stay: model.Stay{For: before}},
		"pods cannot be read":                 {pods: unread, took: slow, stay: model.Stay{For: before}},
		"pods are not read":                   {took: slow, stay: model.Stay{For: before}},
		"pods cannot be read, it cuts":        {pods: unread, took: slow, cuts: true, event: "cannot read their preStop hooks"},
		"it cuts, pods stop later":            {pods: read(serving(50)), took: slow, cuts: true, stay: model.Stay{For: 20 * time.Second}},
		"it cuts, pods are the members":       {pods: read(serving(50)), took: slow, cuts: true, change: pods, stay: model.Stay{For: 20 * time.Second, Each: 10 * time.Second, Family: "IPv4"}},
		"it cuts, pods of both families":      {pods: read(serving(50)), took: slow, cuts: true, change: func(in *Inputs) { pods(in); in.Settings.Second = v1.IPv6Protocol }, stay: model.Stay{For: 20 * time.Second, Each: 10 * time.Second}},
		"all nodes serve":                     {pods: read(serving(5)), took: slow, change: func(in *Inputs) { in.Settings.Traffic.Local = false }},
		"members follow nothing":              {pods: read(serving(5)), took: slow, change: func(in *Inputs) { in.Settings.Members.Mode = annotation.MembersNodes }},
		"no endpoint has a node":              {pods: read(serving(5)), took: slow, placeless: true},
		"pods are the members of the cluster": {pods: read(serving(5)), took: slow, change: func(in *Inputs) { pods(in); in.Settings.Traffic.Local = false }, event: "members: endpoint-nodes"},
	} {
		clk, svc, recorder := testingclock.NewFakePassiveClock(noon), webService(), record.NewFakeRecorder(5)
		in, warned := inputsOf(svc), warnings{events.Rollouts: "as before"}
		in.Settings.Traffic.Local, in.Settings.Traffic.Ports, in.Settings.Members.Mode, in.Settings.Members.Watch = true, make([]v1.ServicePort, 1), annotation.MembersEndpointNodes, settings.Watched
		in.Endpoints = members.Endpoints{{Pod: "web-0"}}
		if test.change != nil {
			test.change(&in)
		}
		r := &rollouts{pods: test.pods, took: test.took, store: state.New(clk, nil), events: events.New(recorder, warned), clock: clk}
		r.store.Update(svc.UID, func(e *state.Entry) { e.Stay, e.MemberChanges = model.Stay{For: before}, test.own })
		lb := &model.LoadBalancer{Provider: "amphora", VIP: model.VIP{Address: "10.0.0.5", Additional: []model.AdditionalVIP{{Family: model.IPv6, Address: "fd00::5"}}}}
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}}, Want: &Desired{Followed: members.Followed{Placeless: test.placeless}}}
		round.Want.Facts.Driver = driver.Of("amphora", model.Version{Major: 2, Minor: 30})
		round.Want.Facts.Driver.Quirks.CutsRemoved = test.cuts
		r.compare(t.Context(), in, round)
		if got := r.store.Get(svc.UID).Stay; got != test.stay {
			t.Errorf("%s: members stay %+v, want %+v", name, got, test.stay)
		}
		if unknown := test.stay.For == before; (warned[events.Rollouts] == "as before") != unknown || (warned[events.Rollouts] == "") != (test.event == "" && !unknown) {
			t.Errorf("%s: the warning is %q", name, warned[events.Rollouts])
		}
		event := ""
		if len(recorder.Events) > 0 {
			event = <-recorder.Events
		}
		if !strings.Contains(event, test.event) || (event != "") != (test.event != "") {
			t.Errorf("%s: event %q, want %q", name, event, test.event)
		}
	}
}

// The pods of a Service are read every ten minutes at most, also if that fails.
func TestGrace_IsReadAgainAfterTenMinutes(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"they can be read": nil, "they cannot be read": errors.New("forbidden")} {
		clk, svc, reads := testingclock.NewFakePassiveClock(noon), webService(), 0
		in := inputsOf(svc)
		in.Endpoints = members.Endpoints{{Pod: "web-0"}}
		r := &rollouts{store: state.New(clk, nil), clock: clk, pods: func(_ context.Context, namespace, pod string) (*v1.Pod, error) {
			if reads++; namespace != "shop" || pod != "web-0" {
				t.Errorf("%s: %s/%s is read", name, namespace, pod)
			}
			return serving(int64(reads)), failure
		}}
		for _, step := range []struct {
			at    time.Duration
			reads int
		}{{0, 1}, {graceAge - 1, 1}, {graceAge, 2}} {
			clk.SetTime(noon.Add(step.at))
			grace, known := r.grace(t.Context(), in)
			if reads != step.reads || known != (failure == nil) || known && grace != time.Duration(step.reads)*time.Second {
				t.Errorf("%s: after %s, %d reads, grace %s, known: %v", name, step.at, reads, grace, known)
			}
		}
	}
}
