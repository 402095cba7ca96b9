package loadbalancer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const (
	prefer  = v1.IPFamilyPolicyPreferDualStack
	require = v1.IPFamilyPolicyRequireDualStack
)

// dualCloud returns a cloud with a tenant network of both IP families, a provider, and more keys of cloud.conf.
func dualCloud(t *testing.T, provider, release string, more ...string) *environment {
	t.Helper()
	keys := map[string]string{"lb-provider": provider}
	for i := 0; i < len(more); i += 2 {
		keys[more[i]] = more[i+1]
	}
	if provider == octavia.ProviderOVN {
		keys["lb-method"] = "SOURCE_IP_PORT"
	}
	return newEnvironment(t, environmentOptions{keys: keys, simulator: simulator.Options{
		Release: release, Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"},
	}})
}

// dual makes a Service dual-stack.
func dual(svc *v1.Service, policy v1.IPFamilyPolicy, families ...v1.IPFamily) *v1.Service {
	svc.Spec.IPFamilyPolicy, svc.Spec.IPFamilies = &policy, families
	return svc
}

// dualNodes returns nodes with addresses of both families.
func (env *environment) dualNodes(n int) []*v1.Node {
	nodes := env.nodes(n)
	for i, node := range nodes {
		node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: fmt.Sprintf("fd00:6::%d", 10+i)})
	}
	return nodes
}

// addressesAt returns the addresses of the members of a port, sorted.
func (env *environment) addressesAt(protocol string, port int) string {
	env.T.Helper()
	lb := env.loadBalancer()
	for _, l := range lb.Listeners {
		if l.Protocol == protocol && l.ProtocolPort == port {
			var all []string
			i := slices.IndexFunc(lb.Pools, func(p *octavia.Pool) bool { return p.ID == l.DefaultPoolID })
			for _, m := range lb.Pools[i].Members {
				all = append(all, m.Address)
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
	}
	env.T.Fatalf("no listener %s/%d", protocol, port)
	return ""
}

func ipsOf(status *v1.LoadBalancerStatus) []string {
	var all []string
	for _, ingress := range status.Ingress {
		all = append(all, ingress.IP)
	}
	return all
}

// One POST creates both VIPs, another one the floating IP on the VIP of IPv4, wherever it stands. Both
// addresses are published in the order of ipFamilies.
//
//proves:29,32
func TestDualStack_IsServedInBothFamiliesInTheirOrder(t *testing.T) {
	t.Parallel()
	const v4, v6 = v1.IPv4Protocol, v1.IPv6Protocol
	for name, c := range map[string]struct {
		provider string
		families []v1.IPFamily
		first    v1.IPFamily // of the VIPs; cloud.conf has a subnet of IPv4
	}{
		"amphora, IPv4 first":  {octavia.ProviderAmphora, []v1.IPFamily{v4, v6}, v4},
		"amphora, IPv6 first":  {octavia.ProviderAmphora, []v1.IPFamily{v6, v4}, v4},
		"amphora, VIP of IPv6": {octavia.ProviderAmphora, []v1.IPFamily{v6, v4}, v6},
		"ovn, IPv4 first":      {octavia.ProviderOVN, []v1.IPFamily{v4, v6}, v4},
		"ovn, IPv6 first":      {octavia.ProviderOVN, []v1.IPFamily{v6, v4}, v4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := dualCloud(t, c.provider, "2026.1")
			nodes, svc := env.dualNodes(2), dual(service("web", 1), require, c.families...)
			if c.first == v6 {
				svc.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
			}
			env.Cloud.RequestLog.Reset()
			status := env.ensure(svc, nodes)
			env.writes(2)
			lb := env.loadBalancer()
			if len(lb.AdditionalVIPs) != 1 || strings.Contains(lb.VIP.Address, ":") != (c.first == v6) {
				t.Fatalf("VIP %s, additional %+v", lb.VIP.Address, lb.AdditionalVIPs)
			}
			fixed, other := lb.VIP.Address, lb.AdditionalVIPs[0].Address
			if c.first == v6 {
				fixed, other = other, fixed
			}
			fips := env.Cloud.Neutron.FloatingIPs()
			if len(fips) != 1 || fips[0].FixedAddress != fixed {
				t.Fatalf("floating IPs %+v, want one at %s", fips, fixed)
			}
			want := []string{fips[0].Address, other}
			if c.families[0] == v6 {
				slices.Reverse(want)
			}
			if got := ipsOf(status); !slices.Equal(got, want) {
				t.Errorf("published %v, want %v", got, want)
			}
			svc.Status.LoadBalancer = *status
			env.unchanged(svc, nodes)
			env.restart()
			env.Cloud.RequestLog.Reset()
			if again := env.ensure(svc, nodes); !slices.Equal(ipsOf(again), want) {
				t.Errorf("published after a restart: %v", ipsOf(again))
			}
			env.writes(0)
			env.delete(svc)
			env.loadBalancers(0)
			env.floatingIPs(0)
		})
	}
}

// HAProxy serves both families from either, so that each node is a member once. UDP of amphora and all
// of ovn need members of both.
//
//proves:29,32
func TestDualStack_MembersAreOfTheFamiliesThatTheDriverNeeds(t *testing.T) {
	t.Parallel()
	const both = "127.100.1.10 127.100.1.11 fd00:6::10 fd00:6::12"
	for provider, tcp := range map[string]string{
		octavia.ProviderAmphora: "127.100.1.10 127.100.1.11 fd00:6::12",
		octavia.ProviderOVN:     both,
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env := dualCloud(t, provider, "2026.1")
			nodes := env.dualNodes(3)
			nodes[1].Status.Addresses = nodes[1].Status.Addresses[:1]
			nodes[2].Status.Addresses = nodes[2].Status.Addresses[1:]
			svc := dual(service("web", 1), require, v1.IPv4Protocol, v1.IPv6Protocol)
			svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53))
			status := env.ensure(svc, nodes)
			if got := env.addressesAt("TCP", int(svc.Spec.Ports[0].Port)); got != tcp {
				t.Errorf("members of TCP: %s, want %s", got, tcp)
			}
			if got := env.addressesAt("UDP", 53); got != both {
				t.Errorf("members of UDP: %s, want %s", got, both)
			}
			if text := env.emitted(); !strings.Contains(text, "no IPv6 address: node-1") || !strings.Contains(text, "no IPv4 address: node-2") {
				t.Errorf("events: %s", text)
			}
			svc.Status.LoadBalancer = *status
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:2])
			env.writes(len(svc.Spec.Ports)) // one member leaves each pool
		})
	}
}

// Pods that terminate leave in turn with those of the IP families that the load balancer serves.
//
//proves:143
func TestDualStack_PodsLeaveInTurnWithThoseOfServedFamilies(t *testing.T) {
	t.Parallel()
	pod := &v1.Pod{Spec: v1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](90), Containers: []v1.Container{{
		Lifecycle: &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 60}}},
	}}}}
	for release, family := range map[string]string{"zed": model.IPv4, "2026.1": ""} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			f := &fakeEndpoints{}
			env := newEnvironment(t, environmentOptions{
				keys: map[string]string{"lb-provider": octavia.ProviderOVN, "lb-method": "SOURCE_IP_PORT"}, endpoints: f,
				pods:      func(context.Context, string, string) (*v1.Pod, error) { return pod, nil },
				simulator: simulator.Options{Release: release, Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}},
			})
			nodes, svc := env.dualNodes(4), dual(service("web", 1), prefer, v1.IPv4Protocol, v1.IPv6Protocol)
			svc.Annotations[annotation.Members] = annotation.MembersPods
			env.routePods(0, 1, 2, 3)
			for _, pods := range []string{"0:11 1:12", "1:12 2:13", "2:13 3:14", "3:14 0:11"} {
				f.pods(svc, pods)
				f.of[0].Pod = "web-1"
				env.ensure(svc, nodes)
			}
			if stay := env.engine.Stay(svc); stay.For == 0 || stay.Each == 0 || stay.Family != family {
				t.Errorf("members of the IP family %q stay for %s, %s less for each other one, want those of %q", stay.Family, stay.For, stay.Each, family)
			}
		})
	}
}

// Octavia of Zed has no additional VIPs of ovn.
//
//proves:29,32
func TestDualStack_WithoutSupportIsPreferredOrRefused(t *testing.T) {
	t.Parallel()
	env := dualCloud(t, octavia.ProviderOVN, "zed")
	nodes, svc := env.dualNodes(1), dual(service("web", 1), require, v1.IPv4Protocol, v1.IPv6Protocol)
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\"")
	env.writes(0)
	env.emitted()
	dual(svc, prefer, svc.Spec.IPFamilies...)
	svc.Status.LoadBalancer = *env.ensure(svc, nodes)
	if lb := env.loadBalancer(); len(lb.AdditionalVIPs) != 0 || len(svc.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("additional VIPs %+v, published %v", lb.AdditionalVIPs, ipsOf(&svc.Status.LoadBalancer))
	}
	if text := env.emitted(); strings.Count(text, "spec.ipFamilyPolicy: PreferDualStack: the load balancer serves only IPv4") != 1 {
		t.Errorf("events: %s", text)
	}
	env.unchanged(svc, nodes)
}

//proves:29,32
func TestDualStack_WithoutSubnetOfSecondFamilyIsPreferredOrRefused(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.dualNodes(1), dual(service("web", 1), require, v1.IPv4Protocol, v1.IPv6Protocol)
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "has no subnet of IPv6")
	env.writes(0)
	env.emitted()
	dual(svc, prefer, svc.Spec.IPFamilies...)
	svc.Annotations[annotation.AllowReplace] = "true"
	svc.Status.LoadBalancer = *env.ensure(svc, nodes)
	if text := env.emitted(); strings.Count(text, "serves only IPv4, because network") != 1 {
		t.Errorf("events: %s", text)
	}
	env.unchanged(svc, nodes)
	env.loadBalancers(1)
}

//proves:29,32
func TestDualStack_RefusesSubnetsThatOctaviaCannotUseBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subnet func(*environment) string
		text   string
	}{
		"another network": {func(env *environment) string { return env.elsewhere().ID }, "all VIPs must be in one network"},
		"no such subnet":  {func(*environment) string { return "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11" }, "there is no subnet"},
		"the first VIP's": {func(env *environment) string { return env.Cloud.Subnet.ID }, "each VIP needs a subnet of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := dualCloud(t, octavia.ProviderAmphora, "2026.1")
			nodes, svc := env.dualNodes(1), dual(service("web", 1), prefer, v1.IPv4Protocol, v1.IPv6Protocol)
			svc.Annotations[annotation.AdditionalSubnets] = c.subnet(env)
			env.Cloud.RequestLog.Reset()
			env.refused(svc, nodes, c.text)
			env.writes(0)
			svc.Annotations[annotation.AdditionalSubnets] = env.Cloud.SubnetV6.ID
			env.ensure(svc, nodes)
			if lb := env.loadBalancer(); len(lb.AdditionalVIPs) != 1 {
				t.Errorf("additional VIPs: %+v", lb.AdditionalVIPs)
			}
		})
	}
}

// cloud-provider-openstack has served the Service in its first family.
//
//proves:29,32
func TestDualStack_TakeoverOfSingleStackWritesNothing(t *testing.T) {
	t.Parallel()
	env := dualCloud(t, octavia.ProviderAmphora, "2026.1")
	nodes, svc := env.dualNodes(2), dual(service("web", 2), prefer, v1.IPv4Protocol, v1.IPv6Protocol)
	env.inherit(peers("kubernetes", svc), svc, nodes)
	before := ipsOf(&svc.Status.LoadBalancer)
	env.Cloud.RequestLog.Reset()
	for range 2 {
		if got := ipsOf(env.ensure(svc, nodes)); !slices.Equal(got, before) {
			t.Errorf("published %v, want %v", got, before)
		}
	}
	env.writes(0)
	if text := env.emitted(); strings.Count(text, "the additional VIPs stays") != 1 || strings.Contains(text, "IPv6 address") {
		t.Errorf("events: %s", text)
	}
}

//proves:29,32
func TestDualStack_LaterChangeOfPolicyNeedsPermissionToReplace(t *testing.T) {
	t.Parallel()
	env := dualCloud(t, octavia.ProviderAmphora, "2026.1")
	nodes, svc := env.dualNodes(1), dual(service("web", 1), v1.IPFamilyPolicySingleStack, v1.IPv4Protocol)
	svc.Status.LoadBalancer = *env.ensure(svc, nodes)
	first := env.loadBalancer().ID
	env.emitted()
	dual(svc, require, v1.IPv4Protocol, v1.IPv6Protocol)
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(0)
	if text := env.emitted(); !strings.Contains(text, "the additional VIPs stays") {
		t.Errorf("events: %s", text)
	}
	svc.Annotations[annotation.AllowReplace] = "true"
	status := env.ensure(svc, nodes)
	if lb := env.loadBalancer(); lb.ID == first || len(lb.AdditionalVIPs) != 1 || len(status.Ingress) != 2 {
		t.Errorf("load balancer %s with %+v, published %v", lb.ID, lb.AdditionalVIPs, ipsOf(status))
	}
	svc.Status.LoadBalancer = *status
	env.unchanged(svc, nodes)
}

// The preview has both VIPs, their refusal, and their replacement.
//
//proves:29,32,90
func TestDualStack_IsForetold(t *testing.T) {
	t.Parallel()
	env := dualCloud(t, octavia.ProviderAmphora, "2026.1")
	nodes, svc := env.dualNodes(2), dual(service("web", 1), require, v1.IPv6Protocol, v1.IPv4Protocol)
	svc.Annotations[annotation.AdditionalSubnets] = env.elsewhere().ID
	if p := env.foretold(svc, nodes); p.Refusal == nil {
		t.Error("a subnet of another network is not refused")
	}
	delete(svc.Annotations, annotation.AdditionalSubnets)
	svc.Annotations[annotation.AllowReplace] = "true"
	if p := env.foretold(svc, nodes); !strings.Contains(p.Steps[0].Text, "additional VIPs: "+env.Cloud.SubnetV6.ID) {
		t.Errorf("foretold: %s", p.Steps[0].Text)
	}
	dual(svc, v1.IPFamilyPolicySingleStack, v1.IPv4Protocol)
	env.foretold(svc, nodes)
	if lb := env.loadBalancer(); len(lb.AdditionalVIPs) > 0 || len(svc.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("additional VIPs %+v, published %v", lb.AdditionalVIPs, ipsOf(&svc.Status.LoadBalancer))
	}
	dual(svc, prefer, v1.IPv4Protocol, v1.IPv6Protocol)
	env.foretold(svc, nodes)
	if lb := env.loadBalancer(); len(lb.AdditionalVIPs) != 1 || len(svc.Status.LoadBalancer.Ingress) != 2 {
		t.Errorf("additional VIPs %+v, published %v", lb.AdditionalVIPs, ipsOf(&svc.Status.LoadBalancer))
	}
	env.unchanged(svc, nodes)
}

// A Service has the IP families of the load balancer that it shares, as far as it requests them.
//
//proves:32,58
func TestDualStack_GuestHasTheFamiliesOfTheSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	const v4, v6 = v1.IPv4Protocol, v1.IPv6Protocol
	for name, c := range map[string]struct {
		owner, guest []v1.IPFamily
		addresses    int
		members      string
	}{
		"both on both":   {[]v1.IPFamily{v4, v6}, []v1.IPFamily{v4, v6}, 2, "127.100.1.10 fd00:6::10"},
		"both on single": {[]v1.IPFamily{v4}, []v1.IPFamily{v4, v6}, 1, "127.100.1.10"},
		"single on both": {[]v1.IPFamily{v4, v6}, []v1.IPFamily{v4}, 1, "127.100.1.10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := dualCloud(t, octavia.ProviderOVN, "2026.1")
			nodes, owner, guest := env.dualNodes(1), dual(service("web", 1), prefer, c.owner...), dual(service("guest", 0), prefer, c.guest...)
			owner.Status.LoadBalancer = *env.ensure(owner, nodes)
			guest.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443)}
			guest.Annotations[annotation.LoadBalancerID] = env.loadBalancer().ID
			guest.Status.LoadBalancer = *env.ensure(guest, nodes)
			if got := ipsOf(&guest.Status.LoadBalancer); len(got) != c.addresses || got[0] != owner.Status.LoadBalancer.Ingress[0].IP {
				t.Errorf("published: %v, by the owner: %v", got, ipsOf(&owner.Status.LoadBalancer))
			}
			if got := env.addressesAt("TCP", 443); got != c.members {
				t.Errorf("members: %s, want %s", got, c.members)
			}
			env.unchanged(guest, nodes)
			env.unchanged(owner, nodes)
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(guest, nodes)
			env.ensure(owner, nodes)
			env.writes(0)
		})
	}
}

// Clients of a family are admitted only by ranges of that family.
//
//proves:29,32
func TestDualStack_SourceRangesAreOfBothFamilies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ranges, want []string }{
		"of both":             {[]string{"fd00::/8", "10.0.0.0/8"}, []string{"10.0.0.0/8", "fd00::/8"}},
		"all of one":          {[]string{"0.0.0.0/0"}, []string{"0.0.0.0/0"}},
		"all of one and some": {[]string{"0.0.0.0/0", "fd00::/8"}, []string{"0.0.0.0/0", "fd00::/8"}},
		"all":                 {[]string{"0.0.0.0/0", "::/0"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := dualCloud(t, octavia.ProviderAmphora, "2026.1")
			nodes, svc := env.dualNodes(1), dual(service("web", 1), require, v1.IPv4Protocol, v1.IPv6Protocol)
			svc.Spec.LoadBalancerSourceRanges = c.ranges
			svc.Status.LoadBalancer = *env.ensure(svc, nodes)
			if got := env.loadBalancer().Listeners[0].AllowedCIDRs; !slices.Equal(got, c.want) {
				t.Errorf("admitted: %v, want %v", got, c.want)
			}
			env.unchanged(svc, nodes)
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(0)
		})
	}
}

// Ranges of the second family alone must not admit all clients of the first.
//
//proves:29,32
func TestDualStack_RangesOfOtherFamilyAloneAreRefusedForSingleStack(t *testing.T) {
	t.Parallel()
	env := dualCloud(t, octavia.ProviderOVN, "zed")
	nodes, svc := env.dualNodes(1), dual(service("web", 1), prefer, v1.IPv4Protocol, v1.IPv6Protocol)
	svc.Spec.LoadBalancerSourceRanges = []string{"fd00::/8"}
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "at least one range must be of that IP family")
	env.writes(0)
}

// A load balancer with two VIPs is not created if either subnet has no free address. Nothing is left of it,
// and it is created with both VIPs when there is room: PreferDualStack would be single-stack forever.
//
//proves:29,32,80
func TestDualStack_WaitsForFreeAddressInEitherFamily(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{octavia.ProviderAmphora, octavia.ProviderOVN} {
		for _, policy := range []v1.IPFamilyPolicy{prefer, require} {
			t.Run(provider+", "+string(policy), func(t *testing.T) {
				t.Parallel()
				env := dualCloud(t, provider, "2026.1")
				nodes, svc := env.dualNodes(2), dual(service("web", 1), policy, v1.IPv4Protocol, v1.IPv6Protocol)
				full, err := env.Cloud.ExhaustSubnet(env.Cloud.SubnetV6.ID)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					_, err := env.engine.Ensure(env.ctx, svc, nodes)
					var later *api.RetryError
					if !errors.As(err, &later) || later.RetryAfter() < 5*time.Minute {
						t.Fatalf("error %v, want one that asks for five minutes", err)
					}
				}
				if text := env.emitted(); strings.Count(text, "LoadBalancerQuotaExceeded") != 1 || !strings.Contains(text, "no free address") {
					t.Errorf("events: %s", text)
				}
				env.loadBalancers(0)
				env.floatingIPs(0)
				if lost := env.Cloud.LeakedPorts(); len(lost) > 0 {
					t.Errorf("%d ports are left", len(lost))
				}
				env.Cloud.Faults.Remove(full)
				svc.Status.LoadBalancer = *env.ensure(svc, nodes)
				if lb := env.loadBalancer(); len(lb.AdditionalVIPs) != 1 || len(svc.Status.LoadBalancer.Ingress) != 2 {
					t.Errorf("additional VIPs %+v, published %v", lb.AdditionalVIPs, ipsOf(&svc.Status.LoadBalancer))
				}
				env.delete(svc)
				env.loadBalancers(0)
				if lost := env.Cloud.LeakedPorts(); len(lost) > 0 {
					t.Errorf("%d ports are left of the deleted load balancer", len(lost))
				}
			})
		}
	}
}
