package goal

import (
	"errors"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// placed records a load balancer in Octavia in the annotations of a Service.
func placed(id string) func(*v1.Service) {
	return fixture.Annotated(annotation.WrittenFor, annotation.WrittenForText(id, serviceUID, ""))
}

func TestForwarded_PlansFromWhatNeutronAndOctaviaHave(t *testing.T) {
	t.Parallel()
	forwarded, served := forwardedAt("f", "203.0.113.9", "10.0.0.1"), at("203.0.113.9")
	ofBalancer := floatingAt("lb-fip", "203.0.113.9", "vip-of-lb")
	const toNew = "floating IP: create on network public, not attached yet; floating IP made last: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]"
	toNewPort := func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 31080 }
	noPorts := func(r *rig) { r.ports = nil }
	second := func(r *rig) { r.ports = r.ports[1:] }
	reused := func(r *rig) { r.ports[0].DeviceID = "another server" }
	beside := func(server, owner string) func(*rig) { // each node's port
		return func(r *rig) {
			for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
				other := portAt("other-"+address, address)
				other.DeviceID, other.DeviceOwner = server, owner
				r.ports = append(r.ports, other)
			}
		}
	}
	leaving := func(r *rig) { // the only node with an endpoint
		r.nodes[0].Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
		r.watch = settings.Watched
		r.endpoints = members.Endpoints{{Family: v1.IPv4Protocol, Ports: []string{"p80"}, Endpoints: []members.Endpoint{{Node: r.nodes[0].Name, Ready: true, Serving: true}}}}
	}
	bound := floatingAt("node-fip", "203.0.113.99", "port-10.0.0.1", describedAs("the node's"))
	tag := fixture.Annotated(annotation.FloatingIPTag, "web")
	for name, test := range map[string]struct {
		svc  *v1.Service
		rig  []func(*rig)
		want string // the steps, or words of the refusal after "!"
	}{
		"nothing there":                   {by(driver.PortForwarding), nil, toNew},
		"as desired":                      {by(driver.PortForwarding, served), []func(*rig){forwarded}, ""},
		"another NodePort":                {by(driver.PortForwarding, served, toNewPort), []func(*rig){forwarded}, "floating IP 203.0.113.9: forwarded ports [TCP/80 to 10.0.0.1:30080] → [TCP/80 to 10.0.0.1:31080]"},
		"its node has left":               {by(driver.PortForwarding, served), []func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.99")}, "floating IP 203.0.113.9: forwarded ports [TCP/80 to 10.0.0.99:30080] → [TCP/80 to 10.0.0.1:30080]"},
		"the port of its node is unknown": {by(driver.PortForwarding, served), []func(*rig){forwarded, func(r *rig) { r.forwardings["f"][0].InternalPortID = "" }}, ""},
		"a node without a port":           {by(driver.PortForwarding), []func(*rig){second}, strings.ReplaceAll(toNew, "10.0.0.1", "10.0.0.2")},
		"a VLAN has its address too":      {by(driver.PortForwarding), []func(*rig){beside("", "trunk:subport")}, toNew},
		"another server too":              {by(driver.PortForwarding), []func(*rig){beside("another server", "compute:nova")}, toNew},
		"the last node":                   {by(driver.PortForwarding), []func(*rig){leaving}, toNew},
		"another server, of the last one": {by(driver.PortForwarding), []func(*rig){reused, leaving}, "!its server needs a port"},
		"another server has its address":  {by(driver.PortForwarding), []func(*rig){reused}, strings.ReplaceAll(toNew, "10.0.0.1", "10.0.0.2")},
		"a node with a floating IP":       {by(driver.PortForwarding), []func(*rig){bound}, strings.ReplaceAll(toNew, "10.0.0.1", "10.0.0.2")},
		"no node has a port":              {by(driver.PortForwarding), []func(*rig){noPorts}, "!node node-1 (10.0.0.1), as all others that can serve, gets no port forwardings"},
		"internal":                        {by(driver.PortForwarding, internalOne), nil, "!" + annotation.Provider + "]: the provider port-forwarding needs a floating IP, and an internal Service"},
		"a tag":                           {by(driver.PortForwarding, tag), []func(*rig){floatingAt("given", "203.0.113.7", "", describedAs(""), func(fip *floatingips.FloatingIP) { fip.Tags = []string{"web"} })}, "!cannot tell which floating IPs with a tag are free"},
		"a free floating IP of its own":   {by(driver.PortForwarding, at("203.0.113.7")), []func(*rig){floatingAt("free", "203.0.113.7", "")}, "floating IP 203.0.113.7: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]"},
		"one that it requests":            {by(driver.PortForwarding, loadBalancerIP("203.0.113.7")), []func(*rig){floatingAt("given", "203.0.113.7", "", describedAs(""))}, "floating IP 203.0.113.7: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]"},
		"one that another forwards from":  {by(driver.PortForwarding, loadBalancerIP("203.0.113.7")), []func(*rig){floatingAt("given", "203.0.113.7", "", describedAs(""), func(fip *floatingips.FloatingIP) { fip.RouterID = "r1" })}, "floating IP 203.0.113.7: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]"},
		"a new Service has none":          {by(driver.PortForwarding), []func(*rig){forwarded}, "floating IP 203.0.113.9: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]"},
		"begun by this process":           {by(driver.PortForwarding), []func(*rig){forwarded, knowing(state.Entry{Made: state.Made{Forwards: true, Touched: true}})}, ""},
		"VIPs":                            {by(driver.PortForwarding, routedAddresses), []func(*rig){withFloating}, "!load balancer of provider router"},
		"VIPs, not published":             {by(driver.PortForwarding, old), []func(*rig){vipAt("10.77.0.5")}, toNew + "; " + withoutVIP},
		"VIPs, permitted":                 {by(driver.PortForwarding, routedAddresses, replaceable), []func(*rig){withFloating}, "floating IP 203.0.113.7: disassociate; floating IP 203.0.113.7: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]; " + withoutVIP},
		"VIPs of before, and no network":  {by(driver.PortForwarding, routedAddresses), []func(*rig){vipAt("10.77.0.5"), noPool}, toNew},
		"Octavia":                         {by(driver.PortForwarding, served), []func(*rig){balancer("lb"), ofBalancer}, "!load balancer of another provider"},
		"Octavia, permitted": {by(driver.PortForwarding, served, replaceable), []func(*rig){balancer("lb"), ofBalancer},
			"floating IP 203.0.113.9: disassociate; floating IP 203.0.113.9: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]; load balancer kube_service_rig_default_web (lb): delete: the Service has port forwardings"},
		"begun, and still in Octavia":         {by(driver.PortForwarding, served, placed("lb")), []func(*rig){forwarded, balancer("lb")}, "!load balancer of another provider"},
		"complete, and in Octavia of another": {by(driver.PortForwarding, served), []func(*rig){forwarded, balancer("lb")}, ""},
		"changed by another client":           {by(driver.PortForwarding, served), []func(*rig){func(r *rig) { floatingAt("f", "203.0.113.9", "")(r) }}, "floating IP 203.0.113.9: forwarded ports [] → [TCP/80 to 10.0.0.1:30080]"},
	} {
		g := newRig(t, test.rig...).of(test.svc).route()
		round, todo, err := planned(t, g)
		words, refused := strings.CutPrefix(test.want, "!")
		switch {
		case refused && (err == nil || !strings.Contains(err.Error(), words)):
			t.Errorf("%s: error %v, want %q; plan %s", name, err, words, inLine(todo))
		case !refused && (err != nil || inLine(todo) != test.want):
			t.Errorf("%s:\n%s\nwant\n%s\nerror %v", name, inLine(todo), test.want, err)
		case !refused && (round.Want.LoadBalancer.FloatingIP.Description != rigIdentity().FloatingIPs().Description() || len(round.Want.LoadBalancer.NextHops) != 1 || round.Want.LoadBalancer.Forwardings[0].PortID == "" || round.Want.digest == ""):
			t.Errorf("%s: wants %+v", name, round.Want.LoadBalancer)
		}
	}
}

// A refused Service keeps its port forwardings, which follow the nodes.
func TestForwarded_KeepsTheForwardingsOfARefusedService(t *testing.T) {
	t.Parallel()
	refused := by(driver.PortForwarding, at("203.0.113.9"), internalOne, fixture.Annotated(annotation.MaxMembers, "x"), fixture.Ports(fixture.Port(v1.ProtocolTCP, 443)))
	for name, test := range map[string]struct {
		rig  []func(*rig)
		want string
	}{
		"as they are":       {[]func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.2")}, ""},
		"their node left":   {[]func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.99")}, "floating IP 203.0.113.9: forwarded ports [TCP/80 to 10.0.0.99:30080] → [TCP/80 to 10.0.0.1:30080]"},
		"beside VIPs":       {[]func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.2"), vipAt("10.77.0.5"), balancer("lb")}, ""},
		"nothing":           {nil, "!"},
		"a VIP and Octavia": {[]func(*rig){vipAt("10.77.0.5"), balancer("lb")}, "!"},
	} {
		r := newRig(t, test.rig...)
		g := r.of(refused).keepRouted(driver.PortForwarding)
		round, todo, err := planned(t, g)
		if test.want == "!" {
			if !errors.Is(err, refusal.ErrNothingKept) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || inLine(todo) != test.want || g.Prepare(t.Context(), round, todo) != nil || r.has("vips") || r.has("load-balancers") {
			t.Errorf("%s: %s, error %v, sent %q", name, inLine(todo), err, r.sent)
		}
	}
}

func TestForwarded_ReturnsTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	round := func(svc *v1.Service) func(*rig) error {
		return func(r *rig) error {
			_, _, err := planned(t, r.of(svc).route())
			return err
		}
	}
	assertErrors(t, "a new Service", round(by(driver.PortForwarding)))
	assertErrors(t, "a served one", round(by(driver.PortForwarding, at("203.0.113.9"))), forwardedAt("f", "203.0.113.9", "10.0.0.99"))
	assertErrors(t, "from router", round(by(driver.PortForwarding, routedAddresses, replaceable)), withFloating)
	assertErrors(t, "from Octavia", round(by(driver.PortForwarding, at("10.0.0.100"), replaceable)), balancer("lb"))
	assertErrors(t, "the first lists", func(r *rig) error {
		known, err := r.of(by(driver.PortForwarding, at("203.0.113.9"))).route().Recall(t.Context(), nil)
		if err != nil && known.Have.Observed != nil {
			t.Errorf("an observation beside the error: %+v", known)
		}
		return err
	}, forwardedAt("f", "203.0.113.9", "10.0.0.1"))
	assertErrors(t, "prepare", func(r *rig) error {
		var g Goal
		var round Round
		var todo plan.Plan
		r.prepare(func() {
			g = r.of(by(driver.PortForwarding)).route()
			round, todo, _ = planned(t, g)
			todo.Steps = append(todo.Steps, plan.SetForwardings{FloatingIP: model.FloatingIP{ID: "f", Forwards: true}, To: round.Want.LoadBalancer.Forwardings})
		})
		return g.Prepare(t.Context(), round, todo)
	})
}

func TestForwarded_RecallsTheFirstListsOfAServedFloatingIP(t *testing.T) {
	t.Parallel()
	served, forwarded := by(driver.PortForwarding, at("203.0.113.9")), forwardedAt("f", "203.0.113.9", "10.0.0.1")
	hostname := func(svc *v1.Service) {
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "web.example.org"}}
	}
	undescribed := func(r *rig) { r.forwarded[0].Description = "" }
	for name, test := range map[string]struct {
		svc   *v1.Service
		rig   []func(*rig)
		known string
	}{
		"one":                          {served, []func(*rig){forwarded}, "f"},
		"one of a user":                {served, []func(*rig){forwarded, undescribed}, "f"},
		"one, without network of VIPs": {served, []func(*rig){forwarded, noPool}, "f"},
		"a host name":                  {by(driver.PortForwarding, hostname), []func(*rig){forwarded}, "f"},
		"a host name and a user's":     {by(driver.PortForwarding, hostname), []func(*rig){forwarded, undescribed}, ""},
		"another is published":         {by(driver.PortForwarding, at("203.0.113.8")), []func(*rig){forwarded}, ""},
		"two":                          {served, []func(*rig){forwarded, forwardedAt("g", "203.0.113.10", "10.0.0.1")}, ""},
		"none":                         {served, nil, ""},
		"beside a VIP":                 {served, []func(*rig){forwarded, vipAt("10.77.0.5")}, ""},
		"beside another's VIP":         {served, []func(*rig){forwarded, vipAt("10.77.0.5", theirs)}, "f"},
		"never served":                 {by(driver.PortForwarding), []func(*rig){forwarded}, ""},
		"recorded in Octavia":          {by(driver.PortForwarding, at("203.0.113.9"), placed("lb")), []func(*rig){forwarded}, ""},
		"changed by this process":      {served, []func(*rig){forwarded, knowing(touched())}, ""},
	} {
		r := newRig(t, test.rig...)
		known, err := r.of(test.svc).route().Recall(t.Context(), nil)
		got := ""
		if known.Have.Observed != nil {
			lb := known.Have.LoadBalancer
			if got = lb.ID; len(lb.Forwardings) != 1 || lb.Forwardings[0].Address != "10.0.0.1" || known.Have.Source != model.Lists || known.Have.Confirmed || known.Have.As != rigIdentity() {
				t.Errorf("%s: %+v of %+v", name, known.Have, lb)
			}
		}
		if got != test.known || err != nil {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, test.known)
		}
	}
}

// Ports of others on the same floating IP stay theirs, and a cloud without the plug-in is refused before the first step.
func TestForwarded_RefusesPortsOfOthersAndACloudWithoutForwardings(t *testing.T) {
	t.Parallel()
	key := func(port int) model.Forwarding {
		return model.Forwarding{Key: model.ListenerKey{Transport: model.TCP, Port: port}, NodePort: 30000 + port}
	}
	has := model.FloatingIP{ID: "f", Address: "203.0.113.9", Forwards: true}
	set := func(fip model.FloatingIP, from, to []model.Forwarding) plan.Plan {
		return plan.Plan{Steps: []plan.Step{plan.DeleteVIP{}, plan.SetForwardings{FloatingIP: fip, From: from, To: to}}}
	}
	one, two := []model.Forwarding{key(80)}, []model.Forwarding{key(80), key(443)}
	lacks := func(r *rig) { r.unforwards = true }
	anothers := func(port int) func(*rig) {
		return func(r *rig) {
			r.forwardings["f"] = append(r.forwardings["f"], neutron.Forwarding{Protocol: "tcp", ExternalPort: port, Description: "another's"})
		}
	}
	creates := plan.Plan{Steps: []plan.Step{plan.SetForwardings{Creates: true}}} // there is no node yet
	for name, test := range map[string]struct {
		todo  plan.Plan
		rig   []func(*rig)
		words string
	}{
		"the first":                        {set(model.FloatingIP{ID: "f"}, nil, one), nil, ""},
		"the first, without the plug-in":   {set(model.FloatingIP{ID: "f"}, nil, one), []func(*rig){lacks}, "needs the service plug-in port_forwarding"},
		"a new one, without the plug-in":   {creates, []func(*rig){lacks}, "needs the service plug-in port_forwarding"},
		"more, without a look for it":      {set(has, one, two), []func(*rig){lacks}, ""},
		"a port of another":                {set(has, one, two), []func(*rig){anothers(443)}, "cannot forward port TCP/443 of floating IP 203.0.113.9: another client has forwarded it"},
		"another port of another":          {set(has, one, two), []func(*rig){anothers(99)}, ""},
		"the second of another's":          {set(has, one, two), []func(*rig){anothers(99), anothers(443)}, "another client has forwarded it"},
		"its own":                          {set(has, one, two), []func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.1")}, ""},
		"another node, beside another's":   {set(has, one, one), []func(*rig){anothers(443), anothers(80)}, ""},
		"a floating IP without any before": {set(model.FloatingIP{ID: "f"}, nil, two), []func(*rig){anothers(443)}, ""},
	} {
		r := newRig(t, test.rig...)
		err := r.of(by(driver.PortForwarding)).route().(*Forwarded).mayForward(t.Context(), test.todo)
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := newRig(t, lacks)
	g := r.of(by(driver.PortForwarding)).route()
	round, todo, err := planned(t, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Prepare(t.Context(), round, todo); err == nil || r.store.Get(serviceUID).Namespace != "" {
		t.Errorf("the plan is prepared: %v, counted in %q", err, r.store.Get(serviceUID).Namespace)
	}
}

// Without a node, nothing is forwarded, and the floating IP stays.
func TestForwarded_ForwardsNothingWithoutNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t, forwardedAt("f", "203.0.113.9", "10.0.0.1"))
	subject := r.of(by(driver.PortForwarding, at("203.0.113.9"), fixture.Annotated(annotation.NodeSelector, "kubernetes.io/hostname=none"))).subject()
	g, err := r.NewRouted(t.Context(), subject, false)
	if err != nil {
		t.Fatal(err)
	}
	round, todo, err := planned(t, g)
	if got := inLine(todo); err != nil || got != "floating IP 203.0.113.9: forwarded ports [TCP/80 to 10.0.0.1:30080] → []" || len(round.Want.LoadBalancer.NextHops) > 0 || r.has("ports-at") {
		t.Errorf("%s, error %v, sent %q", got, err, r.sent)
	}
}

// The external network is that of a router of the node that gets the packets.
func TestFloating_IsOnANetworkThatTheRouterOfTheNodeLeadsTo(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.conf.LoadBalancer.FloatingNetworkID = ""
		r.networks = append([]neutron.Network{{ID: "elsewhere", External: true, Subnets: []string{"subnet-of-elsewhere"}}}, r.networks...)
	})
	g := r.of(by(driver.PortForwarding)).route().(*Forwarded)
	lb, err := g.floating(t.Context(), nil, nodePort("10.0.0.1"))
	if err != nil || lb.FloatingIP.NetworkID != "public" || lb.Provider != driver.PortForwarding {
		t.Errorf("%+v, error %v", lb, err)
	}
	r = newRig(t, func(r *rig) { r.conf.LoadBalancer.FloatingNetworkID, r.networks = "", nil })
	if lb, err := r.of(by(driver.PortForwarding)).route().(*Forwarded).floating(t.Context(), nil, neutron.Port{}); lb != nil || err == nil || !strings.Contains(err.Error(), "needs a floating IP: this project sees no external network") {
		t.Errorf("no external network: %+v, error %v", lb, err)
	}
}

func TestForwarded_AnnouncesSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := r.of(by(driver.PortForwarding, fixture.Annotated(annotation.ClientData, "1000"))).route()
	round, todo, err := planned(t, g)
	if err != nil {
		t.Fatal(err)
	}
	round.Groups.Task = r.task
	r.events()
	g.Announce(round, todo, plan.Plan{})
	if got := r.events(); !strings.Contains(got, "timeout-client-data") || !strings.Contains(got, "floating IP: create on network public") {
		t.Error(got)
	}
}
