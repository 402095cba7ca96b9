package walk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// intent is the state that users request of Octavia at a moment, by port. No two Services request the same
// port, so that their load balancers do not matter.
type intent map[string]port

// port is the requested state of one port, such as TCP/80.
type port struct {
	// allowed has the permitted CIDRs; nil permits all.
	allowed []string
	members []string
	// nodePorts are opened on nodes, for clients of these IP families.
	nodePorts []int
	families  []v1.IPFamily
}

func (p port) equal(other port) bool {
	return slices.Equal(p.allowed, other.allowed) && slices.Equal(p.members, other.members) &&
		slices.Equal(p.nodePorts, other.nodePorts) && slices.Equal(p.families, other.families)
}

// serves reports whether a Service requests a load balancer.
func serves(svc *v1.Service) bool {
	return svc.DeletionTimestamp == nil && svc.Spec.Type == v1.ServiceTypeLoadBalancer
}

// intended returns the present requests.
func intended(env *testenv.Env) intent {
	all, nodes := intent{}, env.Cluster.Nodes()
	for _, svc := range env.Cluster.Services() {
		if !serves(svc) || sweep.IsOnRouter(svc) {
			continue
		}
		if sweep.IsForwarding(svc) {
			for _, p := range svc.Spec.Ports {
				all[fmt.Sprint(forwarded, testenv.KeyOf(svc), p.Protocol, p.Port)] = port{nodePorts: []int{int(p.NodePort)}}
			}
			continue
		}
		for _, p := range svc.Spec.Ports {
			all[fmt.Sprintf("%s/%d", p.Protocol, p.Port)] = served(env, svc, p, nodes)
		}
		if number := svc.Annotations[annotation.MetricsPort]; number != "" {
			all["TCP/"+number] = port{allowed: strings.Split(svc.Annotations[annotation.MetricsCIDRs], ",")}
		}
	}
	return all
}

// served returns the requested state of a port on a load balancer.
func served(env *testenv.Env, svc *v1.Service, p v1.ServicePort, nodes []*v1.Node) port {
	number := memberPort(svc, p)
	wanted := port{allowed: slices.Clone(svc.Spec.LoadBalancerSourceRanges), nodePorts: []int{number}, families: svc.Spec.IPFamilies}
	if svc.Spec.HealthCheckNodePort != 0 {
		wanted.nodePorts = append(wanted.nodePorts, int(svc.Spec.HealthCheckNodePort))
	}
	for _, node := range nodes {
		if selects(svc, node) && hasPods(env, svc, node) {
			for _, address := range addressesOf(env, svc, node) {
				wanted.members = append(wanted.members, fmt.Sprintf("%s:%d", address, number))
			}
		}
	}
	slices.Sort(wanted.members)
	return wanted
}

// forwarded begins the names of ports that are forwarded, not served by a load balancer in Octavia.
const forwarded = "forwarded "

// memberPort returns the number at which the members of a Service serve one of its ports.
func memberPort(svc *v1.Service, p v1.ServicePort) int {
	if mode(svc) == annotation.MembersPods {
		return testenv.TargetPort(p)
	}
	return int(p.NodePort)
}

// addressesOf returns the addresses of a node that are members of a Service: one of each IP family, or only
// one, because HAProxy serves both IP families from it. Those of a node in two networks are of one family.
func addressesOf(env *testenv.Env, svc *v1.Service, node *v1.Node) (all []string) {
	n := 1
	if env.Conf.LoadBalancer.LBProvider == octavia.ProviderOVN {
		n = max(1, len(svc.Spec.IPFamilies))
	}
	addresses := node.Status.Addresses
	if env.Conf.LoadBalancer.MemberSubnetID != "" && svc.Annotations[annotation.MemberAddress] == "true" && mode(svc) != annotation.MembersPods {
		addresses = addresses[1:]
	}
	for _, a := range addresses[:n] {
		all = append(all, a.Address)
	}
	return all
}

// edge is the label for node selectors of walks.
const edge = "example.com/edge"

func selects(svc *v1.Service, node *v1.Node) bool {
	return svc.Annotations[annotation.NodeSelector] == "" || node.Labels[edge] != ""
}

// hasPods reports whether a node has endpoints of a Service, if its members follow them.
func hasPods(env *testenv.Env, svc *v1.Service, node *v1.Node) bool {
	nodes, _ := env.Cluster.Endpoints(testenv.KeyOf(svc))
	return mode(svc) == "" || mode(svc) == annotation.MembersNodes || slices.Contains(nodes, node.Name)
}

// byPort returns an exposure without the names of load balancers. A port that several have for a
// while permits the clients of all of them, and has the members of the one with most.
func byPort(e testenv.Exposure) (allowed, members map[string][]string) {
	allowed, members = map[string][]string{}, map[string][]string{}
	for key, cidrs := range e.Listeners {
		_, name, _ := strings.Cut(key, " ")
		allowed[name] = append(allowed[name], cidrs...)
		if serving := e.Members[key]; len(serving) >= len(members[name]) {
			members[name] = serving
		}
	}
	return allowed, members
}

// nodePortsOf returns the first and the last port of a rule of an exposure; false if it is neither for
// NodePorts nor for the ports of pods.
func nodePortsOf(rule string) (first, last int, is bool) {
	for _, word := range strings.Fields(rule) {
		from, to, found := strings.Cut(word, "-")
		low, err := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if found && err == nil && err2 == nil && low >= testenv.TargetPort(v1.ServicePort{}) {
			return low, high, true
		}
	}
	return 0, 0, false
}
