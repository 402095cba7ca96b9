package garbage_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// clean removes what cluster deadID has in a store, with changes of the options.
func clean(t *testing.T, s *store, changes ...func(*garbage.Options)) (*garbage.Report, error) {
	t.Helper()
	o := garbage.Options{Query: garbage.Query{ClusterID: deadID}, Remove: true, Octavia: s, Neutron: s, Clock: &leaps{}}
	for _, change := range changes {
		change(&o)
	}
	return garbage.Run(t.Context(), o)
}

// led is a VIP of cluster deadID with a route on each of two routers, beside others, and a router of another project.
func led() *store {
	s := newStore(vipOf("v", "10.9.0.9", of(deadID, "dead", "web")), fip("f", "v", of(deadID, "dead", "web").FloatingIPs().Description()))
	s.routers["r"] = &neutron.Router{ID: "r", Routes: []neutron.ExtraRoute{
		{Destination: "10.9.0.9/32", NextHop: "10.0.0.11"}, {Destination: "10.9.0.8/32", NextHop: "10.0.0.11"}, {Destination: "10.9.0.0/24", NextHop: "10.0.0.12"}, {Destination: "x", NextHop: "10.0.0.13"},
	}}
	s.routers["s"] = &neutron.Router{ID: "s", Routes: s.routers["r"].Routes[:1]}
	s.interfaces = []neutron.Port{{DeviceID: "theirs"}, {DeviceID: "r"}, {DeviceID: "r"}, {DeviceID: "s"}}
	return s
}

// The routes to a VIP go before its port, which is the proof that they are the cluster's. What others have attached
// since stays.
func TestRun_RemovesAVIPOnlyAsItWasListed(t *testing.T) {
	t.Parallel()
	const route, other = "Route 10.9.0.9/32 of r", "Route 10.9.0.9/32 of s"
	later := func(s *store, change func()) {
		s.happens = func(method string) {
			if method == "VIPPort" {
				change()
				s.happens = nil
			}
		}
	}
	attach := func(s *store, id string) {
		s.Inventory.FloatingIPs = append(s.Inventory.FloatingIPs, floatingips.FloatingIP{ID: id, FloatingIP: "203.0.113.9", PortID: "v"})
	}
	for name, test := range map[string]struct {
		change func(*store)
		want   []string
		why    string // of the VIP
	}{
		"as it was":         {func(*store) {}, []string{"FloatingIP f", route, other, "Port v"}, ""},
		"bound since":       {func(s *store) { later(s, func() { s.Inventory.VIPs[0].DeviceOwner = "compute:nova" }) }, nil, "it waits for floating IP f"},
		"gone since":        {func(s *store) { later(s, func() { s.Inventory.VIPs = nil }) }, []string{"FloatingIP f"}, ""},
		"attached since":    {func(s *store) { later(s, func() { attach(s, "g") }) }, []string{"FloatingIP f"}, "floating IP g is on it"},
		"another's, listed": {func(s *store) { attach(s, "g") }, []string{"FloatingIP f", route, other, "Port v"}, ""},
		"another's by now": {func(s *store) {
			later(s, func() { s.Inventory.VIPs[0].Tags, s.Inventory.VIPs[0].Description = nil, "" })
		}, nil, "it waits for floating IP f"},
		"port cannot be read":   {func(s *store) { s.fails["VIPPort"] = refusal(http.StatusForbidden, "") }, nil, "it waits for floating IP f"},
		"no interfaces":         {func(s *store) { s.fails["RouterInterfaces"] = refusal(http.StatusForbidden, "") }, []string{"FloatingIP f"}, "403"},
		"router cannot be read": {func(s *store) { s.fails["Router"] = refusal(http.StatusForbidden, "") }, []string{"FloatingIP f"}, "403"},
		"routes are refused":    {func(s *store) { s.fails["RemoveRoutes"] = refusal(http.StatusForbidden, "") }, []string{"FloatingIP f"}, "403"},
		"port is refused":       {func(s *store) { s.fails["DeletePort"] = refusal(http.StatusForbidden, "") }, []string{"FloatingIP f", route, other}, "403"},
		"bound since, no floating IP": {func(s *store) {
			s.Inventory.FloatingIPs = nil
			later(s, func() { s.Inventory.VIPs[0].DeviceOwner = "compute:nova" })
		}, nil, "it is not removed, as it was changed since it was listed: run the command again (it is bound to a device: compute:nova)"},
		"without an address": {func(s *store) { s.Inventory.VIPs[0].FixedIPs = nil }, []string{"FloatingIP f", "Port v"}, ""},
	} {
		s := led()
		test.change(s)
		report, err := clean(t, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, item := range report.Items {
			if item.Kind == garbage.VIP && ((item.State == garbage.Removed) != (test.why == "") || !strings.Contains(item.Why, test.why)) {
				t.Errorf("%s: VIP %s, %q", name, item.State, item.Why)
			}
		}
		if slices.Contains(s.deleted, route) && slices.Contains(s.deleted, "Port v") {
			s.assertOrder(t, route, "Port v")
		}
		s.assertDeleted(t, name, test.want...)
	}
}

// computes are the servers of a project, or an error.
type computes struct {
	servers []nova.Server
	err     error
}

func (c computes) Servers(context.Context) ([]nova.Server, error) { return c.servers, c.err }

// Objects of a cluster with running nodes would come back with other addresses.
func TestRun_LeavesClustersWithRunningNodesAlone(t *testing.T) {
	t.Parallel()
	who := of(deadID, "dead", "web")
	forwarded := func(c *cloud) {
		c.FloatingIPs = append(c.FloatingIPs, floatingips.FloatingIP{ID: "f", FloatingIP: "203.0.113.9", Description: who.FloatingIPs().Description(), RouterID: "r"})
	}
	for name, test := range map[string]struct {
		cloud   []change
		status  string
		address string // of the server
		fails   string // a method
		runs    string // what runs
		err     bool
	}{
		"member":                  {[]change{lb("a", who)}, "ACTIVE", "10.0.0.11", "", "member node (10.0.0.11) of load balancer a is server s (node), which is ACTIVE", false},
		"member in IPv6 spelling": {[]change{lb("a", who)}, "ACTIVE", "::ffff:10.0.0.11", "", "of load balancer a", false},
		"member that is stopped":  {[]change{lb("a", who)}, "SHUTOFF", "10.0.0.11", "", "", false},
		"another's server":        {[]change{lb("a", who)}, "ACTIVE", "10.0.0.99", "", "", false},
		"no address":              {[]change{lb("a", who)}, "ACTIVE", "", "", "", false},
		"of another cluster":      {[]change{lb("a", of(livingID, "living", "web"))}, "ACTIVE", "10.0.0.11", "", "", false},
		"members are unknown":     {[]change{lb("a", who)}, "ACTIVE", "10.0.0.11", "StatusTree", "", true},
		"next hop":                {[]change{vipOf("v", "10.9.0.9", who)}, "ACTIVE", "10.0.0.11", "", "member next hop (10.0.0.11) of VIP 10.9.0.9", false},
		"next hops are unknown":   {[]change{vipOf("v", "10.9.0.9", who)}, "ACTIVE", "10.0.0.11", "RouterInterfaces", "", true},
		"target":                  {[]change{forwarded}, "ACTIVE", "10.0.0.11", "", "member target (10.0.0.11) of floating IP 203.0.113.9", false},
		"targets are unknown":     {[]change{forwarded}, "ACTIVE", "10.0.0.11", "Forwardings", "", true},
		"servers are unknown":     {[]change{lb("a", who)}, "", "", "Servers", "", true},
		"target, no Octavia":      {[]change{forwarded}, "ACTIVE", "10.0.0.11", "", "of floating IP 203.0.113.9", false},
		"of a doubtful one":       {[]change{rawLB("a", who.Name(), "", append(who.Tags(), "kube_cluster_id_x")), groupOf("g", who)}, "ACTIVE", "10.0.0.11", "", "", false},
		"next hop, no Octavia":    {[]change{vipOf("v", "10.9.0.9", who)}, "ACTIVE", "10.0.0.11", "", "of VIP 10.9.0.9", false},
	} {
		s := newStore(test.cloud...)
		s.routers, s.interfaces = led().routers, led().interfaces
		s.members = map[string][]string{"a": {"not an address", "10.0.0.11"}}
		s.forwardings = map[string][]neutron.Forwarding{"f": {{InternalIPAddress: "10.0.0.11", Description: who.ProvenDescription()}}}
		servers := computes{servers: []nova.Server{{ID: "s", Name: "node", Status: test.status, Addresses: nova.ServerAddresses{{Address: test.address}}}}}
		if s.fails[test.fails] = refusal(http.StatusForbidden, ""); test.fails == "Servers" {
			servers.err = s.fails["Servers"]
		}
		report, err := clean(t, s, func(o *garbage.Options) {
			if o.Nova = servers; strings.HasSuffix(name, "no Octavia") {
				o.Octavia = nil
			}
		})
		if test.err {
			if !apierror.IsForbidden(err) || len(s.deleted) > 0 {
				t.Errorf("%s: deleted %q, error %v", name, s.deleted, err)
			}
			continue
		}
		if err != nil || (len(s.deleted) == 0) != (test.runs != "" || name == "of another cluster") {
			t.Errorf("%s: deleted %q, error %v", name, s.deleted, err)
			continue
		}
		for _, item := range report.Items {
			if test.runs != "" && (!item.Unclear || !strings.Contains(item.Why, "the cluster still runs: ") || !strings.Contains(item.Why, test.runs)) {
				t.Errorf("%s: %+v", name, item)
			}
		}
	}
}

// Octavia deletes later than it answers, and a busy load balancer takes no deletion.
func TestRun_RepeatsDeletionsOfALoadBalancerWithinLimits(t *testing.T) {
	t.Parallel()
	locked := refusal(http.StatusConflict, `{"faultstring": "Load Balancer a is immutable and cannot be updated."}`)
	living := func(o *garbage.Options) {
		o.Living = func(context.Context) (*garbage.Services, error) { return nil, nil }
	}
	for name, test := range map[string]struct {
		status  string
		answer  error
		change  func(*garbage.Options)
		deleted bool
		why     string
		asked   int // deletions
	}{
		"accepted":             {"", nil, nil, true, "", 1},
		"in ERROR":             {"ERROR", nil, nil, true, "", 1},
		"refused":              {"", refusal(http.StatusForbidden, ""), nil, false, "403", 1},
		"no clear answer":      {"", refusal(http.StatusGatewayTimeout, ""), nil, false, "it still exists after 3 delete requests, and its load balancer is ACTIVE", 3},
		"busy for too long":    {"PENDING_UPDATE", nil, nil, false, "its load balancer is still PENDING_UPDATE after 15m0s: run the command again", 0},
		"busy, living cluster": {"PENDING_UPDATE", nil, living, false, "after 15m0s: the next look decides", 0},
		"deleted by now":       {"DELETED", nil, nil, true, "", 0},
		"locked for too long":  {"", locked, func(o *garbage.Options) { o.Timeout, o.Poll = 10*time.Second, time.Second }, false, "is still ACTIVE after 10s", 11},
		"lock is not available": {"", nil, func(o *garbage.Options) {
			o.Lock = func(context.Context, string) (func(), error) { return nil, errors.New("closing") }
		}, false, "closing", 0},
	} {
		s := newStore(lb("a", of(deadID, "dead", "web")))
		s.status["a"], s.fails["DeleteLoadBalancer"] = test.status, test.answer
		if test.change == nil {
			test.change = func(*garbage.Options) {}
		}
		report, err := clean(t, s, test.change)
		if err != nil || len(report.Items) != 1 {
			t.Errorf("%s: %+v, %v", name, report, err)
			continue
		}
		if item := report.Items[0]; (item.State == garbage.Removed) != test.deleted || !strings.Contains(item.Why, test.why) || s.calls["DeleteLoadBalancer"] != test.asked {
			t.Errorf("%s: %d deletions, %s, %q", name, s.calls["DeleteLoadBalancer"], item.State, item.Why)
		}
		code := map[bool]int{true: garbage.ExitClean, false: garbage.ExitFailed}[test.deleted]
		if report.ExitCode() != code {
			t.Errorf("%s: exit code %d, want %d", name, report.ExitCode(), code)
		}
	}
}

// A floating IP that a Service kept may have port forwardings of a person by now.
func TestRun_LeavesFloatingIPsWithForwardingsOfOthers(t *testing.T) {
	t.Parallel()
	who := of(deadID, "dead", "web")
	ours, theirs := neutron.Forwarding{Description: who.ProvenDescription()}, neutron.Forwarding{Description: "ssh"}
	for name, test := range map[string]struct {
		all     []neutron.Forwarding
		err     error
		deleted bool
	}{
		"its own":        {[]neutron.Forwarding{ours, ours}, nil, true},
		"also another's": {[]neutron.Forwarding{ours, theirs}, nil, false},
		"none any more":  {nil, nil, true},
		"gone":           {nil, refusal(http.StatusNotFound, ""), true},
		"unknown":        {nil, refusal(http.StatusForbidden, ""), false},
	} {
		s := newStore()
		s.Inventory.FloatingIPs = []floatingips.FloatingIP{{ID: "f", Description: who.FloatingIPs().Description(), RouterID: "r"}}
		s.forwardings, s.fails["Forwardings"] = map[string][]neutron.Forwarding{"f": test.all}, test.err
		if _, err := clean(t, s); err != nil || (len(s.deleted) == 1) != test.deleted {
			t.Errorf("%s: deleted %q, error %v", name, s.deleted, err)
		}
	}
}

// The exit code of the command depends on the remaining work.
func TestReport_ExitCodeIsThatOfTheWorstResult(t *testing.T) {
	t.Parallel()
	found, failed, removed := garbage.Item{State: garbage.Found}, garbage.Item{State: garbage.Failed}, garbage.Item{State: garbage.Removed}
	kept, unclear := garbage.Item{State: garbage.Kept}, garbage.Item{State: garbage.LeftAlone, Unclear: true}
	for name, test := range map[string]struct {
		report garbage.Report
		want   int
	}{
		"nothing carries it": {garbage.Report{}, garbage.ExitNotCarried},
		"clean":              {garbage.Report{Carried: true, Items: []garbage.Item{kept}}, garbage.ExitClean},
		"all removed":        {garbage.Report{Items: []garbage.Item{removed}}, garbage.ExitClean},
		"unclear":            {garbage.Report{Items: []garbage.Item{removed, unclear}}, garbage.ExitUnclear},
		"found":              {garbage.Report{Items: []garbage.Item{unclear, found}}, garbage.ExitFound},
		"failed":             {garbage.Report{Items: []garbage.Item{unclear, found, failed}}, garbage.ExitFailed},
		"interrupted":        {garbage.Report{Carried: true, Interrupted: true}, garbage.ExitFailed},
	} {
		if got := test.report.ExitCode(); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}

// Routes have no owner's name. Those within a pod network are the cluster's, wider ones not.
func TestList_TakesRoutesWithinPodNetworks(t *testing.T) {
	t.Parallel()
	for destination, want := range map[string]string{
		"10.244.0.0/16": "found", "10.244.7.0/24": "found", "10.244.7.7/32": "found", "10.244.0.0/15": "", "10.245.0.0/24": "", "0.0.0.0/0": "",
		"fd00:244::/48": "found", "fd00:244:0:7::/64": "found", "fd00:245::/64": "", "nonsense": "",
		"10.9.0.9/32": "", // to a VIP, with which it goes
	} {
		var c cloud
		router("10.0.0.99", destination+" 10.0.0.11")(&c)
		vipOf("v", "10.9.0.9", of(deadID, "dead", "web"))(&c)
		query := garbage.Query{ClusterID: deadID, PodNetworks: append([]netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}, podNetworks...)}
		_, items := garbage.List(c.Inventory, query)
		state := ""
		for _, item := range items {
			if item.Kind == garbage.Route {
				state = string(item.State)
			}
		}
		if state != want {
			t.Errorf("%s: %q, want %q", destination, state, want)
		}
	}
}

// Only a route to exactly the address of a VIP goes with it, so that the others need the pod networks.
func TestList_CountsRoutesThatLeadToNoVIP(t *testing.T) {
	t.Parallel()
	var c cloud
	router("10.0.0.99", "10.9.0.9/32 10.0.0.11", "10.9.0.0/24 10.0.0.11", "10.9.0.8/32 10.0.0.11", "x 10.0.0.11")(&c)
	vipOf("v", "10.9.0.9", of(deadID, "dead", "web"))(&c)
	vipOf("u", "", of(deadID, "dead", "api"))(&c)
	_, items := garbage.List(c.Inventory, garbage.Query{ClusterID: deadID})
	if i := slices.IndexFunc(items, func(i garbage.Item) bool { return i.Kind == garbage.Route }); i < 0 || items[i].Name != "3 routes" || !items[i].Unclear {
		t.Errorf("items %+v", items)
	}
}

func TestRun_NamesTheClustersOfTheProject(t *testing.T) {
	t.Parallel()
	twice := rawLB("e", "kube_service_both_default_web", "", []string{"kube_cluster_id_x", "kube_cluster_id_y"})
	s := newStore(lb("a", of(livingID, "zoo", "web")), lb("b", of(livingID, "zoo", "api")), legacyLB("c", "ark", "web"), rawLB("d", "web", "", nil), twice, vipOf("v", "10.9.0.9", who("web", 1)))
	report, err := clean(t, s)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, k := range report.Known {
		known = append(known, k.String())
	}
	if len(known) != len(slices.Compact(slices.Clone(known))) || !slices.Contains(known, "zoo, ID "+livingID) || !slices.Contains(known, "ark") || !slices.Contains(known, "mine, ID "+livingID) || known[0] != "ark" && known[0] > known[1] {
		t.Errorf("known are %q", known)
	}
	if report.Carried || !report.Unknown() || report.ExitCode() != garbage.ExitNotCarried || len(s.deleted) > 0 {
		t.Errorf("carried %t, exit code %d, deleted %q", report.Carried, report.ExitCode(), s.deleted)
	}
	if _, err := clean(t, s, func(o *garbage.Options) { o.Query = garbage.Query{} }); err == nil {
		t.Error("neither ID nor name is no error")
	}
	for want, cloud := range map[string]garbage.Cloud{
		"cloud u, project p":                {AuthURL: "u", Project: "p"},
		"cloud u, project n (p), region r1": {AuthURL: "u", Project: "p", ProjectName: "n", Region: "r1"},
	} {
		if got := cloud.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
