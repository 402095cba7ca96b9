package settings_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A new Service is served with the default that cloud-provider-openstack uses, with a notice;
// values that OpenStack refuses are refused.
func TestParse_ReportsMalformedValueAndTakesItsDefault(t *testing.T) {
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
		{annotation.ConnLimit, "many", "the default of the cloud's operator", false},
		{annotation.TCPInspect, "1s", "12", false},
		{annotation.Method, "RANDOM", "SOURCE_IP", true},
	} {
		cfg := fixture.Config(func(c *config.LoadBalancer) {
			c.CreateMonitor, c.MonitorDelay, c.TimeoutTCPInspect, c.LBMethod = true, fixture.Seconds(7), ptr(12), "SOURCE_IP"
		})
		s, notices, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(test.name, test.value)), cfg)
		if len(errs) > 0 {
			t.Errorf("%s=%s: %v", test.name, test.value, errs)
		}
		errs = s.For(fixture.Amphora()).Validate()
		if test.newRefused {
			fixture.AssertRefused(t, errs, test.name, test.value, "allowed: ")
			s, notices = s.For(fixture.Amphora()).OnExisting(), s.For(fixture.Amphora()).Unused()
			errs = s.For(fixture.Amphora()).Validate()
		}
		if len(errs) > 0 || len(notices) != 1 {
			t.Errorf("%s=%s: errors %v, notices %v", test.name, test.value, errs, notices)
			continue
		}
		for _, word := range []string{test.value, "Allowed: ", "invalid; using " + test.instead} {
			if notices[0].Annotation != test.name || !strings.Contains(notices[0].Message, word) {
				t.Errorf("%s: %q says nothing of %q", notices[0].Annotation, notices[0].Message, word)
			}
		}
	}
}

// What stands in place of a malformed value changes nothing of a load balancer that
// cloud-provider-openstack made with that very default; one that was made with a value
// that is a typing error by now does not change by it either.
func TestUnsettled_FindsWhatMalformedValueWouldChange(t *testing.T) {
	t.Parallel()
	withMonitors := fixture.Config(func(c *config.LoadBalancer) { c.CreateMonitor = true })
	for _, test := range []struct {
		name, value string
		was         string // the value that the load balancer was made with
		cfg         *config.Config
	}{
		{annotation.Internal, "True", "true", fixture.Config()},
		{annotation.ForwardedFor, "True", "true", fixture.Config()},
		{annotation.ProxyProtocol, "V1", "v1", fixture.Config()},
		{annotation.ProxyProtocol, "V2", "v2", fixture.Config()},
		{annotation.Monitor, "False", "false", withMonitors},
		{annotation.Monitor, "True", "true", fixture.Config()},
		{annotation.MonitorDelay, "30s", "30", withMonitors},
		{annotation.MonitorTimeout, "0", "2", withMonitors},
		{annotation.MonitorRetries, "two", "2", withMonitors},
		{annotation.MonitorDown, "-1", "7", withMonitors},
		{annotation.ConnLimit, "1k", "1000", fixture.Config()},
		{annotation.ClientData, "5s", "5000", fixture.Config()},
		{annotation.Method, "RANDOM", "SOURCE_IP", fixture.Config()},
		{annotation.Method, "SOURCE_IP_PORT", "SOURCE_IP", fixture.Config()}, // amphora has none
	} {
		svc := fixture.Service(fixture.Annotated(test.name, test.value))
		s := fixture.Settings(t, svc, test.cfg).For(fixture.Amphora()).OnExisting()
		want := desire.LoadBalancer(ownership.Identity{}, s, nil, desire.Facts{Driver: fixture.Amphora()})
		before := fixture.Desired(t, fixture.Service(fixture.Annotated(test.name, test.was)), test.cfg, fixture.Amphora())
		fixture.AssertRefused(t, s.Unsettled(want, before), test.name, `"`+test.value+`"`, "would change the load balancer")
		byDefault := fixture.Desired(t, fixture.Service(), test.cfg, fixture.Amphora())
		if errs := s.Unsettled(want, byDefault); len(errs) > 0 {
			t.Errorf("%s=%s: a load balancer with the default is not served: %v", test.name, test.value, errs)
		}
	}
}

// A malformed value does not prevent the monitors that the policy Local needs.
func TestUnsettled_IgnoresMonitorsOfPolicyLocal(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Local, fixture.Annotated(annotation.Monitor, "True"))
	s := fixture.Settings(t, svc, fixture.Config()).For(fixture.Amphora()).OnExisting()
	want := desire.LoadBalancer(ownership.Identity{}, s, nil, desire.Facts{Driver: fixture.Amphora()})
	without := fixture.Desired(t, fixture.Service(fixture.Local, fixture.Annotated(annotation.Monitor, "false")), fixture.Config(), fixture.Amphora())
	if errs := s.Unsettled(want, without); len(errs) > 0 {
		t.Error(errs)
	}
}

// A value that concerns no part of the load balancer leaves it in operation, with and without monitors.
func TestUnsettled_IgnoresValuesThatChangeNoPart(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		cfg := fixture.Config(func(c *config.LoadBalancer) { c.CreateMonitor = on })
		lb := fixture.Desired(t, fixture.Service(), cfg, fixture.Amphora())
		for _, name := range []string{annotation.KeepFloatingIP, annotation.MonitorDelay, annotation.MonitorRetries, annotation.Internal} {
			s, _, _ := fixture.Parse(t, fixture.Service(fixture.Annotated(name, "x")), cfg)
			if errs := s.Unsettled(lb, lb); len(s.Malformed) != 1 || len(errs) > 0 {
				t.Errorf("%s, monitors %v: malformed %v, errors %v", name, on, s.Malformed, errs)
			}
		}
	}
}

// What a provider does not have stops no load balancer that is there.
func TestOnExisting_OmitsWhatProviderLacks(t *testing.T) {
	t.Parallel()
	ovn := driver.Of("ovn", model.Version{Major: 2, Minor: 30})
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	for what, svc := range map[string]*v1.Service{
		"algorithm":     fixture.Service(fixture.Annotated(annotation.Method, "ROUND_ROBIN")),
		"port":          fixture.Service(fixture.Annotated(annotation.PortID, "8a7c2e56-8b0f-4b9e-9c0e-0d6c3c5f5f01")),
		"source ranges": fixture.Service(ranges),
	} {
		s := fixture.Settings(t, svc, fixture.Config())
		if errs := s.For(ovn).Validate(); len(errs) != 1 {
			t.Errorf("%s: a new load balancer is not refused: %v", what, errs)
		}
		existing := s.For(ovn).OnExisting()
		if errs := existing.For(ovn).Validate(); len(errs) > 0 {
			t.Errorf("%s: %v", what, errs)
		}
		made := desire.LoadBalancer(ownership.Identity{}, existing, nil, desire.Facts{Driver: ovn})
		if pool := made.Listeners[0].Pool; pool.Algorithm != "SOURCE_IP_PORT" || made.VIP.PortID != "" {
			t.Errorf("%s: algorithm %s, port %s", what, pool.Algorithm, made.VIP.PortID)
		}
		if notices := s.For(ovn).Unused(); len(notices) != 1 {
			t.Errorf("%s: notices %v", what, notices)
		}
	}
	s, have := fixture.Settings(t, fixture.Service(ranges), fixture.Config()), fixture.Desired(t, fixture.Service(), fixture.Config(), ovn)
	want := fixture.Desired(t, fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 443))), fixture.Config(), ovn)
	fixture.AssertRefused(t, s.For(ovn).Opens(want, have), "spec.loadBalancerSourceRanges", "TCP/443", "ask the cluster's operator")
	if errs := s.For(ovn).Opens(have, have); len(errs) > 0 {
		t.Errorf("nothing is opened: %v", errs)
	}
	if errs := s.For(ovn).Opens(&model.LoadBalancer{}, have); len(errs) > 0 {
		t.Errorf("a port is closed: %v", errs)
	}
}
