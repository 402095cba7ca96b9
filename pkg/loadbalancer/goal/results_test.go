package goal

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A delayed write to the annotations may arrive after the next one: they are written again where they differ.
func TestNoteAddress_WritesAgainWhatTheAnnotationsLack(t *testing.T) {
	t.Parallel()
	as := Published{LoadBalancerID: "lb", Place: "lb", Address: "203.0.113.7"}
	shared := Published{Place: "lb", Share: "front", Address: "203.0.113.7"}
	older := as
	older.Address = "203.0.113.6"
	for name, test := range map[string]struct {
		published          Published
		applied, asked     string // the share
		persisted, remains bool   // before, and afterwards
	}{
		"written":                {as, "", "", true, true},
		"not yet written":        {older, "", "", false, false},
		"written before":         {older, "", "", true, false},
		"shared":                 {shared, "front", "front", true, true},
		"shared since":           {as, "", "front", true, false},
		"shared by another name": {shared, "front", "back", true, false},
	} {
		svc := webService()
		in, applied := inputsOf(svc), &state.Applied{Address: "203.0.113.7", LoadBalancer: state.LoadBalancer{ID: "lb", Share: test.applied}, Persisted: state.Persisted{Address: test.persisted}}
		in.Published, in.Settings.LoadBalancer.Share = test.published, test.asked
		s := &results{store: memoryOf(svc, "", state.Entry{Applied: applied}).Store}
		s.noteAddress(in)
		if now := s.store.Get(svc.UID).Applied; now.Persisted.Address != test.remains || now.LoadBalancer.Share != test.asked || applied.Persisted.Address != test.persisted {
			t.Errorf("%s: written: %v, shared as %q; the state before: %v", name, now.Persisted.Address, now.LoadBalancer.Share, applied.Persisted.Address)
		}
	}
}

// Another client has changed the load balancer, which the round has not seen.
func TestNoteAddress_LeavesDroppedStateDropped(t *testing.T) {
	t.Parallel()
	svc := webService()
	s := &results{store: memoryOf(svc, "", state.Entry{Made: state.Made{Touched: true}}).Store}
	if s.noteAddress(inputsOf(svc)); s.store.Get(svc.UID).Applied != nil {
		t.Error("it has an applied state")
	}
}

// Other annotations may change without another value in the place of an invalid one.
func TestSameValues_ComparesMalformedAnnotationsOnly(t *testing.T) {
	t.Parallel()
	malformed := []settings.Malformed{{Malformed: annotation.Malformed{Annotation: "a"}}, {Malformed: annotation.Malformed{Annotation: "b"}}}
	before := map[string]string{"a": "1", "c": "1"}
	for name, test := range map[string]struct {
		now  map[string]string
		same bool
	}{
		"the same":         {map[string]string{"a": "1", "c": "2"}, true},
		"another value":    {map[string]string{"a": "2", "c": "1"}, false},
		"one that is gone": {map[string]string{"c": "1"}, false},
		"one that is new":  {map[string]string{"a": "1", "b": "1"}, false},
	} {
		if sameValues(before, test.now, malformed) != test.same || sameValues(test.now, before, malformed) != test.same || !sameValues(before, test.now, nil) {
			t.Errorf("%s: the same: %v", name, !test.same)
		}
	}
}

// Services of provider router compare the ports and clients that their security groups admit.
func TestAccessOf_HasPortsAndClientsWhereGroupsAreManaged(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolUDP, 53), fixture.Port(v1.ProtocolTCP, 443)), func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} })
	s := fixture.Settings(t, svc, fixture.Config())
	if got := accessOf(s); len(got.Ports)+len(got.Ranges) > 0 {
		t.Errorf("not managed: %+v", got)
	}
	s.Access.SecurityGroupMode = config.SecurityGroupsShared
	if got := accessOf(s); !slices.Equal(got.Ports, []string{"UDP/53", "TCP/443"}) || !slices.Equal(got.Ranges, []string{"10.0.0.0/8"}) {
		t.Errorf("managed: %+v", got)
	}
}

// A state is confirmed if its last change is certainly over: it was read long enough after that, and this round wrote nothing.
func TestRemember_ConfirmsWhatWasReadAtRest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		age       time.Duration // of the last change, at the read
		wrote     bool
		source    model.Source
		depth     model.Depth
		confirmed bool
	}{
		"at rest":                         {state.AtRest + 1, false, model.Cloud, model.Full, true},
		"just changed":                    {state.AtRest, false, model.Cloud, model.Full, false},
		"changed by this round":           {state.AtRest + 1, true, model.Cloud, model.Full, false},
		"listed at rest":                  {state.AtRest + 1, false, model.Lists, model.Full, true},
		"listed before it was at rest":    {state.AtRest, false, model.Lists, model.Full, false},
		"without the settings of members": {state.AtRest + 1, false, model.Cloud, model.Settings, true},
	} {
		clk, svc := testingclock.NewFakePassiveClock(noon), webService()
		in, lb := inputsOf(svc), &model.LoadBalancer{ID: "lb", Provider: "ovn", FloatingIP: &model.FloatingIP{ID: "fip"}}
		in.Settings.Members.Weights, in.Settings.LoadBalancer.Share = annotation.WeightsDrain, "front"
		r := Round{
			Wrote: test.wrote, Want: &Desired{LoadBalancer: &model.LoadBalancer{}},
			Have: Observation{Observed: &model.Observed{LoadBalancer: lb, Duplicates: []model.LoadBalancer{{ID: "second"}}}, As: in.ID, Knowledge: model.Knowledge{Source: test.source, Depth: test.depth}},
		}
		read := noon
		if test.source == model.Lists {
			read = noon.Add(-time.Hour)
			r.Have.ListedAt = read
		}
		lb.UpdatedAt = read.Add(-test.age)
		s := &results{store: state.New(clk, nil), clock: clk}
		s.remember(in, r, []string{"203.0.113.7", "fd00::5"}, "named", map[string]bool{"a step": true})
		got := s.store.Get(svc.UID).Applied
		if got.Confirmed != test.confirmed || got.Depth != test.depth || (got.Digests.Nodeless != "") != (test.depth == model.Full) || got.Digests.Full != r.Want.digestFor(in) {
			t.Errorf("%s: confirmed: %v, digests %+v", name, got.Confirmed, got.Digests)
		}
		known := got.LoadBalancer
		if !slices.Equal(got.Addresses(), []string{"203.0.113.7", "fd00::5"}) || known.FloatingIPID != "fip" || known.Named != "named" || known.Share != "front" || !known.Weighed ||
			!slices.Equal(known.Duplicates, []string{"second"}) || !got.Reported["a step"] || got.Contents != lb || !got.Seen.Since.Equal(noon) || !got.Seen.UpdatedAt.Equal(lb.UpdatedAt) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A change on a shared load balancer moves its updated_at for all Services on it: theirs need not be read again.
func TestRemember_MovesTheStateOfOthersOnTheLoadBalancer(t *testing.T) {
	t.Parallel()
	clk, svc, before := testingclock.NewFakePassiveClock(noon), webService(), noon.Add(-time.Hour)
	s := &results{store: state.New(clk, nil), clock: clk}
	s.store.Update("other", func(e *state.Entry) {
		e.SetApplied(&state.Applied{Contents: &model.LoadBalancer{ID: "lb"}, Seen: state.Seen{UpdatedAt: before}, LoadBalancer: state.LoadBalancer{ID: "lb"}})
	})
	in, lb := inputsOf(svc), &model.LoadBalancer{ID: "lb", UpdatedAt: before}
	r := Round{Before: state.VersionOf(lb), Wrote: true, Want: &Desired{LoadBalancer: &model.LoadBalancer{}}, Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb", UpdatedAt: noon}}}}
	s.remember(in, r, []string{"10.0.0.5"}, "", nil)
	if seen := s.store.Get("other").Applied.Seen; !seen.UpdatedAt.Equal(noon) {
		t.Errorf("another Service has seen %+v", seen)
	}
	if got := s.store.Get(svc.UID).Applied; got.LoadBalancer.FloatingIPID != "" || got.Service != in.Owner.Key() {
		t.Errorf("applied %+v", got)
	}
}

// The digest of a desired state is that of its settings and of the groups, whenever it is asked for.
func TestDigestFor_DistinguishesRequests(t *testing.T) {
	t.Parallel()
	in, settingsOf := inputsOf(webService()), func() *Desired {
		return &Desired{LoadBalancer: &model.LoadBalancer{Name: "lb"}, Settings: &settings.Settings{}}
	}
	first, managed := settingsOf(), inputsOf(webService())
	managed.Settings.Access.SecurityGroupMode, managed.Members = "shared", &members.Set{}
	if first.digestFor(in) == "" || first.digestFor(in) != settingsOf().digestFor(in) {
		t.Error("the same request has two digests")
	}
	other := &Desired{LoadBalancer: &model.LoadBalancer{Name: "other"}}
	if first.digestFor(in) == other.digestFor(in) || first.digestFor(in) == settingsOf().digestFor(managed) {
		t.Error("two requests have the same digest")
	}
}
