package desire_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// A new Service is served with the default that cloud-provider-openstack takes, and told;
// what OpenStack refuses there is refused.
func TestAMalformedValueIsToldAndItsDefaultTaken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, value, instead string
		newRefused           bool
	}{
		{annotation.Internal, "True", "false", false},
		{annotation.ForwardedFor, "1", "false", false},
		{annotation.Monitor, "yes", "true", false},
		{annotation.KeepFloatingIP, "yes", "true", false},
		{annotation.ProxyProtocol, "V2", "false", false},
		{annotation.MonitorDelay, "5s", "7", false},
		{annotation.MonitorDelay, "0", "7", true},
		{annotation.ConnLimit, "many", "what the cloud's operator chose", false},
		{annotation.TCPInspect, "1s", "12", false},
		{annotation.Method, "RANDOM", "SOURCE_IP", true},
	} {
		cfg := conf(func(c *config.LoadBalancer) {
			c.CreateMonitor, c.MonitorDelay, c.TimeoutTCPInspect, c.LBMethod = true, seconds(7), ptr(12), "SOURCE_IP"
		})
		s, notices, errs := desire.Read(service(annotated(test.name, test.value)), cfg)
		if len(errs) > 0 {
			t.Errorf("%s=%s: %v", test.name, test.value, errs)
		}
		errs = desire.Validate(service(), s, today())
		if test.newRefused {
			refused(t, errs, test.name, test.value, "allowed: ")
			s, notices = desire.OnExisting(s, today()), desire.Ineffective(service(), s, today())
			errs = desire.Validate(service(), s, today())
		}
		if len(errs) > 0 || len(notices) != 1 {
			t.Errorf("%s=%s: errors %v, notices %v", test.name, test.value, errs, notices)
			continue
		}
		for _, word := range []string{test.value, "allowed: ", "; " + test.instead + " counts instead"} {
			if notices[0].Annotation != test.name || !strings.Contains(notices[0].Message, word) {
				t.Errorf("%s: %q says nothing of %q", notices[0].Annotation, notices[0].Message, word)
			}
		}
	}
}

// What stands in place of a malformed value changes nothing of a load balancer that
// cloud-provider-openstack made with that very default; one that was made with a value
// that is a typing error by now does not change by it either.
func TestWhatAMalformedValueWouldChangeIsFound(t *testing.T) {
	t.Parallel()
	withMonitors := conf(func(c *config.LoadBalancer) { c.CreateMonitor = true })
	for _, test := range []struct {
		name, value string
		was         string // the value that the load balancer was made with
		cfg         *config.Config
	}{
		{annotation.Internal, "True", "true", conf()},
		{annotation.ForwardedFor, "True", "true", conf()},
		{annotation.ProxyProtocol, "V2", "v2", conf()},
		{annotation.Monitor, "False", "false", withMonitors},
		{annotation.Monitor, "True", "true", conf()},
		{annotation.MonitorDelay, "30s", "30", withMonitors},
		{annotation.MonitorTimeout, "0", "2", withMonitors},
		{annotation.MonitorRetries, "two", "2", withMonitors},
		{annotation.MonitorDown, "-1", "7", withMonitors},
		{annotation.ConnLimit, "1k", "1000", conf()},
		{annotation.ClientData, "5s", "5000", conf()},
		{annotation.Method, "RANDOM", "SOURCE_IP", conf()},
		{annotation.Method, "SOURCE_IP_PORT", "SOURCE_IP", conf()}, // amphora has none
	} {
		svc := service(annotated(test.name, test.value))
		s := desire.OnExisting(settings(t, svc, test.cfg), today())
		want := desire.LoadBalancer(svc, ownership.Identity{}, s, nil, desire.Facts{Driver: today()})
		before := desired(t, service(annotated(test.name, test.was)), test.cfg, today())
		refused(t, desire.Unsettled(s, want, before), test.name, `"`+test.value+`"`, "would change the load balancer")
		byDefault := desired(t, service(), test.cfg, today())
		if errs := desire.Unsettled(s, want, byDefault); len(errs) > 0 {
			t.Errorf("%s=%s: a load balancer with the default is not served: %v", test.name, test.value, errs)
		}
	}
}

// Nobody's typing error adds the monitors that the policy Local needs.
func TestMonitorsOfThePolicyLocalAreNoTypingError(t *testing.T) {
	t.Parallel()
	svc := service(local, annotated(annotation.Monitor, "True"))
	s := desire.OnExisting(settings(t, svc, conf()), today())
	want := desire.LoadBalancer(svc, ownership.Identity{}, s, nil, desire.Facts{Driver: today()})
	without := desired(t, service(local, annotated(annotation.Monitor, "false")), conf(), today())
	if errs := desire.Unsettled(s, want, without); len(errs) > 0 {
		t.Error(errs)
	}
}

// What a provider does not have stops no load balancer that is there.
func TestWhatTheProviderLacksIsLeftOutOnALoadBalancerThatExists(t *testing.T) {
	t.Parallel()
	ovn := driver.Of("ovn", octavia.Version{Major: 2, Minor: 30})
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	for what, svc := range map[string]*v1.Service{
		"algorithm":     service(annotated(annotation.Method, "ROUND_ROBIN")),
		"port":          service(annotated(annotation.PortID, "8a7c2e56-8b0f-4b9e-9c0e-0d6c3c5f5f01")),
		"source ranges": service(ranges),
	} {
		s := settings(t, svc, conf())
		if errs := desire.Validate(svc, s, ovn); len(errs) != 1 {
			t.Errorf("%s: a new load balancer is not refused: %v", what, errs)
		}
		existing := desire.OnExisting(s, ovn)
		if errs := desire.Validate(svc, existing, ovn); len(errs) > 0 {
			t.Errorf("%s: %v", what, errs)
		}
		made := desire.LoadBalancer(svc, ownership.Identity{}, existing, nil, desire.Facts{Driver: ovn})
		if pool := made.Listeners[0].Pool; pool.Algorithm != "SOURCE_IP_PORT" || made.VIP.PortID != "" {
			t.Errorf("%s: algorithm %s, port %s", what, pool.Algorithm, made.VIP.PortID)
		}
		if notices := desire.Ineffective(svc, s, ovn); len(notices) != 1 {
			t.Errorf("%s: notices %v", what, notices)
		}
	}
	s, have := settings(t, service(ranges), conf()), desired(t, service(), conf(), ovn)
	want := desired(t, service(ports(port(v1.ProtocolTCP, 80), port(v1.ProtocolTCP, 443))), conf(), ovn)
	refused(t, desire.Opens(s, ovn, want, have), "spec.loadBalancerSourceRanges", "TCP/443", "ask the cluster's operator")
	if errs := desire.Opens(s, ovn, have, have); len(errs) > 0 {
		t.Errorf("nothing is opened: %v", errs)
	}
	if errs := desire.Opens(s, ovn, &model.LoadBalancer{}, have); len(errs) > 0 {
		t.Errorf("a port is closed: %v", errs)
	}
}
