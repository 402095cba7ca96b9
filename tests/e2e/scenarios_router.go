package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

// routerProvider is the provider without Octavia.
const routerProvider = "router"

// clientsOfRouter is the number of clients of each protocol. A planned move may reset the connections of each at the
// addition of the new route, and at the removal of the old one. At the latter, a datagram that is on its way may get no answer.
const clientsOfRouter = 2

// router serves a Service by the router of the nodes, which is the same with each provider of Octavia: it is
// played with one. Nodes admit only machines of their own network, and what the controller opens.
func router(s *scene) {
	network := s.Cloud.VIPNetwork()
	if network == "" || s.Provider != "amphora" {
		s.Skip("played with provider amphora, if there is a router with routes that may be changed")
	}
	s.carrier = routerProvider
	defer s.restartWith("")
	s.restartWith("router-vip-network-id=" + network + "\nmanage-security-groups=true\n")
	defer s.closeNodes()()
	web := s.create("web", func(svc *corev1.Service) {
		svc.Annotations[prefix+"provider"] = routerProvider
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8080), port(corev1.ProtocolUDP, 8080)}
	}, nodeNames()...)
	addresses := web.addresses(2)
	v := &vip{service: web, floating: at(addresses[0], 8080), address: addresses[1]}
	v.reachedFromEverywhere()
	v.admits("192.0.2.0/24", false)
	v.admits("172.24.4.0/22", true)
	v.movesAsPlanned()
	v.survivesNode("node-7")
	web.remove()
	s.nothingLeft()
	s.eventually("no port and route", func(ctx context.Context) error {
		left, err := s.Cloud.API().vipPorts(ctx, network)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left in the network of VIPs: %s", left[0].Name)
		}
		return errors.Join(err, v.leads(ctx))
	})
}

// vip is the Service at work, with its addresses.
type vip struct {
	*service
	floating, address string
}

// leads returns an error unless the router leads to the VIP through exactly these nodes.
func (v *vip) leads(ctx context.Context, names ...string) error {
	id, err := v.Cloud.Router(ctx)
	if err != nil {
		return err
	}
	routes, err := v.Cloud.API().Routes(ctx, id)
	if err != nil {
		return err
	}
	var have, want []string
	for _, route := range routes {
		if route.DestinationCIDR == v.address+"/32" {
			have = append(have, route.NextHop)
		}
	}
	for _, name := range names {
		node, err := v.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		want = append(want, nodeAddress(node))
	}
	slices.Sort(have)
	if slices.Sort(want); !slices.Equal(have, want) {
		return fmt.Errorf("the router leads to %s through %v, want %v", v.address, have, want)
	}
	return nil
}

// hop waits until the VIP has one of these nodes as its next hop, and returns it.
func (v *vip) hop(names ...string) (hop string) {
	v.Helper()
	v.eventually(fmt.Sprintf("next hop of %v", names), func(ctx context.Context) error {
		var errs []error
		for _, name := range names {
			err := v.leads(ctx, name)
			if err == nil {
				hop = name
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return hop
}

// reachedFromEverywhere connects from outside, from a machine in the network of nodes, by both addresses, and from
// a pod.
func (v *vip) reachedFromEverywhere() {
	v.Helper()
	hop := v.hop(nodeNames()...)
	v.answeredBy(v.outside(), v.floating, hop)
	v.answeredBy(v.inside(), v.floating, hop)
	v.answeredBy(v.inside(), at(v.address, 8080), hop)
	for _, client := range []cluster.Client{v.outside(), v.inside()} {
		v.answersUDP(client, v.floating)
	}
	namespace, carried, err := v.Cloud.AddPod(v.Context(), hop, netip.MustParseAddr("10.244.251.2"))
	v.must(err)
	if carried {
		v.answeredBy(cluster.Client{From: namespace}, v.floating, hop)
	}
}

// admits sets the source ranges, and waits until clients outside are admitted or not.
func (v *vip) admits(sources string, admitted bool) {
	v.Helper()
	v.change(func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{sources} })
	v.eventually("security group with "+sources, func(ctx context.Context) error {
		all, err := v.Cloud.API().SecurityGroups(ctx, "-"+v.namespace+"-"+v.name)
		if err != nil || len(all) != 1 {
			return fmt.Errorf("there are %d groups: %w", len(all), err)
		}
		for _, rule := range all[0].Rules {
			if rule.Direction == string(rules.DirIngress) && rule.RemoteIPPrefix != sources {
				return fmt.Errorf("it admits %s", rule.RemoteIPPrefix)
			}
		}
		return nil
	})
	if !v.carries(corev1.ProtocolTCP) {
		return
	}
	v.eventually(fmt.Sprintf("clients outside are admitted: %t", admitted), func(ctx context.Context) error {
		_, _, err := v.outside().HTTP(ctx, v.floating)
		if err == nil != admitted {
			return fmt.Errorf("not so: %w", err)
		}
		return nil
	})
}

// movesAsPlanned moves the VIP to other nodes while clients connect: no new connection is lost, and of UDP only datagrams
// on their way. Established connections may be reset: their next packet reaches a node that does not know them.
func (v *vip) movesAsPlanned() {
	v.Helper()
	moves, least := 2, 50
	if v.bears(corev1.ProtocolTCP) {
		moves, least = 20, 10000
	}
	load := v.load("planned moves", v.outside(), v.floating, clientsOfRouter)
	for i := range moves {
		hop := v.hop(nodeNames()...)
		others := without(nodeNames(), hop)
		if i%2 == 0 { // a pod moves
			v.must(v.SetPods(v.Context(), v.get(), others, hop))
			time.Sleep(graceTime)
			v.pods(others...)
			v.hop(others...)
			v.pods(nodeNames()...)
		} else { // a node leaves, and joins
			v.exclude(hop, true)
			v.hop(others...)
			v.exclude(hop, false)
		}
	}
	reset, unanswered := 0, 0
	for _, failure := range load.stop(least) {
		switch {
		case errors.Is(failure.Err, syscall.ECONNRESET): // only after the handshake: before it is ECONNREFUSED
			reset++
		case errors.Is(failure.Err, cluster.ErrUnanswered):
			unanswered++
		default:
			v.Errorf("a planned move: %v", failure)
		}
	}
	if v.bearsAny() {
		v.report("%d planned moves reset %d established connections, and %d datagrams got no answer", moves, reset, unanswered)
	}
	if reset > 2*clientsOfRouter*moves || unanswered > clientsOfRouter*moves/2 {
		v.Errorf("%d planned moves reset %d established connections, and %d datagrams got no answer", moves, reset, unanswered)
	}
}

// exclude sets or removes the label that excludes a node from load balancers.
func (v *vip) exclude(name string, excluded bool) {
	v.Helper()
	value := "null"
	if excluded {
		value = `"true"`
	}
	patch := `{"metadata":{"labels":{"` + corev1.LabelNodeExcludeBalancers + `":` + value + `}}}`
	_, err := v.Client().CoreV1().Nodes().Patch(v.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.must(err)
}

// survivesNode moves the VIP to a new node, which then loses its power. Connections fail until Kubernetes marks
// its endpoints as not ready, and the VIP has moved.
func (v *vip) survivesNode(name string) {
	v.Helper()
	v.must(v.AddNode(v.Context(), name))
	v.pods(name)
	v.hop(name)
	v.pods(append(nodeNames(), name)...)
	v.answeredBy(v.outside(), v.floating, name)
	load := v.load("death of the next hop", v.outside(), v.floating, 1)
	v.must(v.StopNode(name))
	died := time.Now()
	v.eventually("node not ready", func(ctx context.Context) error {
		node, err := v.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			err = errors.New("it is ready")
		}
		return err
	})
	noticed := time.Now()
	v.pods(nodeNames()...) // as the controllers of nodes and endpoints do
	v.hop(nodeNames()...)
	moved := time.Now()
	v.answeredBy(v.outside(), v.floating, v.hop(nodeNames()...))
	failures := load.stop(0)
	v.report("the next hop died: Kubernetes noticed after %.1f s, the VIP moved %.1f s later", noticed.Sub(died).Seconds(), moved.Sub(noticed).Seconds())
	for _, failure := range outside([]period{{died.Add(-slack), moved.Add(2 * slack)}}, failures) {
		v.Errorf("after the VIP has moved: %v", failure)
	}
	v.must(v.Cloud.RemoveMachine(v.Context(), name))
	v.nodeGone(name)
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

// closeNodes gives the nodes' ports a security group that admits machines of their own network, in place of the
// present ones. The result undoes that.
func (s *scene) closeNodes() (open func()) {
	s.Helper()
	api, ctx := s.Cloud.API(), context.WithoutCancel(s.Context())
	nodes, err := api.machinePorts(ctx)
	s.must(err)
	subnet, err := subnets.Get(ctx, api.Network, nodes[0].FixedIPs[0].SubnetID).Extract()
	s.must(err)
	group, err := groups.Create(ctx, api.Network, groups.CreateOpts{Name: serviceGroups + "closed-" + s.namespace}).Extract()
	s.must(err)
	for _, protocol := range []rules.RuleProtocol{rules.ProtocolTCP, rules.ProtocolUDP} {
		s.must(rules.Create(ctx, api.Network, rules.CreateOpts{
			SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: protocol, RemoteIPPrefix: subnet.CIDR,
		}).Err)
	}
	set := func(port string, ids []string) {
		s.must(ports.Update(ctx, api.Network, port, ports.UpdateOpts{SecurityGroups: &ids}).Err)
	}
	for _, port := range nodes {
		set(port.ID, []string{group.ID})
	}
	return func() {
		for _, port := range nodes {
			set(port.ID, port.SecurityGroups)
		}
		s.must(groups.Delete(ctx, api.Network, group.ID).ExtractErr())
	}
}

// machinePorts returns the ports of the project's servers.
func (a *API) machinePorts(ctx context.Context) ([]ports.Port, error) {
	all, err := a.ports(ctx, ports.ListOpts{})
	return slices.DeleteFunc(all, func(port ports.Port) bool { return !strings.HasPrefix(port.DeviceOwner, "compute:") }), err
}

// vipPorts returns the ports in a network that are not Neutron's own.
func (a *API) vipPorts(ctx context.Context, network string) ([]ports.Port, error) {
	all, err := a.ports(ctx, ports.ListOpts{NetworkID: network})
	return slices.DeleteFunc(all, func(port ports.Port) bool { return strings.HasPrefix(port.DeviceOwner, "network:") }), err
}
