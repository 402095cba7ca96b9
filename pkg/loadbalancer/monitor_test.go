package loadbalancer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// policyLocal gives a Service the traffic policy Local.
func policyLocal(svc *v1.Service) {
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
}

// annotate sets annotations, given as name, value, name, value.
func annotate(pairs ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

// A creation, which is one request, contains every setting of a monitor. A later change is applied
// in place if Octavia can, otherwise by another monitor: members are changed between the deletion
// of the old one and the creation of the new one.
//
//proves:45,48,49
func TestMonitors_ApplySettingsAtCreationAndLater(t *testing.T) {
	t.Parallel()
	on := annotate(annotation.Monitor, "true")
	for name, c := range map[string]struct {
		setting func(*v1.Service)
		steps   string // of the change for a Service with a plain monitor
		check   func(*octavia.Pool) bool
	}{
		"delay": {annotate(annotation.MonitorDelay, "30"), "PUT healthmonitors",
			func(p *octavia.Pool) bool { return p.Monitor.Delay == 30 }},
		"timeout": {annotate(annotation.MonitorTimeout, "4"), "PUT healthmonitors",
			func(p *octavia.Pool) bool { return p.Monitor.Timeout == 4 }},
		"retries": {annotate(annotation.MonitorRetries, "7", annotation.MonitorDown, "9"), "PUT healthmonitors",
			func(p *octavia.Pool) bool { return p.Monitor.MaxRetries == 7 && p.Monitor.MaxRetriesDown == 9 }},
		"type": {annotate(annotation.MonitorType, "TLS-HELLO"), "DELETE healthmonitors, POST healthmonitors",
			func(p *octavia.Pool) bool { return p.Monitor.Type == "TLS-HELLO" }},
		"path, method and codes": {annotate(annotation.MonitorPath, "/live", annotation.MonitorMethod, "HEAD", annotation.MonitorCodes, "200-204"),
			"DELETE healthmonitors, POST healthmonitors",
			func(p *octavia.Pool) bool {
				return p.Monitor.Type == "HTTP" && p.Monitor.URLPath == "/live" && p.Monitor.HTTPMethod == "HEAD" && p.Monitor.ExpectedCodes == "200-204"
			}},
		"HTTP 1.1": {annotate(annotation.MonitorType, "HTTP", annotation.MonitorVersion, "1.1"), "DELETE healthmonitors, POST healthmonitors",
			func(p *octavia.Pool) bool { return p.Monitor.HTTPVersion == "1.1" && p.Monitor.DomainName == "" }},
		"host": {annotate(annotation.MonitorDomain, "www.example.com"), "DELETE healthmonitors, POST healthmonitors",
			func(p *octavia.Pool) bool {
				return p.Monitor.HTTPVersion == "1.1" && p.Monitor.DomainName == "www.example.com"
			}},
		"port": {annotate(annotation.MonitorPort, "30080"), "PUT members",
			func(p *octavia.Pool) bool { return p.Monitor.Type == "TCP" && p.Members[0].MonitorPort == 30080 }},
		"kube-proxy": {annotate(annotation.MonitorKubeProxy, "true"), "DELETE healthmonitors, PUT members, POST healthmonitors",
			func(p *octavia.Pool) bool {
				return p.Monitor.Type == "HTTP" && p.Monitor.URLPath == "/healthz" && p.Members[0].MonitorPort == 10256
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, created := env.nodes(2), service("created", 1)
			on(created)
			c.setting(created)
			env.Cloud.RequestLog.Reset()
			env.ensure(created, nodes)
			env.writes(2) // load balancer and floating IP
			if pool := env.loadBalancer().Pools[0]; !c.check(pool) {
				t.Errorf("created: %+v, monitor %+v", pool, pool.Monitor)
			}
			env.unchanged(created, nodes)
			env.delete(created)

			changed := service("changed", 1)
			on(changed)
			env.ensure(changed, nodes)
			env.Cloud.RequestLog.Reset()
			c.setting(changed)
			env.ensure(changed, nodes)
			if steps := childWrites(env); steps != c.steps {
				t.Errorf("the change is %s, want %s", steps, c.steps)
			}
			if pool := env.loadBalancer().Pools[0]; !c.check(pool) {
				t.Errorf("changed: %+v, monitor %+v", pool, pool.Monitor)
			}
			env.unchanged(changed, nodes)

			changed.Annotations = map[string]string{annotation.Monitor: "true"} // and the reverse change
			env.ensure(changed, nodes)
			if pool := env.loadBalancer().Pools[0]; c.check(pool) || pool.Monitor.Type != "TCP" || pool.Monitor.Delay != 5 {
				t.Errorf("does not go back: %+v", pool.Monitor)
			}
			env.unchanged(changed, nodes)
		})
	}
}

// A setting without a default of Octavia is reset by null, in place.
func TestMonitors_ChangeAndRemoveHostInPlace(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	annotate(annotation.Monitor, "true", annotation.MonitorType, "HTTP", annotation.MonitorDomain, "a.example.com")(svc)
	env.ensure(svc, nodes)
	for _, domain := range []string{"b.example.com", ""} {
		if svc.Annotations[annotation.MonitorDomain] = domain; domain == "" {
			delete(svc.Annotations, annotation.MonitorDomain)
		}
		env.Cloud.RequestLog.Reset()
		env.ensure(svc, nodes)
		if steps := childWrites(env); steps != "PUT healthmonitors" {
			t.Errorf("%q: the change is %s", domain, steps)
		}
		if m := env.loadBalancer().Pools[0].Monitor; m.DomainName != domain || (m.HTTPVersion == "") != (domain == "") {
			t.Errorf("%q: monitor %+v", domain, m)
		}
		env.unchanged(svc, nodes)
	}
}

// childWrites returns the kinds of writes to children of load balancers, in order.
func childWrites(env *environment) string {
	var writes []string
	for _, r := range env.Cloud.RequestLog.Requests() {
		parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(r.Route, "/load-balancer/v2.0/lbaas/"), "/{id}"), "/")
		if r.Method != http.MethodGet {
			writes = append(writes, r.Method+" "+parts[len(parts)-1])
		}
	}
	return strings.Join(writes, ", ")
}

// With externalTrafficPolicy Local there is a monitor that works with provider and protocol, for
// any value of create-monitor.
//
//proves:45,46,47
func TestMonitors_AreAlwaysMadeForPolicyLocalAndSuitProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		release, provider string
		tcp, udp          string
		port              int // the port that probes of TCP members use, if it is not their own
		udpPort           int
	}{
		"amphora":             {"", "amphora", "HTTP", "HTTP", 32000, 32000},
		"amphora of Zed":      {"zed", "amphora", "HTTP", "HTTP", 32000, 32000},
		"octavia":             {"", "octavia", "HTTP", "HTTP", 32000, 32000},
		"ovn, no HTTP at all": {"", "ovn", "TCP", "UDP-CONNECT", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{
				simulator: simulator.Options{Release: c.release},
				keys:      map[string]string{"lb-provider": c.provider, "create-monitor": "false"},
			})
			nodes, svc := env.nodes(2), service("web", 2)
			svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
			policyLocal(svc)
			env.ensure(svc, nodes)
			for _, p := range env.loadBalancer().Pools {
				kind, port := c.tcp, c.port
				if p.Protocol == "UDP" {
					kind, port = c.udp, c.udpPort
				}
				if p.Monitor == nil || p.Monitor.Type != kind || p.Members[0].MonitorPort != port {
					t.Errorf("%s: monitor %+v at %d, want %s at %d", p.Protocol, p.Monitor, p.Members[0].MonitorPort, kind, port)
				}
			}
			env.unchanged(svc, nodes)
		})
	}
}

// Only the Service itself can switch the monitor off. An event reports the consequences, at
// creation and later.
//
//proves:47
func TestMonitors_ReportConsequenceWhenPolicyLocalHasNone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(2), service("web", 1)
	policyLocal(svc)
	annotate(annotation.Monitor, "false")(svc)
	env.ensure(svc, nodes)
	if m := env.loadBalancer().Pools[0].Monitor; m != nil {
		t.Errorf("monitor %+v", m)
	}
	if emitted := env.emitted(); !strings.Contains(emitted, "nodes without endpoints get them and drop them") {
		t.Errorf("events:\n%s", emitted)
	}
	env.unchanged(svc, nodes)
	delete(svc.Annotations, annotation.Monitor)
	env.ensure(svc, nodes)
	if env.loadBalancer().Pools[0].Monitor == nil {
		t.Error("no monitor")
	}
	annotate(annotation.Monitor, "false")(svc)
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	if steps := childWrites(env); steps != "DELETE healthmonitors, PUT members" {
		t.Errorf("switching it off is %s", steps)
	}
	env.unchanged(svc, nodes)
}

// All keys of cloud.conf apply to the monitor, and annotations override them.
//
//proves:45,49
func TestMonitors_TakeKeysOfCloudConfUnlessAnnotated(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{
		"create-monitor": "true", "monitor-delay": "20s", "monitor-timeout": "11s", "monitor-max-retries": "4",
		"monitor-max-retries-down": "6", "monitor-kube-proxy": "true",
	}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	m := env.loadBalancer().Pools[0].Monitor
	if m.Delay != 20 || m.Timeout != 11 || m.MaxRetries != 4 || m.MaxRetriesDown != 6 || m.Type != "HTTP" {
		t.Errorf("monitor %+v", m)
	}
	annotate(annotation.MonitorDelay, "21", annotation.MonitorKubeProxy, "false")(svc)
	env.ensure(svc, nodes)
	if m := env.loadBalancer().Pools[0].Monitor; m.Delay != 21 || m.Timeout != 11 || m.Type != "TCP" {
		t.Errorf("with annotations: monitor %+v", m)
	}
	env.unchanged(svc, nodes)
}

// For all protocols of the ports and their listeners, Octavia accepts the monitors, and nothing
// differs then.
//
//proves:45,46
func TestMonitors_AreAcceptedForEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		change   func(*v1.Service)
		want     string // types by the protocol of the pool
	}{
		"amphora":           {"amphora", func(*v1.Service) {}, "SCTP:SCTP TCP:TCP UDP:UDP-CONNECT"},
		"amphora, Local":    {"amphora", policyLocal, "SCTP:HTTP TCP:HTTP UDP:HTTP"},
		"amphora, PROXY":    {"amphora", annotate(annotation.ProxyProtocol, "v2"), "PROXYV2:TCP SCTP:SCTP UDP:UDP-CONNECT"},
		"amphora, a path":   {"amphora", annotate(annotation.MonitorPath, "/live"), "SCTP:SCTP TCP:HTTP UDP:UDP-CONNECT"},
		"amphora, own port": {"amphora", annotate(annotation.MonitorType, "HTTP", annotation.MonitorPort, "30080"), "SCTP:HTTP TCP:HTTP UDP:HTTP"},
		"ovn":               {"ovn", func(*v1.Service) {}, "SCTP:none TCP:TCP UDP:UDP-CONNECT"},
		"ovn, Local, no SCTP": {"ovn", func(svc *v1.Service) {
			policyLocal(svc)
			svc.Spec.Ports = svc.Spec.Ports[:2]
		}, "TCP:TCP UDP:UDP-CONNECT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": c.provider, "create-monitor": "true"}})
			nodes, svc := env.nodes(2), service("web", 3)
			svc.Spec.Ports[1].Protocol, svc.Spec.Ports[2].Protocol = v1.ProtocolUDP, v1.ProtocolSCTP
			c.change(svc)
			env.ensure(svc, nodes)
			var got []string
			for _, p := range env.loadBalancer().Pools {
				kind := "none"
				if p.Monitor != nil {
					kind = p.Monitor.Type
				}
				got = append(got, p.Protocol+":"+kind)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("monitors %v, want %s", got, c.want)
			}
			env.unchanged(svc, nodes)
		})
	}
}
