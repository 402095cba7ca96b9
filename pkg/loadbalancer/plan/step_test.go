package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// properties returns what a plan of one step reports of it.
func properties(step plan.Step) string {
	todo := plan.Plan{Steps: []plan.Step{step}}
	var all []string
	for _, property := range []struct {
		name string
		has  bool
	}{
		{"creates", todo.Creates()}, {"deletes", todo.DeletesLoadBalancer()}, {"creates a floating IP", todo.CreatesFloatingIP()},
		{"only members", todo.ChangesOnlyMembers()}, {"in Octavia", plan.ChangesLoadBalancer(step)},
	} {
		if property.has {
			all = append(all, property.name)
		}
	}
	if id := todo.FailsOver(); id != "" {
		all = append(all, "fails over "+id)
	}
	return fmt.Sprintf("%s: %d", strings.Join(all, ", "), plan.Writes(step))
}

func TestPlan_ReportsThePropertiesOfItsSteps(t *testing.T) {
	t.Parallel()
	forwarding := []model.Forwarding{{Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Address: "a", NodePort: 30080}}
	for _, test := range []struct {
		step plan.Step
		want string // its properties, and the number of requests
	}{
		{plan.CreateLoadBalancer{LoadBalancer: web()}, "creates, in Octavia: 1"},
		{plan.DeleteLoadBalancer{}, "deletes, in Octavia: 1"},
		{plan.FailOver{ID: "lb"}, "in Octavia, fails over lb: 1"},
		{plan.UpdateLoadBalancer{}, "in Octavia: 1"},
		{plan.CreateListener{}, "in Octavia: 1"},
		{plan.UpdateListener{}, "in Octavia: 1"},
		{plan.DeleteListener{}, "in Octavia: 1"},
		{plan.CreatePool{}, "in Octavia: 1"},
		{plan.UpdatePool{}, "in Octavia: 1"},
		{plan.DeletePool{}, "in Octavia: 1"},
		{plan.SetMembers{}, "only members, in Octavia: 1"},
		{plan.AddMember{}, "only members, in Octavia: 1"},
		{plan.UpdateMember{}, "only members, in Octavia: 1"},
		{plan.RemoveMember{}, "only members, in Octavia: 1"},
		{plan.CreateMonitor{}, "in Octavia: 1"},
		{plan.UpdateMonitor{}, "in Octavia: 1"},
		{plan.DeleteMonitor{}, "in Octavia: 1"},
		{plan.CreateFloatingIP{}, "creates a floating IP: 1"},
		{plan.AssociateFloatingIP{}, ": 1"},
		{plan.MoveFloatingIP{}, ": 1"},
		{plan.DisassociateFloatingIP{}, ": 1"},
		{plan.ClaimFloatingIP{}, ": 1"},
		{plan.DeleteFloatingIP{}, ": 1"},
		{plan.CreateVIP{LoadBalancer: web()}, "creates: 2"},
		{plan.LeadVIP{To: []string{"a"}}, ": 1"},
		{plan.DeleteVIP{}, "deletes: 1"},
		{plan.SetForwardings{To: forwarding}, ": 1"},
		{plan.SetForwardings{To: forwarding, Creates: true}, "creates: 1"},
		{plan.SetForwardings{From: forwarding}, "deletes: 1"},
	} {
		if got := properties(test.step); got != test.want {
			t.Errorf("%T: %s, want %s", test.step, got, test.want)
		}
	}
}

func TestPlan_SplitsStepsOfMembersFromOthers(t *testing.T) {
	t.Parallel()
	members := []plan.Step{plan.RemoveMember{}, plan.SetMembers{}, plan.UpdateMember{}, plan.AddMember{}}
	others := []plan.Step{plan.CreatePool{}, plan.UpdatePool{}, plan.CreateMonitor{}, plan.DeleteFloatingIP{}}
	var mixed plan.Plan
	for i := range members {
		mixed.Steps = append(mixed.Steps, others[i], members[i])
	}
	mixed.Notices = []string{"the flavor stays"}
	if diff := cmp.Diff(members, mixed.OnlyMembers().Steps); diff != "" {
		t.Error(diff)
	}
	rest := mixed.WithoutMembers()
	if diff := cmp.Diff(others, rest.Steps); diff != "" || len(rest.Notices) != 1 {
		t.Errorf("%s\nnotices %v", diff, rest.Notices)
	}
	if len(mixed.Steps) != 8 || mixed.ChangesOnlyMembers() || !mixed.OnlyMembers().ChangesOnlyMembers() || rest.ChangesOnlyMembers() {
		t.Errorf("mixed %v, members %v, rest %v", mixed.ChangesOnlyMembers(), mixed.OnlyMembers().ChangesOnlyMembers(), rest.ChangesOnlyMembers())
	}
	for _, test := range []struct {
		todo  plan.Plan
		empty bool
	}{{plan.Plan{}, true}, {plan.Plan{Notices: mixed.Notices, Retained: []string{"lb"}}, true}, {plan.Plan{Blocked: "in ERROR"}, false}, {plan.Plan{Steps: members}, false}} {
		if test.todo.Empty() != test.empty {
			t.Errorf("%+v is empty: %v", test.todo, test.todo.Empty())
		}
	}
}

func TestPlan_HasTheCertificatesOfTheListenersThatItWrites(t *testing.T) {
	t.Parallel()
	with := func(ref string) model.Listener { return model.Listener{TLSContainerRef: ref} }
	change := func(from, to string) plan.Step { return plan.UpdateListener{From: with(from), To: with(to)} }
	created := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Listeners: []model.Listener{with("a"), with(""), with("b"), with("a")}}}
	for name, test := range map[string]struct {
		steps     []plan.Step
		set, kept []string
	}{
		"none":                      {[]plan.Step{plan.CreateListener{}, change("", ""), plan.DeleteListener{}}, nil, nil},
		"of a new load balancer":    {[]plan.Step{created}, []string{"a", "b"}, nil},
		"of a new listener":         {[]plan.Step{plan.CreateListener{Listener: with("c")}}, []string{"c"}, nil},
		"another one":               {[]plan.Step{change("a", "b")}, []string{"b"}, nil},
		"the first one":             {[]plan.Step{change("", "b")}, []string{"b"}, nil},
		"none any more":             {[]plan.Step{change("a", "")}, nil, nil},
		"the same":                  {[]plan.Step{change("a", "a"), change("a", "a")}, nil, []string{"a"}},
		"set here and kept there":   {[]plan.Step{created, change("a", "a"), change("x", "b")}, []string{"a", "b"}, []string{"a"}},
		"of two that become others": {[]plan.Step{change("a", "b"), change("b", "a")}, []string{"b", "a"}, nil},
	} {
		set, kept := plan.Plan{Steps: test.steps}.Certificates()
		if !slices.Equal(set, test.set) || !slices.Equal(kept, test.kept) {
			t.Errorf("%s: sets %q, keeps %q, want %q, %q", name, set, kept, test.set, test.kept)
		}
	}
	steps := []plan.Step{created, change("a", "a"), change("a", "b"), change("b", "a"), plan.CreateListener{Listener: with("a")}}
	todo := plan.Plan{Steps: slices.Clone(steps)}
	if diff := cmp.Diff([]plan.Step{created, change("a", "b"), plan.CreateListener{Listener: with("a")}}, todo.WithoutListeners([]string{"a", "x"}).Steps); diff != "" {
		t.Errorf("without updates of listeners with a: %s", diff)
	}
	if diff := cmp.Diff(steps, todo.WithoutListeners(nil).Steps) + cmp.Diff(steps, todo.Steps); diff != "" {
		t.Errorf("without updates of no listener, or the plan itself: %s", diff)
	}
}

// Requests are counted before they are sent: added routes are one, removed ones another; a port forwarding that
// blocks another is deleted first.
func TestWrites_CountsTheRequestsOfRoutesAndForwardings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to string // next hops, or forwardings as port>NodePort
		hops     int
		forwards int
		adds     bool
	}{
		{"", "80>1", 1, 1, true},
		{"80>1", "80>1", 0, 0, false},
		{"80>1", "", 1, 1, false},
		{"80>1", "80>2", 2, 1, false},
		{"80>1", "80>1 81>2", 1, 1, true},
		{"80>1 81>2", "81>2", 1, 1, false},
		{"80>1", "81>2", 2, 2, true},
		{"80>1", "81>1", 2, 2, true},
		{"80>1 81>2", "80>2 81>1", 2, 4, false},
	} {
		lead := plan.LeadVIP{From: strings.Fields(test.from), To: strings.Fields(test.to)}
		set := plan.SetForwardings{From: forwardings(t, test.from), To: forwardings(t, test.to)}
		if got := plan.Writes(lead); got != test.hops {
			t.Errorf("next hops %s: %d requests, want %d", lead, got, test.hops)
		}
		if got := plan.Writes(set); got != test.forwards || set.Adds() != test.adds {
			t.Errorf("%s: %d requests, adds: %v, want %d, %v", set, got, set.Adds(), test.forwards, test.adds)
		}
		if set.Describe = "ours"; plan.Writes(set) != test.forwards+1 {
			t.Errorf("%s, described: %d requests", set, plan.Writes(set))
		}
	}
}

// forwardings reads port forwardings to one node, such as "80>30080 81>30081".
func forwardings(t *testing.T, text string) (all []model.Forwarding) {
	t.Helper()
	for _, field := range strings.Fields(text) {
		f := model.Forwarding{Key: model.ListenerKey{Transport: model.TCP}, Address: "a"}
		if _, err := fmt.Sscanf(field, "%d>%d", &f.Key.Port, &f.NodePort); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func TestPoolRef_IsAnIDOrNameAndProtocolOfAPort(t *testing.T) {
	t.Parallel()
	pool := func(id string, protocol model.Protocol) model.Pool {
		return model.Pool{ID: id, Name: "pool", Protocol: protocol}
	}
	http, dns := model.ListenerKey{Transport: model.TCP, Port: 80}, model.ListenerKey{Transport: model.UDP, Port: 53}
	lb := &model.LoadBalancer{
		Listeners: []model.Listener{
			{Protocol: model.TCP, Port: 80, Pool: pool("1", model.TCP)}, {Protocol: model.UDP, Port: 53, Pool: pool("2", model.UDP)}, {Protocol: model.TCP, Port: 81, Pool: pool("3", model.TCP)},
		},
		Orphans: []model.Pool{pool("4", model.Proxy)},
	}
	for name, test := range map[string]struct {
		ref  plan.PoolRef
		want string
	}{
		"by ID":                              {plan.PoolRef{ID: "3", Name: "another", Key: http}, "3"},
		"by ID, unused":                      {plan.PoolRef{ID: "4"}, "4"},
		"by an ID that does not exist":       {plan.PoolRef{ID: "9", Name: "pool", Key: http, Protocol: model.TCP}, ""},
		"by name":                            {plan.PoolRef{Name: "pool", Key: http, Protocol: model.TCP}, "1"},
		"by name, of another port":           {plan.PoolRef{Name: "pool", Key: dns, Protocol: model.UDP}, "2"},
		"by name, before its listener":       {plan.PoolRef{Name: "pool", Key: http, Protocol: model.Proxy}, "4"},
		"by name, of a protocol without one": {plan.PoolRef{Name: "pool", Key: http, Protocol: model.ProxyV2}, ""},
		"by name, of a port without one":     {plan.PoolRef{Name: "pool", Key: model.ListenerKey{Transport: model.TCP, Port: 82}, Protocol: model.TCP}, ""},
		"by another name":                    {plan.PoolRef{Name: "another", Key: http, Protocol: model.TCP}, ""},
	} {
		id := ""
		if found := test.ref.Find(lb); found != nil {
			id = found.ID
		}
		if id != test.want {
			t.Errorf("%s: pool %q, want %q", name, id, test.want)
		}
	}
	if port, name := (plan.PoolRef{Name: "pool", Key: dns}).String(), (plan.PoolRef{Name: "pool", ID: "4"}).String(); port != "UDP/53" || name != "pool" {
		t.Errorf("printed as %q, and without a port as %q", port, name)
	}
}
