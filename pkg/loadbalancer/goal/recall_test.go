package goal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// A placeholder makes the same desired state as the load balancer that is known by its record only.
func TestPlaceholder_HasTheBasisOfTheKnownLoadBalancer(t *testing.T) {
	t.Parallel()
	monitored := []model.Listener{{Pool: model.Pool{Monitor: &model.Monitor{}}}}
	for name, lb := range map[string]*model.LoadBalancer{
		"its own":                    {},
		"with a floating IP":         {FloatingIP: &model.FloatingIP{ID: "fip", Address: "203.0.113.7"}},
		"adopted, without monitors":  {Adopted: true},
		"adopted, with monitors":     {Adopted: true, Listeners: monitored},
		"another's":                  {Shared: &model.Shared{}},
		"another's, adopted":         {Shared: &model.Shared{}, Adopted: true, Listeners: monitored},
		"with VIPs of both families": {VIP: model.VIP{Additional: []model.AdditionalVIP{{Family: model.IPv6, Address: "fd00::5"}}}},
	} {
		in := inputsOf(webService())
		in.Settings.LoadBalancerIP = "203.0.113.7"
		lb.ID, lb.Provider, lb.VIP.Address, lb.VIP.SubnetID = "lb", "amphora", "10.0.0.5", "subnet"
		applied := &state.Applied{Knowledge: model.Knowledge{Depth: model.Listed}, LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPSubnetID: lb.VIP.SubnetID, Shared: lb.Shared, Adopted: lb.Adopted, Unmonitored: lb.Unmonitored(),
		}}
		if lb.FloatingIP != nil {
			applied.LoadBalancer.FloatingIPID = lb.FloatingIP.ID
		}
		want := BasisOf(in, lb)
		if applied.LoadBalancer.VIPs = lb.VIP; len(lb.VIP.Additional) == 0 { // a record has no address
			applied.LoadBalancer.VIPs, want.VIPAddress = model.VIP{}, ""
		}
		if got := placeholder(in, applied); BasisOf(in, got) != want || got.VIP.SubnetID != "subnet" {
			t.Errorf("%s, by its record: %+v, want %+v", name, BasisOf(in, got), want)
		}
		if served := servedBy(in, applied); (served == nil) != (lb.Shared != nil) || served != nil && served.ID != "lb" {
			t.Errorf("%s, by its record: served by %+v", name, served)
		}
		applied.Depth, applied.Contents = model.Full, lb
		if got := placeholder(in, applied); BasisOf(in, got) != BasisOf(in, lb) || servedBy(in, applied) != lb {
			t.Errorf("%s, by its contents: %+v, want %+v", name, BasisOf(in, got), BasisOf(in, lb))
		}
	}
}

// The description of cloud-provider-openstack proves a floating IP on its load balancer only, which a snapshot does not
// show.
func TestRebuildFloatingIP_NeedsToKnowItsOwner(t *testing.T) {
	t.Parallel()
	fips := webIdentity().FloatingIPs()
	snap := project.Of(noon, nil, []project.FloatingIP{
		{ID: "own", Address: "203.0.113.7", PortID: "port", Description: fips.Description()}, {ID: "legacy", Description: fips.LegacyDescription()}, {ID: "theirs", Description: "another's"},
	})
	for id, test := range map[string]struct{ owned, known bool }{"own": {true, true}, "theirs": {false, true}, "legacy": {false, false}} {
		fip, ok := rebuildFloatingIP(inputsOf(webService()), snap, id)
		if ok != test.known || ok && (fip.ID != id || fip.Owned != test.owned || fip.Description != snap.FloatingIPs[id].Description || fip.Address != snap.FloatingIPs[id].Address || fip.PortID != snap.FloatingIPs[id].PortID) {
			t.Errorf("%s: %+v, known: %v", id, fip, ok)
		}
	}
	if fip, ok := rebuildFloatingIP(inputsOf(webService()), snap, ""); fip != nil || !ok {
		t.Errorf("none: %+v, %v", fip, ok)
	}
}

// An unattached floating IP of the Service is the remains of an incomplete change.
func TestHasUnattachedFloatingIP_IsAboutTheServicesOwn(t *testing.T) {
	t.Parallel()
	id := webIdentity()
	for name, test := range map[string]struct {
		fip  project.FloatingIP
		want bool
	}{
		"unattached":           {project.FloatingIP{ID: "fip", Description: id.FloatingIPs().Description()}, true},
		"on a port":            {project.FloatingIP{ID: "fip", Description: id.FloatingIPs().Description(), PortID: "port"}, false},
		"another's unattached": {project.FloatingIP{ID: "fip", Description: "another's"}, false},
	} {
		if hasUnattachedFloatingIP(id, project.Of(noon, nil, []project.FloatingIP{test.fip})) != test.want {
			t.Errorf("%s: %v", name, !test.want)
		}
	}
}

// The lists of the project are read for Services of which this process knows nothing but their status.
func TestIsUnknown_EndsWithTheFirstKnowledge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry   state.Entry
		change  func(*Inputs)
		unknown bool
	}{
		"a status":                    {unknown: true},
		"a creation in another place": {entry: state.Entry{Made: state.Made{LoadBalancerID: "lb"}}, unknown: true},
		"no status":                   {change: func(in *Inputs) { in.Published = Published{} }},
		"a host name": {change: func(in *Inputs) {
			in.Published.Status.Ingress = []v1.LoadBalancerIngress{{Hostname: "web.example.org"}}
		}},
		"a subnet of members":       {change: func(in *Inputs) { in.Settings.Members.SubnetID = "subnet" }},
		"applied":                   {entry: state.Entry{Applied: appliedOn("lb", false)}},
		"changed by another client": {entry: state.Entry{Drift: state.Drift{Before: appliedOn("lb", false)}}},
		"accepted":                  {entry: state.Entry{Accepted: webService()}},
		"a change began":            {entry: state.Entry{Made: state.Made{Touched: true}}},
		"an unattached floating IP": {entry: state.Entry{Made: state.Made{UnattachedFloatingIP: true}}},
	} {
		svc := webService()
		in := inputsOf(svc)
		if in.Published = published("203.0.113.7"); test.change != nil {
			test.change(&in)
		}
		o := &observer{Finder: &Finder{Memory: memoryOf(svc, "", test.entry)}}
		if o.isUnknown(in) != test.unknown {
			t.Errorf("%s: unknown: %v", name, !test.unknown)
		}
	}
}

// The published floating IP proves the load balancer of a record, also after another client has detached it.
func TestProvenByAddress_RemembersTheLoadBalancerOfThePublishedFloatingIP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		floatingIP, published string
		shared                *model.Shared
		want                  state.Made
	}{
		"its own":              {"fip", "203.0.113.7", nil, state.Made{LoadBalancerID: "lb"}},
		"another's":            {"fip", "203.0.113.7", &model.Shared{}, state.Made{ServedOn: "lb"}},
		"without floating IP":  {"", "203.0.113.7", nil, state.Made{}},
		"at another published": {"fip", "203.0.113.8", nil, state.Made{}},
	} {
		svc := webService()
		in, c := inputsOf(svc), &recaller{memory: memoryOf(svc, "", state.Entry{})}
		in.Published = published(test.published)
		c.provenByAddress(in, &state.Applied{Address: "203.0.113.7", LoadBalancer: state.LoadBalancer{ID: "lb", FloatingIPID: test.floatingIP, Shared: test.shared}})
		if diff := cmp.Diff(test.want, c.memory.Store.Get(svc.UID).Made); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The mode is the controller's: a status that differs from the record in its addresses only is that of another one.
func TestSameAddress_ComparesAddressAndHostName(t *testing.T) {
	t.Parallel()
	proxy := v1.LoadBalancerIPModeProxy
	for name, test := range map[string]struct {
		a, b v1.LoadBalancerIngress
		same bool
	}{
		"the same address":   {v1.LoadBalancerIngress{IP: "a"}, v1.LoadBalancerIngress{IP: "a", IPMode: &proxy}, true},
		"another address":    {v1.LoadBalancerIngress{IP: "a"}, v1.LoadBalancerIngress{IP: "b"}, false},
		"another host name":  {v1.LoadBalancerIngress{Hostname: "a"}, v1.LoadBalancerIngress{Hostname: "b"}, false},
		"a name of the same": {v1.LoadBalancerIngress{IP: "a"}, v1.LoadBalancerIngress{Hostname: "a"}, false},
	} {
		if sameAddress(test.a, test.b) != test.same {
			t.Errorf("%s: the same: %v", name, !test.same)
		}
	}
}
