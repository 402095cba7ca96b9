package observe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// before is a release of Octavia that lists large pools slowly.
var before = model.Version{Major: 2, Minor: 28}

// serving is a project with a load balancer of two ports, each with this many members and a health monitor.
func serving(members int) *tenant {
	c := &tenant{}
	id := us()
	c.MembersByPool = map[string][]octavia.Member{}
	lb := oursIn()
	lb.ProvisioningStatus = "ACTIVE"
	for i, pool := range []string{"p0", "p1"} {
		on := []octavia.ObjectID{{ID: "ours"}}
		listener := octavia.Listener{ID: "l" + pool[1:], Name: id.ListenerName(i), Tags: id.Tags(), Protocol: "TCP", Port: 80 + i, DefaultPoolID: pool, LoadBalancers: on, ProvisioningStatus: "ACTIVE", AdminStateUp: true}
		part := octavia.Pool{ID: pool, Name: id.PoolName(i), Tags: id.Tags(), Protocol: "TCP", MonitorID: "m" + pool[1:], LoadBalancers: on, ProvisioningStatus: "ACTIVE", AdminStateUp: true}
		c.AllMonitors = append(c.AllMonitors, octavia.HealthMonitor{ID: "m" + pool[1:], Type: "TCP", Tags: id.Tags(), ProvisioningStatus: "ACTIVE", AdminStateUp: true})
		for n := range members {
			m := octavia.Member{
				ID: fmt.Sprintf("%s-%03d", pool, n), Name: fmt.Sprintf("node-%d", n), Address: fmt.Sprintf("10.1.%d.%d", n/250, n%250), Port: 30080 + i, SubnetID: fmt.Sprintf("subnet-%d", n),
				Weight: new(1), AdminStateUp: new(true), MonitorPort: 31000, ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE",
			}
			c.MembersByPool[pool] = append(c.MembersByPool[pool], m)
			part.Members = append(part.Members, octavia.ObjectID{ID: m.ID})
		}
		c.AllListeners, c.AllPools = append(c.AllListeners, listener), append(c.AllPools, part)
		lb.Listeners, lb.Pools = append(lb.Listeners, octavia.Listener{ID: listener.ID}), append(lb.Pools, octavia.Pool{ID: pool})
	}
	c.AllLoadBalancers = []octavia.LoadBalancer{lb}
	return c
}

func TestContents_SendFewRequestsInEachRelease(t *testing.T) {
	t.Parallel()
	common := []string{"version", "listeners of ours", "pools of ours", "monitors tagged " + us().ServiceTag()}
	changed := func(pool string) (sent []string) {
		sent = append(sent, "member of "+pool+" at 10.1.0.0", "members of "+pool+" with backup 1")
		for _, order := range []string{"weight:desc", "monitor_address:desc", "monitor_port:desc", "monitor_port:asc"} {
			sent = append(sent, "first member of "+pool+" by "+order)
		}
		return sent
	}
	for name, test := range map[string]struct {
		members int
		version model.Version
		depth   model.Depth
		sent    []string
	}{
		"small pools":              {100, before, model.Full, []string{"tree of ours", "members of p0", "members of p1"}},
		"large pools":              {101, before, model.Full, append(append([]string{"tree of ours"}, changed("p0")...), changed("p1")...)},
		"large pools since 2.29":   {101, today, model.Full, []string{"members of p0", "members of p1"}},
		"pools without members":    {0, today, model.Full, nil},
		"settings only":            {3, today, model.Settings, []string{"tree of ours", "member of p0 at 10.1.0.0"}},
		"settings without members": {0, today, model.Settings, []string{"tree of ours"}},
	} {
		c := serving(test.members)
		observer := c.observer(test.version)
		observer.Depth = test.depth
		lb, err := observer.Contents(t.Context(), us(), c.AllLoadBalancers[0])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(common, test.sent))), c.requests()); diff != "" {
			t.Errorf("%s: requests %s", name, diff)
		}
		sampled := test.depth == model.Settings || test.members == 101 && test.version == before
		for _, l := range lb.Listeners {
			if l.Pool.Members.Len() != test.members || l.Pool.Monitor == nil || l.Pool.Monitor.ID != "m"+l.ID[1:] {
				t.Errorf("%s: %d members, monitor %+v", name, l.Pool.Members.Len(), l.Pool.Monitor)
			}
			for _, m := range l.Pool.Members.All() {
				first := m.Name == "node-0"
				unknown := sampled && (!first || test.depth == model.Settings)
				if m.SubnetUnknown != unknown || unknown && m.SubnetID != "" || !unknown && m.SubnetID == "" || m.MonitorPort != 31000 || m.ID == "" || m.Status.Operating != "ONLINE" {
					t.Errorf("%s: member %+v", name, m)
				}
			}
		}
	}
	c := serving(1)
	if lb, err := c.observer(today).Contents(t.Context(), us(), octavia.LoadBalancer{ID: "empty"}); err != nil || len(c.sent) > 0 || lb.ID != "empty" {
		t.Errorf("an empty load balancer: %+v, error %v, sent %q", lb, err, c.sent)
	}
	if _, err := c.observer(today).Contents(t.Context(), us(), octavia.LoadBalancer{ID: "ours", Pools: []octavia.Pool{{ID: "p0"}}}); err != nil || len(c.sent) == 0 {
		t.Errorf("one with a pool only: error %v, sent %q", err, c.sent)
	}
}

// A monitor of cloud-provider-openstack has no tag.
func TestSettings_ReadMonitorsByTagOrOneByOne(t *testing.T) {
	t.Parallel()
	untagged := us()
	untagged.Untagged = true
	for name, test := range map[string]struct {
		change func(*tenant)
		id     ownership.Identity
		sent   []string
		want   int
	}{
		"two":                   {func(*tenant) {}, us(), []string{"monitors tagged " + us().ServiceTag()}, 2},
		"one":                   {func(c *tenant) { c.AllPools[0].MonitorID = "" }, us(), []string{"monitor m1"}, 1},
		"none":                  {func(c *tenant) { c.AllPools[0].MonitorID, c.AllPools[1].MonitorID = "", "" }, us(), nil, 0},
		"two, one without tags": {func(c *tenant) { c.AllMonitors[0].Tags = nil }, us(), []string{"monitor m0", "monitors tagged " + us().ServiceTag()}, 2},
		"before Octavia 4.0":    {func(*tenant) {}, untagged, []string{"monitor m0", "monitor m1"}, 2},
	} {
		c := serving(2)
		test.change(c)
		parts, err := c.observer(today).Settings(t.Context(), test.id, c.AllLoadBalancers[0])
		sent := slices.DeleteFunc(c.requests(), func(request string) bool { return request == "listeners of ours" || request == "pools of ours" })
		if err != nil || !slices.Equal(sent, test.sent) || len(parts.Monitors) != test.want || len(parts.Listeners) != 2 || len(parts.Pools) != 2 {
			t.Errorf("%s: sent %q, error %v, monitors %+v", name, sent, err, parts.Monitors)
		}
		if got := parts.MemberIDs("p1"); !slices.Equal(got, []string{"p1-000", "p1-001"}) || parts.MemberIDs("p2") != nil {
			t.Errorf("%s: members %q", name, got)
		}
	}
}

// The lists of a project are older than the status tree.
func TestContents_ReportListsThatDoNotFitTheTree(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tenant, *octavia.LoadBalancer){
		"a listener came": func(_ *tenant, lb *octavia.LoadBalancer) { lb.Listeners = lb.Listeners[1:] },
		"a listener went": func(_ *tenant, lb *octavia.LoadBalancer) { lb.Listeners = append(lb.Listeners, octavia.Listener{}) },
		"a pool came":     func(_ *tenant, lb *octavia.LoadBalancer) { lb.Pools = lb.Pools[1:] },
		"a member came":   func(c *tenant, _ *octavia.LoadBalancer) { c.AllPools[1].Members = c.AllPools[1].Members[1:] },
		"a member went": func(c *tenant, _ *octavia.LoadBalancer) {
			c.AllPools[0].Members = append(c.AllPools[0].Members, octavia.ObjectID{ID: "new"})
		},
		"a pool waits": func(c *tenant, _ *octavia.LoadBalancer) { c.AllListeners[0].DefaultPoolID = "" },
	} {
		c := serving(2)
		lb := c.AllLoadBalancers[0]
		change(c, &lb)
		observer := c.observer(today)
		observer.Depth = model.Settings
		if _, err := observer.Contents(t.Context(), us(), lb); !errors.Is(err, observe.ErrTorn) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Members with the same type of monitor have the same port for its checks.
func TestContents_SampleOneMemberForEachTypeOfMonitor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*tenant)
		want   []string
	}{
		"one type":           {func(*tenant) {}, []string{"member of p0 at 10.1.0.0"}},
		"two types":          {func(c *tenant) { c.AllMonitors[1].Type = "HTTP" }, []string{"member of p0 at 10.1.0.0", "member of p1 at 10.1.0.0"}},
		"none for the first": {func(c *tenant) { c.AllPools[0].MonitorID = "" }, []string{"member of p1 at 10.1.0.0"}},
		"none":               {func(c *tenant) { c.AllPools[0].MonitorID, c.AllPools[1].MonitorID = "", "" }, nil},
	} {
		c := serving(2)
		test.change(c)
		observer := c.observer(today)
		observer.Depth = model.Settings
		lb, err := observer.Contents(t.Context(), us(), c.AllLoadBalancers[0])
		if err != nil {
			t.Fatal(err)
		}
		sent := slices.DeleteFunc(c.requests(), func(request string) bool { return len(request) < 9 || request[:9] != "member of" })
		if !slices.Equal(sent, test.want) {
			t.Errorf("%s: sent %q, want %q", name, sent, test.want)
		}
		for _, l := range lb.Listeners {
			if want := map[bool]int{true: 31000, false: 0}[l.Pool.Monitor != nil]; l.Pool.Members.At(1).MonitorPort != want {
				t.Errorf("%s: %s has the port of checks %d", name, l.Pool.ID, l.Pool.Members.At(1).MonitorPort)
			}
		}
	}
}

func TestReadMembers_ReplaceMembersOfAKnownLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, version := range []model.Version{before, today} {
		c := serving(3)
		lb, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
		if err != nil {
			t.Fatal(err)
		}
		want := lb.Clone()
		lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.Slice(0, 1)
		lb.Listeners[1].Pool.Members = lb.Listeners[1].Pool.Members.Map(func(_ int, m model.Member) model.Member {
			m.Drained = true
			return m
		})
		lb.Listeners = append(lb.Listeners, model.Listener{ID: "metrics", Protocol: model.Prometheus, Port: 9000})
		want.Listeners = append(want.Listeners, lb.Listeners[2])
		c.requests()
		if err := c.observer(version).ReadMembers(t.Context(), lb); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lb); diff != "" {
			t.Errorf("%v: %s", version, diff)
		}
		if sent, wanted := len(c.requests()), map[bool]int{true: 4, false: 3}[version == before]; sent != wanted {
			t.Errorf("%v: %d requests, want %d", version, sent, wanted)
		}
	}
}

func TestReads_OfPartsFailWithEachRequest(t *testing.T) {
	t.Parallel()
	contents := func(version model.Version, depth model.Depth) func(*tenant) error {
		return func(c *tenant) error {
			observer := c.observer(version)
			observer.Depth = depth
			_, err := observer.Contents(t.Context(), us(), c.AllLoadBalancers[0])
			return err
		}
	}
	known := func(members int) *model.LoadBalancer {
		c := serving(members)
		lb, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
		if err != nil {
			t.Fatal(err)
		}
		return lb
	}
	one := func() *tenant { c := serving(101); c.AllPools[1].MonitorID = ""; return c }
	offline := func() *tenant {
		c := serving(101)
		c.MembersByPool["p0"][3].OperatingStatus, c.MembersByPool["p1"][3].Weight = "OFFLINE", new(7)
		return c
	}
	small := func() *tenant { return serving(2) }
	for name, test := range map[string]struct {
		project func() *tenant
		read    func(*tenant) error
	}{
		"contents":                {small, contents(today, model.Full)},
		"contents of large pools": {one, contents(before, model.Full)},
		"settings only":           {one, contents(today, model.Settings)},
		"settings": {small, func(c *tenant) error {
			_, err := c.observer(today).Settings(t.Context(), us(), c.AllLoadBalancers[0])
			return err
		}},
		"members":                {small, func(c *tenant) error { return c.observer(today).ReadMembers(t.Context(), known(2)) }},
		"members of large pools": {offline, func(c *tenant) error { return c.observer(before).ReadMembers(t.Context(), known(101)) }},
		"changed members": {small, func(c *tenant) error {
			_, err := c.observer(today).MembersChanged(t.Context(), known(2), model.Full, false)
			return err
		}},
		"changed members of large pools": {offline, func(c *tenant) error {
			_, err := c.observer(before).MembersChanged(t.Context(), known(101), model.Full, false)
			return err
		}},
		"an outline": {small, func(c *tenant) error {
			lb := c.AllLoadBalancers[0]
			lb.Pools = append(lb.Pools, octavia.Pool{ID: "more"})
			_, err := c.observer(today).Outline(t.Context(), us(), lb, nil)
			return err
		}},
		"a known one": {small, func(c *tenant) error {
			_, err := c.observer(today).Fill(t.Context(), known(2))
			return err
		}},
	} {
		failsWithEach(t, name, test.project, test.read)
	}
}

func TestFill_TakesIDsAndStatusesFromTheTree(t *testing.T) {
	t.Parallel()
	c := serving(2)
	read, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
	if err != nil {
		t.Fatal(err)
	}
	want := read.Clone()
	lb := read.Clone()
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		l.ID, l.Status, l.Pool.ID, l.Pool.Status, l.Pool.Monitor.ID, l.Pool.Monitor.Status = "", model.Status{}, "", model.Status{}, "", model.Status{}
		like := l.Pool.Members.At(0)
		like.ID, like.Name, like.Address, like.SubnetID, like.Status = "", "desired", "10.9.9.9", "", model.Status{}
		l.Pool.Members = model.MembersOf(like)
		want.Listeners[i].Pool.Members = want.Listeners[i].Pool.Members.Map(func(_ int, m model.Member) model.Member {
			m.SubnetID, m.SubnetUnknown = "", true
			return m
		})
	}
	if same, err := c.observer(today).Fill(t.Context(), lb); err != nil || !same {
		t.Fatalf("the same parts: %v, error %v", same, err)
	}
	if diff := cmp.Diff(want, lb); diff != "" {
		t.Error(diff)
	}
	gone := read.Clone()
	gone.ID = "gone"
	if same, err := c.observer(today).Fill(t.Context(), gone); err != nil || same {
		t.Errorf("one that is gone: %v, error %v", same, err)
	}
	other := read.Clone()
	other.Listeners = other.Listeners[:1]
	if same, err := c.observer(today).Fill(t.Context(), other); err != nil || same {
		t.Errorf("one with another listener: %v, error %v", same, err)
	}
}

// A load balancer is deleted as a whole only if all of it is the Service's.
func TestOutline_ReadsNothingThatIsKnownToBeOurs(t *testing.T) {
	t.Parallel()
	read := func() *model.LoadBalancer {
		c := serving(1)
		lb, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
		if err != nil {
			t.Fatal(err)
		}
		return lb
	}
	for name, test := range map[string]struct {
		known  func(*model.LoadBalancer) *model.LoadBalancer
		change func(*tenant)
		sent   int
		parts  int // listeners and pools of others
	}{
		"all are known":           {func(lb *model.LoadBalancer) *model.LoadBalancer { return lb }, func(*tenant) {}, 0, 0},
		"nothing is known":        {func(*model.LoadBalancer) *model.LoadBalancer { return nil }, func(*tenant) {}, 1, 0},
		"another one is known":    {func(lb *model.LoadBalancer) *model.LoadBalancer { lb.ID = "x"; return lb }, func(*tenant) {}, 1, 0},
		"it is shared":            {func(lb *model.LoadBalancer) *model.LoadBalancer { lb.Shared = &model.Shared{}; return lb }, func(*tenant) {}, 1, 0},
		"it has had foreign ones": {func(lb *model.LoadBalancer) *model.LoadBalancer { lb.Foreign = []model.Foreign{{}}; return lb }, func(*tenant) {}, 1, 0},
		"a listener came": {func(lb *model.LoadBalancer) *model.LoadBalancer { return lb }, func(c *tenant) {
			c.AllListeners = append(c.AllListeners, octavia.Listener{ID: "theirs", Name: "theirs", Protocol: "TCP", Port: 9000, LoadBalancers: []octavia.ObjectID{{ID: "ours"}}})
			c.AllLoadBalancers[0].Listeners = append(c.AllLoadBalancers[0].Listeners, octavia.Listener{ID: "theirs"})
		}, 7, 1},
		"a pool came": {func(lb *model.LoadBalancer) *model.LoadBalancer { return lb }, func(c *tenant) {
			c.AllPools = append(c.AllPools, octavia.Pool{ID: "theirs", Name: "theirs", LoadBalancers: []octavia.ObjectID{{ID: "ours"}}})
			c.AllLoadBalancers[0].Pools = append(c.AllLoadBalancers[0].Pools, octavia.Pool{ID: "theirs"})
		}, 7, 1},
	} {
		c := serving(1)
		test.change(c)
		outline, err := c.observer(today).Outline(t.Context(), us(), c.AllLoadBalancers[0], test.known(read()))
		if sent := c.requests(); err != nil || len(sent) != test.sent || len(outline.Foreign) != test.parts {
			t.Errorf("%s: sent %q, error %v, foreign %+v", name, sent, err, outline.Foreign)
		}
		if outline.ID != "ours" || (len(outline.Listeners) == 2) != (test.sent > 0) {
			t.Errorf("%s: %d listeners", name, len(outline.Listeners))
		}
	}
}

// Other clients take members out of service for maintenance. That is no change, unless the Service weighs its members.
func TestMembersChanged_SeparatesMaintenanceFromOtherChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change              func(*octavia.Member)
		changed, weighed    bool
		settings, unchecked bool // the same at model.Settings, and there without a monitor
		drained, disabled   bool
		operating           string
	}{
		"nothing":              {change: func(*octavia.Member) {}, operating: "ONLINE"},
		"weight 0":             {change: func(m *octavia.Member) { m.Weight = new(0) }, weighed: true, drained: true, operating: "DRAINING"},
		"disabled":             {change: func(m *octavia.Member) { m.AdminStateUp = new(false) }, disabled: true, operating: "OFFLINE"},
		"a weight":             {change: func(m *octavia.Member) { m.Weight = new(2) }, changed: true, weighed: true, settings: true, unchecked: true, operating: "ONLINE"},
		"a backup":             {change: func(m *octavia.Member) { m.Backup = true }, changed: true, weighed: true, settings: true, unchecked: true, operating: "ONLINE"},
		"an address of checks": {change: func(m *octavia.Member) { m.MonitorAddress = "10.9.9.9" }, changed: true, weighed: true, settings: true, unchecked: true, operating: "ONLINE"},
		"a port of checks":     {change: func(m *octavia.Member) { m.MonitorPort = 1 }, changed: true, weighed: true, settings: true, operating: "ONLINE"},
		"a high port":          {change: func(m *octavia.Member) { m.MonitorPort = 65000 }, changed: true, weighed: true, settings: true, operating: "ONLINE"},
	} {
		for _, at := range []struct {
			members int
			version model.Version
		}{{3, today}, {3, before}, {100, before}, {101, before}, {101, today}} {
			for what, ask := range map[string]struct {
				depth     model.Depth
				weighed   bool
				unchecked bool // pools have no monitor
				want      bool
			}{
				"in full": {model.Full, false, false, test.changed}, "weighed": {model.Full, true, false, test.weighed || test.changed},
				"of settings": {model.Settings, false, false, test.settings}, "of settings without monitors": {model.Settings, false, true, test.unchecked},
			} {
				c := serving(at.members)
				lb, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
				if err != nil {
					t.Fatal(err)
				}
				if ask.unchecked {
					lb.Listeners[0].Pool.Monitor, lb.Listeners[1].Pool.Monitor = nil, nil
				}
				m := &c.MembersByPool["p1"][1]
				test.change(m)
				m.OperatingStatus = test.operating
				changed, err := c.observer(at.version).MembersChanged(t.Context(), lb, ask.depth, ask.weighed)
				if err != nil || changed != ask.want {
					t.Errorf("%s, %s, of %d in %v: changed %v, error %v", name, what, at.members, at.version, changed, err)
				}
				for i, l := range lb.Listeners {
					for n, m := range l.Pool.Members.All() {
						is := i == 1 && n == 1
						if m.Drained != (is && test.drained) || m.AdminDown != (is && test.disabled) {
							t.Errorf("%s, of %d in %v: member %d of pool %d is %+v", name, at.members, at.version, n, i, m)
						}
					}
				}
			}
		}
	}
}

// A member that is back in service, or has lost its weight, is not among the few members that a large pool shows.
func TestMembersChanged_KnowsWhatIsBackInALargePool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		was     func(*model.Member)
		weighed bool
		want    bool
	}{
		"drained":             {func(m *model.Member) { m.Drained = true }, false, false},
		"drained, weighed":    {func(m *model.Member) { m.Drained = true }, true, true},
		"disabled":            {func(m *model.Member) { m.AdminDown = true }, true, false},
		"with a weight":       {func(m *model.Member) { m.Weight = 5 }, false, true},
		"in service, weighed": {func(*model.Member) {}, true, false},
	} {
		c := serving(101)
		lb, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
		if err != nil {
			t.Fatal(err)
		}
		members := &lb.Listeners[1].Pool.Members
		*members = members.Map(func(i int, m model.Member) model.Member {
			if i == 50 {
				test.was(&m)
			}
			return m
		})
		changed, err := c.observer(before).MembersChanged(t.Context(), lb, model.Full, test.weighed)
		if m := members.At(50); err != nil || changed != test.want || m.Drained || m.AdminDown {
			t.Errorf("%s: changed %v, error %v, member %+v", name, changed, err, m)
		}
	}
}

func TestMembersChanged_AsksOnlyWhatStatusesDoNotExclude(t *testing.T) {
	t.Parallel()
	firsts := []string{
		"first member of p0 by weight:desc", "first member of p0 by monitor_address:desc", "first member of p0 by monitor_port:desc", "first member of p0 by monitor_port:asc",
	}
	for operating, with := range map[string][]string{
		"ONLINE": {"backup 1"}, "ERROR": {"backup 1", "weight 0"}, "OFFLINE": {"backup 1", "weight 0", "admin_state_up false"},
	} {
		c := serving(101)
		lb, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
		if err != nil {
			t.Fatal(err)
		}
		lb.Listeners = lb.Listeners[:1]
		lb.Listeners = append(lb.Listeners, model.Listener{ID: "metrics", Protocol: model.Prometheus, Port: 9000})
		c.MembersByPool["p0"][100].OperatingStatus = operating
		c.requests()
		want := append([]string{"version", "tree of ours"}, firsts...)
		for _, setting := range with {
			want = append(want, "members of p0 with "+setting)
		}
		if _, err := c.observer(before).MembersChanged(t.Context(), lb, model.Full, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), c.requests()); diff != "" {
			t.Errorf("one is %s: %s", operating, diff)
		}
	}
	small := serving(100)
	all, err := small.observer(today).Contents(t.Context(), us(), small.AllLoadBalancers[0])
	if err != nil {
		t.Fatal(err)
	}
	small.requests()
	if _, err := small.observer(before).MembersChanged(t.Context(), all, model.Full, false); err != nil {
		t.Fatal(err)
	}
	if sent := small.requests(); !slices.Equal(sent, []string{"members of p0", "members of p1", "version"}) {
		t.Errorf("of a hundred members: sent %q", sent)
	}
	c := serving(101) // one with a weight: others may have one
	lb, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, 50} {
		c.MembersByPool["p0"][n].Weight = new(n)
	}
	c.requests()
	if changed, err := c.observer(before).MembersChanged(t.Context(), lb, model.Full, false); err != nil || !changed {
		t.Errorf("changed %v, error %v", changed, err)
	}
	if sent := c.requests(); !slices.Contains(sent, "members of p0") || slices.Contains(sent, "members of p1") {
		t.Errorf("sent %q", sent)
	}
}

func TestContents_KnowSettingsOfChangedMembersInLargePools(t *testing.T) {
	t.Parallel()
	c := serving(101)
	for n, change := range map[int]func(*octavia.Member){
		0:  func(m *octavia.Member) { m.MonitorPort = 31001 },
		10: func(m *octavia.Member) { m.Weight, m.OperatingStatus = new(0), "DRAINING" },
		20: func(m *octavia.Member) { m.AdminStateUp, m.OperatingStatus = new(false), "OFFLINE" },
		30: func(m *octavia.Member) { m.Backup = true },
		40: func(m *octavia.Member) { m.MonitorAddress = "10.9.9.9" },
		50: func(m *octavia.Member) { m.MonitorPort = 32000 },
	} {
		change(&c.MembersByPool["p0"][n])
	}
	for n := range c.MembersByPool["p0"] {
		if n != 0 && n != 50 {
			c.MembersByPool["p0"][n].MonitorPort = 31001 // like the first
		}
	}
	lb, err := c.observer(before).Contents(t.Context(), us(), c.AllLoadBalancers[0])
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.observer(today).Contents(t.Context(), us(), c.AllLoadBalancers[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lb.Listeners {
		for n, m := range l.Pool.Members.All() {
			wanted := want.Listeners[i].Pool.Members.At(n)
			m.SubnetID, m.SubnetUnknown, wanted.SubnetID = "", false, ""
			if diff := cmp.Diff(wanted, m); diff != "" {
				t.Errorf("pool %d: %s", i, diff)
			}
		}
	}
	c.MembersByPool["p0"] = c.MembersByPool["p0"][1:] // the first is deleted between two requests
	if got, err := c.observer(before).Contents(t.Context(), us(), c.AllLoadBalancers[0]); err != nil || got.Listeners[0].Pool.Members.Len() != 100 {
		t.Errorf("%d members, error %v", got.Listeners[0].Pool.Members.Len(), err)
	}
}

func TestModel_HasAllAttributes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	id := us()
	active := model.Status{Provisioning: "ACTIVE", Operating: "ONLINE"}
	parts := observe.Parts{
		LoadBalancer: octavia.LoadBalancer{
			ID: "lb", Name: id.Name(), Description: "text", Tags: append(id.Tags(), ownership.ReplacesTag("old", "hash")), Provider: "amphora", FlavorID: "flavor", AvailabilityZone: "zone",
			VIPNetworkID: "network", VIPSubnetID: "subnet", VIPPortID: "port", VIPAddress: "10.0.0.1", VIPQoSPolicyID: "qos", VIPSecurityGroupIDs: []string{"g2", "g1"},
			AdditionalVIPs: []octavia.AdditionalVIP{{SubnetID: "six", Address: "2001:db8::1"}, {SubnetID: "ignored"}}, ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE", UpdatedAt: octavia.Timestamp{Time: at},
		},
		Listeners: []octavia.Listener{{
			ID: "l", Name: id.ListenerName(0), Tags: id.Tags(), Protocol: "TERMINATED_HTTPS", Port: 443, AllowedCIDRs: []string{"192.0.2.0/24", "10.0.0.0/8"}, TLSContainerRef: "secret",
			InsertHeaders: map[string]string{"X-Forwarded-For": "True", "X-Forwarded-Port": "false", "A": "true"}, ConnectionLimit: new(1), TimeoutClientData: new(2), TimeoutMemberConnect: new(3), TimeoutMemberData: new(4), TimeoutTCPInspect: new(5),
			DefaultPoolID: "p", ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE",
		}},
		Pools: []octavia.Pool{{ID: "other", Name: "theirs", Protocol: "UDP", MonitorID: "m", Tags: []string{"kube_svc_uid_x"}}, {
			ID: "p", Name: id.PoolName(0), Tags: id.Tags(), Protocol: "HTTP", Algorithm: "ROUND_ROBIN", MonitorID: "m", ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE",
			Persistence: octavia.SessionPersistence{Type: "APP_COOKIE", CookieName: "session", Timeout: 7},
		}, {ID: "waits", Name: id.PoolName(1), Tags: id.Tags(), AdminStateUp: true}},
		Monitors: map[string]octavia.HealthMonitor{"m": {
			ID: "m", Name: "monitor", Type: "HTTP", Delay: 1, Timeout: 2, MaxRetries: 3, MaxRetriesDown: 4, HTTPMethod: "GET", URLPath: "/", ExpectedCodes: "200", HTTPVersion: 1.1, DomainName: "example.com",
			Tags: []string{"t"}, ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE",
		}},
		Members: map[string][]octavia.Member{"p": {
			{ID: "a", Name: "node", Address: "10.1.0.1", Port: 30080, SubnetID: "nodes", MonitorPort: 31000, MonitorAddress: "10.9.9.9", Weight: new(5), AdminStateUp: new(true), Backup: true, ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE"},
			{ID: "b", Address: "10.1.0.2", Port: 30080, Weight: new(1), AdminStateUp: new(false)}, {ID: "c", Address: "10.1.0.3", Port: 30080, Weight: new(0), AdminStateUp: new(true)},
			{ID: "d", Address: "10.1.0.4", Port: 30080},
		}},
	}
	want := &model.LoadBalancer{
		ID: "lb", Name: id.Name(), Description: "text", Tags: parts.LoadBalancer.Tags, Provider: "amphora", FlavorID: "flavor", AvailabilityZone: "zone", AdminDown: true, Status: active, UpdatedAt: at, ReplacementHash: "hash",
		VIP: model.VIP{
			NetworkID: "network", SubnetID: "subnet", PortID: "port", Address: "10.0.0.1", Additional: []model.AdditionalVIP{{Family: "IPv6", SubnetID: "six", Address: "2001:db8::1"}},
			VIPSettings: model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"g1", "g2"}},
		},
		Listeners: []model.Listener{{
			ID: "l", Name: id.ListenerName(0), Tags: id.Tags(), Protocol: model.TerminatedHTTPS, Port: 443, AllowedCIDRs: []string{"10.0.0.0/8", "192.0.2.0/24"}, TLSContainerRef: "secret", AdminDown: true,
			InsertHeaders: []string{"A", "X-Forwarded-For"}, Status: active,
			Limits: model.Limits{ConnectionLimit: model.Limit{Value: 1}, TimeoutClientData: model.Limit{Value: 2}, TimeoutMemberConnect: model.Limit{Value: 3}, TimeoutMemberData: model.Limit{Value: 4}, TimeoutTCPInspect: model.Limit{Value: 5}},
			Pool: model.Pool{
				ID: "p", Name: id.PoolName(0), Tags: id.Tags(), Protocol: model.HTTP, Algorithm: "ROUND_ROBIN", AdminDown: true, Status: active, Persistence: model.Persistence{Type: "APP_COOKIE", CookieName: "session", Timeout: 7},
				Monitor: &model.Monitor{
					ID: "m", Name: "monitor", Type: "HTTP", Delay: 1, Timeout: 2, MaxRetries: 3, MaxRetriesDown: 4, HTTPMethod: "GET", URLPath: "/", ExpectedCodes: "200", HTTPVersion: "1.1", DomainName: "example.com",
					Tags: []string{"t"}, AdminDown: true, Status: active,
				},
				Members: model.MembersOf(
					model.Member{ID: "a", Name: "node", Address: "10.1.0.1", Port: 30080, SubnetID: "nodes", MonitorPort: 31000, Weight: 5, Backup: true, Unasked: "monitor_address 10.9.9.9", Status: active},
					model.Member{ID: "b", Address: "10.1.0.2", Port: 30080, AdminDown: true}, model.Member{ID: "c", Address: "10.1.0.3", Port: 30080, Drained: true},
					model.Member{ID: "d", Address: "10.1.0.4", Port: 30080, Drained: true, AdminDown: true},
				),
			},
		}},
		Orphans: []model.Pool{{ID: "waits", Name: id.PoolName(1), Tags: id.Tags()}},
		Foreign: []model.Foreign{{Kind: "pool", ID: "other", Name: "theirs", ServiceUID: "x", Monitored: model.UDP}},
	}
	if diff := cmp.Diff(want, parts.Model(id)); diff != "" {
		t.Error(diff)
	}
	parts.LoadBalancer.Description, parts.LoadBalancer.Tags = "", nil
	if !parts.Model(id).Adopted {
		t.Error("one without the tags of the Service is not adopted")
	}
}

// The last Service deletes a shared load balancer of which the owner is gone.
func TestModel_KnowsWhetherTheOwnerStillUsesASharedOne(t *testing.T) {
	t.Parallel()
	owner := neighbor()
	listener := octavia.Listener{ID: "l", Name: owner.ListenerName(0), Tags: owner.Tags(), Protocol: "TCP", Port: 80, DefaultPoolID: "p"}
	pool := octavia.Pool{ID: "p", Name: owner.PoolName(0), Tags: owner.Tags(), Protocol: "TCP"}
	monitored := pool
	monitored.MonitorID = "m"
	for name, test := range map[string]struct {
		parts     observe.Parts
		removable bool
		orphaned  bool
	}{
		"nothing":                 {observe.Parts{}, true, true},
		"a listener and a pool":   {observe.Parts{Listeners: []octavia.Listener{listener}, Pools: []octavia.Pool{pool}}, true, false},
		"a listener":              {observe.Parts{Listeners: []octavia.Listener{listener}}, true, false},
		"a pool":                  {observe.Parts{Pools: []octavia.Pool{monitored}}, true, false},
		"another's listener":      {observe.Parts{Listeners: []octavia.Listener{{ID: "x", Name: "x", Protocol: "TCP"}}}, true, true},
		"nothing, and it is kept": {observe.Parts{}, false, false},
	} {
		id := us()
		id.Sharing = ownership.Sharing{Is: true, Removable: test.removable, Owner: ownership.OwnerOf(owner.Name(), owner.Description(), owner.Tags())}
		lb := test.parts.Model(id)
		want := &model.Shared{Owner: "Service default/api of cluster rig", Removable: test.removable, Orphaned: test.orphaned}
		if diff := cmp.Diff(want, lb.Shared); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(lb.Listeners) > 0 || len(lb.Orphans) > 0 {
			t.Errorf("%s: parts of others are ours: %+v", name, lb)
		}
	}
	id := us()
	id.Sharing = ownership.Sharing{Is: true}
	lb := observe.Parts{
		Listeners: []octavia.Listener{listener}, Pools: []octavia.Pool{monitored}, Monitors: map[string]octavia.HealthMonitor{"m": {ID: "m"}},
	}.Model(id)
	want := []model.Foreign{{
		Kind: "listener", ID: "l", Name: owner.ListenerName(0), Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Service: "default/api", ServiceUID: "uid-of-api", Monitored: model.TCP,
	}}
	if diff := cmp.Diff(want, lb.Foreign); diff != "" {
		t.Error(diff)
	}
	if lb := (observe.Parts{}).Model(us()); lb.Shared != nil {
		t.Errorf("one of its own is shared: %+v", lb.Shared)
	}
}

func TestCreated_HasMonitorsOfTheAnswer(t *testing.T) {
	t.Parallel()
	answer := octavia.LoadBalancer{
		ID: "lb", Listeners: []octavia.Listener{{ID: "l"}},
		Pools: []octavia.Pool{{ID: "p0"}, {ID: "p1", Monitor: &octavia.HealthMonitor{ID: "m", Type: "TCP"}}},
	}
	parts := observe.Created(answer)
	if len(parts.Listeners) != 1 || parts.Pools[0].MonitorID != "" || parts.Pools[1].MonitorID != "m" || parts.Monitors["m"].Type != "TCP" || len(parts.Monitors) != 1 {
		t.Errorf("%+v", parts)
	}
	if answer.Pools[1].MonitorID != "" {
		t.Error("the answer was changed")
	}
}

func TestFind_NeedsNoVersion(t *testing.T) {
	t.Parallel()
	c := serving(1)
	observer := c.observer(today)
	observer.Version = func(context.Context) (model.Version, error) { return model.Version{}, errBroken }
	if _, err := observer.Find(t.Context(), us(), observe.Hints{}); err != nil {
		t.Error(err)
	}
	if _, err := observer.Contents(t.Context(), us(), c.AllLoadBalancers[0]); !errors.Is(err, errBroken) {
		t.Errorf("contents without the version: %v", err)
	}
}
