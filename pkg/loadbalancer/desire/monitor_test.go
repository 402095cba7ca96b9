package desire_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

func TestMonitorType(t *testing.T) {
	t.Parallel()
	v := func(minor int) octavia.Version { return octavia.Version{Major: 2, Minor: minor} }
	amphora, old, ovn := driver.Of("amphora", v(23)), driver.Of("amphora", v(15)), driver.Of("ovn", v(30))
	tcp, udp, sctp := ports(port(v1.ProtocolTCP, 53)), ports(port(v1.ProtocolUDP, 53)), ports(port(v1.ProtocolSCTP, 53))
	asked, kubeProxy := annotated(annotation.Monitor, "true"), annotated(annotation.MonitorKubeProxy, "true")
	for _, test := range []struct {
		what string
		svc  *v1.Service
		drv  driver.Driver
		want string
		port int // that members are asked on; 0 is the NodePort
	}{
		{"Local, TCP", service(local, tcp), amphora, "HTTP", 31000},
		{"Local, UDP, Octavia 6.0", service(local, udp), amphora, "HTTP", 31000},
		{"Local, UDP, older", service(local, udp), old, "UDP-CONNECT", 0},
		{"Local, TCP, older", service(local, tcp), old, "HTTP", 31000},
		{"Local, TCP, ovn", service(local, tcp), ovn, "TCP", 0},
		{"Local, UDP, ovn", service(local, udp), ovn, "UDP-CONNECT", 0},
		{"Local, monitors switched off", service(local, tcp, annotated(annotation.Monitor, "false")), amphora, "", 0},
		{"Local, another path", service(local, tcp, annotated(annotation.MonitorPath, "/live")), amphora, "HTTP", 0},
		{"Local, another port", service(local, tcp, annotated(annotation.MonitorPort, "8080")), amphora, "TCP", 8080},
		{"Local, another type", service(local, tcp, annotated(annotation.MonitorType, "TCP")), amphora, "TCP", 0},
		{"Local, kube-proxy asked for", service(local, tcp, kubeProxy), amphora, "HTTP", 31000},
		{"Cluster, kube-proxy, TCP", service(tcp, asked, kubeProxy), amphora, "HTTP", 10256},
		{"Cluster, kube-proxy, UDP", service(udp, asked, kubeProxy), amphora, "HTTP", 10256},
		{"Cluster, kube-proxy, UDP, older", service(udp, asked, kubeProxy), old, "UDP-CONNECT", 0},
		{"Cluster, kube-proxy elsewhere", service(tcp, asked, kubeProxy, annotated(annotation.MonitorPort, "10356")), amphora, "HTTP", 10356},
		{"Cluster, kube-proxy, monitors not asked for", service(tcp, kubeProxy), amphora, "", 0},
		{"Cluster, a type", service(tcp, asked, annotated(annotation.MonitorType, "tls-hello")), amphora, "TLS-HELLO", 0},
		{"Cluster, codes", service(tcp, asked, annotated(annotation.MonitorCodes, "200-299")), amphora, "HTTP", 0},
		{"Cluster, a port", service(udp, asked, annotated(annotation.MonitorPort, "8080")), amphora, "UDP-CONNECT", 8080},
		{"Cluster, HTTP at a port, UDP", service(udp, asked, annotated(annotation.MonitorType, "HTTP"), annotated(annotation.MonitorPort, "8080")), amphora, "HTTP", 8080},
		{"Cluster, TCP, asked for", service(tcp, asked), amphora, "TCP", 0},
		{"Cluster, UDP, asked for", service(udp, asked), amphora, "UDP-CONNECT", 0},
		{"Cluster, UDP, asked for, ovn", service(udp, asked), ovn, "UDP-CONNECT", 0},
		{"Cluster, SCTP, asked for", service(sctp, asked), amphora, "SCTP", 0},
		{"Cluster, SCTP, asked for, ovn, which has none", service(sctp, asked), ovn, "", 0},
		{"Local, SCTP", service(local, sctp), amphora, "HTTP", 31000},
		{"Cluster, not asked for", service(tcp), amphora, "", 0},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			pool := desired(t, test.svc, conf(asking("8080,10356")), test.drv).Listeners[0].Pool
			kind := ""
			if pool.Monitor != nil {
				kind = pool.Monitor.Type
			}
			if kind != test.want || pool.Members[0].MonitorPort != test.port {
				t.Errorf("monitor %q on port %d, want %q on %d", kind, pool.Members[0].MonitorPort, test.want, test.port)
			}
		})
	}
}

// TestAMonitorOfOnesOwnIsForThePortsThatItFits keeps the type that a Service names
// from taking down ports that cannot be probed like that.
func TestAMonitorOfOnesOwnIsForThePortsThatItFits(t *testing.T) {
	t.Parallel()
	both := ports(port(v1.ProtocolTCP, 53), port(v1.ProtocolUDP, 53))
	for kind, want := range map[string][2]string{
		"HTTP": {"HTTP", "UDP-CONNECT"}, "PING": {"PING", "UDP-CONNECT"}, "UDP-CONNECT": {"TCP", "UDP-CONNECT"},
	} {
		lb := desired(t, service(both, annotated(annotation.Monitor, "true"), annotated(annotation.MonitorType, kind)), conf(), today())
		for i, l := range lb.Listeners {
			if l.Pool.Monitor.Type != want[i] {
				t.Errorf("%s: %s gets %s, want %s", kind, l.Key(), l.Pool.Monitor.Type, want[i])
			}
		}
	}
}

func TestHTTPMonitorsSayAllThatOctaviaWouldFillIn(t *testing.T) {
	t.Parallel()
	m := desired(t, service(annotated(annotation.Monitor, "true"), annotated(annotation.MonitorType, "HTTPS")), conf(), today()).Listeners[0].Pool.Monitor
	if m.HTTPMethod != "GET" || m.URLPath != "/" || m.ExpectedCodes != "200" {
		t.Errorf("%+v", m)
	}
	m = desired(t, service(annotated(annotation.Monitor, "true"), annotated(annotation.MonitorPath, "/live"), annotated(annotation.MonitorMethod, "head"),
		annotated(annotation.MonitorCodes, "200,204")), conf(), today()).Listeners[0].Pool.Monitor
	if m.HTTPMethod != "HEAD" || m.URLPath != "/live" || m.ExpectedCodes != "200,204" || m.Type != "HTTP" {
		t.Errorf("%+v", m)
	}
}

func TestMonitorsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	on := annotated(annotation.Monitor, "true")
	udp := ports(port(v1.ProtocolUDP, 53))
	v := func(minor int) octavia.Version { return octavia.Version{Major: 2, Minor: minor} }
	ovn := driver.Of("ovn", v(30))
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		drv   driver.Driver
		words []string
	}{
		{"HTTP on ovn", service(on, annotated(annotation.MonitorType, "HTTP")), ovn, []string{annotation.MonitorType, `"HTTP"`, `"TCP", "UDP-CONNECT"`}},
		{"a path on ovn", service(on, annotated(annotation.MonitorPath, "/")), ovn, []string{annotation.MonitorPath, "ovn has no HTTP monitors"}},
		{"a port on ovn", service(on, annotated(annotation.MonitorPort, "30080")), ovn, []string{annotation.MonitorPort, "ovn has no health monitors that ask at another port"}},
		{"HTTP 1.1 on an old Octavia", service(on, annotated(annotation.MonitorVersion, "1.1")), driver.Of("amphora", v(9)), []string{annotation.MonitorVersion, "v2.9", "v2.10"}},
		{"a host by HTTP 1.0", service(on, annotated(annotation.MonitorVersion, "1.0"), annotated(annotation.MonitorDomain, "a")), today(), []string{annotation.MonitorDomain, "1.1"}},
		{"Local with SCTP on ovn", service(local, ports(port(v1.ProtocolSCTP, 53))), ovn, []string{"spec.ports[0].protocol", "ovn has none for SCTP", annotation.Monitor}},
		{"kube-proxy on ovn", service(on, annotated(annotation.MonitorKubeProxy, "true")), ovn, []string{annotation.MonitorKubeProxy, "ovn has no"}},
		{"kube-proxy and a type", service(on, annotated(annotation.MonitorKubeProxy, "true"), annotated(annotation.MonitorType, "TCP")), today(), []string{annotation.MonitorKubeProxy, "only one"}},
		{"a path for TCP", service(on, annotated(annotation.MonitorPath, "/"), annotated(annotation.MonitorType, "TCP")), today(), []string{annotation.MonitorPath, "type TCP"}},
		{"UDP-CONNECT without UDP", service(on, annotated(annotation.MonitorType, "UDP-CONNECT")), today(), []string{annotation.MonitorType, "ports of UDP"}},
		{"SCTP without SCTP", service(on, annotated(annotation.MonitorType, "SCTP")), today(), []string{annotation.MonitorType, "ports of SCTP"}},
		{"HTTP without TCP", service(on, udp, annotated(annotation.MonitorType, "HTTP")), today(), []string{annotation.MonitorType, annotation.MonitorPort}},
		{"HTTPS without TCP", service(on, udp, annotated(annotation.MonitorType, "HTTPS"), annotated(annotation.MonitorPort, "10256")), today(), []string{annotation.MonitorType, "ports of TCP"}},
		{"HTTP for UDP on an old Octavia", service(on, udp, annotated(annotation.MonitorType, "HTTP"), annotated(annotation.MonitorPort, "10256")), driver.Of("amphora", v(15)), []string{annotation.MonitorType, "v2.16"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			refused(t, desire.Validate(test.svc, settings(t, test.svc, conf()), test.drv), test.words...)
		})
	}
}

// asking lets monitors ask more ports than the Service's own.
func asking(ports string) func(*config.LoadBalancer) {
	return func(c *config.LoadBalancer) { c.MonitorPorts = ports }
}

func TestMonitorsAskOnlyPortsOfTheService(t *testing.T) {
	t.Parallel()
	two := ports(port(v1.ProtocolTCP, 80), port(v1.ProtocolUDP, 53))
	kubeProxy := annotated(annotation.MonitorKubeProxy, "true")
	for _, test := range []struct {
		what    string
		svc     *v1.Service
		listed  string // in monitor-ports
		port    string
		allowed bool
	}{
		{"its NodePort", service(two), "", "30080", true},
		{"another of its NodePorts", service(two), "", "30053", true},
		{"its healthCheckNodePort", service(two, local), "", "31000", true},
		{"kube-proxy's healthz", service(two), "", "10256", true},
		{"one that cloud.conf lists", service(two), "8080,9000-9099", "9050", true},
		{"one that cloud.conf does not list", service(two), "8080,9000-9099", "9100", false},
		{"the kubelet", service(two), "", "10250", false},
		{"the kubelet, by the name of kube-proxy", service(two, kubeProxy), "", "10250", false},
		{"etcd", service(two), "", "2379", false},
		{"another Service's NodePort", service(two), "", "30081", false},
		{"another Service's healthCheckNodePort", service(two), "", "31000", false},
		{"the kubelet, without a monitor", service(annotated(annotation.Monitor, "false")), "", "10250", true},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if test.svc.Annotations[annotation.Monitor] == "" {
				test.svc.Annotations[annotation.Monitor] = "true"
			}
			test.svc.Annotations[annotation.MonitorPort] = test.port
			errs := desire.Validate(test.svc, settings(t, test.svc, conf(asking(test.listed))), today())
			if test.allowed {
				if len(errs) > 0 {
					t.Error(errs.ToAggregate())
				}
				return
			}
			refused(t, errs, annotation.MonitorPort, test.port, "NodePort", "healthCheckNodePort", "10256", "monitor-ports")
		})
	}
}

func TestMonitorsAskByMethodsThatChangeNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "head", "OPTIONS"} {
		settings(t, service(annotated(annotation.MonitorMethod, method)), conf())
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE"} {
		_, _, errs := desire.Read(service(annotated(annotation.MonitorMethod, method)), conf())
		refused(t, errs, annotation.MonitorMethod, method, "GET, HEAD, OPTIONS")
	}
}

// TestKubeProxyOfCloudConfGivesWay keeps a key that is for all Services from
// breaking those that cannot follow it.
func TestKubeProxyOfCloudConfGivesWay(t *testing.T) {
	t.Parallel()
	cfg := conf(func(c *config.LoadBalancer) { c.CreateMonitor, c.MonitorKubeProxy = true, true })
	ovn := driver.Of("ovn", octavia.Version{Major: 2, Minor: 30})
	for _, test := range []struct {
		what string
		svc  *v1.Service
		drv  driver.Driver
		want string
	}{
		{"amphora", service(), today(), "HTTP /healthz"},
		{"ovn", service(), ovn, "TCP "},
		{"a Service that says no", service(annotated(annotation.MonitorKubeProxy, "false")), today(), "TCP "},
		{"a Service with a monitor of its own", service(annotated(annotation.MonitorPath, "/live")), today(), "HTTP /live"},
	} {
		m := desired(t, test.svc, cfg, test.drv).Listeners[0].Pool.Monitor
		if got := m.Type + " " + m.URLPath; got != test.want {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
	}
}

func TestWhatMonitorsDoNotDoIsTold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, told string
		svc        *v1.Service
	}{
		{"a delay without monitors", "has no effect", service(annotated(annotation.MonitorDelay, "9"))},
		{"a path without monitors", "has no effect", service(annotated(annotation.MonitorPath, "/"))},
		{"Local without monitors", "drop them", service(local, annotated(annotation.Monitor, "false"))},
		{"probes that overlap", "overlap", service(annotated(annotation.Monitor, "true"), annotated(annotation.MonitorTimeout, "9"))},
	} {
		_, notices, errs := desire.Read(test.svc, conf())
		if len(errs) > 0 || len(notices) != 1 || !strings.Contains(notices[0].Message, test.told) {
			t.Errorf("%s: errors %v, notices %v", test.what, errs, notices)
		}
	}
	if _, notices, _ := desire.Read(service(local, annotated(annotation.MonitorDelay, "9")), conf()); len(notices) > 0 {
		t.Errorf("with monitors: %v", notices)
	}
}

// TestDatagramsThatThePolicyLocalLosesAreTold is about monitors to which silence is
// health.
func TestDatagramsThatThePolicyLocalLosesAreTold(t *testing.T) {
	t.Parallel()
	v := func(minor int) octavia.Version { return octavia.Version{Major: 2, Minor: minor} }
	udp := ports(port(v1.ProtocolUDP, 53))
	for what, test := range map[string]struct {
		svc  *v1.Service
		drv  driver.Driver
		told bool
	}{
		"ovn":                         {service(udp, local), driver.Of("ovn", v(30)), true},
		"ovn and TCP":                 {service(local), driver.Of("ovn", v(30)), false},
		"ovn and the policy Cluster":  {service(udp, annotated(annotation.Monitor, "true")), driver.Of("ovn", v(30)), false},
		"amphora, which asks by HTTP": {service(udp, local), today(), false},
		"amphora of old, which can't": {service(udp, local), driver.Of("amphora", v(15)), true},
	} {
		notices := desire.Ineffective(test.svc, settings(t, test.svc, conf()), test.drv)
		told := slices.ContainsFunc(notices, func(n annotation.Notice) bool { return strings.Contains(n.Message, "loses datagrams") })
		if told != test.told {
			t.Errorf("%s: told %v, want %v", what, notices, test.told)
		}
	}
}
