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
)

// Floating IPs that can be a Service's are observed, and no other. For a new Service, the first list of the project shows that
// there are none.
func TestObserve_FindsTheFloatingIPsOfAService(t *testing.T) {
	t.Parallel()
	id := rigIdentity()
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
		// listed is the number of lists of floating IPs, unattached is set if one is known to be unattached afterwards.
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
		"on its VIP":                             {cloud: onPort("vip-of-lb"), balancer: true, attached: "fip", listed: 2},
		"on its VIP, another was left":           {cloud: append(onPort("vip-of-lb"), floatingips.FloatingIP{ID: "left", Description: own}), balancer: true, entry: state.Entry{Made: state.Made{UnattachedFloatingIP: true}}, attached: "fip", free: []string{"left"}, listed: 4, unattached: true},
		"on its VIP, none is left":               {cloud: onPort("vip-of-lb"), balancer: true, entry: state.Entry{Made: state.Made{UnattachedFloatingIP: true}}, attached: "fip", listed: 4},
		"internal":                               {cloud: unattached(own), change: internal},
		"internal, with a load balancer":         {cloud: onPort("vip-of-lb"), balancer: true, change: internal, attached: "fip", listed: 2},
		"internal since":                         {cloud: unattached(own), change: func(in *Inputs) { internal(in); in.Published = published("203.0.113.7") }, free: []string{"fip"}, listed: 4},
		"internal, after a change":               {late: unattached(own), entry: state.Entry{Made: state.Made{Touched: true}}, change: internal, free: []string{"fip"}, listed: 2},
		"on a VIP of another provider": {cloud: unattached(own), change: func(in *Inputs) {
			in.VIPs = []model.LoadBalancer{{ID: "vip", FloatingIP: &model.FloatingIP{ID: "fip"}}}
		}, listed: 3},
	} {
		r := newRig(t)
		r.floatingIPs = test.cloud
		if test.balancer {
			r.add(balancer("lb"))
		}
		in := r.ask().in
		if test.change != nil {
			test.change(&in)
		}
		r.store.Update(r.svc.UID, func(e *state.Entry) { *e = test.entry })
		if test.late != nil {
			if _, err := r.Cloud.Project.FirstFloatingIPs(r.ctx); err != nil {
				t.Fatal(err)
			}
			r.floatingIPs = test.late
		}
		have, err := r.observer.observe(r.ctx, in, in.Settings, &r.lock, new(reading.Search))
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
		if listed := r.count("floating-ips"); listed != test.listed {
			t.Errorf("%s: floating IPs are listed %d times, want %d", name, listed, test.listed)
		}
		if left := r.store.Get(r.svc.UID).Made.UnattachedFloatingIP; left != test.unattached {
			t.Errorf("%s: one is known to be unattached: %v", name, left)
		}
		if len(have.Duplicates) != len(in.VIPs) {
			t.Errorf("%s: duplicates %+v", name, have.Duplicates)
		}
	}
}

// A removal finds all floating IPs of a Service. The published address proves nothing of one that it had requested.
func TestLeavingFloatingIPs_FindsAllOfThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		legacy, asks bool
		want         int
	}{"its own": {false, false, 1}, "its own, it requests one": {false, true, 1}, "published": {true, false, 1}, "published, it requests one": {true, true, 0}} {
		r := newRig(t)
		description := rigIdentity().FloatingIPs().Description()
		if test.legacy {
			description = rigIdentity().FloatingIPs().LegacyDescription()
		}
		r.add(floatingAt("fip", "203.0.113.7", "", describedAs(description)))
		in := r.ask().in
		in.Published = published("203.0.113.7")
		have := nothing(in.ID)
		if err := r.observer.leavingFloatingIPs(r.ctx, in, have, test.asks); err != nil || len(have.UnattachedFloatingIPs) != test.want {
			t.Errorf("%s: %+v, error %v", name, have.UnattachedFloatingIPs, err)
		}
		r.fails["floating-ips"] = errFailed
		if err := r.observer.leavingFloatingIPs(r.ctx, in, have, test.asks); !errors.Is(err, errFailed) {
			t.Errorf("%s: a failed request: %v", name, err)
		}
	}
}

// A failed list of floating IPs leaves the knowledge as it was, and an absurd number of them does not exceed a request.
func TestReadFloatingIPs_FailsAndIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := r.ask().in
	r.store.Update(r.svc.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true })
	for i := range 120 {
		r.add(floatingAt(fmt.Sprintf("fip %03d", i), "", ""))
	}
	ids, complete, err := r.observer.knownFloatingIPs(r.ctx, in.Owner, in.ID, nil)
	if len(ids) != 100 || !complete || err != nil {
		t.Errorf("%d are known, complete: %v, error %v", len(ids), complete, err)
	}
	r.fails["floating-ips"] = errFailed
	if err := r.observer.readFloatingIPs(r.ctx, in, in.ID, &settings.Settings{}, &model.Observed{}); !errors.Is(err, errFailed) || !r.store.Get(r.svc.UID).Made.UnattachedFloatingIP {
		t.Errorf("after a failed list, one is known to be unattached: %v, error %v", r.store.Get(r.svc.UID).Made.UnattachedFloatingIP, err)
	}
}
