package sweep

import (
	"context"
	"fmt"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// dualClouds returns the clouds with a provider that serves both IP families, in a network of both.
func dualClouds() []cloud {
	var all []cloud
	for _, c := range clouds() {
		provider, grouped := strings.CutSuffix(c.name, " with groups")
		if provider != octavia.ProviderAmphora && provider != octavia.ProviderOVN {
			continue
		}
		c.name = "dual-stack " + provider
		if c.keys = maps.Clone(c.keys); grouped {
			c.name += " with groups"
		}
		c.simulator = func() simulator.Options {
			return simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}
		}
		all = append(all, c)
	}
	return all
}

// Dual makes a Service dual-stack, or single-stack again. It may get another load balancer for that.
func Dual(svc *v1.Service, is bool) *v1.Service {
	policy := v1.IPFamilyPolicySingleStack
	svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	if is {
		policy = v1.IPFamilyPolicyPreferDualStack
		svc.Spec.IPFamilies = append(svc.Spec.IPFamilies, v1.IPv6Protocol)
	}
	svc.Spec.IPFamilyPolicy = &policy
	return with(svc, annotation.AllowReplace, "true")
}

// families returns scenarios of Services with both IP families.
func families() []Scenario {
	dual := func(ports ...int32) []*v1.Service { return []*v1.Service{Dual(service("web", ports...), true)} }
	var all []Scenario
	for _, a := range []act{
		{name: "create for both families", before: []*v1.Service{}, do: create(dual(80, 81)[0])},
		{name: "delete of both families", before: dual(80), do: remove("web")},
		{name: "second family", before: []*v1.Service{service("web", 80)}, do: edit(func(svc *v1.Service) { Dual(svc, true) })},
		{name: "second family in a subnet by ID", before: []*v1.Service{service("web", 80)}, do: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.Edit(web(), func(svc *v1.Service) { with(Dual(svc, true), annotation.AdditionalSubnets, env.Cloud.SubnetV6.ID) })
			return nil
		}},
		{name: "second family no more", before: dual(80), do: edit(func(svc *v1.Service) { Dual(svc, false) })},
		{name: "node of both families added", before: dual(80, 81), do: func(_ context.Context, env *testenv.Env) error {
			_, err := env.AddNode("node-3", "127.100.1.3")
			return err
		}},
		{name: "node without the second family", before: dual(80), do: func(_ context.Context, env *testenv.Env) error {
			node := env.Cluster.Node("node-2")
			node.Status.Addresses = node.Status.Addresses[:1]
			env.Cluster.SetNode(node)
			return nil
		}},
	} {
		for _, c := range dualClouds() {
			s := a.on(c)
			s.Check = servedInBoth
			all = append(all, s)
		}
	}
	return all
}

// servedInBoth reports Services of both families that are served in one.
func servedInBoth(env *testenv.Env) (wrong []string) {
	for _, svc := range env.Cluster.Services() {
		if got, want := len(svc.Status.LoadBalancer.Ingress), len(svc.Spec.IPFamilies); got != want {
			wrong = append(wrong, fmt.Sprintf("Service %s publishes %d addresses for %d IP families", svc.Name, got, want))
		}
	}
	return wrong
}
