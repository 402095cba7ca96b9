package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// pool returns the pool of the listener at a port.
func (env *environment) pool(number int) octavia.Pool {
	env.T.Helper()
	lb := env.loadBalancer()
	for _, l := range lb.Listeners {
		for _, p := range lb.Pools {
			if l.ProtocolPort == number && l.DefaultPoolID == p.ID {
				return *p
			}
		}
	}
	env.T.Fatalf("no pool at port %d", number)
	return octavia.Pool{}
}

// An annotation with the suffix of a port, by name or number, changes only that port: at creation
// with the one request, and later in as few requests as for one port.
//
//proves:129,130
func TestPerPort_SettingsChangeOnlyTheirPort(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 2)
	annotate(annotation.Monitor, "true", annotation.ProxyProtocol+".p81", "v2", annotation.Method+".81", "LEAST_CONNECTIONS",
		annotation.MonitorPath+".80", "/live", annotation.MonitorCodes+".p80", "204")(svc)
	env.Cloud.RequestLog.Reset()
	status := env.ensure(svc, nodes)
	env.writes(2) // load balancer and floating IP
	if mode := status.Ingress[0].IPMode; mode == nil || *mode != v1.LoadBalancerIPModeProxy {
		t.Errorf("ipMode %v", mode)
	}
	first, second := env.pool(80), env.pool(81)
	if first.Protocol != "TCP" || first.Algorithm != "ROUND_ROBIN" || first.Monitor.Type != "HTTP" || first.Monitor.URLPath != "/live" || first.Monitor.ExpectedCodes != "204" {
		t.Errorf("port 80: %+v, monitor %+v", first, first.Monitor)
	}
	if second.Protocol != "PROXYV2" || second.Algorithm != "LEAST_CONNECTIONS" || second.Monitor.Type != "TCP" {
		t.Errorf("port 81: %+v, monitor %+v", second, second.Monitor)
	}
	env.unchanged(svc, nodes)

	env.Cloud.RequestLog.Reset()
	svc.Annotations[annotation.Method+".81"] = "SOURCE_IP"
	env.ensure(svc, nodes)
	if steps := childWrites(env); steps != "PUT pools" || env.pool(81).Algorithm != "SOURCE_IP" {
		t.Errorf("%s, pool %+v", steps, env.pool(81))
	}
	svc.Annotations = map[string]string{annotation.Monitor: "true"}
	env.ensure(svc, nodes)
	for _, port := range []int{80, 81} {
		if pool := env.pool(port); pool.Protocol != "TCP" || pool.Algorithm != "ROUND_ROBIN" || pool.Monitor.Type != "TCP" {
			t.Errorf("port %d does not go back: %+v, monitor %+v", port, pool, pool.Monitor)
		}
	}
	env.unchanged(svc, nodes)
}

// The suffix takes precedence over the annotation of the whole Service.
//
//proves:129
func TestPerPort_ExceptsPortFromSettingOfService(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	svc := service("web", 2)
	annotate(annotation.ProxyProtocol, "true", annotation.ProxyProtocol+".p80", "false")(svc)
	env.ensure(svc, env.nodes(2))
	if first, second := env.pool(80).Protocol, env.pool(81).Protocol; first != "TCP" || second != "PROXY" {
		t.Errorf("pools of %s and %s", first, second)
	}
}

// Wrong settings of a port are refused before the first write, with the name of the annotation.
//
//proves:129,130
func TestPerPort_RefusesWrongPortsAndValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ annotations, reason string }{
		"no such port":        {annotation.ProxyProtocol + ".https=true", `no port of the name or number "https"`},
		"not a value":         {annotation.ProxyProtocol + ".80=True", "allowed: true, v1, v2, false"},
		"not an algorithm":    {annotation.Method + ".80=FAST", "allowed: ROUND_ROBIN"},
		"twice":               {annotation.Method + ".80=SOURCE_IP," + annotation.Method + ".p80=SOURCE_IP", "use only one of them"},
		"UDP":                 {annotation.ProxyProtocol + ".53=true", "only ports of TCP"},
		"port of another":     {annotation.Monitor + "=true," + annotation.MonitorPort + ".80=10250", annotation.MonitorPort + ".80"},
		"path of a TCP probe": {annotation.Monitor + "=true," + annotation.MonitorType + ".80=TCP," + annotation.MonitorPath + ".80=/x", "not supported by monitors of type TCP"},
		"PROXY and a header":  {annotation.ForwardedFor + "=true," + annotation.ProxyProtocol + ".80=v1", annotation.ProxyProtocol + ".80"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			svc := service("web", 1)
			svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53))
			for pair := range strings.SplitSeq(c.annotations, ",") {
				name, value, _ := strings.Cut(pair, "=")
				svc.Annotations[name] = value
			}
			env.refused(svc, env.nodes(2), c.reason)
			env.writes(0)
		})
	}
}

// An operator who denies an annotation denies it for single ports too.
func TestPerPort_IsDeniedWithAnnotation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"deny-annotations": "lb-method"}})
	svc := service("web", 1)
	svc.Annotations[annotation.Method+".80"] = "SOURCE_IP"
	env.refused(svc, env.nodes(2), "deny-annotations")
}
