package observe_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// same fails unless both answers hold the same objects, in whatever order.
func same[T any](t *testing.T, what string, id func(T) string, got, want []T) {
	t.Helper()
	byID := func(a, b T) int { return cmp.Compare(id(a), id(b)) }
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	if diff := gocmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestLists_AnswerAsOctaviaAndNeutronDo(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "2026.1")
	ours, theirs, legacy := env.ours(us()), env.ours(another()), env.legacy(us())
	for port, lb := range map[int]*octavia.LoadBalancer{80: ours, 81: theirs, 82: legacy} {
		env.foreignListener(lb.ID, port)
	}
	fip := env.floatingIP("somebody's", legacy.VIPPortID)
	env.floatingIP("spare", "")
	lists, err := project.New(env.session.Octavia(), env.session.Neutron(), clock.RealClock{}).Lists(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ctx, direct := t.Context(), env.session.Octavia()
	for _, filter := range []octavia.LoadBalancerFilter{
		{All: true}, {ID: ours.ID}, {Tags: []string{us().ServiceTag()}}, {Tags: []string{us().Name()}}, {Tags: []string{us().Name(), us().ServiceTag()}},
		{VIPPortID: legacy.VIPPortID}, {VIPAddress: theirs.VIPAddress}, {Description: us().Description()}, {Description: us().Description(), VIPAddress: theirs.VIPAddress},
		{Description: "nobody's"}, {Tags: []string{"nobody's"}}, {AnyTag: []string{us().ServiceTag(), another().ServiceTag(), "nobody's"}},
		{Description: us().Description(), AnyTag: []string{another().ServiceTag(), us().ServiceTag()}},
	} {
		got, _ := lists.LoadBalancers(ctx, filter)
		want, err := direct.LoadBalancers(ctx, filter)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "load balancers", func(lb octavia.LoadBalancer) string { return lb.ID }, got, want)
	}
	for _, lb := range []*octavia.LoadBalancer{ours, theirs, legacy} {
		got, _ := lists.Listeners(ctx, lb.ID)
		want, err := direct.Listeners(ctx, lb.ID)
		if err != nil || len(want) == 0 {
			t.Fatal(err, want)
		}
		same(t, "listeners", func(l octavia.Listener) string { return l.ID }, got, want)
	}
	for _, tags := range [][]string{{us().ServiceTag()}, {us().ServiceTag(), us().Name(), another().ServiceTag()}} {
		got, _ := lists.MonitorsTagged(ctx, tags...)
		want, err := direct.MonitorsTagged(ctx, tags...)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "monitors", func(m octavia.HealthMonitor) string { return m.ID }, got, want)
		gotListeners, _ := lists.ListenersTagged(ctx, tags...)
		wantListeners, err := direct.ListenersTagged(ctx, tags...)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "listeners", func(l octavia.Listener) string { return l.ID }, gotListeners, wantListeners)
	}
	for _, filter := range []neutron.FloatingIPFilter{
		{PortID: legacy.VIPPortID}, {Address: fip.FloatingIP}, {Description: "spare"}, {IDs: []string{fip.ID}}, {PortIDs: []string{legacy.VIPPortID, ours.VIPPortID}}, {PortID: ours.VIPPortID},
	} {
		got, _ := lists.FloatingIPs(ctx, filter)
		want, err := env.session.Neutron().FloatingIPs(ctx, filter)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "floating IPs", func(f floatingips.FloatingIP) string { return f.ID }, got, want)
	}
}

func TestLists_AreReadOnceForAllWithinAge(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "2026.1")
	env.legacy(us())
	clk := clocktesting.NewFakeClock(time.Now())
	reader := project.New(env.session.Octavia(), env.session.Neutron(), clk)
	env.Cloud.RequestLog.Reset()
	for _, call := range []struct {
		what      string
		step, age time.Duration
		requests  int
	}{
		{"the first", 0, time.Minute, 4},
		{"the second", 0, time.Minute, 4},
		{"one within its age", 30 * time.Second, time.Minute, 4},
		{"one for which it is too old", 0, 10 * time.Second, 8},
		{"one when the first would be kept no longer", 30 * time.Second, time.Hour, 12},
		{"the next", 0, time.Hour, 12},
		{"one within the hour", 59 * time.Minute, time.Hour, 12},
		{"one when it is kept no longer", time.Minute, 2 * time.Hour, 16},
	} {
		clk.Step(call.step)
		if _, err := reader.Lists(t.Context(), call.age); err != nil {
			t.Fatal(err)
		}
		if all := env.Cloud.RequestLog.Requests(); len(all) != call.requests {
			t.Errorf("%s: %d requests so far, want %d", call.what, len(all), call.requests)
		}
	}
}
