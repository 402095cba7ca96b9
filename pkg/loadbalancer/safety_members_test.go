package loadbalancer_test

import (
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// A Service that may not have pods as members does not get them after a restart either.
//
//proves:56
func TestPods_OpenNoPortsWhileRefused(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, managed("per-service"), 1, "")
	svc.Spec.Ports[0].NodePort = 30080
	svc.Annotations[annotation.Members] = annotation.MembersEndpointNodes
	env.ensure(svc, nodes)
	env.areOnNodes("")
	svc.Annotations[annotation.Members] = annotation.MembersPods
	env.refused(svc, nodes, "security groups would open")
	env.restart()
	f.of = members.Endpoints{{
		Family: v1.IPv4Protocol, Ports: []string{svc.Spec.Ports[0].Name}, Numbers: []int{10250},
		Endpoints: []members.Endpoint{{Address: netip.MustParseAddr(nodes[0].Status.Addresses[0].Address), Ready: true, Serving: true}},
	}}
	env.refused(svc, nodes, "security groups would open")
	if rules := strings.Join(rulesOf(env.group()), " "); strings.Contains(rules, "10250") {
		t.Errorf("rules %s", rules)
	}
	for _, m := range env.loadBalancer().Pools[0].Members {
		if m.ProtocolPort != 30080 {
			t.Errorf("member %s:%d", m.Address, m.ProtocolPort)
		}
	}
}
