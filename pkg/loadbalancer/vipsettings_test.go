package loadbalancer_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const (
	policyA = "aaaaaaaa-0000-4000-8000-000000000001"
	policyB = "bbbbbbbb-0000-4000-8000-000000000001"
	groupA  = "aaaaaaaa-0000-4000-8000-000000000002"
	groupB  = "bbbbbbbb-0000-4000-8000-000000000002"
)

// onVIP returns a check of the QoS policy and the security groups of a load balancer's VIP.
func onVIP(policy string, groups ...string) func(octavia.LoadBalancer) string {
	return func(lb octavia.LoadBalancer) string {
		return cmp.Diff(policy, lb.VIP.QoSPolicyID) + cmp.Diff(append([]string{}, groups...), append([]string{}, lb.VIP.SecurityGroupIDs...))
	}
}

// TestVIP_ChangesQoSPolicyAndSecurityGroupsInPlace checks that both changes together cost one PUT.
//
//proves:28
func TestVIP_ChangesQoSPolicyAndSecurityGroupsInPlace(t *testing.T) {
	t.Parallel()
	both := set(annotation.VIPQoSPolicyID, policyA, annotation.VIPSecurityGroups, groupB+","+groupA)
	for name, c := range map[string]change{
		"asked for from the start":          {before: both, after: func(*v1.Service) {}, check: onVIP(policyA, groupA, groupB)},
		"asked for at last":                 {after: both, writes: 1, check: onVIP(policyA, groupA, groupB)},
		"in another order":                  {before: both, after: set(annotation.VIPSecurityGroups, groupA+", "+groupB), check: onVIP(policyA, groupA, groupB)},
		"others":                            {before: both, after: set(annotation.VIPQoSPolicyID, policyB, annotation.VIPSecurityGroups, groupB), writes: 1, check: onVIP(policyB, groupB)},
		"not asked for any more: they stay": {before: both, after: unset(annotation.VIPQoSPolicyID, annotation.VIPSecurityGroups), check: onVIP(policyA, groupA, groupB)},
		"taken away":                        {before: both, after: set(annotation.VIPQoSPolicyID, "none", annotation.VIPSecurityGroups, "none"), writes: 1, check: onVIP("")},
		"none where there are none":         {after: set(annotation.VIPQoSPolicyID, "none", annotation.VIPSecurityGroups, "none"), check: onVIP("")},
		"none at first, then one":           {before: set(annotation.VIPSecurityGroups, "none"), after: set(annotation.VIPSecurityGroups, groupA), writes: 1, check: onVIP("", groupA)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, environmentOptions{keys: allAnnotations()})
		})
	}
}

// TestVIP_RefusesImpossibleSecurityGroupsBeforeFirstWrite checks that impossible settings are
// refused before the first write, and that a change from groups to source ranges, or back, never
// permits all clients.
//
//proves:28
func TestVIP_RefusesImpossibleSecurityGroupsBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	groups := set(annotation.VIPSecurityGroups, groupA)
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	for name, c := range map[string]struct {
		options       environmentOptions
		before, after func(*v1.Service)
		text          string
	}{
		"an older Octavia":                           {options: environmentOptions{simulator: simulator.Options{Release: "zed"}}, after: groups, text: "need v2.29"},
		"provider ovn":                               {after: set(annotation.Provider, "ovn", annotation.VIPSecurityGroups, groupA), text: "the provider ovn has no security groups of the VIP"},
		"beside source ranges":                       {after: func(svc *v1.Service) { groups(svc); ranges(svc) }, text: "exclude each other"},
		"in place of source ranges":                  {before: ranges, after: func(svc *v1.Service) { groups(svc); svc.Spec.LoadBalancerSourceRanges = nil }, text: "take the ranges away first"},
		"source ranges in their place":               {before: groups, after: func(svc *v1.Service) { unset(annotation.VIPSecurityGroups)(svc); ranges(svc) }, text: "take them away first"},
		"source ranges in their place, and none":     {before: groups, after: func(svc *v1.Service) { set(annotation.VIPSecurityGroups, "none")(svc); ranges(svc) }, text: "take them away first"},
		"a QoS policy that the provider ovn has not": {after: set(annotation.Provider, "ovn", annotation.VIPQoSPolicyID, policyA), text: "the provider ovn has no QoS policies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.keys = allAnnotations()
			env := newEnvironment(t, c.options)
			nodes, svc := env.nodes(2), service("web", 1)
			if c.before != nil {
				c.before(svc)
				env.ensure(svc, nodes)
			}
			env.Cloud.RequestLog.Reset()
			c.after(svc)
			env.refused(svc, nodes, c.text)
			env.writes(0)
		})
	}
}

// TestVIP_ChangesWithOneRequest checks that nothing else of the load balancer is written.
//
//proves:28
func TestVIP_ChangesWithOneRequest(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"vip-qos-policy-id": policyA, "deny-annotations": ""}})
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	if problem := onVIP(policyA)(env.loadBalancer()); problem != "" {
		t.Error(problem)
	}
	svc.Annotations[annotation.VIPSecurityGroups] = groupA
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(1)
	if got := env.Cloud.RequestLog.Count(http.MethodPut, lbRoute+"/{id}"); got != 1 {
		t.Errorf("%d PUTs of the load balancer, want 1", got)
	}
	env.unchanged(svc, nodes)
}
