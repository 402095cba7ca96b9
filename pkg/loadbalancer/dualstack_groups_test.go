package loadbalancer_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Each family has rules of its own: for the subnets of the VIPs with amphora, and for clients with ovn.
//
//proves:29,32,86,87
func TestDualStack_SecurityGroupsAdmitBothFamilies(t *testing.T) {
	t.Parallel()
	const v4, v6 = "ingress IPv4 tcp 30080-30080 ", "ingress IPv6 tcp 30080-30080 "
	for _, mode := range []string{"per-service", "shared"} {
		for name, c := range map[string]struct {
			provider string
			ranges   []string
			want     []string
		}{
			"amphora":         {octavia.ProviderAmphora, nil, []string{v4 + "127.100.0.0/16", v6 + "fd00:6::/64"}},
			"ovn":             {octavia.ProviderOVN, nil, []string{v4 + "0.0.0.0/0", v6 + "::/0"}},
			"ovn, ranges":     {octavia.ProviderOVN, []string{"10.0.0.0/8", "fd00::/8"}, []string{v4 + "10.0.0.0/8", v6 + "fd00::/8"}},
			"ovn, one family": {octavia.ProviderOVN, []string{"fd00::/8"}, []string{v6 + "fd00::/8"}},
			"ovn, all of one": {octavia.ProviderOVN, []string{"0.0.0.0/0", "fd00::/8"}, []string{v4 + "0.0.0.0/0", v6 + "fd00::/8"}},
		} {
			t.Run(mode+", "+name, func(t *testing.T) {
				t.Parallel()
				env := dualCloud(t, c.provider, "2026.1", "manage-security-groups", "true", "security-group-mode", mode)
				nodes, svc := env.dualNodes(2), dual(service("web", 1), require, v1.IPv4Protocol, v1.IPv6Protocol)
				svc.Spec.LoadBalancerSourceRanges = c.ranges
				svc.Status.LoadBalancer = *env.ensure(svc, nodes)
				g := env.group()
				env.rules(g, c.want...)
				env.uses(g.ID, nodes...)
				env.unchanged(svc, nodes)
				env.restart()
				env.Cloud.RequestLog.Reset()
				env.ensure(svc, nodes)
				env.writes(0)
				env.delete(svc)
				env.uses(g.ID)
				env.goneWithGroups(svc)
			})
		}
	}
}

// Rules follow the VIPs of a replacement before its addresses are published.
//
//proves:29,32,87
func TestDualStack_ReplacementHasSecurityGroupsOfItsFamilies(t *testing.T) {
	t.Parallel()
	const v4, v6 = "ingress IPv4 tcp 30080-30080 ", "ingress IPv6 tcp 30080-30080 "
	for provider, rules := range map[string][]string{
		octavia.ProviderAmphora: {v4 + "127.100.0.0/16", v6 + "fd00:6::/64"},
		octavia.ProviderOVN:     {v4 + "0.0.0.0/0", v6 + "::/0"},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env := dualCloud(t, provider, "2026.1", "manage-security-groups", "true", "security-group-mode", "per-service")
			nodes, svc := env.dualNodes(2), service("web", 1)
			svc.Annotations[annotation.AllowReplace] = "true"
			svc.Status.LoadBalancer = *env.ensure(svc, nodes)
			env.rules(env.group(), rules[0])
			dual(svc, prefer, v1.IPv4Protocol, v1.IPv6Protocol)
			if svc.Status.LoadBalancer = *env.ensure(svc, nodes); len(svc.Status.LoadBalancer.Ingress) != 2 {
				t.Errorf("published: %v", ipsOf(&svc.Status.LoadBalancer))
			}
			env.rules(env.group(), rules...)
			dual(svc, v1.IPFamilyPolicySingleStack, v1.IPv4Protocol)
			svc.Status.LoadBalancer = *env.ensure(svc, nodes)
			env.rules(env.group(), rules[0])
			env.unchanged(svc, nodes)
		})
	}
}
