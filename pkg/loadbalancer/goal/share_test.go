package goal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func newSharers(t *testing.T) *sharers {
	t.Helper()
	parser, err := settings.NewParser(fixture.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &sharers{settings: parser, memory: Memory{Store: state.New(testingclock.NewFakePassiveClock(noon), nil), Records: oneRecord{}}}
}

// sharingOne returns a Service that shares a load balancer by a name.
func sharingOne(uid types.UID, share string, changes ...func(*v1.Service)) *v1.Service {
	return fixture.Service(append([]func(*v1.Service){func(svc *v1.Service) { svc.UID, svc.Name = uid, string(uid) }, fixture.Annotated(annotation.Share, share)}, changes...)...)
}

// Every Service of a share sees the same others in it, however they are served, and itself as it is in its round.
func TestSharers_AreTheServicesThatWantTheLoadBalancerOfAShare(t *testing.T) {
	t.Parallel()
	deleted := func(svc *v1.Service) { svc.DeletionTimestamp = &metav1.Time{Time: noon} }
	class := func(svc *v1.Service) { svc.Spec.LoadBalancerClass = new(string) }
	internal := func(svc *v1.Service) { svc.Spec.Type = v1.ServiceTypeClusterIP }
	s, own := newSharers(t), sharingOne("own", "front", fixture.Annotated(annotation.Managed, "false"))
	s.memory.Store.Update("refused", func(e *state.Entry) { e.Refusal.Reason = "invalid" })
	all := s.of("front", own, []*v1.Service{
		own, sharingOne("other", "front"), sharingOne("refused", "front"), sharingOne("unmanaged", "front", fixture.Annotated(annotation.Managed, "false")),
		sharingOne("back", "back"), sharingOne("deleted", "front", deleted), sharingOne("class", "front", class), sharingOne("cluster", "front", internal), fixture.Service(),
	})
	got := map[string]bool{}
	for _, one := range all {
		got[one.Name] = one.MayCreate
	}
	want := map[string]bool{"own": true, "other": true, "refused": false, "unmanaged": false}
	if len(all) != len(want) {
		t.Errorf("%d Services: %+v", len(all), all)
	}
	for name, may := range want {
		if created, is := got[name]; !is || created != may {
			t.Errorf("%s takes part: %v, may create: %v", name, is, created)
		}
	}
}

// A Service leaves a load balancer that it shares by another name.
func TestSharer_HasItsPlaceUnderTheNameOfTheShare(t *testing.T) {
	t.Parallel()
	created := noon.Add(-time.Hour)
	for name, test := range map[string]struct {
		applied *state.Applied
		want    sharing.Sharer
	}{
		"nothing is known":       {nil, sharing.Sharer{}},
		"under this name":        {&state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", Share: "front"}}, sharing.Sharer{Place: "lb", Settled: true}},
		"under another name":     {&state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", Share: "back"}}, sharing.Sharer{}},
		"under no name, its own": {&state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb"}}, sharing.Sharer{Place: "lb"}},
	} {
		s, svc := newSharers(t), sharingOne("own", "front", func(svc *v1.Service) {
			svc.CreationTimestamp.Time, svc.Status.LoadBalancer.Ingress = created, []v1.LoadBalancerIngress{{Hostname: "web"}}
		})
		s.memory.Store.Update(svc.UID, func(e *state.Entry) { e.Applied = test.applied })
		test.want.UID, test.want.Name, test.want.Created, test.want.Served, test.want.MayCreate = "own", "own", created, true, true
		if got := s.sharer(svc, "front", true); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if s.sharer(svc, "front", false).MayCreate {
			t.Errorf("%s: a refused Service may create", name)
		}
	}
}

// A removal looks where the Service was last, or may have begun to join.
func TestLeaving_IsThePlaceOfTheServiceElseThatOfItsShare(t *testing.T) {
	t.Parallel()
	there := &state.Applied{LoadBalancer: state.LoadBalancer{ID: "of the other", Share: "front"}}
	for want, test := range map[string]struct {
		previous []string
		made     string
		other    *state.Applied
	}{
		"": {}, "previous": {[]string{"previous", "older"}, "made", there}, "made": {nil, "made", there}, "of the other": {nil, "", there},
	} {
		s, svc := newSharers(t), sharingOne("own", "front")
		s.services = func(_ context.Context, _ string) ([]*v1.Service, error) {
			return []*v1.Service{svc, sharingOne("other", "front")}, nil
		}
		s.memory.Store.Update("own", func(e *state.Entry) { e.Made.LoadBalancerID = test.made })
		s.memory.Store.Update("other", func(e *state.Entry) { e.Applied = test.other })
		if got, err := s.leaving(t.Context(), svc, "front", slices.Clone(test.previous)); got != want || err != nil {
			t.Errorf("%q, error %v, want %q", got, err, want)
		}
	}
	if text := (&WaitsError{"front", "shop/web"}).Error(); !strings.Contains(text, `"front"`) || !strings.Contains(text, "shop/web") {
		t.Error(text)
	}
}

// A Service joins the load balancer of its share, creates it if it is the first, and otherwise waits for the one that does.
func TestJoin_FindsTheLoadBalancerOfTheShareOrItsCreator(t *testing.T) {
	t.Parallel()
	older := func(svc *v1.Service) { svc.CreationTimestamp.Time = noon.Add(-time.Hour) }
	young := func(svc *v1.Service) { svc.CreationTimestamp.Time = noon }
	younger := func(svc *v1.Service) { svc.CreationTimestamp.Time = noon.Add(time.Hour) }
	own, first, on := sharingOne("own", "front", young), sharingOne("first", "front", older), sharingOne("on", "front", younger)
	moved := sharingOne("own", "back", young)
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		share    string
		services []*v1.Service
		err      error
		gone     []string
		rehearse bool
		id       string
		creator  string // for which it waits
		want     error
	}{
		"it shares none":              {"", []*v1.Service{own, first}, nil, nil, true, "before", "", nil},
		"another is on one":           {"front", []*v1.Service{own, on, first}, nil, nil, false, "lb", "", nil},
		"it is gone":                  {"front", []*v1.Service{own, on}, nil, []string{"lb"}, false, "", "", nil},
		"it is alone":                 {"front", []*v1.Service{own}, nil, nil, false, "", "", nil},
		"an older one creates it":     {"front", []*v1.Service{own, first}, nil, nil, true, "", "default/first", nil},
		"it was deleted meanwhile":    {"front", []*v1.Service{first}, nil, nil, false, "", "", errShareChanged},
		"it has left meanwhile":       {"front", []*v1.Service{moved, first}, nil, nil, false, "", "", errShareChanged},
		"the Services cannot be read": {"front", nil, failed, nil, false, "before", "", failed},
	} {
		s := newSharers(t)
		s.rehearsed, s.events = test.rehearse, events.New(record.NewFakeRecorder(10), warnings{})
		s.services = func(context.Context, string) ([]*v1.Service, error) { return test.services, test.err }
		s.memory.Store.Update("on", func(e *state.Entry) {
			e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", Share: "front"}}
		})
		into := &settings.Settings{}
		into.LoadBalancer.Share, into.LoadBalancer.ID = test.share, "before"
		err := s.join(t.Context(), own, into, test.gone)
		var waits *WaitsError
		if errors.As(err, &waits) != (test.creator != "") || waits != nil && *waits != (WaitsError{"front", test.creator}) {
			t.Errorf("%s: %v, want a wait for %q", name, err, test.creator)
		}
		if waits == nil && !errors.Is(err, test.want) || (err == nil) != (test.want == nil && test.creator == "") {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if into.LoadBalancer.ID != test.id {
			t.Errorf("%s: on %q, want %q", name, into.LoadBalancer.ID, test.id)
		}
	}
}

// A Service that waits for the creator of its share looks again every second, without a worker, and reports the Service that it waits for
// after two minutes.
func TestJoin_WaitsForTheCreatorOfTheShare(t *testing.T) {
	t.Parallel()
	older := func(svc *v1.Service) { svc.CreationTimestamp.Time = noon.Add(-time.Hour) }
	own, first := sharingOne("own", "front"), sharingOne("first", "front", older)
	own.CreationTimestamp.Time = noon
	s, clk, recorder, into := newSharers(t), testingclock.NewFakeClock(noon), record.NewFakeRecorder(1000), &settings.Settings{}
	warned := warnings{}
	s.clock, s.events = clk, events.New(recorder, warned)
	into.LoadBalancer.Share = "front"
	var known []*v1.Service // not yet
	s.services = func(context.Context, string) ([]*v1.Service, error) { return known, nil }
	ctx, _ := telemetry.Measure(t.Context(), clk)
	ctx = async.WithSlot(ctx, &async.Slot{Wake: func() {}})
	wait := func(times int) {
		t.Helper()
		for range times {
			if err := s.join(ctx, own, into, nil); !async.IsWaiting(err) || into.LoadBalancer.ID != "" {
				t.Fatalf("on %q, error %v", into.LoadBalancer.ID, err)
			}
			clk.Step(sharePoll)
		}
	}
	wait(3)
	known = []*v1.Service{own, first}
	wait(int(sharePatience/sharePoll) - 3)
	if len(recorder.Events) > 0 {
		t.Errorf("before two minutes: %q", <-recorder.Events)
	}
	wait(1)
	if len(recorder.Events) == 0 || !strings.Contains(<-recorder.Events, "default/first") {
		t.Error("after two minutes, no event names the creator")
	}
	s.memory.Store.Update("first", func(e *state.Entry) {
		e.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", Share: "front"}}
	})
	if err := s.join(ctx, own, into, nil); err != nil || into.LoadBalancer.ID != "lb" || warned["share"] != "" {
		t.Errorf("on %q, error %v, it still waits: %q", into.LoadBalancer.ID, err, warned["share"])
	}
}

// A removal that cannot look for the share fails, and one without Services has nowhere else to look.
func TestLeaving_FailsWhereTheServicesCannotBeRead(t *testing.T) {
	t.Parallel()
	s, svc := newSharers(t), sharingOne("own", "front")
	if id, err := s.leaving(t.Context(), svc, "front", nil); id != "" || err != nil {
		t.Errorf("without Services: %q, error %v", id, err)
	}
	s.services = func(context.Context, string) ([]*v1.Service, error) { return nil, errFailed }
	if id, err := s.leaving(t.Context(), svc, "front", nil); id != "" || !errors.Is(err, errFailed) {
		t.Errorf("%q, error %v", id, err)
	}
	unserved := s.sharer(sharingOne("own", "front"), "front", true)
	if unserved.Served || s.creator("default", "front", nil).UID != "" {
		t.Errorf("a Service without a status is served: %+v", unserved)
	}
}
