package desire_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

func TestValidateRefusesWhatCannotBeServed(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	change := func(change func(*v1.ServicePort)) func(*v1.Service) {
		return func(svc *v1.Service) { change(&svc.Spec.Ports[0]) }
	}
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	noHealthPort := func(svc *v1.Service) { local(svc); svc.Spec.HealthCheckNodePort = 0 }
	rocky, ussuri := openstack.Version{Major: 2, Minor: 5}, openstack.Version{Major: 2, Minor: 16}
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		can   desire.Capabilities
		words []string
	}{
		{"no ports", service(ports()), today(), []string{"spec.ports", "at least one port"}},
		{"SCTP of an older Octavia", service(ports(port(v1.ProtocolSCTP, 80))), desire.CapabilitiesOf("amphora", openstack.Version{Major: 2, Minor: 22}),
			[]string{"spec.ports[0].protocol", `"SCTP"`, `"TCP", "UDP"`}},
		{"port 0", service(change(func(p *v1.ServicePort) { p.Port = 0 })), today(), []string{"spec.ports[0].port", "from 1 to 65535"}},
		{"port 65536", service(change(func(p *v1.ServicePort) { p.Port = 65536 })), today(), []string{"spec.ports[0].port", "65536"}},
		{"one port twice", service(ports(port(tcp, 80), port(udp, 80), port(tcp, 80))), today(), []string{"spec.ports[2]", `"TCP/80"`}},
		{"no NodePort", service(change(func(p *v1.ServicePort) { p.NodePort = 0 })), today(), []string{"spec.ports[0].nodePort", "allocateLoadBalancerNodePorts"}},
		{"NodePort 70000", service(change(func(p *v1.ServicePort) { p.NodePort = 70000 })), today(), []string{"spec.ports[0].nodePort", "70000"}},
		{"source ranges on ovn", service(ranges), desire.CapabilitiesOf("ovn", ussuri), []string{"spec.loadBalancerSourceRanges", "cannot be enforced", "ovn"}},
		{"source ranges on an old Octavia", service(ranges), desire.CapabilitiesOf("amphora", rocky), []string{"spec.loadBalancerSourceRanges", "v2.5", "v2.12"}},
		{"an algorithm amphora has not", service(annotated(annotation.Method, "SOURCE_IP_PORT")), today(), []string{annotation.Method, `"SOURCE_IP_PORT"`, `"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"`}},
		{"an algorithm ovn has not", service(annotated(annotation.Method, "ROUND_ROBIN")), desire.CapabilitiesOf("ovn", ussuri), []string{annotation.Method, `"ROUND_ROBIN"`, `"SOURCE_IP_PORT"`}},
		{"Local without a port to ask", service(noHealthPort), today(), []string{"spec.healthCheckNodePort", "externalTrafficPolicy Local"}},
		{
			"UDP-CONNECT too often", service(ports(port(tcp, 53), port(udp, 53)), annotated(annotation.Monitor, "true"), annotated(annotation.MonitorDelay, "2")),
			today(), []string{annotation.MonitorDelay, "2", "UDP-CONNECT", "3 seconds"},
		},
		{
			"UDP-CONNECT too often, with Local on an old Octavia", service(ports(port(udp, 53)), local, annotated(annotation.MonitorDelay, "2")),
			desire.CapabilitiesOf("amphora", openstack.Version{Major: 2, Minor: 12}), []string{annotation.MonitorDelay, "UDP-CONNECT"},
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			refused(t, desire.Validate(test.svc, settings(t, test.svc, conf()), test.can), test.words...)
		})
	}
}

func TestValidateAcceptsWhatCanBeServed(t *testing.T) {
	t.Parallel()
	tcp, udp := v1.ProtocolTCP, v1.ProtocolUDP
	ovn := desire.CapabilitiesOf("ovn", openstack.Version{Major: 2, Minor: 30})
	for _, test := range []struct {
		what string
		svc  *v1.Service
		can  desire.Capabilities
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
			if errs := desire.Validate(test.svc, settings(t, test.svc, conf()), test.can); len(errs) > 0 {
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

func TestCapabilities(t *testing.T) {
	t.Parallel()
	v := func(minor int) openstack.Version { return openstack.Version{Major: 2, Minor: minor} }
	for _, test := range []struct {
		provider                string
		version                 openstack.Version
		algorithm               string
		algorithms              int
		monitorPort, httpForUDP bool
		sourceRanges            bool
	}{
		{"amphora", v(30), "ROUND_ROBIN", 3, true, true, true},
		{"amphorav2", v(30), "ROUND_ROBIN", 3, true, true, true},
		{"octavia", v(16), "ROUND_ROBIN", 3, true, true, true},
		{"amphora", v(15), "ROUND_ROBIN", 3, true, false, true},
		{"amphora", v(12), "ROUND_ROBIN", 3, true, false, true},
		{"amphora", v(11), "ROUND_ROBIN", 3, true, false, false},
		{"ovn", v(30), "SOURCE_IP_PORT", 1, false, false, false},
		{"a vendor's", v(30), "ROUND_ROBIN", 4, true, true, true},
	} {
		can := desire.CapabilitiesOf(test.provider, test.version)
		if can.Algorithms[0] != test.algorithm || len(can.Algorithms) != test.algorithms || can.Can(desire.MonitorPorts) != test.monitorPort ||
			can.Can(desire.HTTPMonitorForUDP) != test.httpForUDP || can.Can(desire.SourceRanges) != test.sourceRanges {
			t.Errorf("%s %s can %+v", test.provider, test.version, can)
		}
		if slices.Contains(can.Protocols, v1.ProtocolSCTP) != (test.version.Minor >= 23) {
			t.Errorf("%s %s has %v", test.provider, test.version, can.Protocols)
		}
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
		can := desire.CapabilitiesOf(test.provider, openstack.Version{Major: 2, Minor: 30})
		lb := desired(t, service(), cfg, can)
		if got := lb.Listeners[0].Pool.Algorithm; got != test.want {
			t.Errorf("%s with lb-method=%s: %s, want %s", test.provider, test.asked, got, test.want)
		}
	}
}

// TestHabits keeps the ways of ovn in the table, where they are looked up.
func TestHabits(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]bool{"ovn": true, "amphora": false, "f5": false, "a vendor's": false} {
		h := desire.HabitsOf(provider)
		if h.Quick != want || h.ReportsEarly != want || h.TellSubnets != want || h.TouchPools != want {
			t.Errorf("%s: %+v", provider, h)
		}
	}
}

// TestWhatIsLearntIsLacked tells what a table of features, a release and an answer
// each say of a provider.
//
//proves:115
func TestWhatIsLearntIsLacked(t *testing.T) {
	t.Parallel()
	v := openstack.Version{Major: 2, Minor: 9}
	can := desire.CapabilitiesOf("acme", v, desire.FullCreate)
	for feature, want := range map[desire.Feature]string{
		desire.FullCreate:    "the provider acme has refused load balancers that are created with everything in them",
		desire.MemberBatches: "",
		desire.SourceRanges:  "this Octavia has API version v2.9, source ranges need v2.12",
		desire.Flavors:       "",
	} {
		if got := can.Lacks(feature); got != want {
			t.Errorf("%s: %q, want %q", feature, got, want)
		}
	}
	if got, want := desire.CapabilitiesOf("f5", v).Lacks(desire.Flavors), "the provider f5 has no flavors"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for provider, want := range map[string]bool{"acme": true, "f5": true, "ovn": false, "amphora": false} {
		if desire.Learns(provider) != want {
			t.Errorf("%s is learnt about: %v", provider, !want)
		}
	}
}
