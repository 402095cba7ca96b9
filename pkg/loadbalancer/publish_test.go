package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// TestWhatIsPublished of an address; a change of it alone costs no write, and a new
// controller, which finds the address in a name only, recognises it.
//
//proves:14,15
func TestWhatIsPublished(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: c.keys})
			nodes, svc := w.nodes(2), service("web", 1)
			c.change(svc)
			got := w.ensure(svc, nodes).Ingress[0]
			address := w.loadBalancer().VIP.Address
			if fips := w.cloud.Neutron.FloatingIPs(); len(fips) > 0 {
				address = fips[0].Address
			}
			want := c.want(address)
			if got.IP != want.IP || got.Hostname != want.Hostname || (got.IPMode == nil) != (want.IPMode == nil) || got.IPMode != nil && *got.IPMode != *want.IPMode {
				t.Errorf("published %+v, want %+v", got, want)
			}
			w.unchanged(svc, nodes)

			w.cloud.Books.Reset()
			set(annotation.Hostname, "other.example.com")(svc)
			if got := w.ensure(svc, nodes).Ingress[0]; got.Hostname != "other.example.com" || got.IP != "" {
				t.Errorf("then published %+v", got)
			}
			w.writes(0)
		})
	}
}

// Whoever waits for a Service, or looks for its load balancer in OpenStack, reads it in
// the events.
//
//proves:101
func TestTheLoadBalancerOfANewServiceIsNamedWithItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc, internal := w.nodes(2), service("web", 1), service("internal", 1)
	set(annotation.Internal, "true")(internal)
	address := w.ensure(svc, nodes).Ingress[0].IP
	lb, told := w.loadBalancer(), w.told()
	ready := fmt.Sprintf("Normal LoadBalancerReady Load balancer %s (%s) serves the Service at %s, floating IP of its VIP %s",
		lb.Name, lb.ID, address, lb.VIP.Address)
	steps := fmt.Sprintf("Normal ChangingLoadBalancer load balancer %s: create (amphora) with TCP/", lb.Name)
	if strings.Count(told, ready) != 1 || !strings.Contains(told, steps) {
		t.Errorf("want once %q, and %q; told:\n%s", ready, steps, told)
	}
	w.ensure(svc, nodes[:1])
	w.restart()
	w.ensure(svc, nodes)
	if told := w.told(); strings.Contains(told, "LoadBalancerReady") {
		t.Errorf("told again:\n%s", told)
	}
	if address, told := w.ensure(internal, nodes).Ingress[0].IP, w.told(); !strings.Contains(told, "serves the Service at "+address) || strings.Contains(told, "floating IP of") {
		t.Errorf("of an internal one:\n%s", told)
	}
}
