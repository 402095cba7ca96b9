package loadbalancer_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const (
	policyA = "aaaaaaaa-0000-4000-8000-000000000001"
	policyB = "bbbbbbbb-0000-4000-8000-000000000001"
	groupA  = "aaaaaaaa-0000-4000-8000-000000000002"
	groupB  = "bbbbbbbb-0000-4000-8000-000000000002"
)

// onVIP checks what a load balancer has on its VIP.
func onVIP(policy string, groups ...string) func(octavia.LoadBalancer) string {
	return func(lb octavia.LoadBalancer) string {
		return cmp.Diff(policy, lb.VIP.QoSPolicyID) + cmp.Diff(append([]string{}, groups...), append([]string{}, lb.VIP.SecurityGroupIDs...))
	}
}

// TestQoSPolicyAndSecurityGroupsOfTheVIPChangeInPlace: one PUT for both together.
//
//proves:28
func TestQoSPolicyAndSecurityGroupsOfTheVIPChangeInPlace(t *testing.T) {
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
			c.run(t, worldOptions{keys: allAnnotations()})
		})
	}
}

// TestSecurityGroupsOfTheVIPAreNeverIgnored: what cannot be is refused before
// anything is written, and from groups to source ranges, or back, there is no moment
// at which everybody may connect.
//
//proves:28
func TestSecurityGroupsOfTheVIPAreNeverIgnored(t *testing.T) {
	t.Parallel()
	groups := set(annotation.VIPSecurityGroups, groupA)
	ranges := func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }
	for name, c := range map[string]struct {
		options       worldOptions
		before, after func(*v1.Service)
		text          string
	}{
		"an older Octavia":                           {options: worldOptions{simulator: simulator.Options{Release: "zed"}}, after: groups, text: "need v2.29"},
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
			w := newWorld(t, c.options)
			nodes, svc := w.nodes(2), service("web", 1)
			if c.before != nil {
				c.before(svc)
				w.ensure(svc, nodes)
			}
			w.cloud.Books.Reset()
			c.after(svc)
			w.refused(svc, nodes, c.text)
			w.writes(0)
		})
	}
}

// TestOneRequestChangesTheVIP: nothing else of the load balancer is written.
//
//proves:28
func TestOneRequestChangesTheVIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"vip-qos-policy-id": policyA, "deny-annotations": ""}})
	nodes, svc := w.nodes(2), service("web", 2)
	w.ensure(svc, nodes)
	if problem := onVIP(policyA)(w.loadBalancer()); problem != "" {
		t.Error(problem)
	}
	svc.Annotations[annotation.VIPSecurityGroups] = groupA
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.writes(1)
	if got := w.cloud.Books.Count(http.MethodPut, lbRoute+"/{id}"); got != 1 {
		t.Errorf("%d PUTs of the load balancer, want 1", got)
	}
	w.unchanged(svc, nodes)
}
