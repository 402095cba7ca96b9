package settings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

const certificate = "https://barbican.example.com/v1/containers/5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"

// appProtocol sets the appProtocol of every port.
func appProtocol(text string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].AppProtocol = &text
		}
	}
}

// TestListeners_HaveProtocolOfFirstSettingThatDecides is the table of ListenerSettings.Protocol, for a
// port of TCP beside one of UDP, which keeps its own.
//
//proves:5,6,7,11,12,13
func TestListeners_HaveProtocolOfFirstSettingThatDecides(t *testing.T) {
	t.Parallel()
	said, ours := fixture.Annotated(annotation.Protocols, "p80=HTTPS"), appProtocol(annotation.Prefix+"http")
	tls, headers := fixture.Annotated(annotation.TLSContainer, certificate), fixture.Annotated(annotation.ForwardedFor, "true")
	asked := fixture.Annotated(annotation.AppProtocol, "true")
	for _, test := range []struct {
		what    string
		changes []func(*v1.Service)
		want    string
	}{
		{"nothing", nil, "TCP→TCP"},
		{"listener-protocols before all else", []func(*v1.Service){said, ours, tls, headers}, "HTTPS→TCP"},
		{"by number", []func(*v1.Service){fixture.Annotated(annotation.Protocols, "80=tcp"), tls}, "TCP→TCP"},
		{"an appProtocol of ours", []func(*v1.Service){ours, tls}, "HTTP→HTTP"},
		{"a certificate", []func(*v1.Service){tls, headers, asked, appProtocol("https")}, "TERMINATED_HTTPS→HTTP [X-Forwarded-For]"},
		{"an appProtocol of anybody's", []func(*v1.Service){headers, asked, appProtocol("https")}, "HTTPS→TCP"},
		{"http", []func(*v1.Service){asked, appProtocol("HTTP")}, "HTTP→HTTP"},
		{"WebSockets", []func(*v1.Service){asked, appProtocol("kubernetes.io/ws")}, "HTTP→HTTP"},
		{"WebSockets over TLS", []func(*v1.Service){asked, appProtocol("kubernetes.io/wss")}, "HTTPS→TCP"},
		{"one that says nothing to us", []func(*v1.Service){asked, appProtocol("kubernetes.io/h2c")}, "TCP→TCP"},
		{"not looked at", []func(*v1.Service){appProtocol("http")}, "TCP→TCP"},
		{"headers", []func(*v1.Service){headers, fixture.Annotated(annotation.ForwardedProto, "true")}, "HTTP→HTTP [X-Forwarded-For X-Forwarded-Proto]"},
		{"another header", []func(*v1.Service){fixture.Annotated(annotation.ForwardedPort, "true")}, "HTTP→HTTP [X-Forwarded-Port]"},
		{"PROXY", []func(*v1.Service){fixture.Annotated(annotation.ProxyProtocol, "true")}, "TCP→PROXY"},
		{"PROXY 2 behind TLS", []func(*v1.Service){fixture.Annotated(annotation.ProxyProtocol, "v2"), tls}, "TERMINATED_HTTPS→PROXYV2"},
	} {
		svc := fixture.Service(append([]func(*v1.Service){fixture.Ports(fixture.Port(v1.ProtocolTCP, 80))}, test.changes...)...)
		svc.Spec.Ports = append(svc.Spec.Ports, fixture.Port(v1.ProtocolUDP, 53))
		lb := fixture.Desired(t, svc, fixture.Config(), fixture.Amphora())
		tcp, udp := lb.Listener(model.ListenerKey{Transport: model.TCP, Port: 80}), lb.Listener(model.ListenerKey{Transport: model.UDP, Port: 53})
		got := fmt.Sprintf("%s→%s", tcp.Protocol, tcp.Pool.Protocol)
		if len(tcp.InsertHeaders) > 0 {
			got += fmt.Sprint(" ", tcp.InsertHeaders)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
		if (tcp.TLSContainerRef != "") != (tcp.Protocol == model.TerminatedHTTPS) {
			t.Errorf("%s: certificate %q", test.what, tcp.TLSContainerRef)
		}
		if udp.Protocol != model.UDP || udp.Pool.Protocol != model.UDP || len(udp.InsertHeaders) > 0 || udp.TLSContainerRef != "" {
			t.Errorf("%s: UDP takes part: %+v", test.what, udp)
		}
	}
}

// TestParse_PrefersAppProtocolOfAnnotationToClassToSection: annotation before class before section.
func TestParse_PrefersAppProtocolOfAnnotationToClassToSection(t *testing.T) {
	t.Parallel()
	no := false
	cfg := fixture.Config(func(c *config.LoadBalancer) { c.AppProtocol = true })
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"plain": {AppProtocol: &no}}
	for want, svc := range map[string]*v1.Service{
		"HTTP":  fixture.Service(appProtocol("http")),
		"TCP":   fixture.Service(appProtocol("http"), fixture.Annotated(annotation.Class, "plain")),
		"HTTP ": fixture.Service(appProtocol("http"), fixture.Annotated(annotation.Class, "plain"), fixture.Annotated(annotation.AppProtocol, "true")),
		"TCP ":  fixture.Service(appProtocol("http"), fixture.Annotated(annotation.AppProtocol, "false")),
	} {
		if got := fixture.Desired(t, svc, cfg, fixture.Amphora()).Listeners[0].Protocol; string(got) != strings.TrimSpace(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestListeners_HaveOnlyFeaturesOfTheirOctavia: features that an older Octavia lacks are refused,
// or reported if that opens no port.
//
//proves:3,13,42
func TestListeners_HaveOnlyFeaturesOfTheirOctavia(t *testing.T) {
	t.Parallel()
	old := func(minor int) driver.Driver {
		return driver.Of("amphora", model.Version{Major: 2, Minor: minor})
	}
	v2 := fixture.Service(fixture.Annotated(annotation.ProxyProtocol, "v2"))
	fixture.AssertRefused(t, fixture.Settings(t, v2, fixture.Config()).For(old(21)).Validate(), annotation.ProxyProtocol, "2.21", "2.22")
	if errs := fixture.Settings(t, v2, fixture.Config()).For(old(22)).Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	limited := fixture.Service(fixture.Annotated(annotation.ClientData, "1"), fixture.Annotated(annotation.ConnLimit, "2"))
	var told []string
	for _, notice := range fixture.Settings(t, limited, fixture.Config()).For(old(0)).Unused() {
		told = append(told, notice.Annotation)
	}
	if diff := cmp.Diff([]string{annotation.ClientData}, told); diff != "" {
		t.Error(diff)
	}
	// Settings of cloud.conf are reported when the controller starts, not for every Service.
	if told := fixture.Settings(t, fixture.Service(), fixture.Config(func(c *config.LoadBalancer) { c.TimeoutClientData = ptr(1) })).For(old(0)).Unused(); len(told) > 0 {
		t.Errorf("told of cloud.conf: %v", told)
	}
	lb := fixture.Desired(t, limited, fixture.Config(), old(0))
	if limits := lb.Listeners[0].Limits; limits.TimeoutClientData.Asked || !limits.ConnectionLimit.Asked {
		t.Errorf("limits %+v", limits)
	}
	sctp := func(provider string, minor int) bool {
		drv := driver.Of(provider, model.Version{Major: 2, Minor: minor})
		return slices.Contains(drv.Protocols, v1.ProtocolSCTP)
	}
	if sctp("amphora", 22) || !sctp("amphora", 23) || sctp("ovn", 23) || !sctp("ovn", 24) || sctp("f5", 30) {
		t.Error("SCTP is there too early, or missing")
	}
}

// Where the provider has no such algorithm, its own is used, with an event.
//
//proves:34,37
func TestAlgorithm_OfProviderOverridesClass(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config()
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{
		"ovn": {LBProvider: "ovn"}, "odd": {LBProvider: "ovn", LBMethod: "LEAST_CONNECTIONS"}, "fine": {LBMethod: "LEAST_CONNECTIONS"},
	}
	for class, test := range map[string]struct {
		method string
		told   int
	}{"ovn": {"SOURCE_IP_PORT", 0}, "odd": {"SOURCE_IP_PORT", 1}, "fine": {"LEAST_CONNECTIONS", 0}} {
		svc := fixture.Service(fixture.Annotated(annotation.Class, class))
		s := fixture.Settings(t, svc, cfg)
		drv := driver.Of(s.LoadBalancer.Provider, model.Version{Major: 2, Minor: 30})
		if got := fixture.Desired(t, svc, cfg, drv).Listeners[0].Pool.Algorithm; got != test.method {
			t.Errorf("class %s: %s, want %s", class, got, test.method)
		}
		if told := s.For(drv).Unused(); len(told) != test.told {
			t.Errorf("class %s: told %v", class, told)
		}
	}
}

// The API server would refuse the status.
//
//proves:15
func TestParse_RefusesInvalidHostname(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"-x", "a_b.example.com", "203.0.113.1", "Upper.example.com"} {
		_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.Hostname, bad)), fixture.Config())
		fixture.AssertRefused(t, errs, annotation.Hostname, bad)
	}
	if got := fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.ProxyProtocol, "v1"), fixture.Families(v1.IPv6Protocol)), fixture.Config(func(c *config.LoadBalancer) {
		c.EnableIngressHostname, c.IngressHostnameSuffix = true, "example.org"
	})).Ingress("2001:db8::1").Hostname; got != "2001-db8--1.example.org" {
		t.Errorf("the name of an address of IPv6 is %q", got)
	}
}
