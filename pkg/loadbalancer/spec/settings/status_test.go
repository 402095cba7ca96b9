package settings_test

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// kube-proxy must not short-circuit connections to members that expect PROXY headers: the status has a name, or the mode Proxy.
func TestIngress_IsAddressNameOrModeAsTheServiceNeeds(t *testing.T) {
	t.Parallel()
	const address, suffix = "203.0.113.9", "nip.io"
	host, named := fixture.Annotated(annotation.Hostname, "www.example.com"), fixture.Annotated(annotation.IngressHostname, "true")
	unnamed, mode := fixture.Annotated(annotation.IngressHostname, "false"), fixture.Annotated(annotation.IPMode, "Proxy")
	vip, proxy := fixture.Annotated(annotation.IPMode, "VIP"), fixture.Annotated(annotation.ProxyProtocol, "v2")
	onePort := fixture.Annotated(annotation.ProxyProtocol+".80", "true")
	for name, c := range map[string]struct {
		changes []func(*v1.Service)
		names   bool // enable-ingress-hostname of cloud.conf
		want    string
		notice  string
	}{
		"an address":                           {want: address + " VIP"},
		"a mode":                               {changes: []func(*v1.Service){mode}, want: address + " Proxy"},
		"PROXY headers":                        {changes: []func(*v1.Service){proxy}, want: address + " Proxy"},
		"PROXY headers of one port":            {changes: []func(*v1.Service){onePort}, want: address + " Proxy"},
		"PROXY headers, with the usual mode":   {changes: []func(*v1.Service){proxy, vip}, want: address + " VIP"},
		"PROXY headers without a port of TCP":  {changes: []func(*v1.Service){proxy, fixture.Ports(fixture.Port(v1.ProtocolUDP, 53))}, want: address + " VIP"},
		"a host name":                          {changes: []func(*v1.Service){host, proxy}, names: true, want: "www.example.com"},
		"a host name, and a mode":              {changes: []func(*v1.Service){host, mode}, want: "www.example.com", notice: annotation.IPMode},
		"a host name, and one of the address":  {changes: []func(*v1.Service){host, named}, want: "www.example.com", notice: annotation.IngressHostname},
		"a name of the address":                {changes: []func(*v1.Service){named}, want: "203.0.113.9.nip.io"},
		"a name of the address, and a mode":    {changes: []func(*v1.Service){named, mode}, want: "203.0.113.9.nip.io", notice: annotation.IPMode},
		"names, by cloud.conf, without PROXY":  {names: true, want: address + " VIP"},
		"names, by cloud.conf, with PROXY":     {changes: []func(*v1.Service){proxy}, names: true, want: "203.0.113.9.nip.io"},
		"no name, though cloud.conf has names": {changes: []func(*v1.Service){proxy, unnamed}, names: true, want: address + " Proxy"},
	} {
		cfg := fixture.Config(func(lb *config.LoadBalancer) { lb.EnableIngressHostname, lb.IngressHostnameSuffix = c.names, suffix })
		s, notices, errs := fixture.Parse(t, fixture.Service(c.changes...), cfg)
		ingress := s.Ingress(address)
		got := ingress.Hostname
		if ingress.IPMode != nil {
			got = ingress.IP + " " + string(*ingress.IPMode)
		}
		if names, texts := noticed(notices); got != c.want || names != c.notice || len(errs) > 0 {
			t.Errorf("%s: %q, want %q; notices of %q: %s; errors %v", name, got, c.want, names, texts, errs)
		}
	}
	for value, why := range map[string]string{"WWW.example.com": "a DNS name in small letters", "a_b": "a DNS name in small letters", "203.0.113.9": "not an address"} {
		s, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.Hostname, value)), fixture.Config())
		if fixture.AssertRefused(t, errs, annotation.Hostname, why); s.Status.Hostname != "" {
			t.Errorf("%s is refused and published", value)
		}
	}
}

// Some settings are read alone, for each event of a Node or EndpointSlice: they must be those of the complete settings.
func TestParser_ReadsSingleSettingsAsAll(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config(func(lb *config.LoadBalancer) { lb.DenyAnnotations = "managed, share" })
	denying, err := settings.NewParser(cfg)
	if err != nil {
		t.Fatal(err)
	}
	other := fixture.Config(func(lb *config.LoadBalancer) { lb.Members, lb.MemberWeights = "pods", "endpoints" })
	other.LoadBalancerClass = map[string]*config.LoadBalancerClass{"edge": {LBProvider: "router", Members: "nodes", MemberWeights: "equal"}, "fip": {LBProvider: "port-forwarding"}}
	parser, err := settings.NewParser(other)
	if err != nil {
		t.Fatal(err)
	}
	edge, fip := fixture.Annotated(annotation.Class, " edge "), fixture.Annotated(annotation.Class, "fip")
	for name, c := range map[string]struct {
		svc                               *v1.Service
		routed, forwarded, pods, endpoint bool
		weighs                            bool
	}{
		"cloud.conf":                {fixture.Service(), false, false, true, true, true},
		"a class":                   {fixture.Service(edge), true, false, false, false, false},
		"another class":             {fixture.Service(fip), true, true, true, true, true},
		"the Service over a class":  {fixture.Service(edge, fixture.Annotated(annotation.Provider, " amphora\n"), fixture.Annotated(annotation.Members, " Pods "), fixture.Annotated(annotation.MemberWeights, "ENDPOINTS")), false, false, true, true, true},
		"nodes, with policy Local":  {fixture.Service(fixture.Local, fixture.Annotated(annotation.Members, "nodes")), false, false, false, false, true},
		"auto, with policy Local":   {fixture.Service(fixture.Local, fixture.Annotated(annotation.Members, "auto"), fixture.Annotated(annotation.MemberWeights, "drain")), false, false, false, true, false},
		"auto, with policy Cluster": {fixture.Service(fixture.Annotated(annotation.Members, "auto")), false, false, false, false, true},
		"a class that is gone":      {fixture.Service(fixture.Annotated(annotation.Class, "gone"), fixture.Annotated(annotation.Members, "endpoint-nodes")), false, false, false, true, true},
	} {
		if parser.Routed(c.svc) != c.routed || parser.Forwarded(c.svc) != c.forwarded || parser.FollowsPods(c.svc) != c.pods ||
			parser.MayFollowEndpoints(c.svc) != c.endpoint || parser.WeighsNodes(c.svc) != c.weighs {
			t.Errorf("%s: routed %v, forwarded %v, pods %v, endpoints %v, weighs %v", name,
				parser.Routed(c.svc), parser.Forwarded(c.svc), parser.FollowsPods(c.svc), parser.MayFollowEndpoints(c.svc), parser.WeighsNodes(c.svc))
		}
		s, _, _ := parser.Parse(c.svc)
		if s.ByPods() != c.pods || s.MayFollowEndpoints() != c.endpoint || s.Members.Counts() != c.weighs {
			t.Errorf("%s: complete settings: pods %v, endpoints %v, weighs %v", name, s.ByPods(), s.MayFollowEndpoints(), s.Members.Counts())
		}
	}
	for value, managed := range map[string]bool{"": true, "true": true, "False": true, " false ": false, "false": false} {
		svc := fixture.Service(fixture.Annotated(annotation.Managed, value))
		if parser.Manages(svc) != managed || !denying.Manages(svc) {
			t.Errorf("managed=%q: %v; where it is denied: %v", value, parser.Manages(svc), denying.Manages(svc))
		}
	}
	for value, share := range map[string]string{"edge": "edge", " edge\n": "edge", "Edge": "", "": ""} {
		svc := fixture.Service(fixture.Annotated(annotation.Share, value))
		if parser.Share(svc) != share || denying.Share(svc) != "" {
			t.Errorf("share=%q: %q; where it is denied: %q", value, parser.Share(svc), denying.Share(svc))
		}
	}
}

func TestWithMembers_ChangesToPodsAndBack(t *testing.T) {
	t.Parallel()
	s := fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.MemberSubnetID, "m"), fixture.Annotated(annotation.MaxMembers, "3")), fixture.Config())
	for _, subnets := range [][2]string{{"m", ""}, {"", "d"}, {"m", "d"}, {"", ""}} {
		m := settings.MemberSettings{SubnetID: subnets[0], DefaultSubnetID: subnets[1]}
		if m.InNodeSubnets() != (subnets == [2]string{}) {
			t.Errorf("members in subnets %q are in those of their nodes: %v", subnets, m.InNodeSubnets())
		}
	}
	pods := s.WithMembers(annotation.MembersPods)
	if !pods.ByPods() || !pods.Members.InNodeSubnets() || pods.Members.Max != 0 {
		t.Errorf("with pods: %+v", pods.Members)
	}
	if s.ByPods() || s.Members.SubnetID != "m" {
		t.Errorf("the settings with nodes are changed: %+v", s.Members)
	}
	back := pods.WithMembers(annotation.MembersEndpointNodes)
	if back.Members.Mode != annotation.MembersEndpointNodes || back.Members.SubnetID != "m" || back.Members.DefaultSubnetID != s.Members.DefaultSubnetID || back.Members.Max != 3 {
		t.Errorf("with nodes again: %+v, before %+v", back.Members, s.Members)
	}
}

// Pods of several Services can have the same port, which NodePorts cannot: security groups limit where pods can be members.
func TestParse_RefusesPodsWhereSecurityGroupsWouldOpenTheirPorts(t *testing.T) {
	t.Parallel()
	asked := fixture.Service(fixture.Annotated(annotation.Members, "pods"), fixture.Annotated(annotation.MaxMembers, "3"))
	for name, c := range map[string]struct {
		manage, pods bool
		mode         string
		svc          *v1.Service
		why          string
		byPods       bool
	}{
		"no groups":                          {false, false, "shared", asked, "", true},
		"a group for each, pods by operator": {true, true, "per-service", asked, "", true},
		"a group for each":                   {true, false, "per-service", asked, "ask the cluster's operator for a class with members=pods", false},
		"a shared group":                     {true, false, "shared", asked, "pods need security-group-mode=per-service", false},
		"a shared group, pods by operator":   {true, true, "shared", fixture.Service(), "pods need security-group-mode=per-service", true},
	} {
		cfg := fixture.Config(func(lb *config.LoadBalancer) {
			lb.ManageSecurityGroups, lb.SecurityGroupMode = c.manage, c.mode
			if c.pods {
				lb.Members = "pods"
			}
		})
		s, notices, errs := fixture.Parse(t, c.svc, cfg)
		if c.why != "" {
			fixture.AssertRefused(t, errs, annotation.Members, c.why)
		} else if names, _ := noticed(notices); len(errs) > 0 || names != annotation.MaxMembers {
			t.Errorf("%s: notices of %q, errors %v", name, names, errs)
		}
		if c.byPods && !s.Members.InNodeSubnets() {
			t.Errorf("%s: pods are members in the subnet of nodes: %+v", name, s.Members)
		}
		if s.ByPods() != c.byPods || s.ManagesGroups() != (c.manage && (c.mode != "shared" || !c.byPods)) {
			t.Errorf("%s: pods %v, groups managed %v", name, s.ByPods(), s.ManagesGroups())
		}
	}
}

func TestParse_LimitsMembersByServiceClassAndSection(t *testing.T) {
	t.Parallel()
	class := fixture.Annotated(annotation.Class, "few")
	for name, c := range map[string]struct {
		svc  *v1.Service
		want int
	}{
		"the section":               {fixture.Service(), 9},
		"the class":                 {fixture.Service(class), 2},
		"the Service":               {fixture.Service(class, fixture.Annotated(annotation.MaxMembers, "4")), 4},
		"all nodes, by the Service": {fixture.Service(class, fixture.Annotated(annotation.MaxMembers, "0")), 0},
		"all nodes, by the policy":  {fixture.Service(class, fixture.Local), 0},
		"a class without a limit":   {fixture.Service(fixture.Annotated(annotation.Class, "many")), 9},
	} {
		cfg := fixture.Config(func(lb *config.LoadBalancer) { lb.MaxMembers = 9 })
		cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"few": {MaxMembers: 2}, "many": {}}
		if got := fixture.Settings(t, c.svc, cfg).Members.Max; got != c.want {
			t.Errorf("%s: at most %d members, want %d", name, got, c.want)
		}
	}
}

// A wrong value of cloud.conf is not the user's mistake, and may stand for a protection: no Service is served with a guess.
func TestParse_RefusesEveryServiceWhileCloudConfIsWrong(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config()
	cfg.Refused.LoadBalancers = []error{
		&config.ValueError{Place: "cloud.conf [LoadBalancer] lb-method", Value: "RANDOM", Allowed: "ROUND_ROBIN"}, errors.New("two classes have one name"),
	}
	_, _, errs := fixture.Parse(t, fixture.Service(), cfg)
	if len(errs) != 2 || !strings.Contains(errs[0].Error(), `cloud.conf [LoadBalancer] lb-method: Invalid value: "RANDOM": allowed is ROUND_ROBIN`) || !strings.HasPrefix(errs[1].Error(), "cloud.conf: Forbidden: ") {
		t.Errorf("errors %v", errs)
	}
	for _, err := range errs {
		if !strings.HasSuffix(err.Error(), ": ask the cluster's operator to correct it") {
			t.Errorf("%v does not say who can correct it", err)
		}
	}
}
