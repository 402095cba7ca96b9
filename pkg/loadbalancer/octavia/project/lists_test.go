package project_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

var errFailed = errors.New("failed")

// tenant has the objects of a project, and records the requests. It ignores filters.
type tenant struct {
	project.Octavia // no other request is sent

	balancers   []octavia.LoadBalancer
	listeners   []octavia.Listener
	pools       []octavia.Pool
	monitors    []octavia.HealthMonitor
	floatingIPs []floatingips.FloatingIP
	// fails has the errors of requests, by their first words.
	fails map[string]error

	mu   sync.Mutex
	sent []string
}

func (c *tenant) send(words ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, strings.Join(words, " "))
	return c.fails[words[0]]
}

// requests returns the requests since the last call, sorted, because some are concurrent.
func (c *tenant) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := slices.Sorted(slices.Values(c.sent))
	c.sent = nil
	return sent
}

func (c *tenant) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return c.balancers, c.send(append([]string{"balancers"}, filter.AnyTag...)...)
}

func (c *tenant) AllListeners(context.Context) ([]octavia.Listener, error) {
	return c.listeners, c.send("listeners")
}

func (c *tenant) AllMonitors(context.Context) ([]octavia.HealthMonitor, error) {
	return c.monitors, c.send("monitors")
}

func (c *tenant) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	return c.listeners, c.send(append([]string{"listeners"}, tags...)...)
}

func (c *tenant) PoolsTagged(_ context.Context, tags ...string) ([]octavia.Pool, error) {
	return c.pools, c.send(append([]string{"pools"}, tags...)...)
}

func (c *tenant) MonitorsTagged(_ context.Context, tags ...string) ([]octavia.HealthMonitor, error) {
	return c.monitors, c.send(append([]string{"monitors"}, tags...)...)
}

func (c *tenant) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	return &octavia.LoadBalancer{ID: id, Name: "read alone"}, c.send("balancer", id)
}

func (c *tenant) Monitor(_ context.Context, id string) (*octavia.HealthMonitor, error) {
	return &octavia.HealthMonitor{ID: id, Name: "read alone"}, c.send("monitor", id)
}

func (c *tenant) FloatingIPs(context.Context, neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return c.floatingIPs, c.send("floating")
}

func on(ids ...string) (all []octavia.ObjectID) {
	for _, id := range ids {
		all = append(all, octavia.ObjectID{ID: id})
	}
	return all
}

// some is a project with three load balancers.
func some() *tenant {
	return &tenant{
		balancers: []octavia.LoadBalancer{
			{ID: "a", Description: "web's", Tags: []string{"red", "blue"}, VIPPortID: "port-a", VIPAddress: "10.0.0.1"},
			{ID: "b", Description: "web's", Tags: []string{"red"}, VIPPortID: "port-b", VIPAddress: "10.0.0.2"},
			{ID: "c", Description: "other", Tags: []string{owner("here", 1).ServiceTag()}, VIPPortID: "port-c", VIPAddress: "10.0.0.1"},
		},
		listeners: []octavia.Listener{
			{ID: "l1", Tags: []string{"red", "blue"}, LoadBalancers: on("a")}, {ID: "l2", Tags: []string{"blue"}, LoadBalancers: on("a", "b")}, {ID: "l3", LoadBalancers: on("c")},
		},
		monitors: []octavia.HealthMonitor{{ID: "m1", Name: "listed", Tags: []string{"red"}}, {ID: "m2", Tags: []string{"blue", "red"}}},
		floatingIPs: []floatingips.FloatingIP{
			{ID: "f1", PortID: "port-a", FloatingIP: "203.0.113.1", Description: "web's", Tags: []string{"red"}},
			{ID: "f2", PortID: "port-b", FloatingIP: "203.0.113.2", Description: "web's"}, {ID: "f3", FloatingIP: "203.0.113.3", Tags: []string{"red"}},
		},
	}
}

func listsOf(t *testing.T, c *tenant) *project.Lists {
	t.Helper()
	lists, err := project.New(c, c, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))).Lists(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.requests()
	return lists
}

// idsOf returns the sorted IDs of objects.
func idsOf[T any](all []T, id func(T) string) string {
	var ids []string
	for _, one := range all {
		ids = append(ids, id(one))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func TestLists_SelectLoadBalancersByAllAttributes(t *testing.T) {
	t.Parallel()
	lists := listsOf(t, some())
	for name, test := range map[string]struct {
		filter octavia.LoadBalancerFilter
		want   string
	}{
		"all":                             {octavia.LoadBalancerFilter{All: true}, "a b c"},
		"ID":                              {octavia.LoadBalancerFilter{ID: "b"}, "b"},
		"description":                     {octavia.LoadBalancerFilter{Description: "web's"}, "a b"},
		"port":                            {octavia.LoadBalancerFilter{VIPPortID: "port-c"}, "c"},
		"address":                         {octavia.LoadBalancerFilter{VIPAddress: "10.0.0.1"}, "a c"},
		"tag":                             {octavia.LoadBalancerFilter{Tags: []string{"red"}}, "a b"},
		"two tags":                        {octavia.LoadBalancerFilter{Tags: []string{"red", "blue"}}, "a"},
		"description and address":         {octavia.LoadBalancerFilter{Description: "web's", VIPAddress: "10.0.0.1"}, "a"},
		"description and tag":             {octavia.LoadBalancerFilter{Description: "other", Tags: []string{"red"}}, ""},
		"ID of another description":       {octavia.LoadBalancerFilter{ID: "c", Description: "web's"}, ""},
		"unknown":                         {octavia.LoadBalancerFilter{Description: "nobody's"}, ""},
		"one of two tags":                 {octavia.LoadBalancerFilter{AnyTag: []string{"blue", owner("here", 1).ServiceTag()}}, "a c"},
		"one of unknown tags":             {octavia.LoadBalancerFilter{AnyTag: []string{"green"}}, ""},
		"description and one of two tags": {octavia.LoadBalancerFilter{Description: "web's", AnyTag: []string{"blue", "green"}}, "a"},
	} {
		found, err := lists.LoadBalancers(t.Context(), test.filter)
		if got := idsOf(found, func(lb octavia.LoadBalancer) string { return lb.ID }); got != test.want || err != nil {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, test.want)
		}
		for i := range found { // the answers are the caller's
			found[i].ID = "changed"
		}
	}
	for n, tagged := range map[int]bool{1: true, 2: false} {
		if lists.Tagged(owner("here", n)) != tagged {
			t.Errorf("Service %d has a load balancer: %v", n, !tagged)
		}
	}
}

func TestLists_SelectListenersMonitorsAndSingleObjects(t *testing.T) {
	t.Parallel()
	c := some()
	lists, ctx := listsOf(t, c), t.Context()
	listener := func(l octavia.Listener) string { return l.ID }
	for id, want := range map[string]string{"a": "l1 l2", "b": "l2", "c": "l3", "d": ""} {
		if found, err := lists.Listeners(ctx, id); idsOf(found, listener) != want || err != nil {
			t.Errorf("listeners of %s: %v, error %v", id, found, err)
		}
	}
	for tags, want := range map[string]string{"red": "l1", "blue": "l1 l2", "red blue": "l1 l2", "green": "", "green red": "l1"} {
		if found, err := lists.ListenersTagged(ctx, strings.Fields(tags)...); idsOf(found, listener) != want || err != nil {
			t.Errorf("listeners with %s: %v, error %v", tags, found, err)
		}
	}
	for tags, want := range map[string]string{"red": "m1 m2", "blue": "m2", "blue red": "m1 m2"} {
		found, err := lists.MonitorsTagged(ctx, strings.Fields(tags)...)
		if got := idsOf(found, func(m octavia.HealthMonitor) string { return m.ID }); got != want || err != nil {
			t.Errorf("monitors with %s: %v, error %v", tags, found, err)
		}
	}
	if m, err := lists.Monitor(ctx, "m1"); err != nil || m.Name != "listed" {
		t.Errorf("a listed monitor: %+v, error %v", m, err)
	}
	if lb, err := lists.LoadBalancer(ctx, "a"); err != nil || lb.Description != "web's" {
		t.Errorf("a listed load balancer: %+v, error %v", lb, err)
	}
	if sent := c.requests(); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
	if m, err := lists.Monitor(ctx, "new"); err != nil || m.Name != "read alone" {
		t.Errorf("another monitor: %+v, error %v", m, err)
	}
	if lb, err := lists.LoadBalancer(ctx, "new"); err != nil || lb.Name != "read alone" {
		t.Errorf("another load balancer: %+v, error %v", lb, err)
	}
	if sent, want := c.requests(), []string{"balancer new", "monitor new"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

func TestLists_SelectFloatingIPs(t *testing.T) {
	t.Parallel()
	lists := listsOf(t, some())
	for name, test := range map[string]struct {
		filter neutron.FloatingIPFilter
		want   string
	}{
		"no filter":               {neutron.FloatingIPFilter{}, ""},
		"port":                    {neutron.FloatingIPFilter{PortID: "port-a"}, "f1"},
		"address":                 {neutron.FloatingIPFilter{Address: "203.0.113.3"}, "f3"},
		"description":             {neutron.FloatingIPFilter{Description: "web's"}, "f1 f2"},
		"tag":                     {neutron.FloatingIPFilter{Tag: "red"}, "f1 f3"},
		"tag and description":     {neutron.FloatingIPFilter{Tag: "red", Description: "web's"}, "f1"},
		"IDs":                     {neutron.FloatingIPFilter{IDs: []string{"f3", "f2", "gone"}}, "f2 f3"},
		"ports":                   {neutron.FloatingIPFilter{PortIDs: []string{"port-b", "port-a"}}, "f1 f2"},
		"IDs with a tag":          {neutron.FloatingIPFilter{IDs: []string{"f1", "f2"}, Tag: "red"}, "f1"},
		"ports with description":  {neutron.FloatingIPFilter{PortIDs: []string{"port-a", "port-b"}, Description: "other"}, ""},
		"a port that has none":    {neutron.FloatingIPFilter{PortIDs: []string{"port-c"}}, ""},
		"a port and an ID of two": {neutron.FloatingIPFilter{PortIDs: []string{"port-a"}, IDs: []string{"f3"}}, "f1 f3"},
	} {
		found, err := lists.FloatingIPs(t.Context(), test.filter)
		if got := idsOf(found, func(fip floatingips.FloatingIP) string { return fip.ID }); got != test.want || err != nil {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, test.want)
		}
	}
}

func TestLists_AreReadOnceAndDroppedAfterTheirAge(t *testing.T) {
	t.Parallel()
	c, clk := some(), clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	reader := project.New(c, c, clk)
	all := []string{"balancers", "floating", "listeners", "monitors"}
	for _, step := range []struct {
		wait time.Duration
		sent []string
	}{{0, all}, {time.Minute - 1, nil}, {1, all}} {
		clk.Step(step.wait)
		began := clk.Now()
		lists, err := reader.Lists(t.Context(), time.Minute)
		if sent := c.requests(); err != nil || !slices.Equal(sent, step.sent) {
			t.Errorf("after %s more: sent %q, error %v, want %q", step.wait, sent, err, step.sent)
		}
		if err == nil && step.sent != nil && !lists.Began.Equal(began) {
			t.Errorf("they began at %s, not %s", lists.Began, began)
		}
	}
	for _, fails := range all {
		c := some()
		c.fails = map[string]error{fails: errFailed}
		reader := project.New(c, c, clk)
		if lists, err := reader.Lists(t.Context(), time.Minute); lists != nil || !errors.Is(err, errFailed) {
			t.Errorf("%s fail: %v, error %v", fails, lists, err)
		}
		c.fails = nil
		if lists, err := reader.Lists(t.Context(), time.Minute); lists == nil || err != nil {
			t.Errorf("%s have failed: %v, error %v", fails, lists, err)
		}
	}
}

func TestLists_ObserverReadsFromThem(t *testing.T) {
	t.Parallel()
	lists := listsOf(t, some())
	version := func(context.Context) (model.Version, error) { return model.Version{}, errFailed }
	of := lists.Observer(&observe.Observer{Version: version}, model.Settings)
	if of.Octavia != observe.Octavia(lists) || of.Neutron != observe.Neutron(lists) || of.Depth != model.Settings || of.Source != model.Lists {
		t.Errorf("%+v", of)
	}
	if _, err := of.Version(t.Context()); !errors.Is(err, errFailed) {
		t.Errorf("it has another version: %v", err)
	}
}

func TestSettingsOf_OmitsLoadBalancersWithPartsOfOthers(t *testing.T) {
	t.Parallel()
	// whole is a load balancer with a listener, a pool and a monitor, which all have the tag of the Service.
	whole := func() *tenant {
		return &tenant{
			balancers: []octavia.LoadBalancer{
				{ID: "a", Listeners: []octavia.Listener{{ID: "l1"}}, Pools: []octavia.Pool{{ID: "p1"}}}, {ID: "b", Listeners: []octavia.Listener{{ID: "l2"}}, Pools: []octavia.Pool{{ID: "p2"}}},
			},
			listeners: []octavia.Listener{{ID: "l1", LoadBalancers: on("a")}, {ID: "l2", LoadBalancers: on("b")}},
			pools:     []octavia.Pool{{ID: "p1", MonitorID: "m1", LoadBalancers: on("a")}, {ID: "p2", LoadBalancers: on("b")}},
			monitors:  []octavia.HealthMonitor{{ID: "m1"}},
		}
	}
	services := []ownership.Identity{owner("here", 1), owner("here", 2)}
	tags := " " + services[0].ServiceTag() + " " + services[1].ServiceTag()
	three := []string{"balancers" + tags, "listeners" + tags, "pools" + tags}
	four := slices.Sorted(slices.Values(append([]string{"monitors" + tags}, three...)))
	for name, test := range map[string]struct {
		change func(c *tenant)
		want   string
		sent   []string
	}{
		"all":                         {func(*tenant) {}, "a b", four},
		"a listener of another":       {func(c *tenant) { c.listeners = c.listeners[1:] }, "b", four},
		"a pool of another":           {func(c *tenant) { c.pools = c.pools[:1] }, "a", four},
		"a monitor of another":        {func(c *tenant) { c.monitors = nil }, "b", four},
		"no monitors":                 {func(c *tenant) { c.pools[0].MonitorID, c.monitors = "", nil }, "a b", three},
		"a listener that came since":  {func(c *tenant) { c.listeners = append(c.listeners, octavia.Listener{ID: "l3", LoadBalancers: on("b")}) }, "a", four},
		"a pool that came since":      {func(c *tenant) { c.pools = append(c.pools, octavia.Pool{ID: "p3", LoadBalancers: on("a")}) }, "b", four},
		"another listener instead":    {func(c *tenant) { c.listeners[0].ID = "l9" }, "b", four},
		"a load balancer that is new": {func(c *tenant) { c.balancers = c.balancers[:1] }, "a", four},
		"parts in another order": {func(c *tenant) {
			c.pools = append([]octavia.Pool{{ID: "a1", LoadBalancers: on("a")}}, c.pools...)
			c.balancers[0].Pools = append(c.balancers[0].Pools, octavia.Pool{ID: "a1"})
		}, "a b", four},
		"a second pool with a monitor of another": {func(c *tenant) {
			c.pools = append(c.pools, octavia.Pool{ID: "p3", MonitorID: "m3", LoadBalancers: on("b")})
			c.balancers[1].Pools = append(c.balancers[1].Pools, octavia.Pool{ID: "p3"})
		}, "a", four},
		"one without parts": {func(c *tenant) { c.balancers = append(c.balancers, octavia.LoadBalancer{ID: "c"}) }, "a b c", four},
	} {
		c := whole()
		test.change(c)
		found, err := project.New(c, c, clocktesting.NewFakeClock(time.Unix(0, 0))).SettingsOf(t.Context(), services)
		var ids []string
		for id, parts := range found {
			if ids = append(ids, id); parts.LoadBalancer.ID != id {
				t.Errorf("%s: %s is %s", name, id, parts.LoadBalancer.ID)
			}
		}
		slices.Sort(ids)
		if sent := c.requests(); err != nil || strings.Join(ids, " ") != test.want || !slices.Equal(sent, test.sent) {
			t.Errorf("%s: %v, sent %q, error %v, want %s", name, ids, sent, err, test.want)
		}
		if parts, is := found["a"]; is && (parts.Listeners[0].ID != "l1" || !slices.ContainsFunc(parts.Pools, func(p octavia.Pool) bool { return p.ID == "p1" }) || len(parts.Monitors) != len(c.monitors)) {
			t.Errorf("%s: the parts of a are %+v", name, parts)
		}
	}
	for _, fails := range []string{"balancers", "listeners", "pools", "monitors"} {
		c := whole()
		c.fails = map[string]error{fails: errFailed}
		if found, err := project.New(c, c, clocktesting.NewFakeClock(time.Unix(0, 0))).SettingsOf(t.Context(), services); found != nil || !errors.Is(err, errFailed) {
			t.Errorf("%s fail: %v, error %v", fails, found, err)
		}
	}
}

func TestSnapshot_HasAttributesThatShowChanges(t *testing.T) {
	t.Parallel()
	updated := time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC)
	c := &tenant{
		balancers: []octavia.LoadBalancer{{
			ID: "a", Name: "web", Description: "ours", Tags: owner("here", 1).Tags(), ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE", Provider: "ovn", AdminStateUp: true,
			VIPPortID: "port-a", VIPAddress: "10.0.0.1", VIPSubnetID: "subnet", VIPQoSPolicyID: "qos", VIPSecurityGroupIDs: []string{"g2", "g1"}, UpdatedAt: octavia.Timestamp{Time: updated},
		}, {ID: "b", Name: "web", Description: "unknown", Tags: []string{"red"}}},
		floatingIPs: []floatingips.FloatingIP{
			{ID: "f1", FloatingIP: "203.0.113.1", PortID: "port-a", RouterID: "r1", Description: "web's"}, {ID: "f2", FloatingIP: "203.0.113.2", RouterID: "r1"}, {ID: "f3", FloatingIP: "203.0.113.3"},
		},
	}
	reader := project.New(c, c, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)))
	s, err := reader.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.LoadBalancers["a"], s.LoadBalancers["b"]
	if a.Description != "" || a.AdminDown || !slices.Equal(a.VIPSecurityGroupIDs, []string{"g1", "g2"}) || !a.UpdatedAt.Equal(updated) || a.VIPQoSPolicyID != "qos" || a.Operating != "ONLINE" {
		t.Errorf("one with the tag of a cluster: %+v", a)
	}
	if b.Description != "unknown" || !b.AdminDown || s.Named("web") != 2 {
		t.Errorf("one without: %+v, %d of the name", b, s.Named("web"))
	}
	for id, forwards := range map[string]bool{"f1": false, "f2": true, "f3": false} {
		if s.FloatingIPs[id].Forwards() != forwards {
			t.Errorf("%s forwards ports: %v", id, !forwards)
		}
	}
	if reader.Last() != s {
		t.Error("it is not the last one")
	}
	first, err := reader.FirstFloatingIPs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"web's": "f1", "203.0.113.2": "f2", "203.0.113.3": "", "203.0.113.1": "", "": ""} {
		if got := idsOf(first.WithWords(given), func(fip project.FloatingIP) string { return fip.ID }); got != want {
			t.Errorf("floating IPs with %q: %q, want %q", given, got, want)
		}
	}
	if sent := c.requests(); len(sent) != 2 {
		t.Errorf("sent %q", sent)
	}
}
