package settings_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestValidate_RefusesWhatCannotBeServed(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	change := func(change func(*v1.ServicePort)) func(*v1.Service) {
		return func(svc *v1.Service) { change(&svc.Spec.Ports[0]) }
	}
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	noHealthPort := func(svc *v1.Service) { fixture.Local(svc); svc.Spec.HealthCheckNodePort = 0 }
	rocky, ussuri := model.Version{Major: 2, Minor: 5}, model.Version{Major: 2, Minor: 16}
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		drv   driver.Driver
		words []string
	}{
		{"no ports", fixture.Service(fixture.Ports()), fixture.Amphora(), []string{"spec.ports", "at least one port"}},
		{"SCTP of an older Octavia", fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolSCTP, 80))), driver.Of("amphora", model.Version{Major: 2, Minor: 22}),
			[]string{"spec.ports[0].protocol", `"SCTP"`, `"TCP", "UDP"`}},
		{"SCTP of port forwardings", fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolSCTP, 80))), driver.Of(driver.PortForwarding, driver.VersionTags),
			[]string{`spec.ports[0].protocol: Unsupported value: "SCTP": supported values: "TCP", "UDP", because the provider is port-forwarding`}},
		{"an algorithm of provider router", fixture.Service(fixture.Annotated(annotation.Method, "ROUND_ROBIN")), driver.Of(driver.Router, driver.VersionTags),
			[]string{annotation.Method, `Unsupported value: "ROUND_ROBIN": because the provider is router`}},
		{"port 0", fixture.Service(change(func(p *v1.ServicePort) { p.Port = 0 })), fixture.Amphora(), []string{"spec.ports[0].port", "from 1 to 65535"}},
		{"port 65536", fixture.Service(change(func(p *v1.ServicePort) { p.Port = 65536 })), fixture.Amphora(), []string{"spec.ports[0].port", "65536"}},
		{"one port twice", fixture.Service(fixture.Ports(fixture.Port(tcp, 80), fixture.Port(udp, 80), fixture.Port(tcp, 80))), fixture.Amphora(), []string{"spec.ports[2]", `"TCP/80"`}},
		{"no NodePort", fixture.Service(change(func(p *v1.ServicePort) { p.NodePort = 0 })), fixture.Amphora(), []string{"spec.ports[0].nodePort", "allocateLoadBalancerNodePorts"}},
		{"NodePort 70000", fixture.Service(change(func(p *v1.ServicePort) { p.NodePort = 70000 })), fixture.Amphora(), []string{"spec.ports[0].nodePort", "70000"}},
		{"source ranges on ovn", fixture.Service(ranges), driver.Of("ovn", ussuri), []string{"spec.loadBalancerSourceRanges", "cannot be enforced", "ovn"}},
		{"source ranges on an old Octavia", fixture.Service(ranges), driver.Of("amphora", rocky), []string{"spec.loadBalancerSourceRanges", "v2.5", "v2.12"}},
		{"an algorithm amphora has not", fixture.Service(fixture.Annotated(annotation.Method, "SOURCE_IP_PORT")), fixture.Amphora(), []string{annotation.Method, `"SOURCE_IP_PORT"`, `"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"`}},
		{"an algorithm ovn has not", fixture.Service(fixture.Annotated(annotation.Method, "ROUND_ROBIN")), driver.Of("ovn", ussuri), []string{annotation.Method, `"ROUND_ROBIN"`, `"SOURCE_IP_PORT"`}},
		{"Local without a port to ask", fixture.Service(noHealthPort), fixture.Amphora(), []string{"spec.healthCheckNodePort", "externalTrafficPolicy Local"}},
		{
			"UDP-CONNECT too often", fixture.Service(fixture.Ports(fixture.Port(tcp, 53), fixture.Port(udp, 53)), fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorDelay, "2")),
			fixture.Amphora(), []string{annotation.MonitorDelay, "2", "UDP-CONNECT", "3 seconds"},
		},
		{
			"UDP-CONNECT too often, with Local on an old Octavia", fixture.Service(fixture.Ports(fixture.Port(udp, 53)), fixture.Local, fixture.Annotated(annotation.MonitorDelay, "2")),
			driver.Of("amphora", model.Version{Major: 2, Minor: 12}), []string{annotation.MonitorDelay, "UDP-CONNECT"},
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			fixture.AssertRefused(t, fixture.Settings(t, test.svc, fixture.Config()).For(test.drv).Validate(), test.words...)
		})
	}
}

func TestValidate_AcceptsWhatCanBeServed(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	ovn := driver.Of("ovn", model.Version{Major: 2, Minor: 30})
	for _, test := range []struct {
		what string
		svc  *v1.Service
		drv  driver.Driver
	}{
		{"TCP", fixture.Service(), fixture.Amphora()},
		{"one number for TCP and UDP", fixture.Service(fixture.Ports(fixture.Port(tcp, 53), fixture.Port(udp, 53))), fixture.Amphora()},
		{"source ranges", fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }), fixture.Amphora()},
		{"source ranges that let everybody in, on ovn", fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"} }), ovn},
		{"Local", fixture.Service(fixture.Local), fixture.Amphora()},
		{"Local on ovn, which asks no other ports", fixture.Service(fixture.Local, func(svc *v1.Service) { svc.Spec.HealthCheckNodePort = 0 }), ovn},
		{"an algorithm in cloud.conf that ovn has not", fixture.Service(), ovn},
		{"a short delay without monitors", fixture.Service(fixture.Ports(fixture.Port(udp, 53)), fixture.Annotated(annotation.MonitorDelay, "1")), fixture.Amphora()},
		{"a short delay for TCP", fixture.Service(fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorDelay, "1")), fixture.Amphora()},
		{"a short delay for HTTP", fixture.Service(fixture.Ports(fixture.Port(udp, 53)), fixture.Local, fixture.Annotated(annotation.MonitorDelay, "1")), fixture.Amphora()},
		{"a delay of three seconds for UDP", fixture.Service(fixture.Ports(fixture.Port(udp, 53)), fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorDelay, "3")), fixture.Amphora()},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if errs := fixture.Settings(t, test.svc, fixture.Config()).For(test.drv).Validate(); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

func TestValidate_ReportsAllMistakes(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Ports(fixture.Port("DCCP", 1), fixture.Port(v1.ProtocolTCP, 0)), fixture.Local, fixture.Annotated(annotation.Method, "SOURCE_IP_PORT"))
	svc.Spec.HealthCheckNodePort = 0
	if errs := fixture.Settings(t, svc, fixture.Config()).For(fixture.Amphora()).Validate(); len(errs) != 4 {
		t.Errorf("%d errors, want 4: %v", len(errs), errs)
	}
}

// The default of cloud.conf must not keep ovn, which has one other algorithm, from working.
func TestAlgorithm_OfProviderOverridesSection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ provider, asked, want string }{
		{"amphora", "LEAST_CONNECTIONS", "LEAST_CONNECTIONS"},
		{"amphora", "SOURCE_IP_PORT", "ROUND_ROBIN"},
		{"ovn", "ROUND_ROBIN", "SOURCE_IP_PORT"},
		{"ovn", "SOURCE_IP_PORT", "SOURCE_IP_PORT"},
		{"a vendor's", "SOURCE_IP_PORT", "SOURCE_IP_PORT"},
	} {
		cfg := fixture.Config(func(c *config.LoadBalancer) { c.LBMethod = test.asked })
		drv := driver.Of(test.provider, model.Version{Major: 2, Minor: 30})
		lb := fixture.Desired(t, fixture.Service(), cfg, drv)
		if got := lb.Listeners[0].Pool.Algorithm; got != test.want {
			t.Errorf("%s with lb-method=%s: %s, want %s", test.provider, test.asked, got, test.want)
		}
	}
}

// Providers without Octavia are not explained by its version.
func TestValidate_NamesNoOctaviaForProvidersWithoutIt(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolSCTP, 80)), fixture.Annotated(annotation.Method, "ROUND_ROBIN"))
	for _, provider := range []string{driver.Router, driver.PortForwarding} {
		errs := fixture.Settings(t, svc, fixture.Config()).For(driver.Of(provider, driver.VersionTags)).Validate()
		if text := errs.ToAggregate().Error(); strings.Contains(text, "Octavia") {
			t.Errorf("%s: %s", provider, text)
		}
	}
}
