package events_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

func TestWarnings_HaveTextOnlyWhileTheStateLasts(t *testing.T) {
	t.Parallel()
	nodes := []members.Backend{backend("node-1"), backend("node-2")}
	for name, test := range map[string]struct {
		warning events.Warning
		reason  reason.Reason
		text    string // all of it
	}{
		"no nodes are skipped":       {events.NodesSkipped(v1.IPv4Protocol, nil), reason.NodeSkipped, ""},
		"nodes are skipped":          {events.NodesSkipped(v1.IPv4Protocol, []string{"a", "b"}), reason.NodeSkipped, "Not added as members because they have no IPv4 address: a, b"},
		"no next hops are skipped":   {events.HopsSkipped(nil, "in no subnet of the router"), reason.NodeSkipped, ""},
		"next hops are skipped":      {events.HopsSkipped([]string{"a", "b"}, "in no subnet of the router"), reason.NodeSkipped, "Each of these nodes is in no subnet of the router: a, b"},
		"usual members":              {events.MembersLeft("", &members.Set{Backends: nodes}), reason.NoMembers, ""},
		"the last members":           {events.MembersLeft("", &members.Set{Backends: nodes, Standing: members.Last}), reason.LastMembers, "All nodes that could be members are about to be deleted; these serve until then: node-1, node-2"},
		"all nodes are excluded":     {events.MembersLeft("a=b", &members.Set{Standing: members.Excluded}), reason.NoMembers, "The load balancer has no members, and serves no traffic: all nodes have the label node.kubernetes.io/exclude-from-external-load-balancers"},
		"no node is selected":        {events.MembersLeft("a=b", &members.Set{Standing: members.Unselected}), reason.NoMembers, `The load balancer has no members, and serves no traffic: no node that is not excluded matches the node selector "a=b"`},
		"no ignored settings":        {events.SettingsIgnored(events.Provider, nil), reason.SettingIgnored, ""},
		"no wait for a share":        {events.ShareWaits(""), reason.ShareWaits, ""},
		"a wait for a share":         {events.ShareWaits("shop/web has none yet"), reason.ShareWaits, "Waiting: shop/web has none yet; see the events of that Service, or remove the annotation " + annotation.Share + " from it"},
		"monitors are not missing":   {events.HealthMonitorMissing(""), reason.HealthMonitorMissing, ""},
		"rollouts lose nothing":      {events.RolloutLoses(""), reason.RolloutLoses, ""},
		"rollouts lose connections":  {events.RolloutLoses("5s"), reason.RolloutLoses, "5s"},
		"unmanaged, nothing to do":   {events.Unmanaged(nil, nil), reason.Unmanaged, notManaged + "The load balancer is as the Service asks"},
		"unmanaged, steps":           {events.Unmanaged([]string{"add one", "delete two"}, nil), reason.Unmanaged, notManaged + "Would change: add one; delete two"},
		"unmanaged, refused":         {events.Unmanaged(nil, errors.New("no such flavor")), reason.Unmanaged, notManaged + "The Service would be refused: no such flavor"},
		"unmanaged, refused at last": {events.Unmanaged([]string{"add one"}, errors.New("no such flavor")), reason.Unmanaged, notManaged + "The Service would be refused: no such flavor"},
		"all ports are found":        {events.PortsNotFound(nil, nil, nil, nodes), reason.PortNotFound, ""},
		"trouble":                    {events.Trouble(reason.NoMembers, "key", "text"), reason.NoMembers, "text"},
		"the end of trouble":         {events.TroubleOver(), "", ""},
	} {
		if test.warning.Text != test.text || test.warning.Reason != test.reason || test.warning.Subject == "" {
			t.Errorf("%s: %+v, want %q", name, test.warning, test.text)
		}
	}
}

const notManaged = "Nothing is written, because " + annotation.Managed + ` is "false". `

// Warnings of one kind replace each other, those of different kinds do not.
func TestWarnings_HaveSubjectsOfTheirOwn(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{}
	for name, w := range map[string]events.Warning{
		"settings": events.SettingsIgnored(events.Settings, nil), "provider": events.SettingsIgnored(events.Provider, nil), "IPv4": events.NodesSkipped(v1.IPv4Protocol, nil),
		"IPv6": events.NodesSkipped(v1.IPv6Protocol, nil), "hops": events.HopsSkipped(nil, ""), "left": events.MembersLeft("", &members.Set{}), "rollouts": events.RolloutLoses(""),
		"unmanaged": events.Unmanaged(nil, nil), "share": events.ShareWaits(""), "monitors": events.HealthMonitorMissing(""), "ports": events.PortsNotFound(nil, nil, nil, nil),
		"trouble": events.TroubleOver(), "empty ports": events.MembersFollow(members.Followed{}, false, false)[0], "flows": events.MembersFollow(members.Followed{}, false, false)[1],
		"all nodes": events.MembersFollow(members.Followed{}, false, false)[2],
	} {
		if other, there := kinds[w.Subject]; there {
			t.Errorf("%s and %s have the subject %q", name, other, w.Subject)
		}
		kinds[w.Subject] = name
	}
	if events.Trouble(reason.NoMembers, "key", "text").Subject != events.TroubleOver().Subject {
		t.Error("trouble does not end")
	}
}

func TestMembersFollow_NamesWhatDoesNotFollow(t *testing.T) {
	t.Parallel()
	const (
		empty = "No endpoint of http, 53 is on a node that can be a member: the last members stay, and new pools stay empty until one is"
		none  = "All nodes are members: no endpoint of the Service is on a node that can be a member"
		keeps = "All nodes stay members: another controller created the load balancer."
		flows = "UDP flows that go on stay with a node after its pods have left"
	)
	for name, test := range map[string]struct {
		of           members.Followed
		keeps, stays bool
		want         []string // the beginnings of the texts: ports, flows, nodes
	}{
		"all follow":            {members.Followed{}, false, false, []string{"", "", ""}},
		"ports without any":     {members.Followed{Empty: []string{"http", "53"}}, false, false, []string{empty, "", ""}},
		"no node has one":       {members.Followed{Placeless: true}, false, false, []string{"", "", none}},
		"another controller":    {members.Followed{}, true, false, []string{"", "", keeps}},
		"both":                  {members.Followed{Placeless: true}, true, false, []string{"", "", none}},
		"flows":                 {members.Followed{}, false, true, []string{"", flows, ""}},
		"ports, flows and both": {members.Followed{Empty: []string{"http", "53"}, Placeless: true}, true, true, []string{empty, flows, none}},
	} {
		for i, w := range events.MembersFollow(test.of, test.keeps, test.stays) {
			if !strings.HasPrefix(w.Text, test.want[i]) || (w.Text == "") != (test.want[i] == "") {
				t.Errorf("%s: %q, want %q", name, w.Text, test.want[i])
			}
			if want := []reason.Reason{reason.NoEndpoints, reason.FlowsStay, reason.AllNodes}[i]; w.Reason != want {
				t.Errorf("%s: %s, want %s", name, w.Reason, want)
			}
		}
	}
}

// The durations of rollouts vary, and a trouble with the same key has texts that vary.
func TestWarn_ComparesKeysInPlaceOfTexts(t *testing.T) {
	t.Parallel()
	svc := published("")
	for name, test := range map[string]struct {
		all  []events.Warning
		want int
	}{
		"another duration":     {[]events.Warning{events.RolloutLoses("5s"), events.RolloutLoses("6s")}, 1},
		"it is over, and back": {[]events.Warning{events.RolloutLoses("5s"), events.RolloutLoses(""), events.RolloutLoses("6s")}, 2},
		"another text":         {[]events.Warning{events.Trouble(reason.NoMembers, "a", "1"), events.Trouble(reason.NoMembers, "a", "2")}, 1},
		"another key":          {[]events.Warning{events.Trouble(reason.NoMembers, "a", "1"), events.Trouble(reason.NoMembers, "b", "1")}, 2},
		"another reason":       {[]events.Warning{events.Trouble(reason.NoMembers, "a", "1"), events.Trouble(reason.NoEndpoints, "a", "1")}, 2},
		"trouble comes back":   {[]events.Warning{events.Trouble(reason.NoMembers, "a", "1"), events.TroubleOver(), events.Trouble(reason.NoMembers, "a", "1")}, 2},
		"other nodes":          {[]events.Warning{events.NodesSkipped(v1.IPv4Protocol, []string{"a"}), events.NodesSkipped(v1.IPv4Protocol, []string{"b"})}, 2},
	} {
		got := emitted(func(r *events.Recorder) { r.Warn(svc, test.all...) })
		if n := len(strings.Split(got, "\n")); n != test.want {
			t.Errorf("%s: %d events, want %d:\n%s", name, n, test.want, got)
		}
	}
}

func TestReady_SaysAtWhichAddresses(t *testing.T) {
	t.Parallel()
	dual := model.VIP{Address: "fd00::5", Additional: []model.AdditionalVIP{{Family: model.IPv4, Address: "10.0.0.5"}}}
	fip := &model.FloatingIP{ID: "fip", Address: "203.0.113.5"}
	const begins = "Normal LoadBalancerReady Load balancer web (lb-1) serves the Service at "
	for name, test := range map[string]struct {
		lb        model.LoadBalancer
		addresses []string
		want      string
	}{
		"a floating IP that is not published": {model.LoadBalancer{VIP: model.VIP{Address: "10.0.0.5"}, FloatingIP: fip}, []string{"10.0.0.5"}, "10.0.0.5"},
		"both VIPs":                           {model.LoadBalancer{VIP: dual}, []string{"fd00::5", "10.0.0.5"}, "fd00::5 and 10.0.0.5"},
		"a floating IP on one of two VIPs":    {model.LoadBalancer{VIP: dual, FloatingIP: fip}, []string{"fd00::5", "203.0.113.5"}, "fd00::5 and 203.0.113.5, 203.0.113.5 is the floating IP of its VIP 10.0.0.5"},
		"a floating IP alone":                 {model.LoadBalancer{VIP: dual, FloatingIP: fip}, []string{"203.0.113.5"}, "203.0.113.5, floating IP of its VIP 10.0.0.5"},
	} {
		test.lb.ID, test.lb.Name = "lb-1", "web"
		if got := emitted(func(r *events.Recorder) { r.Ready(published(""), &test.lb, test.addresses) }); got != begins+test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, begins+test.want)
		}
	}
}

func TestChosen_EmitsChoicesOfWhatIsCreated(t *testing.T) {
	t.Parallel()
	lb, fip := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}, plan.CreateFloatingIP{}
	all := desire.Facts{NoFloatingIP: "no network", ChosenSubnet: "subnet-1", Chosen: "network-1"}
	for name, test := range map[string]struct {
		facts desire.Facts
		steps []plan.Step
		want  []string // reasons
	}{
		"both":                {all, []plan.Step{lb, fip}, []string{"LoadBalancerForcedInternal", "LoadBalancerSubnetChosen", "LoadBalancerExternalNetworkChosen"}},
		"the load balancer":   {all, []plan.Step{lb}, []string{"LoadBalancerForcedInternal", "LoadBalancerSubnetChosen"}},
		"the floating IP":     {all, []plan.Step{fip}, []string{"LoadBalancerExternalNetworkChosen"}},
		"nothing":             {all, nil, nil},
		"the network is set":  {desire.Facts{ChosenSubnet: "subnet-1"}, []plan.Step{lb, fip}, []string{"LoadBalancerSubnetChosen"}},
		"everything is set":   {desire.Facts{}, []plan.Step{lb, fip}, nil},
		"there is no network": {desire.Facts{NoFloatingIP: "no network"}, []plan.Step{lb}, []string{"LoadBalancerForcedInternal"}},
	} {
		var got []string
		for line := range strings.Lines(emitted(func(r *events.Recorder) { r.Chosen(published(""), test.facts, plan.Plan{Steps: test.steps}) })) {
			got = append(got, strings.Fields(line)[1])
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestGroupsChanging_EmitsEachChangeOnce(t *testing.T) {
	t.Parallel()
	svc := published("")
	got := emitted(func(r *events.Recorder) {
		for _, summary := range []string{"add a rule", "add a rule", "", "add another rule"} {
			r.GroupsChanging(svc, summary)
		}
		r.Planned(svc, plan.Plan{Steps: []plan.Step{plan.DeleteLoadBalancer{ID: "lb-1", Name: "web"}}}) // another subject
	})
	const changing = "Normal ChangingLoadBalancer "
	if want := changing + "add a rule\n" + changing + "add another rule\n" + changing + "load balancer web (lb-1): delete"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Events name the load balancer and the address unless their text does.
func TestRecorder_AddsThePlace(t *testing.T) {
	t.Parallel()
	at := published("203.0.113.5")
	at.LoadBalancerID = "lb-1"
	for want, emit := range map[string]func(*events.Recorder){
		"Warning LoadBalancerNotDeleted Not deleted: why [load balancer lb-1, 203.0.113.5]":                       func(r *events.Recorder) { r.NotDeleted(at, errors.New("why")) },
		"Normal LoadBalancerAddressChanged The address changed from 10.0.0.5 to 203.0.113.5 [load balancer lb-1]": func(r *events.Recorder) { r.AddressChanged(at, "10.0.0.5", "203.0.113.5") },
	} {
		if got := emitted(emit); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
