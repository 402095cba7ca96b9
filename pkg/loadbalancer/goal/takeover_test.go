package goal

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// adopted gives a load balancer no tags, as cloud-provider-openstack does.
func adopted(lb *octavia.LoadBalancer) { lb.Tags = nil }

// The lists that all Services share are enough for a load balancer that is found as usual. Any other is read in full.
func TestTakeOver_TakesTheUsualFromListsAndReadsAnyOther(t *testing.T) {
	t.Parallel()
	ovn := func(age time.Duration) func(*octavia.LoadBalancer) {
		return func(lb *octavia.LoadBalancer) { lb.Provider, lb.UpdatedAt.Time = "ovn", noon.Add(-age) }
	}
	failed := func(lb *octavia.LoadBalancer) { lb.ProvisioningStatus = model.StatusError }
	replaces := func(lb *octavia.LoadBalancer) { lb.Tags = append(lb.Tags, ownership.ReplacesTag("lb", "hash")) }
	broken := func(r *rig) { r.listeners[0].ProvisioningStatus = model.StatusError }
	served := by("", servedInOctavia)
	for name, test := range map[string]struct {
		svc   *v1.Service
		named string
		rig   []func(*rig)
		depth model.Depth
		found bool
	}{
		"of another controller":        {served, "", []func(*rig){balancer("lb", adopted), ofBalancer}, model.Settings, true},
		"of an earlier process":        {served, "", []func(*rig){balancer("lb"), ofBalancer}, model.Full, true},
		"with a listener":              {served, "", []func(*rig){balancer("lb"), ofBalancer, listenerOn("lb", true)}, model.Full, true},
		"none":                         {served, "", nil, 0, false},
		"another's":                    {by("", internalAt), "shared", []func(*rig){balancer("shared", ofAnother)}, 0, false},
		"in ERROR":                     {served, "", []func(*rig){balancer("lb", failed), ofBalancer}, 0, false},
		"a part in ERROR":              {served, "", []func(*rig){balancer("lb"), ofBalancer, listenerOn("lb", true), broken}, 0, false},
		"two":                          {served, "", []func(*rig){balancer("lb"), balancer("lb-2"), ofBalancer}, 0, false},
		"one that replaces another":    {served, "", []func(*rig){balancer("lb"), balancer("lb-2", replaces), ofBalancer}, 0, false},
		"one that may be another's":    {by("", internalAt), "", []func(*rig){balancer("lb", unproven)}, 0, false},
		"a batch may be in progress":   {served, "", []func(*rig){balancer("lb", ovn(0)), ofBalancer}, 0, false},
		"a batch must be over":         {served, "", []func(*rig){balancer("lb", ovn(time.Hour)), ofBalancer}, model.Full, true},
		"a floating IP that is in use": {by("", servedInOctavia, loadBalancerIP("203.0.113.8")), "", []func(*rig){balancer("lb"), ofBalancer, floatingAt("used", "203.0.113.8", "another-port")}, 0, false},
		"never served":                 {by(""), "", []func(*rig){balancer("lb")}, 0, false},
		"changed by this process":      {served, "", []func(*rig){balancer("lb"), ofBalancer, knowing(touched())}, 0, false},
	} {
		r := newRig(t, test.rig...)
		in := r.of(test.svc).inputs()
		in.Settings.LoadBalancer.ID = test.named
		look := new(look)
		have, found, err := r.observer.takeOver(t.Context(), in, new(async.Guard), look)
		if found != test.found || err != nil || (have.Observed != nil) != found {
			t.Errorf("%s: found: %v, error %v, %+v", name, found, err, have)
			continue
		}
		if found && (have.LoadBalancer.ID != "lb" || have.Depth != test.depth || have.Source != model.Lists || have.Confirmed || !have.ListedAt.Equal(noon) || have.LoadBalancer.FloatingIP == nil) {
			t.Errorf("%s: %+v with %+v", name, have, have.LoadBalancer)
		}
		unknown := name != "never served" && name != "changed by this process"
		if look.tookOver != unknown || look.lists != nil || r.has("all-listeners") != unknown {
			t.Errorf("%s: %+v, sent %q", name, look, r.sent)
		}
		sent := len(r.sent)
		if _, again, err := r.observer.takeOver(t.Context(), in, new(async.Guard), look); again || err != nil || len(r.sent) != sent {
			t.Errorf("%s: it is taken over twice: %v, error %v, sent %q", name, again, err, r.sent[sent:])
		}
	}
}

func TestTakeOver_ReturnsTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	assertErrors(t, "take over", func(r *rig) error {
		in, look := r.of(by("", servedInOctavia)).inputs(), new(look)
		have, found, err := r.observer.takeOver(t.Context(), in, new(async.Guard), look)
		if err != nil && (found || have.Observed != nil || !look.tookOver) {
			t.Errorf("found: %v, %+v beside the error", found, have)
		}
		return err
	}, balancer("lb", adopted), ofBalancer, listenerOn("lb", true))
}

// An observation is used only while Octavia shows that nothing has changed since.
func TestUnchanged_AsksOctaviaWhereThatIsUnknown(t *testing.T) {
	t.Parallel()
	observed := func(at time.Time) *model.Observed {
		return &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb", Provider: "amphora", UpdatedAt: at}}
	}
	for name, test := range map[string]struct {
		have      model.Knowledge
		at        time.Time
		unchanged bool
		asks      bool
	}{
		"confirmed":            {model.Knowledge{Confirmed: true}, noon, true, false},
		"confirmed, by lists":  {model.Knowledge{Confirmed: true, Source: model.Lists}, noon, true, false},
		"of lists":             {model.Knowledge{Source: model.Lists}, noon, false, false},
		"of memory":            {model.Knowledge{Source: model.Memory}, noon, true, true},
		"of memory, outdated":  {model.Knowledge{Source: model.Memory}, noon.Add(-time.Second), false, true},
		"of a record, as read": {model.Knowledge{Source: model.Record}, noon, true, true},
	} {
		r := newRig(t, balancer("lb"))
		unchanged, err := r.Cloud.Unchanged(t.Context(), Observation{Observed: observed(test.at), Knowledge: test.have})
		if unchanged != test.unchanged || err != nil || r.has("load-balancer-state") != test.asks {
			t.Errorf("%s: unchanged: %v, error %v, sent %q", name, unchanged, err, r.sent)
		}
	}
}

// verifies is a goal that has read more, or has failed.
type verifies struct {
	Goal
	another bool
	err     error
}

func (v verifies) Verify(_ context.Context, r Round) (Observation, bool, error) {
	return r.Have, v.another, v.err
}

// Before members change, their settings are read. The result is like that of a read of all.
func TestVerify_ReadsTheSettingsOfMembersThatAreUnknown(t *testing.T) {
	t.Parallel()
	lists := model.Knowledge{Source: model.Lists}
	short := lists
	short.Depth = model.Settings
	for name, test := range map[string]struct {
		goal    verifies
		have    model.Knowledge
		another bool
		reads   bool
	}{
		"all is known":           {verifies{}, lists, false, false},
		"the goal has read more": {verifies{another: true}, lists, true, false},
		"settings are unknown":   {verifies{}, short, true, true},
		"the goal has failed":    {verifies{err: errFailed}, short, false, false},
	} {
		r := newRig(t)
		lb := &model.LoadBalancer{ID: "lb"}
		have, another, err := r.Cloud.Verify(t.Context(), test.goal, Round{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}, Knowledge: test.have}})
		if another != test.another || err != test.goal.err || r.has("version") != test.reads || have.Knowledge != (model.Knowledge{Confirmed: true}) || have.LoadBalancer != lb {
			t.Errorf("%s: another: %v, error %v, %+v, sent %q", name, another, err, have.Knowledge, r.sent)
		}
	}
	assertErrors(t, "verify", func(r *rig) error {
		_, _, err := r.Cloud.Verify(t.Context(), verifies{}, Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb"}}, Knowledge: short}})
		return err
	})
}
