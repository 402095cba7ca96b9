package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// A change of only the host name costs no write. A new controller, which finds the address only in
// a host name, recognizes it.
//
//proves:14,15,126
func TestEnsure_PublishesAddressOrHostname(t *testing.T) {
	t.Parallel()
	vip, proxy := v1.LoadBalancerIPModeVIP, v1.LoadBalancerIPModeProxy
	names := map[string]string{"enable-ingress-hostname": "true", "ingress-hostname-suffix": "example.org"}
	udp := func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolUDP }
	for name, c := range map[string]struct {
		keys   map[string]string
		change func(*v1.Service)
		want   func(address string) v1.LoadBalancerIngress
	}{
		"the address":                {nil, set(), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: a, IPMode: &vip} }},
		"with PROXY":                 {nil, set(annotation.ProxyProtocol, "v2"), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: a, IPMode: &proxy} }},
		"PROXY on no port":           {nil, both(udp, set(annotation.ProxyProtocol, "v2")), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: a, IPMode: &vip} }},
		"a name of the address":      {names, set(annotation.ProxyProtocol, "v1"), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{Hostname: a + ".example.org"} }},
		"no name without PROXY":      {names, set(), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: a, IPMode: &vip} }},
		"a name of the Service's":    {nil, set(annotation.Hostname, "www.example.com"), func(string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{Hostname: "www.example.com"} }},
		"its own name goes before":   {names, set(annotation.Hostname, "www.example.com", annotation.ProxyProtocol, "v1"), func(string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{Hostname: "www.example.com"} }},
		"of an internal one as well": {names, set(annotation.Internal, "true", annotation.ProxyProtocol, "v1"), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{Hostname: a + ".example.org"} }},
		"mode Proxy by annotation":   {nil, set(annotation.IPMode, "proxy"), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: a, IPMode: &proxy} }},
		"mode VIP despite PROXY":     {nil, set(annotation.IPMode, "VIP", annotation.ProxyProtocol, "v1"), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: a, IPMode: &vip} }},
		"a name by annotation":       {nil, set(annotation.IngressHostname, "true"), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{Hostname: a + ".nip.io"} }},
		"no name by annotation":      {names, set(annotation.IngressHostname, "false", annotation.ProxyProtocol, "v1"), func(a string) v1.LoadBalancerIngress { return v1.LoadBalancerIngress{IP: a, IPMode: &proxy} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: c.keys})
			nodes, svc := env.nodes(2), service("web", 1)
			c.change(svc)
			got := env.ensure(svc, nodes).Ingress[0]
			address := env.loadBalancer().VIP.Address
			if fips := env.Cloud.Neutron.FloatingIPs(); len(fips) > 0 {
				address = fips[0].Address
			}
			want := c.want(address)
			if got.IP != want.IP || got.Hostname != want.Hostname || (got.IPMode == nil) != (want.IPMode == nil) || got.IPMode != nil && *got.IPMode != *want.IPMode {
				t.Errorf("published %+v, want %+v", got, want)
			}
			env.unchanged(svc, nodes)

			env.Cloud.RequestLog.Reset()
			set(annotation.Hostname, "other.example.com")(svc)
			if got := env.ensure(svc, nodes).Ingress[0]; got.Hostname != "other.example.com" || got.IP != "" {
				t.Errorf("then published %+v", got)
			}
			env.writes(0)
		})
	}
}

// The events name the load balancer in OpenStack for users who wait for a Service, or search for
// it.
//
//proves:101
func TestEnsure_ReportsNewLoadBalancerWithAddressOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc, internal := env.nodes(2), service("web", 1), service("internal", 1)
	set(annotation.Internal, "true")(internal)
	address := env.ensure(svc, nodes).Ingress[0].IP
	lb, emitted := env.loadBalancer(), env.emitted()
	ready := fmt.Sprintf("Normal LoadBalancerReady Load balancer %s (%s) serves the Service at %s, floating IP of its VIP %s",
		lb.Name, lb.ID, address, lb.VIP.Address)
	steps := fmt.Sprintf("Normal ChangingLoadBalancer load balancer %s: create (amphora) with TCP/", lb.Name)
	if strings.Count(emitted, ready) != 1 || !strings.Contains(emitted, steps) {
		t.Errorf("want once %q, and %q; emitted:\n%s", ready, steps, emitted)
	}
	env.ensure(svc, nodes[:1])
	env.restart()
	env.ensure(svc, nodes)
	if emitted := env.emitted(); strings.Contains(emitted, "LoadBalancerReady") {
		t.Errorf("emitted again:\n%s", emitted)
	}
	if address, emitted := env.ensure(internal, nodes).Ingress[0].IP, env.emitted(); !strings.Contains(emitted, "serves the Service at "+address) || strings.Contains(emitted, "floating IP of") {
		t.Errorf("of an internal one:\n%s", emitted)
	}
}

// With internal-by-default, a Service is internal unless its annotation is "false". The annotation
// switches it in place.
//
//proves:127
func TestInternal_IsDefaultThatAnnotationOverrides(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"internal-by-default": "true"}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	env.floatingIPs(0)
	env.unchanged(svc, nodes)
	id := env.loadBalancer().ID
	for _, step := range []struct {
		internal    string
		floatingIPs int
	}{{"false", 1}, {"true", 0}, {"false", 1}, {"", 0}} {
		if svc.Annotations[annotation.Internal] = step.internal; step.internal == "" {
			delete(svc.Annotations, annotation.Internal)
		}
		env.Cloud.RequestLog.Reset()
		env.ensure(svc, nodes)
		env.writes(1) // of the floating IP
		env.floatingIPs(step.floatingIPs)
		if env.loadBalancer().ID != id {
			t.Error("the load balancer is replaced")
		}
	}
}
