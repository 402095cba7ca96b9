package settings_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestMonitor_HasTypeForPolicyProtocolAndProvider(t *testing.T) {
	t.Parallel()
	v := func(minor int) model.Version { return model.Version{Major: 2, Minor: minor} }
	amphora, old, ovn := driver.Of("amphora", v(23)), driver.Of("amphora", v(15)), driver.Of("ovn", v(30))
	tcp, udp, sctp := fixture.Ports(fixture.Port(v1.ProtocolTCP, 53)), fixture.Ports(fixture.Port(v1.ProtocolUDP, 53)), fixture.Ports(fixture.Port(v1.ProtocolSCTP, 53))
	asked, kubeProxy := fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorKubeProxy, "true")
	for _, test := range []struct {
		what string
		svc  *v1.Service
		drv  driver.Driver
		want string
		port int // that members are asked on; 0 is the NodePort
	}{
		{"Local, TCP", fixture.Service(fixture.Local, tcp), amphora, "HTTP", 31000},
		{"Local, UDP, Octavia 6.0", fixture.Service(fixture.Local, udp), amphora, "HTTP", 31000},
		{"Local, UDP, older", fixture.Service(fixture.Local, udp), old, "UDP-CONNECT", 0},
		{"Local, TCP, older", fixture.Service(fixture.Local, tcp), old, "HTTP", 31000},
		{"Local, TCP, ovn", fixture.Service(fixture.Local, tcp), ovn, "TCP", 0},
		{"Local, UDP, ovn", fixture.Service(fixture.Local, udp), ovn, "UDP-CONNECT", 0},
		{"Local, monitors switched off", fixture.Service(fixture.Local, tcp, fixture.Annotated(annotation.Monitor, "false")), amphora, "", 0},
		{"Local, another path", fixture.Service(fixture.Local, tcp, fixture.Annotated(annotation.MonitorPath, "/live")), amphora, "HTTP", 0},
		{"Local, another port", fixture.Service(fixture.Local, tcp, fixture.Annotated(annotation.MonitorPort, "8080")), amphora, "TCP", 8080},
		{"Local, another type", fixture.Service(fixture.Local, tcp, fixture.Annotated(annotation.MonitorType, "TCP")), amphora, "TCP", 0},
		{"Local, kube-proxy asked for", fixture.Service(fixture.Local, tcp, kubeProxy), amphora, "HTTP", 31000},
		{"Cluster, kube-proxy, TCP", fixture.Service(tcp, asked, kubeProxy), amphora, "HTTP", 10256},
		{"Cluster, kube-proxy, UDP", fixture.Service(udp, asked, kubeProxy), amphora, "HTTP", 10256},
		{"Cluster, kube-proxy, UDP, older", fixture.Service(udp, asked, kubeProxy), old, "UDP-CONNECT", 0},
		{"Cluster, kube-proxy elsewhere", fixture.Service(tcp, asked, kubeProxy, fixture.Annotated(annotation.MonitorPort, "10356")), amphora, "HTTP", 10356},
		{"Cluster, kube-proxy, monitors not asked for", fixture.Service(tcp, kubeProxy), amphora, "", 0},
		{"Cluster, a type", fixture.Service(tcp, asked, fixture.Annotated(annotation.MonitorType, "tls-hello")), amphora, "TLS-HELLO", 0},
		{"Cluster, codes", fixture.Service(tcp, asked, fixture.Annotated(annotation.MonitorCodes, "200-299")), amphora, "HTTP", 0},
		{"Cluster, a port", fixture.Service(udp, asked, fixture.Annotated(annotation.MonitorPort, "8080")), amphora, "UDP-CONNECT", 8080},
		{"Cluster, HTTP at a port, UDP", fixture.Service(udp, asked, fixture.Annotated(annotation.MonitorType, "HTTP"), fixture.Annotated(annotation.MonitorPort, "8080")), amphora, "HTTP", 8080},
		{"Cluster, TCP, asked for", fixture.Service(tcp, asked), amphora, "TCP", 0},
		{"Cluster, UDP, asked for", fixture.Service(udp, asked), amphora, "UDP-CONNECT", 0},
		{"Cluster, UDP, asked for, ovn", fixture.Service(udp, asked), ovn, "UDP-CONNECT", 0},
		{"Cluster, SCTP, asked for", fixture.Service(sctp, asked), amphora, "SCTP", 0},
		{"Cluster, SCTP, asked for, ovn, which has none", fixture.Service(sctp, asked), ovn, "", 0},
		{"Local, SCTP", fixture.Service(fixture.Local, sctp), amphora, "HTTP", 31000},
		{"Cluster, not asked for", fixture.Service(tcp), amphora, "", 0},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			pool := fixture.Desired(t, test.svc, fixture.Config(asking("8080,10356")), test.drv).Listeners[0].Pool
			kind := ""
			if pool.Monitor != nil {
				kind = pool.Monitor.Type
			}
			if kind != test.want || pool.Members.At(0).MonitorPort != test.port {
				t.Errorf("monitor %q on port %d, want %q on %d", kind, pool.Members.At(0).MonitorPort, test.want, test.port)
			}
		})
	}
}

// TestMonitor_HasRequestedTypeOnlyForPortsThatItFits keeps the type that a Service names
// from taking down ports that cannot be probed like that.
func TestMonitor_HasRequestedTypeOnlyForPortsThatItFits(t *testing.T) {
	t.Parallel()
	both := fixture.Ports(fixture.Port(v1.ProtocolTCP, 53), fixture.Port(v1.ProtocolUDP, 53))
	for kind, want := range map[string][2]string{
		"HTTP": {"HTTP", "UDP-CONNECT"}, "PING": {"PING", "UDP-CONNECT"}, "UDP-CONNECT": {"TCP", "UDP-CONNECT"},
	} {
		lb := fixture.Desired(t, fixture.Service(both, fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorType, kind)), fixture.Config(), fixture.Amphora())
		for i, l := range lb.Listeners {
			if l.Pool.Monitor.Type != want[i] {
				t.Errorf("%s: %s gets %s, want %s", kind, l.Key(), l.Pool.Monitor.Type, want[i])
			}
		}
	}
}

func TestMonitor_NamesAllHTTPFieldsThatOctaviaWouldFillIn(t *testing.T) {
	t.Parallel()
	m := fixture.Desired(t, fixture.Service(fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorType, "HTTPS")), fixture.Config(), fixture.Amphora()).Listeners[0].Pool.Monitor
	if m.HTTPMethod != "GET" || m.URLPath != "/" || m.ExpectedCodes != "200" {
		t.Errorf("%+v", m)
	}
	m = fixture.Desired(t, fixture.Service(fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorPath, "/live"), fixture.Annotated(annotation.MonitorMethod, "head"),
		fixture.Annotated(annotation.MonitorCodes, "200,204")), fixture.Config(), fixture.Amphora()).Listeners[0].Pool.Monitor
	if m.HTTPMethod != "HEAD" || m.URLPath != "/live" || m.ExpectedCodes != "200,204" || m.Type != "HTTP" {
		t.Errorf("%+v", m)
	}
}

func TestValidate_RefusesImpossibleMonitors(t *testing.T) {
	t.Parallel()
	on := fixture.Annotated(annotation.Monitor, "true")
	udp := fixture.Ports(fixture.Port(v1.ProtocolUDP, 53))
	v := func(minor int) model.Version { return model.Version{Major: 2, Minor: minor} }
	ovn := driver.Of("ovn", v(30))
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		drv   driver.Driver
		words []string
	}{
		{"HTTP on ovn", fixture.Service(on, fixture.Annotated(annotation.MonitorType, "HTTP")), ovn, []string{annotation.MonitorType, `"HTTP"`, `"TCP", "UDP-CONNECT"`}},
		{"a path on ovn", fixture.Service(on, fixture.Annotated(annotation.MonitorPath, "/")), ovn, []string{annotation.MonitorPath, "ovn has no HTTP monitors"}},
		{"a port on ovn", fixture.Service(on, fixture.Annotated(annotation.MonitorPort, "30080")), ovn, []string{annotation.MonitorPort, "ovn has no health monitors that ask at another port"}},
		{"HTTP 1.1 on an old Octavia", fixture.Service(on, fixture.Annotated(annotation.MonitorVersion, "1.1")), driver.Of("amphora", v(9)), []string{annotation.MonitorVersion, "v2.9", "v2.10"}},
		{"a host by HTTP 1.0", fixture.Service(on, fixture.Annotated(annotation.MonitorVersion, "1.0"), fixture.Annotated(annotation.MonitorDomain, "a")), fixture.Amphora(), []string{annotation.MonitorDomain, "1.1"}},
		{"Local with SCTP on ovn", fixture.Service(fixture.Local, fixture.Ports(fixture.Port(v1.ProtocolSCTP, 53))), ovn, []string{"spec.ports[0].protocol", "ovn has none for SCTP", annotation.Monitor}},
		{"kube-proxy on ovn", fixture.Service(on, fixture.Annotated(annotation.MonitorKubeProxy, "true")), ovn, []string{annotation.MonitorKubeProxy, "ovn has no"}},
		{"kube-proxy and a type", fixture.Service(on, fixture.Annotated(annotation.MonitorKubeProxy, "true"), fixture.Annotated(annotation.MonitorType, "TCP")), fixture.Amphora(), []string{annotation.MonitorKubeProxy, "only one"}},
		{"a path for TCP", fixture.Service(on, fixture.Annotated(annotation.MonitorPath, "/"), fixture.Annotated(annotation.MonitorType, "TCP")), fixture.Amphora(), []string{annotation.MonitorPath, "type TCP"}},
		{"UDP-CONNECT without UDP", fixture.Service(on, fixture.Annotated(annotation.MonitorType, "UDP-CONNECT")), fixture.Amphora(), []string{annotation.MonitorType, "ports of UDP"}},
		{"SCTP without SCTP", fixture.Service(on, fixture.Annotated(annotation.MonitorType, "SCTP")), fixture.Amphora(), []string{annotation.MonitorType, "ports of SCTP"}},
		{"HTTP without TCP", fixture.Service(on, udp, fixture.Annotated(annotation.MonitorType, "HTTP")), fixture.Amphora(), []string{annotation.MonitorType, annotation.MonitorPort}},
		{"HTTPS without TCP", fixture.Service(on, udp, fixture.Annotated(annotation.MonitorType, "HTTPS"), fixture.Annotated(annotation.MonitorPort, "10256")), fixture.Amphora(), []string{annotation.MonitorType, "ports of TCP"}},
		{"HTTP for UDP on an old Octavia", fixture.Service(on, udp, fixture.Annotated(annotation.MonitorType, "HTTP"), fixture.Annotated(annotation.MonitorPort, "10256")), driver.Of("amphora", v(15)), []string{annotation.MonitorType, "v2.16"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			fixture.AssertRefused(t, fixture.Settings(t, test.svc, fixture.Config()).For(test.drv).Validate(), test.words...)
		})
	}
}

// asking lets monitors ask more ports than the Service's own.
func asking(ports string) func(*config.LoadBalancer) {
	return func(c *config.LoadBalancer) { c.MonitorPorts = ports }
}

func TestMonitor_AllowsOnlyPortsOfService(t *testing.T) {
	t.Parallel()
	two := fixture.Ports(fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolUDP, 53))
	kubeProxy := fixture.Annotated(annotation.MonitorKubeProxy, "true")
	for _, test := range []struct {
		what    string
		svc     *v1.Service
		listed  string // in monitor-ports
		port    string
		allowed bool
	}{
		{"its NodePort", fixture.Service(two), "", "30080", true},
		{"another of its NodePorts", fixture.Service(two), "", "30053", true},
		{"its healthCheckNodePort", fixture.Service(two, fixture.Local), "", "31000", true},
		{"kube-proxy's healthz", fixture.Service(two), "", "10256", true},
		{"one that cloud.conf lists", fixture.Service(two), "8080,9000-9099", "9050", true},
		{"one that cloud.conf does not list", fixture.Service(two), "8080,9000-9099", "9100", false},
		{"the kubelet", fixture.Service(two), "", "10250", false},
		{"the kubelet, by the name of kube-proxy", fixture.Service(two, kubeProxy), "", "10250", false},
		{"etcd", fixture.Service(two), "", "2379", false},
		{"another Service's NodePort", fixture.Service(two), "", "30081", false},
		{"another Service's healthCheckNodePort", fixture.Service(two), "", "31000", false},
		{"the kubelet, without a monitor", fixture.Service(fixture.Annotated(annotation.Monitor, "false")), "", "10250", true},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if test.svc.Annotations[annotation.Monitor] == "" {
				test.svc.Annotations[annotation.Monitor] = "true"
			}
			test.svc.Annotations[annotation.MonitorPort] = test.port
			errs := fixture.Settings(t, test.svc, fixture.Config(asking(test.listed))).For(fixture.Amphora()).Validate()
			if test.allowed {
				if len(errs) > 0 {
					t.Error(errs.ToAggregate())
				}
				return
			}
			fixture.AssertRefused(t, errs, annotation.MonitorPort, test.port, "NodePort", "healthCheckNodePort", "10256", "monitor-ports")
		})
	}
}

func TestMonitor_AllowsOnlyMethodsThatChangeNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "head", "OPTIONS"} {
		fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.MonitorMethod, method)), fixture.Config())
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE"} {
		_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.MonitorMethod, method)), fixture.Config())
		fixture.AssertRefused(t, errs, annotation.MonitorMethod, method, "GET, HEAD, OPTIONS")
	}
}

// TestMonitor_IgnoresKubeProxyOfCloudConfWhereItDoesNotFit keeps a key that is for all Services from
// breaking those that cannot follow it.
func TestMonitor_IgnoresKubeProxyOfCloudConfWhereItDoesNotFit(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config(func(c *config.LoadBalancer) { c.CreateMonitor, c.MonitorKubeProxy = true, true })
	ovn := driver.Of("ovn", model.Version{Major: 2, Minor: 30})
	for _, test := range []struct {
		what string
		svc  *v1.Service
		drv  driver.Driver
		want string
	}{
		{"amphora", fixture.Service(), fixture.Amphora(), "HTTP /healthz"},
		{"ovn", fixture.Service(), ovn, "TCP "},
		{"a Service that says no", fixture.Service(fixture.Annotated(annotation.MonitorKubeProxy, "false")), fixture.Amphora(), "TCP "},
		{"a Service with a monitor of its own", fixture.Service(fixture.Annotated(annotation.MonitorPath, "/live")), fixture.Amphora(), "HTTP /live"},
	} {
		m := fixture.Desired(t, test.svc, cfg, test.drv).Listeners[0].Pool.Monitor
		if got := m.Type + " " + m.URLPath; got != test.want {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
	}
}

func TestParse_ReportsMonitorSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, told string
		svc        *v1.Service
	}{
		{"a delay without monitors", "has no effect", fixture.Service(fixture.Annotated(annotation.MonitorDelay, "9"))},
		{"a path without monitors", "has no effect", fixture.Service(fixture.Annotated(annotation.MonitorPath, "/"))},
		{"Local without monitors", "drop them", fixture.Service(fixture.Local, fixture.Annotated(annotation.Monitor, "false"))},
		{"probes that overlap", "overlap", fixture.Service(fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorTimeout, "9"))},
	} {
		_, notices, errs := fixture.Parse(t, test.svc, fixture.Config())
		if len(errs) > 0 || len(notices) != 1 || !strings.Contains(notices[0].Message, test.told) {
			t.Errorf("%s: errors %v, notices %v", test.what, errs, notices)
		}
	}
	asLong := fixture.Service(fixture.Annotated(annotation.Monitor, "true"), fixture.Annotated(annotation.MonitorTimeout, "5"))
	if _, notices, _ := fixture.Parse(t, asLong, fixture.Config()); len(notices) > 0 {
		t.Errorf("probes that may take until the next one: %v", notices)
	}
	if _, notices, _ := fixture.Parse(t, fixture.Service(fixture.Local, fixture.Annotated(annotation.MonitorDelay, "9")), fixture.Config()); len(notices) > 0 {
		t.Errorf("with monitors: %v", notices)
	}
}

// TestUnused_ReportsDatagramsThatPolicyLocalLoses is about monitors to which silence is
// health.
func TestUnused_ReportsDatagramsThatPolicyLocalLoses(t *testing.T) {
	t.Parallel()
	v := func(minor int) model.Version { return model.Version{Major: 2, Minor: minor} }
	udp := fixture.Ports(fixture.Port(v1.ProtocolUDP, 53))
	for what, test := range map[string]struct {
		svc  *v1.Service
		drv  driver.Driver
		told bool
	}{
		"ovn":                         {fixture.Service(udp, fixture.Local), driver.Of("ovn", v(30)), true},
		"ovn and TCP":                 {fixture.Service(fixture.Local), driver.Of("ovn", v(30)), false},
		"ovn and the policy Cluster":  {fixture.Service(udp, fixture.Annotated(annotation.Monitor, "true")), driver.Of("ovn", v(30)), false},
		"amphora, which asks by HTTP": {fixture.Service(udp, fixture.Local), fixture.Amphora(), false},
		"amphora of old, which can't": {fixture.Service(udp, fixture.Local), driver.Of("amphora", v(15)), true},
	} {
		notices := fixture.Settings(t, test.svc, fixture.Config()).For(test.drv).Unused()
		told := slices.ContainsFunc(notices, func(n annotation.Notice) bool { return strings.Contains(n.Message, "loses datagrams") })
		if told != test.told {
			t.Errorf("%s: told %v, want %v", what, notices, test.told)
		}
	}
}

func TestUnused_ReportsSessionAffinityWithoutEffect(t *testing.T) {
	t.Parallel()
	ovn := func(minor int) driver.Driver { return driver.Of("ovn", model.Version{Major: 2, Minor: minor}) }
	affine := func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP }
	udp := fixture.Ports(fixture.Port(v1.ProtocolUDP, 53))
	both := fixture.Ports(fixture.Port(v1.ProtocolUDP, 53), fixture.Port(v1.ProtocolTCP, 53))
	for what, test := range map[string]struct {
		svc  *v1.Service
		drv  driver.Driver
		told string
	}{
		"ovn that ignores all of it": {fixture.Service(udp, affine), ovn(26), "ClientIP has no effect: "},
		"ovn and TCP":                {fixture.Service(affine), ovn(30), "ClientIP has no effect on TCP ports"},
		"ovn, TCP and UDP":           {fixture.Service(both, affine), ovn(30), "ClientIP has no effect on TCP ports"},
		"ovn and UDP":                {fixture.Service(udp, affine), ovn(30), ""},
		"ovn without affinity":       {fixture.Service(), ovn(30), ""},
		"amphora":                    {fixture.Service(both, affine), fixture.Amphora(), ""},
	} {
		told := ""
		for _, n := range fixture.Settings(t, test.svc, fixture.Config()).For(test.drv).Unused() {
			if n.Annotation == "spec.sessionAffinity" {
				told += n.Message
			}
		}
		if !strings.HasPrefix(told, test.told) || told != "" && test.told == "" {
			t.Errorf("%s: reported %q, want %q", what, told, test.told)
		}
	}
}
