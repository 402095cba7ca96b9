package goal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// forwardedTo returns a load balancer of provider port-forwarding with a port that is forwarded to a node, "" for none.
func forwardedTo(id, node string) model.LoadBalancer {
	var forwardings []model.Forwarding
	if node != "" {
		forwardings = append(forwardings, model.Forwarding{Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Address: node, NodePort: 30080})
	}
	return *plan.Forwarded(model.FloatingIP{ID: id, Address: "address of " + id, Owned: true}, forwardings)
}

func TestChooseForwarded_PrefersThePublishedAddressThenForwardingsThenAFreeFloatingIP(t *testing.T) {
	t.Parallel()
	own := func(id string) model.FloatingIP {
		return model.FloatingIP{ID: id, Address: "address of " + id, Owned: true}
	}
	theirs, onPort := own("theirs"), own("on a port")
	theirs.Owned, onPort.PortID = false, "port"
	a, b := forwardedTo("a", "10.0.0.1"), forwardedTo("b", "10.0.0.2")
	for name, test := range map[string]struct {
		forwarded  []model.LoadBalancer
		unattached []model.FloatingIP
		asked      model.FloatingIP
		published  string
		want       string // the load balancer; the duplicates; the unattached floating IPs
	}{
		"nothing":                           {want: "; ; "},
		"one":                               {forwarded: []model.LoadBalancer{a}, unattached: []model.FloatingIP{own("a")}, want: "a; ; "},
		"two, none is published":            {forwarded: []model.LoadBalancer{a, b}, want: "a; b; "},
		"two, the second is published":      {forwarded: []model.LoadBalancer{a, b}, published: "address of b", want: "b; a; "},
		"one, and a free one is published":  {forwarded: []model.LoadBalancer{a}, unattached: []model.FloatingIP{own("c")}, published: "address of c", want: "a; ; c"},
		"free ones":                         {unattached: []model.FloatingIP{own("c"), own("d")}, want: "c; ; d"},
		"another's":                         {unattached: []model.FloatingIP{theirs}, want: "; ; theirs"},
		"another's, which is asked for":     {unattached: []model.FloatingIP{theirs, own("c")}, asked: model.FloatingIP{ID: "theirs"}, want: "theirs; ; c"},
		"on a port":                         {unattached: []model.FloatingIP{onPort, own("c")}, want: "c; ; on a port"},
		"one without forwardings, one with": {forwarded: []model.LoadBalancer{forwardedTo("a", ""), b}, want: "b; ; a"},
		"one without forwardings, and free": {forwarded: []model.LoadBalancer{forwardedTo("a", "")}, unattached: []model.FloatingIP{own("c")}, want: "a; ; c"},
	} {
		observed := &model.Observed{UnattachedFloatingIPs: test.unattached}
		chooseForwarded(observed, test.forwarded, test.asked, []string{"198.51.100.1", test.published})
		var chosen string
		var duplicates, rest []string
		if lb := observed.LoadBalancer; lb != nil {
			chosen = lb.FloatingIP.ID
		}
		for _, lb := range observed.Duplicates {
			duplicates = append(duplicates, lb.FloatingIP.ID)
		}
		for _, fip := range observed.UnattachedFloatingIPs {
			rest = append(rest, fip.ID)
		}
		if got := fmt.Sprintf("%s; %s; %s", chosen, strings.Join(duplicates, ","), strings.Join(rest, ",")); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// Neutron removes port forwardings with the port of their node: they are read again if the node's address is on
// another server.
func TestRebuilt_ComparesTheServerOfTheNode(t *testing.T) {
	t.Parallel()
	const first, second = "0f9e8d7c-6b5a-4c3d-8e1f-a0b1c2d3e4f5", "1f9e8d7c-6b5a-4c3d-8e1f-a0b1c2d3e4f5"
	backend := func(address, server string) members.Backend {
		return members.Backend{Address: address, Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: address}, Spec: v1.NodeSpec{ProviderID: "openstack:///" + server}}}
	}
	in := Inputs{Members: &members.Set{Backends: []members.Backend{backend("10.0.0.1", first), backend("10.0.0.2", second), backend("10.0.0.3", "")}}}
	for name, test := range map[string]struct {
		node, before, server string
		rebuilt              bool
	}{
		"the same server":      {"10.0.0.2", second, second, false},
		"another server":       {"10.0.0.2", first, second, true},
		"not known before":     {"10.0.0.1", "", first, true},
		"not known now":        {"10.0.0.3", first, "", false},
		"the node has left":    {"10.0.0.9", first, "", false},
		"nothing is forwarded": {"", first, "", false},
	} {
		lb := forwardedTo("a", test.node)
		if got := serverOf(in, &lb); got != test.server {
			t.Errorf("%s: server %q, want %q", name, got, test.server)
		}
		if rebuilt(in, &state.Routed{LoadBalancer: &lb, Server: test.before}) != test.rebuilt {
			t.Errorf("%s: rebuilt: %v", name, !test.rebuilt)
		}
	}
	if serverOf(in, nil) != "" || forwardingsOn(nil) != nil {
		t.Error("no load balancer has a server")
	}
}

// The first port forwardings of a floating IP are those for which the cloud must have the plug-in.
func TestAddsFirst_IsOfFloatingIPsWithoutForwardings(t *testing.T) {
	t.Parallel()
	one := forwardedTo("a", "10.0.0.1").Forwardings
	for name, test := range map[string]struct {
		step plan.Step
		want bool
	}{
		"the first":     {plan.SetForwardings{To: one}, true},
		"another port":  {plan.SetForwardings{FloatingIP: model.FloatingIP{Forwards: true}, To: one}, false},
		"none any more": {plan.SetForwardings{From: one}, false},
		"another step":  {plan.CreateFloatingIP{}, false},
	} {
		if addsFirst(test.step) != test.want {
			t.Errorf("%s: %v", name, !test.want)
		}
	}
}

// A Service may have port forwardings if it is published, or a process has begun some, or may have.
func TestMayHaveForwardings_OfAServiceThatIsNotNew(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		addresses []string
		created   time.Time
		entry     state.Entry
		may       bool
	}{
		"a new Service":           {nil, noon.Add(time.Hour), state.Entry{}, false},
		"older than this process": {nil, noon.Add(-time.Hour), state.Entry{}, true},
		"published":               {[]string{"203.0.113.7"}, noon.Add(time.Hour), state.Entry{}, true},
		"begun":                   {nil, noon.Add(time.Hour), state.Entry{Made: state.Made{Forwards: true}}, true},
		"begun elsewhere":         {nil, noon.Add(time.Hour), state.Entry{Made: state.Made{VIP: true, Touched: true}}, false},
	} {
		svc := webService()
		g := &Forwarded{withoutOctavia{Engine: &Engine{Dependencies: Dependencies{Memory: memoryOf(svc, "", test.entry)}}, in: inputsOf(svc)}}
		g.in.Published = published(test.addresses...)
		if g.in.Published.Created = test.created; g.mayHaveForwardings() != test.may {
			t.Errorf("%s: it may have some: %v", name, !test.may)
		}
	}
}

// A refused Service keeps the ports that are forwarded, another one gets those that it has.
func TestKeys_AreThePortsOfTheServiceUnlessItIsRefused(t *testing.T) {
	t.Parallel()
	lb := forwardedTo("a", "10.0.0.1")
	for name, test := range map[string]struct {
		unread *settings.Unread
		want   string
	}{
		"accepted": {nil, "UDP/53>30053 TCP/443>30443"}, "refused": {new(settings.Unread), "TCP/80>30080"},
	} {
		g := &Forwarded{withoutOctavia{in: inputsOf(webService()), unread: test.unread}}
		g.in.Settings.Traffic.Ports = []v1.ServicePort{fixture.Port(v1.ProtocolUDP, 53), fixture.Port(v1.ProtocolTCP, 443)}
		var got []string
		for _, key := range g.keys(&lb) {
			got = append(got, fmt.Sprintf("%s>%d", key.ListenerKey, key.nodePort))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
