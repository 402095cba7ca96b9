package goal

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Floating IPs that can be a Service's are observed, and no other. For a new Service, the first list of the project shows that
// there are none.
func TestObserve_FindsTheFloatingIPsOfAService(t *testing.T) {
	t.Parallel()
	id := newScene(t, fixture.Config()).id()
	own, legacy := id.FloatingIPs().Description(), id.FloatingIPs().LegacyDescription()
	earlier := id
	earlier.ServiceUID = "earlier"
	unattached := func(description string) []floatingips.FloatingIP {
		return []floatingips.FloatingIP{{ID: "fip", FloatingIP: "203.0.113.7", Description: description}}
	}
	onPort := func(port string) []floatingips.FloatingIP {
		return []floatingips.FloatingIP{{ID: "fip", FloatingIP: "203.0.113.7", Description: own, PortID: port}}
	}
	internal := func(in *Inputs) { in.Settings.Internal = true }
	for name, test := range map[string]struct {
		cloud    []floatingips.FloatingIP
		late     []floatingips.FloatingIP // those that the first list lacked
		balancer bool
		entry    state.Entry
		change   func(*Inputs)
		attached string
		free     []string
		// listed is the number of lists of floating IPs, unattached what is known afterwards.
		listed     int
		unattached bool
	}{
		"none":                                   {listed: 1},
		"none that is in the first list":         {late: unattached(own), listed: 1},
		"one of a change that this process made": {late: unattached(own), entry: state.Entry{Made: state.Made{Touched: true}}, free: []string{"fip"}, listed: 2},
		"its own":                                {cloud: unattached(own), free: []string{"fip"}, listed: 3},
		"one that it kept":                       {cloud: unattached(earlier.FloatingIPs().Description()), free: []string{"fip"}, listed: 3},
		"of cloud-provider-openstack":            {cloud: unattached(legacy), change: func(in *Inputs) { in.Published = published("203.0.113.7") }, free: []string{"fip"}, listed: 4},
		"of cloud-provider-openstack, unproven":  {cloud: unattached(legacy), listed: 1},
		"one that it requests":                   {cloud: unattached("another's"), change: func(in *Inputs) { in.Settings.Floating.ID = "fip" }, free: []string{"fip"}, listed: 3},
		"one that another requests":              {cloud: unattached("another's"), listed: 1},
		"on the port of its VIP":                 {cloud: onPort("vip"), change: func(in *Inputs) { in.Settings.VIP.PortID = "vip" }, free: []string{"fip"}, listed: 4},
		"on its VIP":                             {cloud: onPort("port of lb"), balancer: true, attached: "fip", listed: 2},
		"on its VIP, another was left":           {cloud: append(onPort("port of lb"), floatingips.FloatingIP{ID: "left", Description: own}), balancer: true, entry: state.Entry{Made: state.Made{UnattachedFloatingIP: true}}, attached: "fip", free: []string{"left"}, listed: 4, unattached: true},
		"on its VIP, none is left":               {cloud: onPort("port of lb"), balancer: true, entry: state.Entry{Made: state.Made{UnattachedFloatingIP: true}}, attached: "fip", listed: 4},
		"internal":                               {cloud: unattached(own), change: internal},
		"internal, with a load balancer":         {cloud: onPort("port of lb"), balancer: true, change: internal, attached: "fip", listed: 2},
		"internal since":                         {cloud: unattached(own), change: func(in *Inputs) { internal(in); in.Published = published("203.0.113.7") }, free: []string{"fip"}, listed: 4},
		"internal, after a change":               {late: unattached(own), entry: state.Entry{Made: state.Made{Touched: true}}, change: internal, free: []string{"fip"}, listed: 2},
		"on a VIP of another provider": {cloud: unattached(own), change: func(in *Inputs) {
			in.VIPs = []model.LoadBalancer{{ID: "vip", FloatingIP: &model.FloatingIP{ID: "fip"}}}
		}, listed: 3},
	} {
		s := newScene(t, fixture.Config())
		s.floatingIPs = test.cloud
		if test.balancer {
			s.add("lb", s.id())
		}
		in := s.ask().in
		if test.change != nil {
			test.change(&in)
		}
		s.store.Update(s.svc.UID, func(e *state.Entry) { *e = test.entry })
		if test.late != nil {
			if _, err := s.engine.Cloud.Project.FirstFloatingIPs(s.ctx); err != nil {
				t.Fatal(err)
			}
			s.floatingIPs = test.late
		}
		have, err := s.engine.observer.observe(s.ctx, in, in.Settings, &s.lock, new(reading.Search))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var free []string
		for _, fip := range have.UnattachedFloatingIPs {
			free = append(free, fip.ID)
		}
		if lb := have.LoadBalancer; !slices.Equal(free, test.free) || (lb != nil && lb.FloatingIP != nil) != (test.attached != "") {
			t.Errorf("%s: free are %v, on %+v", name, free, lb)
		}
		if listed := count(s.sent, "floating IPs"); listed != test.listed {
			t.Errorf("%s: floating IPs are listed %d times, want %d", name, listed, test.listed)
		}
		if left := s.store.Get(s.svc.UID).Made.UnattachedFloatingIP; left != test.unattached {
			t.Errorf("%s: one is known to be unattached: %v", name, left)
		}
		if len(have.Duplicates) != len(in.VIPs) {
			t.Errorf("%s: duplicates %+v", name, have.Duplicates)
		}
	}
}

func count(all []string, one string) (n int) {
	for _, other := range all {
		if other == one {
			n++
		}
	}
	return n
}

// A removal finds all floating IPs of a Service. The published address proves nothing of one that it had requested.
func TestLeavingFloatingIPs_FindsAllOfThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		legacy, asks bool
		want         int
	}{"its own": {false, false, 1}, "its own, it requests one": {false, true, 1}, "published": {true, false, 1}, "published, it requests one": {true, true, 0}} {
		s := newScene(t, fixture.Config())
		description := s.id().FloatingIPs().Description()
		if test.legacy {
			description = s.id().FloatingIPs().LegacyDescription()
		}
		s.floatingIPs = []floatingips.FloatingIP{{ID: "fip", FloatingIP: "203.0.113.7", Description: description}}
		in := s.ask().in
		in.Published = published("203.0.113.7")
		have := nothing(in.ID)
		if err := s.engine.observer.leavingFloatingIPs(s.ctx, in, have, test.asks); err != nil || len(have.UnattachedFloatingIPs) != test.want {
			t.Errorf("%s: %+v, error %v", name, have.UnattachedFloatingIPs, err)
		}
		s.fails["floating IPs"] = errFailed
		if err := s.engine.observer.leavingFloatingIPs(s.ctx, in, have, test.asks); !errors.Is(err, errFailed) {
			t.Errorf("%s: a failed request: %v", name, err)
		}
	}
}

// A failed list of floating IPs leaves the knowledge as it was, and an absurd number of them does not exceed a request.
func TestReadFloatingIPs_FailsAndIsBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixture.Config())
	in := s.ask().in
	s.store.Update(s.svc.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true })
	for i := range 120 {
		s.floatingIPs = append(s.floatingIPs, floatingips.FloatingIP{ID: fmt.Sprintf("fip %03d", i), Description: in.ID.FloatingIPs().Description()})
	}
	ids, complete, err := s.engine.observer.knownFloatingIPs(s.ctx, in.Owner, in.ID, nil)
	if len(ids) != 100 || !complete || err != nil {
		t.Errorf("%d are known, complete: %v, error %v", len(ids), complete, err)
	}
	s.fails["floating IPs"] = errFailed
	if err := s.engine.observer.readFloatingIPs(s.ctx, in, in.ID, &settings.Settings{}, &model.Observed{}); !errors.Is(err, errFailed) || !s.store.Get(s.svc.UID).Made.UnattachedFloatingIP {
		t.Errorf("after a failed list, one is known to be unattached: %v, error %v", s.store.Get(s.svc.UID).Made.UnattachedFloatingIP, err)
	}
}
