package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// The annotation load-balancer-id may be a user's, the controller's, or that of a copied Service; a share has precedence.
func TestParse_NamesTheLoadBalancerOfTheService(t *testing.T) {
	t.Parallel()
	id, share := fixture.Annotated(annotation.LoadBalancerID, "lb"), fixture.Annotated(annotation.Share, "edge")
	written := func(text string) func(*v1.Service) { return fixture.Annotated(annotation.WrittenFor, text) }
	for name, c := range map[string]struct {
		changes []func(*v1.Service)
		want    string
		notice  string
	}{
		"none":                               {},
		"the user's":                         {changes: []func(*v1.Service){id}, want: "lb"},
		"the controller's":                   {changes: []func(*v1.Service){id, written("lb service-uid")}, want: "lb"},
		"a copy's":                           {changes: []func(*v1.Service){id, written("lb other")}},
		"a copy's, and the user's":           {changes: []func(*v1.Service){id, written("other other")}, want: "lb"},
		"a share's, which is not yet known":  {changes: []func(*v1.Service){share}},
		"a share's":                          {changes: []func(*v1.Service){share, written("shared service-uid edge")}, want: "shared"},
		"a share's beside the user's":        {changes: []func(*v1.Service){share, id, written("shared service-uid edge")}, want: "shared", notice: annotation.LoadBalancerID},
		"a share's beside the same":          {changes: []func(*v1.Service){share, id, written("lb service-uid edge")}, want: "lb"},
		"that from before it shares":         {changes: []func(*v1.Service){share, id, written("lb service-uid")}, want: "lb"},
		"another than before it shares":      {changes: []func(*v1.Service){share, id, written("own service-uid")}, want: "own"},
		"written without a share, by itself": {changes: []func(*v1.Service){written("own service-uid")}},
	} {
		s, notices, errs := fixture.Parse(t, fixture.Service(c.changes...), fixture.Config())
		if names, texts := noticed(notices); s.LoadBalancer.ID != c.want || names != c.notice || len(errs) > 0 {
			t.Errorf("%s: %q, notices of %q: %s, errors %v", name, s.LoadBalancer.ID, names, texts, errs)
		}
		if got := settings.ParseDeletion(fixture.Service(c.changes...)).LoadBalancerID; got != c.want {
			t.Errorf("%s: a deletion is about %q", name, got)
		}
	}
}

// An error of OpenStack about an object leads to the setting that names it, at each level.
func TestOrigins_HaveEachSettingThatNamesAnObject(t *testing.T) {
	t.Parallel()
	of := func(name string) string { return strings.TrimPrefix(name, annotation.Prefix) }
	ofService := []string{annotation.PortID, annotation.VIPAddress, annotation.FloatingIPID, annotation.LoadBalancerID}
	ofClass := []string{
		annotation.SubnetID, annotation.NetworkID, annotation.MemberSubnetID, annotation.FloatingNetID, annotation.FloatingSubnet,
		annotation.FlavorID, annotation.AvailabilityZone, annotation.VIPQoSPolicyID, annotation.VIPSecurityGroups,
	}
	ofSection := append([]string{annotation.TLSContainer, annotation.NodeSelector}, ofClass...)
	class := config.LoadBalancerClass{
		SubnetID: oneID, NetworkID: oneID, MemberSubnetID: oneID, FloatingNetworkID: oneID, FloatingSubnetID: oneID,
		FlavorID: oneID, AvailabilityZone: oneID, VIPQoSPolicyID: oneID, VIPSecurityGroupIDs: oneID,
	}
	section := fixture.Config(func(lb *config.LoadBalancer) {
		lb.SubnetID, lb.NetworkID, lb.MemberSubnetID, lb.FloatingNetworkID, lb.FloatingSubnetID = otherID, otherID, otherID, otherID, otherID
		lb.FlavorID, lb.AvailabilityZone, lb.VIPQoSPolicyID, lb.VIPSecurityGroupIDs = otherID, otherID, otherID, otherID
		lb.DefaultTLSContainerRef, lb.NodeSelector = otherID, "pool"
	})
	section.LoadBalancerClass = map[string]*config.LoadBalancerClass{"gold": &class}
	check := func(s *settings.Settings, names []string, service bool, want func(string) string) {
		t.Helper()
		for _, name := range names {
			if got := s.Origins().Of(name); got.Name != want(name) || got.Service != service {
				t.Errorf("%s comes from %+v, want %s", name, got, want(name))
			}
		}
	}
	check(fixture.Settings(t, fixture.Service(), section), ofSection, false, func(name string) string { return of(name) + " in cloud.conf" })
	check(fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.Class, "gold")), section), ofClass, false, func(name string) string {
		return of(name) + " of class gold in cloud.conf"
	})
	for _, name := range append(ofService, ofSection...) {
		value := map[string]string{annotation.VIPAddress: "10.0.0.9", annotation.NodeSelector: "edge"}[name]
		if value == "" {
			value = oneID
		}
		s, _, _ := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.Class, "gold"), fixture.Annotated(name, value)), section)
		check(s, []string{name}, true, func(name string) string { return annotation.Path(name).String() })
	}
	if origins := new(settings.Settings).Origins(); origins != nil {
		t.Errorf("settings without a source come from %v", origins)
	}
}

// An annotation of one port is for that port what the annotation without suffix is for all.
func TestOfPort_IsTheServiceWithTheAnnotationOfThePort(t *testing.T) {
	t.Parallel()
	web, other := fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 81)
	values := map[string]string{
		annotation.ProxyProtocol: "v2", annotation.Method: "SOURCE_IP", annotation.Persistence: "APP_COOKIE", annotation.CookieName: "sid",
		annotation.MonitorType: "HTTPS", annotation.MonitorPath: "/live", annotation.MonitorMethod: "HEAD", annotation.MonitorCodes: "204",
		annotation.MonitorVersion: "1.1", annotation.MonitorDomain: "example.org", annotation.MonitorPort: "10256",
	}
	if len(values) != len(annotation.PerPort()) {
		t.Errorf("there are %d annotations of single ports: %v", len(annotation.PerPort()), annotation.PerPort())
	}
	described := func(s *settings.Settings) string {
		return fmt.Sprintf("%q %+v %+v", s.Listeners.Proxy, settings.PoolSettings{
			Algorithm: s.Pools.Algorithm, AlgorithmAsked: s.Pools.AlgorithmAsked, Persistence: s.Pools.Persistence, CookieName: s.Pools.CookieName,
		}, s.Monitor)
	}
	usual := described(fixture.Settings(t, fixture.Service(), fixture.Config()))
	for name, value := range values {
		for _, suffix := range []string{"p80", "80"} {
			s := fixture.Settings(t, fixture.Service(fixture.Ports(web, other), fixture.Annotated(name+"."+suffix, value)), fixture.Config())
			all := fixture.Settings(t, fixture.Service(fixture.Ports(web, other), fixture.Annotated(name, value)), fixture.Config())
			if diff := cmp.Diff(described(all), described(s.OfPort(web))); diff != "" || described(all) == usual {
				t.Errorf("%s of port %s (-for all +for the port):\n%s", name, suffix, diff)
			}
			if got := described(s.OfPort(other)); got != usual || described(s) != usual {
				t.Errorf("%s of port %s is for others: %s", name, suffix, got)
			}
		}
	}
}

func TestValidate_RefusesAnnotationsOfAPortThatIsMissingOrNamedTwice(t *testing.T) {
	t.Parallel()
	s := fixture.Settings(t, fixture.Service(
		fixture.Annotated(annotation.Method+".p80", "SOURCE_IP"), fixture.Annotated(annotation.Method+".80", "ROUND_ROBIN"),
		fixture.Annotated(annotation.Method+".p81", "SOURCE_IP"), fixture.Annotated(annotation.ProxyProtocol+".zz", "true"), fixture.Annotated(annotation.Method+".aa", "SOURCE_IP"),
	), fixture.Config())
	var got []string
	for _, err := range s.For(fixture.Amphora()).Validate() {
		got = append(got, err.Error())
	}
	path := func(name string) string { return annotation.Path(name).String() + ": Forbidden: " }
	if diff := cmp.Diff([]string{
		path(annotation.Method+".80") + annotation.Method + ".p80 is for the same port: use only one of them",
		path(annotation.Method+".aa") + `the Service has no port of the name or number "aa"`,
		path(annotation.Method+".p81") + `the Service has no port of the name or number "p81"`,
		path(annotation.ProxyProtocol+".zz") + `the Service has no port of the name or number "zz"`,
	}, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	unknown := fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.Method+".80", "SOURCE_IP_PORT")), fixture.Config())
	fixture.AssertRefused(t, unknown.For(fixture.Amphora()).Validate(), annotation.Method+".80", `"SOURCE_IP_PORT"`)
	for kind, want := range map[string]string{"HTTP": "/live", "HTTPS": "/live", "TCP": ""} {
		s := fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.MonitorPath, "/live"), fixture.Annotated(annotation.MonitorType+".80", kind)), fixture.Config())
		if got := s.OfPort(fixture.Port(v1.ProtocolTCP, 80)).Monitor.Path; got != want {
			t.Errorf("a port with monitors of %s has the path %q", kind, got)
		}
	}
}

// The providers without Octavia have no monitors, pods, weights and shared load balancers, and their VIP has all ports of the node.
func TestValidate_RefusesWhatProvidersWithoutOctaviaLack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*v1.Service)
		refused string
	}{
		"nothing":         {func(*v1.Service) {}, ""},
		"a share":         {fixture.Annotated(annotation.Share, "edge"), annotation.Share},
		"a load balancer": {fixture.Annotated(annotation.LoadBalancerID, "lb"), annotation.LoadBalancerID},
		"monitors":        {fixture.Annotated(annotation.Monitor, "true"), annotation.Monitor},
		"no monitors":     {fixture.Annotated(annotation.Monitor, "false"), ""},
		"pods":            {fixture.Annotated(annotation.Members, "pods"), annotation.Members},
		"weights":         {fixture.Annotated(annotation.MemberWeights, "drain"), annotation.MemberWeights},
		"equal weights":   {fixture.Annotated(annotation.MemberWeights, "equal"), ""},
	} {
		s := fixture.Settings(t, fixture.Service(c.change), fixture.Config())
		for _, provider := range []string{driver.Router, driver.PortForwarding} {
			errs := s.For(driver.Of(provider, model.Version{})).Validate()
			if c.refused != "" {
				fixture.AssertRefused(t, errs, "metadata.annotations["+c.refused+"]", provider)
			} else if len(errs) > 0 {
				t.Errorf("%s, %s: %v", provider, name, errs)
			}
		}
		if errs := s.For(fixture.Amphora()).Validate(); len(errs) > 0 {
			t.Errorf("amphora, %s: %v", name, errs)
		}
	}
}

// The rule for a port of a VIP of provider router opens this port of the nodes: that must not be one of Kubernetes' own.
func TestValidate_RefusesPortsOfNodesWhereARuleWouldOpenThem(t *testing.T) {
	t.Parallel()
	own := map[int32]bool{22: true, 2379: true, 2380: true, 6443: true, 10248: true, 10256: true, 10260: true, 30000: true, 32767: true}
	for _, port := range []int32{21, 22, 23, 2378, 2379, 2380, 2381, 6442, 6443, 6444, 10247, 10248, 10256, 10260, 10261, 29999, 30000, 32767, 32768} {
		for _, managed := range []bool{true, false} {
			cfg := fixture.Config(func(lb *config.LoadBalancer) { lb.ManageSecurityGroups, lb.SecurityGroupMode = managed, "per-service" })
			s := fixture.Settings(t, fixture.Service(func(svc *v1.Service) { svc.Spec.Ports[0].Port, svc.Spec.Ports[0].NodePort = port, 30080 }), cfg)
			for _, provider := range []string{driver.Router, driver.PortForwarding, "amphora"} {
				errs := s.For(driver.Of(provider, model.Version{Major: 2, Minor: 30})).Validate()
				if refused := managed && provider == driver.Router && own[port]; refused != (len(errs) > 0) {
					t.Errorf("%s, port %d, groups managed %v: %v", provider, port, managed, errs)
				}
			}
		}
	}
}

func TestUnused_ReportsWhatAppliesToNoPortOrAddress(t *testing.T) {
	t.Parallel()
	minutes := int32(60)
	affine := func(svc *v1.Service) {
		svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		svc.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &minutes}}
	}
	usual := func(svc *v1.Service) {
		affine(svc)
		svc.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds = ptr(v1.DefaultClientIPServiceAffinitySeconds)
	}
	udp, proxy := fixture.Ports(fixture.Port(v1.ProtocolUDP, 53)), fixture.Annotated(annotation.ProxyProtocol, "true")
	internal, mode := fixture.Annotated(annotation.Internal, "true"), fixture.Annotated(annotation.IPMode, "Proxy")
	router := driver.Of(driver.Router, model.Version{})
	for name, c := range map[string]struct {
		svc  *v1.Service
		drv  driver.Driver
		want string
	}{
		"PROXY headers":                {fixture.Service(proxy), fixture.Amphora(), ""},
		"PROXY headers of UDP":         {fixture.Service(proxy, udp), fixture.Amphora(), annotation.ProxyProtocol},
		"UDP":                          {fixture.Service(udp), fixture.Amphora(), ""},
		"a timeout of affinity":        {fixture.Service(affine), fixture.Amphora(), "spec.sessionAffinityConfig.clientIP.timeoutSeconds"},
		"the usual timeout":            {fixture.Service(usual), fixture.Amphora(), ""},
		"a timeout of UDP":             {fixture.Service(affine, udp), fixture.Amphora(), ""},
		"a mode of a VIP, router":      {fixture.Service(internal, mode), router, annotation.IPMode},
		"a mode of a floating IP":      {fixture.Service(mode), router, ""},
		"a mode of a VIP, amphora":     {fixture.Service(internal, mode), fixture.Amphora(), ""},
		"the usual mode of VIP router": {fixture.Service(internal, fixture.Annotated(annotation.IPMode, "VIP")), router, ""},
	} {
		s := fixture.Settings(t, c.svc, fixture.Config())
		if names, texts := noticed(s.For(c.drv).Unused()); names != c.want {
			t.Errorf("%s: notices of %q, want %q: %s", name, names, c.want, texts)
		}
		if timeout := s.Traffic.AffinityTimeout; timeout != map[bool]int{true: 60, false: 10800}[strings.HasPrefix(name, "a timeout")] {
			t.Errorf("%s: affinity for %d s", name, timeout)
		}
	}
	_, notices, _ := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.Managed, "false")), fixture.Config())
	if names, _ := noticed(notices); names != annotation.Managed {
		t.Errorf("a Service that is not managed: notices of %q", names)
	}
	for name, value := range map[string]string{annotation.MonitorDelay: "2", annotation.MonitorTimeout: "6"} {
		_, notices, _ := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(name, value)), fixture.Config())
		if names, _ := noticed(notices); names != annotation.MonitorTimeout {
			t.Errorf("probes that overlap by %s: notices of %q", name, names)
		}
	}
}
