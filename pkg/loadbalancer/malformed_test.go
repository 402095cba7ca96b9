package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Values for which cloud-provider-openstack used its default, or which OpenStack refused, change
// nothing when this controller replaces it, and the Services are served in full.
//
//proves:120
func TestAdoption_WritesNothingForMalformedValues(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	for _, svc := range in.Services {
		for name, value := range map[string]string{
			annotation.Internal: "True", annotation.ForwardedFor: "True", annotation.ProxyProtocol: "V2", annotation.KeepFloatingIP: "1",
			annotation.ConnLimit: "", annotation.ClientData: "5s", annotation.Method: "SOURCE_IP_PORT", annotation.MonitorDelay: "0",
		} {
			if _, there := svc.Annotations[name]; !there {
				svc.Annotations[name] = value
			}
		}
	}
	in.adopt()
	in.writes(0)
	for _, svc := range in.Services {
		svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9000+len(svc.Name)))
		in.ensure(svc, in.Nodes)
	}
}

// A typing error does not give an internal Service a public address.
func TestRefusal_KeepsServiceInternalWhenAnnotationIsMalformed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	env.ensure(svc, nodes[:2])
	svc.Annotations[annotation.Internal] = "True"
	for _, restart := range []bool{false, true} {
		if restart {
			env.restart()
		}
		env.Cloud.RequestLog.Reset()
		env.refused(svc, nodes[:2], `"True": allowed: "true" or "false"; the default, false, would change the load balancer`)
		env.writes(0)
	}
	env.floatingIPs(0)
	env.refused(svc, nodes, "follows its nodes or pods")
	env.membersAre(nodes)
	svc.Annotations[annotation.Internal] = "false"
	env.ensure(svc, nodes)
	env.floatingIPs(1)
}

// A feature that the provider lacks stops no existing load balancer, and exposes nothing new.
func TestProvider_WithoutFeatureStopsNoExistingLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": "ovn"}})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes[:2])
	svc.Annotations[annotation.Method] = "ROUND_ROBIN"
	svc.Annotations[annotation.PortID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "fd00::/8"}
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.emitted()
	env.ensure(svc, nodes[:2])
	env.writes(0)
	env.ensure(svc, nodes)
	env.membersAre(nodes)
	emitted := env.emitted()
	for _, want := range []string{annotation.Method, annotation.PortID, "all clients may connect as before", "fd00::/8"} {
		if !strings.Contains(emitted, want) {
			t.Errorf("events:\n%s\nsay nothing of %q", emitted, want)
		}
	}
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
	env.refused(svc, nodes[:1], "so port TCP/443 is not opened")
	env.membersAre(nodes[:1])
	if got := len(env.loadBalancer().Listeners); got != 1 {
		t.Errorf("%d listeners", got)
	}
	svc.Spec.LoadBalancerSourceRanges = nil
	env.ensure(svc, nodes)
}

// Settings without effect do not change the desired state: nothing is read or written, but the event comes, also
// from a process that has just started.
func TestProvider_WithoutFeatureIsReportedIfNothingElseChanges(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"the process that made it": false, "the next process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": "ovn"}})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			if restarts {
				env.restart()
			}
			env.emitted()
			env.Cloud.RequestLog.Reset()
			const said = "all clients may connect as before"
			for _, ranges := range [][]string{{"10.0.0.0/8"}, nil, {"192.0.2.0/24"}} {
				svc.Spec.LoadBalancerSourceRanges = ranges
				env.ensure(svc, nodes)
				env.ensure(svc, nodes)
				want := 0
				if ranges != nil {
					want = 1
				}
				if got := env.emitted(); strings.Count(got, said) != want {
					t.Errorf("ranges %v: the events\n%s\nsay %q %d times, want %d", ranges, got, said, strings.Count(got, said), want)
				}
			}
			env.writes(0)
		})
	}
}

//proves:140
func TestRouter_ReportsSettingWithoutEffectIfNothingElseChanges(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	r.svc.Annotations[annotation.Internal] = "true"
	r.ensure(r.svc, nodes)
	r.emitted()
	r.Cloud.RequestLog.Reset()
	r.svc.Annotations[annotation.IPMode] = "Proxy"
	r.ensure(r.svc, nodes)
	r.ensure(r.svc, nodes)
	if got := r.emitted(); strings.Count(got, "ip-mode: has no effect") != 1 {
		t.Errorf("events:\n%s", got)
	}
	r.writes(0)
}

// Octavia does not give this answer about an object that does not exist; a proxy in its place may.
func TestEnsure_OutlivesAnswerThatNewLoadBalancerIsLocked(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	locked := faultOn(http.MethodPost, lbRoute, http.StatusConflict)
	locked.Body, locked.Count = `{"faultstring": "Load Balancer x is immutable and cannot be updated."}`, 1
	env.Cloud.Faults.Add(locked)
	env.refused(svc, nodes, "is immutable")
	env.ensure(svc, nodes)
	env.loadBalancers(1)
	env.floatingIPs(1)
}
