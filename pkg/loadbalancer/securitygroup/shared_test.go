package securitygroup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

func identity(service string) ownership.Identity {
	return ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: "uid-of-" + service, Namespace: "default", Service: service}
}

// groupNetwork is a Neutron that has groups, and ports in them. It counts its requests.
type groupNetwork struct {
	Neutron
	Facts
	groups []neutron.SecurityGroup
	ports  []neutron.Port
	// rules are what lists of rules return.
	rules []neutron.SecurityGroupRule
	// failing is the method that fails.
	failing string
	calls   []string
}

var errNetwork = errors.New("no network service")

func (n *groupNetwork) call(method string) error {
	if n.calls = append(n.calls, method); method == n.failing {
		return errNetwork
	}
	return nil
}

func (n *groupNetwork) AllSecurityGroups(context.Context) ([]neutron.SecurityGroup, error) {
	return n.groups, n.call("AllSecurityGroups")
}

func (n *groupNetwork) SecurityGroupNames(context.Context) ([]neutron.SecurityGroup, error) {
	return n.groups, n.call("SecurityGroupNames")
}

func (n *groupNetwork) SecurityGroupsNamed(_ context.Context, name string) ([]neutron.SecurityGroup, error) {
	return slices.DeleteFunc(slices.Clone(n.groups), func(g neutron.SecurityGroup) bool { return g.Name != name }), n.call("SecurityGroupsNamed")
}

func (n *groupNetwork) GroupsOfPorts(context.Context) ([]neutron.Port, error) {
	return n.ports, n.call("GroupsOfPorts")
}

func (n *groupNetwork) PortsInGroup(_ context.Context, group string) ([]neutron.Port, error) {
	return slices.DeleteFunc(slices.Clone(n.ports), func(p neutron.Port) bool { return !p.UsesGroup(group) }), n.call("PortsInGroup")
}

func (n *groupNetwork) SecurityGroupRules(_ context.Context, _ string, descriptions ...string) ([]neutron.SecurityGroupRule, error) {
	return slices.DeleteFunc(slices.Clone(n.rules), func(r neutron.SecurityGroupRule) bool {
		return !slices.Contains(descriptions, r.Description)
	}), n.call("SecurityGroupRules")
}

func (n *groupNetwork) SomeSecurityGroupRules(_ context.Context, _ string, most int) ([]neutron.SecurityGroupRule, error) {
	return n.rules[:min(most, len(n.rules))], n.call("SomeSecurityGroupRules")
}

func (n *groupNetwork) KeepPort(neutron.Port) {}

// described returns an ingress rule to a port with a description.
func described(id string, port int, description string) neutron.SecurityGroupRule {
	return neutron.SecurityGroupRule{ID: id, Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: &port, PortRangeMax: &port, Description: description}
}

// clusterGroup returns a group of the name of the cluster's.
func clusterGroup(id string, rules ...neutron.SecurityGroupRule) neutron.SecurityGroup {
	shared := identity("web").SharedGroup()
	return neutron.SecurityGroup{ID: id, Name: shared.Name, Tags: shared.Tags, Rules: rules}
}

func newShared(n *groupNetwork) (*sharedGroup, *clocktesting.FakePassiveClock) {
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	return newSharedGroup(n, n, clk), clk
}

// The first round reads the group for all: its ports, the rules of each Service, and the remnants of an interrupted
// creation, which are other groups of the name and the rules that allow all egress. Other rules are those of other clients.
func TestSharedGroup_IsReadOnceForAllServices(t *testing.T) {
	t.Parallel()
	web, dns := identity("web").RuleDescription(), identity("dns").RuleDescription()
	foreign := clusterGroup("z-foreign", described("f", 30000, dns), described("g", 30001, dns), described("h", 30002, dns))
	foreign.Tags = []string{ownership.ClusterTag("another cluster")}
	n := &groupNetwork{
		groups: []neutron.SecurityGroup{
			clusterGroup("a-empty"), clusterGroup("b-less", described("l", 30000, web)),
			clusterGroup("c-most", described("w", 30080, web), described("d", 30053, dns), described("c", 10256, ownership.CommonRuleDescription),
				neutron.SecurityGroupRule{ID: "e", Direction: "egress", EtherType: "IPv4"}, described("other", 22, "by hand"),
				neutron.SecurityGroupRule{ID: "f", Direction: "egress", EtherType: "IPv6"}),
			foreign,
		},
		ports: []neutron.Port{portOf("q", "", "", "c-most"), portOf("p", "", "", "c-most", "a-empty"), portOf("r", "", "", "a-empty")},
	}
	shared, _ := newShared(n)
	for _, service := range []string{"web", "dns"} {
		if err := shared.find(t.Context(), identity(service)); err != nil {
			t.Fatal(err)
		}
	}
	if id, ports := shared.snapshot(); id != "c-most" || !slices.Equal(ports, []string{"p", "q"}) {
		t.Errorf("found group %s with ports %v", id, ports)
	}
	if !slices.Equal(n.calls, []string{"SecurityGroupsNamed", "PortsInGroup"}) {
		t.Errorf("requests %v", n.calls)
	}
	if !slices.Equal(shared.duplicates, []string{"b-less", "a-empty"}) || len(shared.stray) != 2 || shared.stray[0].ID != "e" {
		t.Errorf("remnants: groups %v, rules %v", shared.duplicates, shared.stray)
	}
	if shared.ready() {
		t.Error("the group counts as ready before the remnants are deleted")
	}
	var ids []string
	rules, known := shared.take(web)
	for _, r := range rules {
		ids = append(ids, fmt.Sprint(r.ID, r.Common))
	}
	if diff := cmp.Diff([]string{"wfalse", "ctrue"}, ids); diff != "" || !known {
		t.Errorf("rules of the Service, known: %v (-want +got):\n%s", known, diff)
	}
}

func TestSharedGroup_IsFoundToBeMissingAndReadAgainOnlyAfterAnError(t *testing.T) {
	t.Parallel()
	n := &groupNetwork{}
	shared, _ := newShared(n)
	if err := shared.find(t.Context(), ownership.Identity{ServiceUID: "uid"}); err != nil || shared.found() || len(n.calls) > 0 {
		t.Errorf("a cluster without identity: found %v, error %v, requests %v", shared.found(), err, n.calls)
	}
	for _, n.failing = range []string{"SecurityGroupsNamed", ""} {
		if err := shared.find(t.Context(), identity("web")); errors.Is(err, errNetwork) != (n.failing != "") || shared.found() != (err == nil) {
			t.Errorf("%q fails: error %v, found %v", n.failing, err, shared.found())
		}
	}
	if id, _ := shared.snapshot(); id != "" || shared.ready() || len(n.calls) != 2 {
		t.Errorf("group %q, ready %v, requests %v", id, shared.ready(), n.calls)
	}
	n.groups = []neutron.SecurityGroup{clusterGroup("g")}
	if shared.unset(); shared.found() {
		t.Error("it counts as read after unset")
	}
	for _, n.failing = range []string{"PortsInGroup", ""} {
		if err := shared.find(t.Context(), identity("web")); (err == nil) != (n.failing == "") || shared.found() != (err == nil) {
			t.Errorf("%q fails: error %v, found %v", n.failing, err, shared.found())
		}
	}
	if !shared.ready() {
		t.Error("the group without remnants is not ready")
	}
}

// Rules that were read for all Services are true for each of them until its first change, and for a minute.
func TestSharedGroup_LendsRulesOnceAndForAMinute(t *testing.T) {
	t.Parallel()
	web, dns, none := identity("web").RuleDescription(), identity("dns").RuleDescription(), identity("none").RuleDescription()
	n := &groupNetwork{groups: []neutron.SecurityGroup{clusterGroup("g",
		described("w", 30080, web), described("d", 30053, dns), described("c", 10256, ownership.CommonRuleDescription))}}
	shared, clk := newShared(n)
	if err := shared.find(t.Context(), identity("web")); err != nil {
		t.Fatal(err)
	}
	took := func(description string) string {
		rules, known := shared.take(description)
		return fmt.Sprint(len(rules), known)
	}
	for _, c := range []struct{ description, want string }{{web, "2 true"}, {web, "1 false"}, {none, "1 false"}} {
		if got := took(c.description); got != c.want {
			t.Errorf("%s: %s, want %s", c.description, got, c.want)
		}
	}
	clk.SetTime(clk.Now().Add(time.Minute))
	if got := took(dns); got != "2 true" {
		t.Errorf("after a minute: %s", got)
	}
	clk.SetTime(clk.Now().Add(time.Nanosecond))
	if got := took(ownership.CommonRuleDescription); got != "0 false" {
		t.Errorf("after more than a minute: %s", got)
	}
}

// A deletion of the group waits for rounds that add to it, and they wait for the deletion, each as long as its context.
func TestSharedGroup_IsHeldByManyOrByOne(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	shared, _ := newShared(&groupNetwork{})
	hold := func(ctx context.Context, share int64) func() {
		t.Helper()
		release, err := shared.hold(ctx, share)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	first, second := hold(t.Context(), together), hold(t.Context(), together)
	first()
	if _, err := shared.hold(ended, alone); !errors.Is(err, context.Canceled) {
		t.Errorf("held alone beside another round: %v", err)
	}
	second()
	only := hold(t.Context(), alone)
	for _, share := range []int64{together, alone} {
		if _, err := shared.hold(ended, share); !errors.Is(err, context.Canceled) {
			t.Errorf("share %d beside one that holds it alone: %v", share, err)
		}
	}
	only()
	hold(t.Context(), together)()
}

// The ports of another group, such as that of a Service in the other mode, are not those of the shared group.
func TestSharedGroup_TracksItsOwnPortsOnly(t *testing.T) {
	t.Parallel()
	shared := &sharedGroup{}
	shared.use("", "p", true)
	if _, ports := shared.snapshot(); len(ports) > 0 || shared.is("") || shared.has("", "p") {
		t.Errorf("before the group is read: ports %v", ports)
	}
	shared.set("g", []string{"q", "p"})
	shared.use("other", "r", true)
	shared.use("g", "s", true)
	if !shared.leave("other", "p", nil) || !shared.leave("g", "q", nil) {
		t.Error("without later nodes the group stays on a port")
	}
	_, ports := shared.snapshot()
	if !slices.Equal(ports, []string{"p", "s"}) || shared.has("other", "p") || shared.is("other") || !shared.has("g", "s") {
		t.Errorf("ports %v", ports)
	}
	ports[0] = "changed"
	if !shared.has("g", "p") {
		t.Error("a caller can change the ports")
	}
}

func TestWith_KeepsAListSortedAndItsOriginal(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var list []string
	set := map[string]bool{}
	for range 500 {
		id, member := string(rune('a'+random.IntN(8))), random.IntN(2) == 0
		before := slices.Clone(list)
		next := with(list, id, member)
		if !slices.Equal(list, before) {
			t.Fatalf("%v was changed to %v", before, list)
		}
		if set[id] = member; !member {
			delete(set, id)
		}
		if list = next; !slices.IsSorted(list) || len(list) != len(set) || slices.ContainsFunc(list, func(id string) bool { return !set[id] }) {
			t.Fatalf("%v after %s: %v, want %v", list, id, member, set)
		}
	}
}

// The group is deleted with its last Service, and with it the common rules; a rule by hand keeps it.
func TestSharedGroup_IsInUseUntilItHasOnlyCommonRules(t *testing.T) {
	t.Parallel()
	web, dns, common := identity("web").RuleDescription(), identity("dns").RuleDescription(), ownership.CommonRuleDescription
	many := func(n int) (rules []neutron.SecurityGroupRule) {
		for i := range n {
			rules = append(rules, described(fmt.Sprint(i), 10256+i, common))
		}
		return rules
	}
	for name, c := range map[string]struct {
		rules   []neutron.SecurityGroupRule
		failing string
		used    bool
		left    bool
	}{
		"no rules":                  {left: true},
		"common rules":              {rules: many(49), left: true},
		"more than are read":        {rules: many(50), used: true},
		"rules of the Service":      {rules: append(many(1), described("w", 30080, web)), used: true, left: true},
		"rules of another one":      {rules: append(many(1), described("d", 30053, dns)), used: true},
		"a rule by hand":            {rules: append(many(1), described("h", 22, "")), used: true},
		"its rules cannot be read":  {failing: "SecurityGroupRules", left: false},
		"some rules cannot be read": {failing: "SomeSecurityGroupRules", left: false},
	} {
		n := &groupNetwork{rules: c.rules, failing: c.failing}
		used, err := inUse(t.Context(), n, "g")
		if used != c.used || (err != nil) != (c.failing == "SomeSecurityGroupRules") {
			t.Errorf("%s: in use: %v, error %v", name, used, err)
		}
		left, err := leftInShared(t.Context(), n, "g", identity("web"))
		if left != c.left || (err != nil) != (c.failing != "") {
			t.Errorf("%s: something is left for the Service to delete: %v, error %v", name, left, err)
		}
	}
}

// memory is a Store in memory.
type memory map[types.UID]Entry

func (m memory) All() map[types.UID]Entry { return m }

func (m memory) Update(uid types.UID, change func(*Entry)) {
	e := m[uid]
	change(&e)
	m[uid] = e
}

// Differences are drift only while no round is changing the Service: from the end of one to the beginning of the next.
func TestEntries_AreAtRestBetweenRounds(t *testing.T) {
	t.Parallel()
	e := entries{memory{}}
	rests := func(when string, want bool) {
		t.Helper()
		if _, rests := e.atRest()["uid"]; rests != want {
			t.Errorf("%s: at rest: %v", when, rests)
		}
	}
	rests("before the first round", false)
	if e.known("uid") != nil {
		t.Error("something is known of a new Service")
	}
	e.keep("uid", State{GroupID: "g"}, false)
	rests("during a round", false)
	e.keep("uid", State{GroupID: "g"}, true)
	rests("after a round", true)
	e.keep("uid", State{GroupID: "g", Untagged: true}, false)
	rests("after a repeated record", true)
	known := e.known("uid")
	rests("during the next round", false)
	if known == nil || !known.Untagged {
		t.Fatalf("the next round knows %+v", known)
	}
	known.GroupID = "changed"
	if again := e.known("uid"); again.GroupID != "g" {
		t.Error("a round changes recorded state without recording it")
	}
	e.keep("uid", State{}, true)
	rests("without a group", false)
	e.keep("uid", State{GroupID: "g"}, true)
	e.forget("uid")
	rests("after an error", false)
	if e.known("uid") != nil {
		t.Error("an error leaves a state that may be wrong")
	}
	if !e.meets("uid") || e.meets("uid") || !e.meets("other") {
		t.Error("only the first round of a Service is its first")
	}
	e.forget("uid")
	if e.meets("uid") {
		t.Error("a round after an error counts as the first of the process")
	}
}

// A new process reads the groups of all Services with two requests, which are believed for a minute.
func TestInventory_ReadsGroupsOfAllServicesTogether(t *testing.T) {
	t.Parallel()
	web, dns := identity("web").SecurityGroup(), identity("dns").SecurityGroup()
	n := &groupNetwork{
		groups: []neutron.SecurityGroup{
			{ID: "b", Name: web.Name, Rules: []neutron.SecurityGroupRule{described("r", 30080, "")}}, {ID: "a", Name: web.Name, Tags: web.Tags}, {ID: "e", Name: web.Name},
			{ID: "d", Name: dns.Name, Rules: []neutron.SecurityGroupRule{{ID: "e", Direction: "egress"}, {ID: "f", Direction: "egress"}}},
			{ID: "c", Name: web.Name, Rules: []neutron.SecurityGroupRule{described("r", 30080, "")}, Tags: []string{ownership.ClusterTag("another cluster")}},
		},
		ports: []neutron.Port{portOf("q", "", "", "b", "d"), portOf("p", "", "", "b")},
	}
	clk := clocktesting.NewFakePassiveClock(time.Now())
	i := &inventory{neutron: n, clock: clk}
	inherited := func(service string) string {
		t.Helper()
		s, err := i.inherited(t.Context(), identity(service))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s has %d rules, ports %v, before %v", s.GroupID, len(s.Rules), s.Ports, s.Obsolete)
	}
	for service, want := range map[string]string{
		"web": "b has 1 rules, ports [p q], before [a e]", "dns": "d has 2 rules, ports [q], before []", "none": " has 0 rules, ports [], before []",
	} {
		if got := inherited(service); got != want {
			t.Errorf("%s: %s, want %s", service, got, want)
		}
	}
	if !slices.Equal(n.calls, []string{"AllSecurityGroups", "GroupsOfPorts"}) {
		t.Errorf("requests %v", n.calls)
	}
	clk.SetTime(clk.Now().Add(2 * time.Minute))
	n.groups = n.groups[:1]
	if got := inherited("dns"); got != " has 0 rules, ports [], before []" || len(n.calls) != 4 {
		t.Errorf("after two minutes: %s, requests %v", got, n.calls)
	}
	for _, n.failing = range []string{"AllSecurityGroups", "GroupsOfPorts"} {
		clk.SetTime(clk.Now().Add(2 * time.Minute))
		if _, err := i.inherited(t.Context(), identity("web")); !errors.Is(err, errNetwork) {
			t.Errorf("%s fails: error %v", n.failing, err)
		}
	}
}

// Groups of another mode can only decrease: they are read once, and those that this process deletes are dropped.
func TestInventory_KnowsGroupsByNameUntilTheyAreDeleted(t *testing.T) {
	t.Parallel()
	n := &groupNetwork{failing: "SecurityGroupNames", groups: []neutron.SecurityGroup{{ID: "a", Name: "x"}, {ID: "b", Name: "x"}, {ID: "c", Name: "y"}}}
	i := &inventory{neutron: n, clock: clocktesting.NewFakePassiveClock(time.Now())}
	if _, err := i.byName(t.Context()); !errors.Is(err, errNetwork) {
		t.Errorf("error %v", err)
	}
	n.failing = ""
	before, err := i.byName(t.Context())
	if err != nil || len(before["x"]) != 2 || len(before["y"]) != 1 {
		t.Fatalf("groups %v, error %v", before, err)
	}
	i.drop("a")
	after, err := i.byName(t.Context())
	if err != nil || len(after["x"]) != 1 || after["x"][0].ID != "b" || len(after["y"]) != 1 || len(n.calls) != 2 {
		t.Errorf("after one was deleted: %v, error %v, requests %v", after, err, n.calls)
	}
	if len(before["x"]) != 2 || before["x"][0].ID != "a" {
		t.Errorf("a round that is reading sees %v", before["x"])
	}
	first := &inventory{neutron: n, clock: i.clock}
	if _, err := first.inherited(t.Context(), identity("web")); err != nil {
		t.Fatal(err)
	}
	n.calls = nil
	if known, err := first.byName(t.Context()); err != nil || len(known["x"]) != 2 || len(n.calls) > 0 {
		t.Errorf("after a read of everything: %v, error %v, requests %v", known, err, n.calls)
	}
}
