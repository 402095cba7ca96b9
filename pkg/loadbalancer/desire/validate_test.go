package desire_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

func TestValidateRefusesWhatCannotBeServed(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	change := func(change func(*v1.ServicePort)) func(*v1.Service) {
		return func(svc *v1.Service) { change(&svc.Spec.Ports[0]) }
	}
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	noHealthPort := func(svc *v1.Service) { local(svc); svc.Spec.HealthCheckNodePort = 0 }
	rocky, ussuri := octavia.Version{Major: 2, Minor: 5}, octavia.Version{Major: 2, Minor: 16}
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		drv   driver.Driver
		words []string
	}{
		{"no ports", service(ports()), today(), []string{"spec.ports", "at least one port"}},
		{"SCTP of an older Octavia", service(ports(port(v1.ProtocolSCTP, 80))), driver.Of("amphora", octavia.Version{Major: 2, Minor: 22}),
			[]string{"spec.ports[0].protocol", `"SCTP"`, `"TCP", "UDP"`}},
		{"port 0", service(change(func(p *v1.ServicePort) { p.Port = 0 })), today(), []string{"spec.ports[0].port", "from 1 to 65535"}},
		{"port 65536", service(change(func(p *v1.ServicePort) { p.Port = 65536 })), today(), []string{"spec.ports[0].port", "65536"}},
		{"one port twice", service(ports(port(tcp, 80), port(udp, 80), port(tcp, 80))), today(), []string{"spec.ports[2]", `"TCP/80"`}},
		{"no NodePort", service(change(func(p *v1.ServicePort) { p.NodePort = 0 })), today(), []string{"spec.ports[0].nodePort", "allocateLoadBalancerNodePorts"}},
		{"NodePort 70000", service(change(func(p *v1.ServicePort) { p.NodePort = 70000 })), today(), []string{"spec.ports[0].nodePort", "70000"}},
		{"source ranges on ovn", service(ranges), driver.Of("ovn", ussuri), []string{"spec.loadBalancerSourceRanges", "cannot be enforced", "ovn"}},
		{"source ranges on an old Octavia", service(ranges), driver.Of("amphora", rocky), []string{"spec.loadBalancerSourceRanges", "v2.5", "v2.12"}},
		{"an algorithm amphora has not", service(annotated(annotation.Method, "SOURCE_IP_PORT")), today(), []string{annotation.Method, `"SOURCE_IP_PORT"`, `"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"`}},
		{"an algorithm ovn has not", service(annotated(annotation.Method, "ROUND_ROBIN")), driver.Of("ovn", ussuri), []string{annotation.Method, `"ROUND_ROBIN"`, `"SOURCE_IP_PORT"`}},
		{"Local without a port to ask", service(noHealthPort), today(), []string{"spec.healthCheckNodePort", "externalTrafficPolicy Local"}},
		{
			"UDP-CONNECT too often", service(ports(port(tcp, 53), port(udp, 53)), annotated(annotation.Monitor, "true"), annotated(annotation.MonitorDelay, "2")),
			today(), []string{annotation.MonitorDelay, "2", "UDP-CONNECT", "3 seconds"},
		},
		{
			"UDP-CONNECT too often, with Local on an old Octavia", service(ports(port(udp, 53)), local, annotated(annotation.MonitorDelay, "2")),
			driver.Of("amphora", octavia.Version{Major: 2, Minor: 12}), []string{annotation.MonitorDelay, "UDP-CONNECT"},
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			refused(t, desire.Validate(test.svc, settings(t, test.svc, conf()), test.drv), test.words...)
		})
	}
}

func TestValidateAcceptsWhatCanBeServed(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	ovn := driver.Of("ovn", octavia.Version{Major: 2, Minor: 30})
	for _, test := range []struct {
		what string
		svc  *v1.Service
		drv  driver.Driver
	}{
		{"TCP", service(), today()},
		{"one number for TCP and UDP", service(ports(port(tcp, 53), port(udp, 53))), today()},
		{"source ranges", service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }), today()},
		{"source ranges that let everybody in, on ovn", service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"} }), ovn},
		{"Local", service(local), today()},
		{"Local on ovn, which asks no other ports", service(local, func(svc *v1.Service) { svc.Spec.HealthCheckNodePort = 0 }), ovn},
		{"an algorithm in cloud.conf that ovn has not", service(), ovn},
		{"a short delay without monitors", service(ports(port(udp, 53)), annotated(annotation.MonitorDelay, "1")), today()},
		{"a short delay for TCP", service(annotated(annotation.Monitor, "true"), annotated(annotation.MonitorDelay, "1")), today()},
		{"a short delay for HTTP", service(ports(port(udp, 53)), local, annotated(annotation.MonitorDelay, "1")), today()},
		{"a delay of three seconds for UDP", service(ports(port(udp, 53)), annotated(annotation.Monitor, "true"), annotated(annotation.MonitorDelay, "3")), today()},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if errs := desire.Validate(test.svc, settings(t, test.svc, conf()), test.drv); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

func TestValidateReportsAllMistakes(t *testing.T) {
	t.Parallel()
	svc := service(ports(port("DCCP", 1), port(v1.ProtocolTCP, 0)), local, annotated(annotation.Method, "SOURCE_IP_PORT"))
	svc.Spec.HealthCheckNodePort = 0
	if errs := desire.Validate(svc, settings(t, svc, conf()), today()); len(errs) != 4 {
		t.Errorf("%d errors, want 4: %v", len(errs), errs)
	}
}

// TestTheAlgorithmOfTheSectionGivesWay keeps cloud.conf's default from standing
// in the way of ovn, which has another only one.
func TestTheAlgorithmOfTheSectionGivesWay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ provider, asked, want string }{
		{"amphora", "LEAST_CONNECTIONS", "LEAST_CONNECTIONS"},
		{"amphora", "SOURCE_IP_PORT", "ROUND_ROBIN"},
		{"ovn", "ROUND_ROBIN", "SOURCE_IP_PORT"},
		{"ovn", "SOURCE_IP_PORT", "SOURCE_IP_PORT"},
		{"a vendor's", "SOURCE_IP_PORT", "SOURCE_IP_PORT"},
	} {
		cfg := conf(func(c *config.LoadBalancer) { c.LBMethod = test.asked })
		drv := driver.Of(test.provider, octavia.Version{Major: 2, Minor: 30})
		lb := desired(t, service(), cfg, drv)
		if got := lb.Listeners[0].Pool.Algorithm; got != test.want {
			t.Errorf("%s with lb-method=%s: %s, want %s", test.provider, test.asked, got, test.want)
		}
	}
}
