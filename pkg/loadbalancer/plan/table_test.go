package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// lines gives the steps of a plan in words.
func lines(todo plan.Plan) []string {
	var all []string
	for _, step := range todo.Steps {
		all = append(all, step.String())
	}
	return all
}

func TestDiff_CreatesAttachesOrReleasesFloatingIPs(t *testing.T) {
	t.Parallel()
	const x, y = "203.0.113.1", "203.0.113.2"
	whichever, wantX := &model.FloatingIP{NetworkID: "public", Description: "ours"}, &model.FloatingIP{NetworkID: "public", Address: x}
	ours := func(address string) *model.FloatingIP {
		return &model.FloatingIP{ID: "id-" + address, Address: address, Description: "ours", Owned: true}
	}
	renamed := func(address string) *model.FloatingIP {
		return &model.FloatingIP{ID: "id-" + address, Address: address, Description: "ours, in a cluster of another name", Owned: true}
	}
	kept := func(address string) *model.FloatingIP {
		return &model.FloatingIP{ID: "id-" + address, NetworkID: "public", Address: address, Retained: true}
	}
	onPort := func(address string) *model.FloatingIP {
		return &model.FloatingIP{ID: "id-" + address, Address: address, PortID: "port"}
	}
	tagged := func(address string) *model.FloatingIP {
		return &model.FloatingIP{ID: "id-" + address, Address: address, Tags: []string{"db", "web"}}
	}
	others := func(address string) *model.FloatingIP {
		return &model.FloatingIP{ID: "id-" + address, Address: address}
	}
	unattached := func(fips ...*model.FloatingIP) (list []model.FloatingIP) {
		for _, fip := range fips {
			list = append(list, *fip)
		}
		return list
	}
	for _, test := range []struct {
		what       string
		want       *model.FloatingIP
		attached   *model.FloatingIP
		unattached []model.FloatingIP
		steps      []string
		keeping    []string // with KeepFloatingIP
	}{
		{"none wanted, none there", nil, nil, nil, nil, nil},
		{"none wanted, ours there", nil, ours(x), nil, []string{"floating IP " + x + ": delete"}, []string{"floating IP " + x + ": disassociate"}},
		{"none wanted, another's there", nil, others(x), nil, nil, nil}, // another client put it there
		{"none wanted, ours unattached", nil, nil, unattached(ours(y)), []string{"floating IP " + y + ": delete"}, nil},
		{"none wanted, another's unattached", nil, nil, unattached(others(y)), nil, nil},
		{"any wanted, none there", whichever, nil, nil, []string{"floating IP: create on network public"}, []string{"floating IP: create on network public"}},
		{"any wanted, ours there", whichever, ours(x), nil, nil, nil},
		{"any wanted, another's there", whichever, others(x), nil, nil, nil},
		{"any wanted, ours unattached", whichever, nil, unattached(ours(y)), []string{"floating IP " + y + ": associate"}, []string{"floating IP " + y + ": associate"}},
		{"any wanted, one there and one unattached", whichever, ours(x), unattached(ours(y)), []string{"floating IP " + y + ": delete"}, nil},
		{
			"any wanted, two unattached", whichever, nil, unattached(ours(x), ours(y)),
			[]string{"floating IP " + x + ": associate", "floating IP " + y + ": delete"}, []string{"floating IP " + x + ": associate"},
		},
		{"that one wanted, it is there", wantX, ours(x), nil, nil, nil},
		{"that one wanted, it is there and another's", wantX, others(x), nil, nil, nil},
		{"that one wanted, none there", wantX, nil, nil, []string{"floating IP: create on network public " + x}, []string{"floating IP: create on network public " + x}},
		{"that one wanted, it is unattached and another's", wantX, nil, unattached(others(x)), []string{"floating IP " + x + ": associate"}, []string{"floating IP " + x + ": associate"}},
		{
			"that one wanted, another of ours there", wantX, ours(y), nil,
			[]string{"floating IP: create on network public " + x + ", not attached yet", "floating IP " + y + ": disassociate", "floating IP " + x + ": associate", "floating IP " + y + ": delete"},
			[]string{"floating IP: create on network public " + x + ", not attached yet", "floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
		},
		{
			"that one wanted, another one there and it is unattached", wantX, others(y), unattached(others(x)),
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
		},
		{
			"that one wanted, another of ours unattached", wantX, nil, unattached(ours(y)),
			[]string{"floating IP: create on network public " + x, "floating IP " + y + ": delete"},
			[]string{"floating IP: create on network public " + x},
		},
		{
			"that one wanted, another of ours there and it is unattached", wantX, ours(y), unattached(ours(x)),
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate", "floating IP " + y + ": delete"},
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
		},
		{"any wanted, another's asked for earlier is unattached", whichever, nil, unattached(others(y)), []string{"floating IP: create on network public"}, []string{"floating IP: create on network public"}},
		{"any wanted, one kept for us", whichever, nil, unattached(kept(y)), []string{"floating IP " + y + ": associate, and take it over"}, []string{"floating IP " + y + ": associate, and take it over"}},
		{
			"any wanted, one of another network kept for us", &model.FloatingIP{NetworkID: "other", Description: "ours"}, nil, unattached(kept(y)),
			[]string{"floating IP: create on network other"}, []string{"floating IP: create on network other"},
		},
		{"any wanted, one there and one kept for us", whichever, ours(x), unattached(kept(y)), nil, nil},
		{"none wanted, one kept for us", nil, nil, unattached(kept(y)), nil, nil},
		{"that one wanted, it was kept for us", wantX, nil, unattached(kept(x)), []string{"floating IP " + x + ": associate"}, []string{"floating IP " + x + ": associate"}},
		{"any wanted, ours of an earlier name unattached", whichever, nil, unattached(renamed(y)), []string{"floating IP " + y + ": associate, and take it over"}, []string{"floating IP " + y + ": associate, and take it over"}},
		{"any wanted, another's on the port of the VIP to be", whichever, nil, unattached(onPort(y)), []string{"floating IP " + y + ": associate"}, []string{"floating IP " + y + ": associate"}},
		{
			"that one wanted, another's on the port of the VIP to be", wantX, nil, unattached(onPort(y), ours(x)),
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
		},
		{
			"one with that tag wanted, ours there and a free one has it", &model.FloatingIP{Tag: "web"}, ours(x), unattached(tagged(y)),
			[]string{"floating IP " + x + ": disassociate", "floating IP " + y + ": associate", "floating IP " + x + ": delete"},
			[]string{"floating IP " + x + ": disassociate", "floating IP " + y + ": associate"},
		},
		{"one with that tag wanted, it is there", &model.FloatingIP{Tag: "web"}, tagged(x), nil, nil, nil},
		{"that ID wanted, it is there", &model.FloatingIP{ID: "id-" + x}, others(x), nil, nil, nil},
		{
			"that ID wanted, another's there and it is unattached", &model.FloatingIP{ID: "id-" + x}, others(y), unattached(others(x)),
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
			[]string{"floating IP " + y + ": disassociate", "floating IP " + x + ": associate"},
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			desired := web(floatingIP(test.want))
			observed := made(t, web(floatingIP(nil)))
			observed.LoadBalancer.FloatingIP, observed.UnattachedFloatingIPs = test.attached, test.unattached
			if diff := cmp.Diff(test.steps, lines(plan.Diff(desired, observed, plan.Options{}))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.keeping, lines(plan.Diff(desired, observed, plan.Options{KeepFloatingIP: true}))); diff != "" {
				t.Errorf("when keeping: %s", diff)
			}
		})
	}
}

// A floating IP that the Service had asked for and published goes off the VIP when it
// wants none any more; one that another client put there stays.
func TestDiff_DisassociatesOnlyRequestedFloatingIP(t *testing.T) {
	t.Parallel()
	const asked, foreign = "203.0.113.1", "203.0.113.2"
	for address, want := range map[string][]string{asked: {"floating IP " + asked + ": disassociate"}, foreign: nil} {
		desired := web(floatingIP(nil))
		observed := made(t, desired)
		observed.LoadBalancer.FloatingIP = &model.FloatingIP{ID: "id", Address: address}
		opts := plan.Options{Given: []string{"10.0.0.9", asked}}
		if diff := cmp.Diff(want, lines(plan.Diff(desired, observed, opts))); diff != "" {
			t.Error(diff)
		}
		if told := plan.ForeignFloatingIP(desired, observed.LoadBalancer, opts); (told != nil) != (address == foreign) {
			t.Errorf("%s: the one that another client put there is %+v", address, told)
		}
	}
}

// A requested address is reserved first: without it, the load balancer would be useless.
func TestDiff_CreatesTheFloatingIPFirstWhereItsAddressIsRequested(t *testing.T) {
	t.Parallel()
	const create = "load balancer kube_service_rig_default_web: create (amphora) with TCP/80, TCP/443 and 6 members"
	for name, test := range map[string]struct {
		address    string
		unattached []model.FloatingIP
		want       string
	}{
		"any address":            {"", nil, create + "; floating IP: create on network public"},
		"an address":             {"203.0.113.9", nil, "floating IP: create on network public 203.0.113.9, not attached yet; " + create + "; floating IP 203.0.113.9: associate"},
		"an address that it has": {"203.0.113.9", []model.FloatingIP{{ID: "fip", Address: "203.0.113.9"}}, create + "; floating IP 203.0.113.9: associate"},
	} {
		todo := plan.Diff(web(floatingIP(&model.FloatingIP{NetworkID: "public", Address: test.address})), model.Observed{UnattachedFloatingIPs: test.unattached}, plan.Options{})
		if got := steps(todo); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// Only the floating IP on another's load balancer is claimed before that is deleted: on its own, the tags of the load
// balancer have proven it, and nothing is left that would be looked for.
func TestDelete_ClaimsFloatingIPsOfTheOwnerOnly(t *testing.T) {
	t.Parallel()
	claim, gone := "floating IP 203.0.113.1: take over; ", "load balancer kube_service_rig_default_web (lb-1): delete; floating IP 203.0.113.1: delete"
	removable := &model.Shared{Removable: true}
	for name, test := range map[string]struct {
		shared      *model.Shared
		description string
		opts        plan.Options
		want        string
	}{
		"its own":               {nil, "another's", plan.Options{Describe: "ours", Cascade: true}, gone},
		"the owner's":           {removable, "another's", plan.Options{Describe: "ours"}, claim + gone},
		"claimed before":        {removable, "ours", plan.Options{Describe: "ours"}, gone},
		"without a description": {removable, "another's", plan.Options{}, gone},
		"floating IPs stay":     {removable, "another's", plan.Options{Describe: "ours", KeepFloatingIP: true}, "load balancer kube_service_rig_default_web (lb-1): delete"},
	} {
		observed := made(t, web(floatingIP(nil)))
		observed.LoadBalancer.Shared = test.shared
		observed.LoadBalancer.FloatingIP = &model.FloatingIP{ID: "fip", Address: "203.0.113.1", Description: test.description, Owned: true}
		if got := steps(plan.Delete(observed, test.opts)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A plan is made for the state after all its steps: what they have sent is ACTIVE then.
func TestAdvance_TakesWhatIsSentForActive(t *testing.T) {
	t.Parallel()
	desired := web(monitor(model.MonitorTCP))
	var observed model.Observed
	plan.Advance(&observed, plan.CreateLoadBalancer{LoadBalancer: desired})
	lb, active := observed.LoadBalancer, model.Status{Provisioning: "ACTIVE"}
	for _, l := range lb.Listeners {
		for what, status := range map[string]model.Status{"load balancer": lb.Status, "listener": l.Status, "pool": l.Pool.Status, "monitor": l.Pool.Monitor.Status, "member": l.Pool.Members.Kind(0).Status} {
			if status != active {
				t.Errorf("%s %s: %+v", what, l.Key(), status)
			}
		}
	}
	if desired.Listeners[0].Pool.Monitor.Status != (model.Status{}) {
		t.Error("the desired monitor has changed")
	}
}

// Another client may move a floating IP between the read and the write.
func TestDiff_MovesFloatingIPsOnlyAsTheyWereRead(t *testing.T) {
	t.Parallel()
	revision := 7
	fip := model.FloatingIP{ID: "fip", Address: "203.0.113.1", Description: "ours", Owned: true, Revision: &revision}
	unattached := made(t, web(floatingIP(nil)))
	onDuplicate := made(t, web(floatingIP(nil)))
	unattached.UnattachedFloatingIPs = []model.FloatingIP{fip}
	onDuplicate.Duplicates = []model.LoadBalancer{{ID: "second", FloatingIP: &fip}}
	for name, observed := range map[string]model.Observed{"unattached": unattached, "of a duplicate": onDuplicate} {
		steps := plan.Diff(web(floatingIP(&model.FloatingIP{NetworkID: "public", Description: "ours"})), observed, plan.Options{}).Steps
		var asRead *int
		switch s := steps[0].(type) {
		case plan.AssociateFloatingIP:
			asRead = s.Revision
		case plan.MoveFloatingIP:
			asRead = s.Revision
		}
		if asRead == nil || *asRead != revision {
			t.Errorf("%s: %s, as of revision %v", name, steps[0], asRead)
		}
		plan.Advance(&observed, steps[0])
		if now := observed.LoadBalancer.FloatingIP; now == nil || now.ID != "fip" || now.Revision != nil {
			t.Errorf("%s: after that it is %+v, of an unknown revision", name, now)
		}
		if fip.Revision == nil {
			t.Errorf("%s: the floating IP that was read has changed", name)
		}
	}
}

// Each attribute is compared by itself. An administrator's switch and an ERROR are undone in the same request.
func TestDiff_UpdatesAListenerForEachOfItsAttributes(t *testing.T) {
	t.Parallel()
	tls := func(l *model.Listener) {
		l.Protocol, l.Pool.Protocol, l.TLSContainerRef, l.InsertHeaders = model.TerminatedHTTPS, model.HTTP, "a", []string{"X-Forwarded-For"}
	}
	for want, test := range map[string]struct{ have, want func(*model.Listener) }{
		"":                            {},
		"repair":                      {have: func(l *model.Listener) { l.Status.Provisioning = "ERROR" }},
		"admin_state_up false → true": {have: func(l *model.Listener) { l.AdminDown = true }},
		"timeout_member_data 50 → 60": {
			have: func(l *model.Listener) { l.Limits.TimeoutMemberData = model.Limit{Value: 50} },
			want: func(l *model.Listener) { l.Limits.TimeoutMemberData = model.Limit{Value: 60, Asked: true} },
		},
		"insert_headers [X-Forwarded-For] → [X-Forwarded-For X-Forwarded-Port]": {want: func(l *model.Listener) { l.InsertHeaders = append(slices.Clone(l.InsertHeaders), "X-Forwarded-Port") }},
		"default_tls_container_ref a → b":                                       {want: func(l *model.Listener) { l.TLSContainerRef = "b" }},
		"allowed_cidrs [] → [10.0.0.0/8]":                                       {want: func(l *model.Listener) { l.AllowedCIDRs = []string{"10.0.0.0/8"} }},
		"allowed_cidrs [10.0.0.0/8] → []":                                       {have: func(l *model.Listener) { l.AllowedCIDRs = []string{"10.0.0.0/8"} }},
	} {
		one := listener(0, model.TCP, 443)
		tls(&one)
		observed, desired := made(t, web(ports(one))), web(ports(one))
		if test.have != nil {
			test.have(&observed.LoadBalancer.Listeners[0])
		}
		if test.want != nil {
			test.want(&desired.Listeners[0])
		}
		got := steps(plan.Diff(desired, observed, plan.Options{}))
		if strings.TrimPrefix(got, "listener TCP/443: ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A floating IP that is not the one of the step stays as it is.
func TestAdvance_ClaimsTheFloatingIPOfTheStepOnly(t *testing.T) {
	t.Parallel()
	claim := plan.ClaimFloatingIP{ID: "fip", Describe: "ours"}
	for id, want := range map[string]string{"fip": "ours", "another": "theirs", "": ""} {
		lb := &model.LoadBalancer{ID: "lb"}
		if id != "" {
			lb.FloatingIP = &model.FloatingIP{ID: id, Description: "theirs"}
		}
		observed := model.Observed{LoadBalancer: lb}
		plan.Advance(&observed, claim)
		if now := observed.LoadBalancer.FloatingIP; (now == nil) != (id == "") || now != nil && now.Description != want {
			t.Errorf("floating IP %q is %+v", id, now)
		}
	}
}

// A listener with metrics has no pool: none is created, changed or deleted.
func TestDiff_ServesMetricsWithoutPool(t *testing.T) {
	t.Parallel()
	metrics := model.Listener{Name: "metrics", Protocol: model.Prometheus, Port: 9100}
	with := func(lb *model.LoadBalancer) { lb.Listeners = append(lb.Listeners, metrics) }
	instead := func(lb *model.LoadBalancer) { lb.Listeners = append(lb.Listeners, listener(2, model.TCP, 9100)) }
	for name, test := range map[string]struct {
		from, to func(*model.LoadBalancer)
		want     string
	}{
		"added":     {nodes(1, 2, 3), with, "listener TCP/9100: create (PROMETHEUS)"},
		"unchanged": {with, with, ""},
		"removed":   {with, nodes(1, 2, 3), "listener TCP/9100: delete"},
		"a port instead": {with, instead, "pool TCP/9100: create (TCP, ROUND_ROBIN); pool TCP/9100: members " +
			"+node-1=10.0.0.1:39100,node-2=10.0.0.2:39100,node-3=10.0.0.3:39100 (3 in all); listener TCP/9100: delete; listener TCP/9100: create"},
		"in place of one": {instead, with, "listener TCP/9100: delete; listener TCP/9100: create (PROMETHEUS); pool pool_2_kube_service_rig_default_web (POOL): delete"},
	} {
		observed := made(t, web(test.from))
		want := test.want
		if l := observed.LoadBalancer.Listener(metrics.Key()); l != nil {
			want = strings.ReplaceAll(want, "POOL", l.Pool.ID)
		}
		todo := plan.Diff(web(test.to), observed, plan.Options{})
		if got := steps(todo); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		for _, step := range todo.Steps {
			plan.Advance(&observed, step)
		}
		c := &cloud{observed: observed}
		if c.identify(); !plan.Diff(web(test.to), c.observed, plan.Options{}).Empty() {
			t.Errorf("%s: still to do:\n%s", name, plan.Diff(web(test.to), c.observed, plan.Options{}))
		}
	}
}

// A floating IP that the Service has not requested is another client's only where it wants none.
func TestForeignFloatingIP_IsOneThatTheServiceDoesNotWant(t *testing.T) {
	t.Parallel()
	foreign, own := &model.FloatingIP{ID: "fip", Address: "203.0.113.7"}, &model.FloatingIP{ID: "fip", Owned: true}
	for name, test := range map[string]struct {
		wanted bool
		lb     model.LoadBalancer
		given  []string
		want   bool
	}{
		"none":                 {false, model.LoadBalancer{}, nil, false},
		"another's":            {false, model.LoadBalancer{FloatingIP: foreign}, []string{"203.0.113.8"}, true},
		"another's, wanted":    {true, model.LoadBalancer{FloatingIP: foreign}, nil, false},
		"its own":              {false, model.LoadBalancer{FloatingIP: own}, nil, false},
		"one that it had":      {false, model.LoadBalancer{FloatingIP: foreign}, []string{"203.0.113.7"}, false},
		"that of the owner":    {false, model.LoadBalancer{FloatingIP: foreign, Shared: &model.Shared{}}, nil, false},
		"none, but one wanted": {true, model.LoadBalancer{}, nil, false},
	} {
		desired := &model.LoadBalancer{}
		if test.wanted {
			desired.FloatingIP = &model.FloatingIP{}
		}
		if got := plan.ForeignFloatingIP(desired, &test.lb, plan.Options{Given: test.given}); (got != nil) != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestDiff_ShutsClientsOutFirstAndLetsThemInLast looks at where the change of clients
// stands beside a change of members.
func TestDiff_ShutsClientsOutFirstAndLetsThemInLast(t *testing.T) {
	t.Parallel()
	const a, b, c = "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"
	for _, test := range []struct {
		from, to []string
		want     string
	}{
		{nil, nil, "members"},
		{nil, []string{a}, "clients, members"},
		{[]string{a}, nil, "members, clients"},
		{[]string{a}, []string{a}, "members"},
		{[]string{a}, []string{a, b}, "members, clients"},
		{[]string{a, b}, []string{a}, "clients, members"},
		{[]string{a, b}, []string{a, c}, "clients, members"}, // who goes is worth more than who comes
		{[]string{a}, []string{b}, "clients, members"},
		{[]string{b}, []string{a, b, c}, "members, clients"},
	} {
		one := ports(listener(0, model.TCP, 80))
		observed := made(t, web(one, clients(test.from...)))
		todo := plan.Diff(web(one, clients(test.to...), nodes(1, 2)), observed, plan.Options{})
		var got []string
		for _, step := range todo.Steps {
			switch s := step.(type) {
			case plan.UpdateListener:
				got = append(got, "clients")
				if diff := cmp.Diff(test.to, s.To.AllowedCIDRs); diff != "" {
					t.Error(diff)
				}
			case plan.RemoveMember:
				got = append(got, "members")
			}
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("from %v to %v: %v, want %s", test.from, test.to, got, test.want)
		}
	}
}

func TestDiff_ChangesMembersInSmallestStep(t *testing.T) {
	t.Parallel()
	drained := func(m *model.Member) { m.Drained = true }
	off := func(m *model.Member) { m.AdminDown = true }
	backup := func(m *model.Member) { m.Backup = true }
	elsewhere := func(m *model.Member) { m.SubnetID = "elsewhere" }
	failed := func(m *model.Member) { m.Status.Provisioning = "ERROR" }
	offline := func(m *model.Member) { m.Status.Operating = "ERROR" }
	renamed := func(m *model.Member) { m.Name = "renamed" }
	unknown := func(m *model.Member) { m.ID = "" }
	for _, test := range []struct {
		what   string
		want   []int
		change func(*model.Member) // of node 3, as it is
		steps  []string
	}{
		{"nothing", []int{1, 2, 3}, nil, nil},
		{"one new", []int{1, 2, 3, 4}, nil, []string{"pool TCP/80: member +node-4=10.0.0.4:30080"}},
		{"one gone", []int{1, 3}, nil, []string{"pool TCP/80: member -node-2=10.0.0.2:30080"}},
		{"one gone whose ID is not known", []int{1, 2}, unknown, []string{"pool TCP/80: members -node-3=10.0.0.3:30080 (2 in all)"}},
		{"one replaced", []int{1, 2, 4}, nil, []string{"pool TCP/80: members +node-4=10.0.0.4:30080 -node-3=10.0.0.3:30080 (3 in all)"}},
		{"two new", []int{1, 2, 3, 4, 5}, nil, []string{"pool TCP/80: members +node-4=10.0.0.4:30080,node-5=10.0.0.5:30080 (5 in all)"}},
		{"two gone", []int{1}, nil, []string{"pool TCP/80: members -node-2=10.0.0.2:30080,node-3=10.0.0.3:30080 (1 in all)"}},
		{"one drained", []int{1, 2, 3}, drained, nil}, // because the node is out of service
		{"one switched off", []int{1, 2, 3}, off, nil},
		{"one made a backup", []int{1, 2, 3}, backup, []string{"pool TCP/80: members ~node-3=10.0.0.3:30080 (3 in all)"}},
		{"one new and one drained", []int{1, 2, 3, 4}, drained, []string{"pool TCP/80: member +node-4=10.0.0.4:30080"}},
		{"a drained one gone", []int{1, 2}, drained, []string{"pool TCP/80: member -node-3=10.0.0.3:30080(weight 0)"}},
		{"one new and one a backup", []int{1, 2, 3, 4}, backup, []string{"pool TCP/80: members +node-4=10.0.0.4:30080 ~node-3=10.0.0.3:30080 (4 in all)"}},
		{"one that could not be made", []int{1, 2, 3}, failed, []string{"pool TCP/80: members ~node-3=10.0.0.3:30080 (3 in all)"}},
		{"one that does not answer", []int{1, 2, 3}, offline, nil},
		{"another subnet", []int{1, 2, 3}, elsewhere, nil},
		{"another name", []int{1, 2, 3}, renamed, nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			one := ports(listener(0, model.TCP, 80))
			observed := made(t, web(one))
			if test.change != nil {
				fixture.EditMember(&observed.LoadBalancer.Listeners[0].Pool, 2, test.change)
			}
			todo := plan.Diff(web(one, nodes(test.want...)), observed, plan.Options{})
			if diff := cmp.Diff(test.steps, lines(todo)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiff_LeavesPoolInItsSubnetInBatch(t *testing.T) {
	t.Parallel()
	one := ports(listener(0, model.TCP, 80))
	observed := made(t, web(one))
	fixture.EditMembers(&observed.LoadBalancer.Listeners[0].Pool, func(_ int, m *model.Member) { m.SubnetID, m.Backup = "old", true })
	todo := plan.Diff(web(one, nodes(1, 2, 3, 4)), observed, plan.Options{})
	batch, ok := todo.Steps[0].(plan.SetMembers)
	if !ok || len(todo.Steps) != 1 {
		t.Fatalf("not one batch:\n%s", todo)
	}
	want := map[string]string{"node-1": "old", "node-2": "old", "node-3": "old", "node-4": "old"}
	for _, list := range []model.Members{batch.Members, batch.Added, batch.Changed} {
		for _, m := range list.All() {
			if m.SubnetID != want[m.Name] {
				t.Errorf("%s in subnet %s, want %s", m.Name, m.SubnetID, want[m.Name])
			}
		}
	}
}

func TestAdvance_KeepsIDsOfMembersThatStay(t *testing.T) {
	t.Parallel()
	one := ports(listener(0, model.TCP, 80))
	observed := made(t, web(one))
	before := map[model.MemberKey]string{}
	for _, m := range observed.LoadBalancer.Listeners[0].Pool.Members.All() {
		before[m.Key()] = m.ID
	}
	for _, step := range plan.Diff(web(one, nodes(2, 3, 4)), observed, plan.Options{}).Steps {
		plan.Advance(&observed, step)
	}
	for _, m := range observed.LoadBalancer.Listeners[0].Pool.Members.All() {
		if m.ID != before[m.Key()] {
			t.Errorf("%s has the ID %q, had %q", m.Name, m.ID, before[m.Key()])
		}
	}
}

func TestDiff_ReplacesOrBlocksLoadBalancerInError(t *testing.T) {
	t.Parallel()
	failed := made(t, web())
	failed.LoadBalancer.Status.Provisioning = "ERROR"
	shared := made(t, web())
	shared.LoadBalancer.Status.Provisioning = "ERROR"
	shared.LoadBalancer.Foreign = []model.Foreign{{Kind: "pool", ID: "p", Name: "theirs"}}
	for _, test := range []struct {
		what      string
		observed  model.Observed
		published bool
		blocked   string
		first     string
	}{
		{"none", model.Observed{}, false, "", "create (amphora)"},
		{"none, but an address was published", model.Observed{}, true, "", "create (amphora)"},
		{"ERROR, address not known", failed, false, "", "delete: it is in ERROR and has never served"},
		{"ERROR, address published", failed, true, "it may still serve traffic", ""},
		{"ERROR, and not ours alone", shared, false, "holds pool p, which was not created for this Service", ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			todo := plan.Diff(web(), test.observed, plan.Options{Published: test.published})
			if !strings.Contains(todo.Blocked, test.blocked) || (todo.Blocked == "") != (test.blocked == "") {
				t.Errorf("blocked: %q, want %q", todo.Blocked, test.blocked)
			}
			if test.first != "" && !strings.Contains(todo.Steps[0].String(), test.first) {
				t.Errorf("first step %q, want %q", todo.Steps[0], test.first)
			}
			if todo.Empty() {
				t.Error("it counts as nothing to do")
			}
		})
	}
}

func TestDiff_KeepsDuplicatesWhileBlocked(t *testing.T) {
	t.Parallel()
	observed := made(t, web())
	observed.LoadBalancer.Status.Provisioning = "ERROR"
	observed.Duplicates = []model.LoadBalancer{{ID: "other"}}
	if todo := plan.Diff(web(), observed, plan.Options{Published: true}); len(todo.Steps) > 0 {
		t.Errorf("one of them may be what is left:\n%s", todo)
	}
}

func TestStep_PrintsIPv6MembersWithBrackets(t *testing.T) {
	t.Parallel()
	step := plan.AddMember{Pool: plan.PoolRef{Key: model.ListenerKey{Transport: model.TCP, Port: 80}}, Member: model.Member{Name: "n", Address: "fd00::1", Port: 30080}}
	if got, want := step.String(), "pool TCP/80: member +n=[fd00::1]:30080"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
