package settings_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestOfPort_IsServiceWithSettingsOfPort(t *testing.T) {
	t.Parallel()
	web, dns := fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 53)
	s := fixture.Settings(t, fixture.Service(fixture.Ports(web, dns),
		fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorPath, "/live"), fixture.Annotated(annotation.Method, "SOURCE_IP"),
		fixture.Annotated(annotation.MonitorPath+"."+web.Name, "/ready"), fixture.Annotated(annotation.ProxyProtocol+".80", "v2"),
	), fixture.Config())
	if s.OfPort(dns) != s {
		t.Error("a port without settings of its own has others than the Service")
	}
	of := s.OfPort(web)
	if of.Monitor.Path != "/ready" || of.Listeners.Proxy != model.ProxyV2 || of.Pools.Algorithm != "SOURCE_IP" {
		t.Errorf("path %s, PROXY %q, algorithm %s", of.Monitor.Path, of.Listeners.Proxy, of.Pools.Algorithm)
	}
	if s.Monitor.Path != "/live" || s.Listeners.Proxy != "" || len(s.Traffic.Ports) != 2 {
		t.Errorf("the settings of the Service have changed: %+v", s)
	}
	if errs := s.For(fixture.Amphora()).Validate(); len(errs) > 0 {
		t.Error(errs)
	}
}

// Ports of TCP and UDP with one number share its settings, as far as they have an effect.
func TestOfPort_IsByNumberForAllProtocols(t *testing.T) {
	t.Parallel()
	tcp, udp := fixture.Port(v1.ProtocolTCP, 53), fixture.Port(v1.ProtocolUDP, 53)
	s := fixture.Settings(t, fixture.Service(fixture.Ports(tcp, udp), fixture.Annotated(annotation.ProxyProtocol+".53", "v1")), fixture.Config())
	for _, test := range []struct {
		port v1.ServicePort
		want model.Protocol
	}{{tcp, model.Proxy}, {udp, model.UDP}} {
		of := s.OfPort(test.port)
		if got := of.Listeners.PoolProtocol(of.Listeners.Protocol(test.port)); got != test.want {
			t.Errorf("%s: pool of %s, want %s", test.port.Protocol, got, test.want)
		}
	}
	if errs := s.For(fixture.Amphora()).Validate(); len(errs) > 0 {
		t.Error(errs)
	}
}

// A port with a type of its own gets no values of the Service for another type, and may use others.
func TestOfPort_DropsValuesForOtherTypes(t *testing.T) {
	t.Parallel()
	web, raw := fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 81)
	s := fixture.Settings(t, fixture.Service(fixture.Ports(web, raw),
		fixture.Annotated(annotation.Protocols, "80=HTTP,81=HTTP"), fixture.Annotated(annotation.Monitor, "true"),
		fixture.Annotated(annotation.MonitorPath, "/live"), fixture.Annotated(annotation.MonitorDomain, "example.org"), fixture.Annotated(annotation.MonitorType+".81", "TCP"),
		fixture.Annotated(annotation.Persistence, "APP_COOKIE"), fixture.Annotated(annotation.CookieName, "sid"), fixture.Annotated(annotation.Persistence+".81", "HTTP_COOKIE"),
	), fixture.Config())
	if errs := s.For(fixture.Amphora()).Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	if of := s.OfPort(raw); of.Monitor.Path != "" || of.Monitor.DomainName != "" || of.Pools.CookieName != "" {
		t.Errorf("monitor %+v, cookie %q", of.Monitor.Probe, of.Pools.CookieName)
	}
	s = fixture.Settings(t, fixture.Service(fixture.Ports(web, raw),
		fixture.Annotated(annotation.Protocols, "80=HTTP"), fixture.Annotated(annotation.CookieName, "sid"), fixture.Annotated(annotation.Persistence+".80", "APP_COOKIE"),
	), fixture.Config())
	if errs := s.For(fixture.Amphora()).Validate(); len(errs) > 0 || s.OfPort(web).Pools.CookieName != "sid" {
		t.Errorf("%v, cookie %q", errs, s.OfPort(web).Pools.CookieName)
	}
}

// A port that has its number as its name is not named twice.
func TestOfPort_AllowsNumberAsName(t *testing.T) {
	t.Parallel()
	web := fixture.Port(v1.ProtocolTCP, 80)
	web.Name = "80"
	s := fixture.Settings(t, fixture.Service(fixture.Ports(web), fixture.Annotated(annotation.ProxyProtocol+".80", "v2")), fixture.Config())
	if errs := s.For(fixture.Amphora()).Validate(); len(errs) > 0 || s.OfPort(web).Listeners.Proxy != model.ProxyV2 {
		t.Errorf("%v, PROXY %q", errs, s.OfPort(web).Listeners.Proxy)
	}
}

// PROXY headers and the request header with the client's address exclude each other at a port that has both,
// not at others.
func TestValidate_RefusesClientAddressTwiceByPort(t *testing.T) {
	t.Parallel()
	web, raw := fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 81)
	for _, test := range []struct {
		exempt  string
		refused bool
	}{{"", true}, {"80", false}, {web.Name, false}, {"81", true}} {
		svc := fixture.Service(fixture.Ports(web, raw), fixture.Annotated(annotation.Protocols, "80=HTTP,81=TCP"),
			fixture.Annotated(annotation.ForwardedFor, "true"), fixture.Annotated(annotation.ProxyProtocol, "v2"))
		if test.exempt != "" {
			svc.Annotations[annotation.ProxyProtocol+"."+test.exempt] = "false"
		}
		errs := fixture.Settings(t, svc, fixture.Config()).For(fixture.Amphora()).Validate()
		if test.refused {
			fixture.AssertRefused(t, errs, annotation.ForwardedFor, "choose one of the two")
		} else if len(errs) > 0 {
			t.Errorf("exempt %q: %v", test.exempt, errs)
		}
	}
}

// The cookie of APP_COOKIE may be named for each port that reads it.
func TestValidate_AcceptsCookiesOfPortsWithoutCommonOne(t *testing.T) {
	t.Parallel()
	web, admin, raw := fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 81), fixture.Port(v1.ProtocolTCP, 82)
	svc := fixture.Service(fixture.Ports(web, admin, raw), fixture.Annotated(annotation.Protocols, "80=HTTP,81=HTTP"),
		fixture.Annotated(annotation.Persistence, "APP_COOKIE"), fixture.Annotated(annotation.CookieName+".80", "web"))
	fixture.AssertRefused(t, fixture.Settings(t, svc, fixture.Config()).For(fixture.Amphora()).Validate(), annotation.CookieName, "APP_COOKIE")
	svc.Annotations[annotation.CookieName+".81"] = "admin"
	s := fixture.Settings(t, svc, fixture.Config())
	if errs := s.For(fixture.Amphora()).Validate(); len(errs) > 0 || s.OfPort(web).Pools.CookieName != "web" {
		t.Errorf("%v, cookie %q", errs, s.OfPort(web).Pools.CookieName)
	}
}
