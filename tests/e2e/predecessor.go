package e2e

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// predecessor is cloud-provider-openstack of July 2026, as far as a switch from it
// matters: it makes for a Service what that makes, with the same requests, and leaves
// in Kubernetes what that leaves. predecessor_test.go holds it to what the real one
// left in a real OpenStack.
type predecessor struct {
	// ClusterName is --cluster-name, Provider and Method are lb-provider and lb-method.
	ClusterName, Provider, Method string
	// CreateMonitor is the key of cloud.conf.
	CreateMonitor bool
	// Network and Subnet are those of the nodes, by ID.
	Network, Subnet string
}

// The defaults of its cloud.conf, in seconds and numbers.
const (
	predecessorDelay, predecessorTimeout       = 5, 3
	predecessorRetries, predecessorRetriesDown = 1, 3
)

// name is that of the load balancer, and the tag of its listeners.
func (p predecessor) name(svc *corev1.Service) string {
	return fmt.Sprintf("kube_service_%s_%s_%s", p.ClusterName, svc.Namespace, svc.Name)
}

// floatingIPDescription returns the description of a floating IP, which names its owner.
func (p predecessor) floatingIPDescription(svc *corev1.Service) string {
	return fmt.Sprintf("Floating IP for Kubernetes external service %s/%s from cluster %s", svc.Namespace, svc.Name, p.ClusterName)
}

// groupName and groupDescription are those of the Service's security group.
func (p predecessor) groupName(svc *corev1.Service) string {
	return fmt.Sprintf("lb-sg-%s-%s-%s", svc.UID, svc.Namespace, svc.Name)
}

func (p predecessor) groupDescription(svc *corev1.Service) string {
	return fmt.Sprintf("Security Group for %s/%s Service LoadBalancer in cluster %s", svc.Namespace, svc.Name, p.ClusterName)
}

// yes reads a boolean: only these two words are one, and any other is the default.
func yes(svc *corev1.Service, annotation string, otherwise bool) bool {
	switch svc.Annotations[annotation] {
	case "true":
		return true
	case "false":
		return false
	default:
		return otherwise
	}
}

func (p predecessor) monitored(svc *corev1.Service) bool {
	return yes(svc, prefix+"enable-health-monitor", p.CreateMonitor)
}

// healthPort is what health monitors ask of a Service of the policy Local, 0 for none.
func (p predecessor) healthPort(svc *corev1.Service) int {
	if !p.monitored(svc) || svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || p.Provider == "ovn" {
		return 0
	}
	return int(svc.Spec.HealthCheckNodePort)
}

// loadBalancer is the one request that makes a load balancer with all that is in it.
func (p predecessor) loadBalancer(svc *corev1.Service, nodes []corev1.Node) loadbalancers.CreateOpts {
	opts := loadbalancers.CreateOpts{
		Name:        p.name(svc),
		Description: fmt.Sprintf("Kubernetes external service %s/%s from cluster %s", svc.Namespace, svc.Name, p.ClusterName),
		Provider:    p.Provider, VipSubnetID: p.Subnet, VipNetworkID: p.Network,
		Tags: []string{p.name(svc)},
	}
	for n, port := range svc.Spec.Ports {
		listener, pool := p.listener(svc, n), p.pool(svc, n)
		for _, member := range p.members(svc, port, nodes) {
			pool.Members = append(pool.Members, pools.CreateMemberOpts{
				Name: *member.Name, Address: member.Address, ProtocolPort: member.ProtocolPort, SubnetID: *member.SubnetID, MonitorPort: member.MonitorPort,
			})
		}
		if p.monitored(svc) {
			pool.Monitor = p.monitor(svc, n)
		}
		listener.DefaultPool = &pool
		opts.Listeners = append(opts.Listeners, listener)
	}
	return opts
}

// listener is that of the Service's n-th port.
func (p predecessor) listener(svc *corev1.Service, n int) listeners.CreateOpts {
	port := svc.Spec.Ports[n]
	opts := listeners.CreateOpts{
		Name:     fmt.Sprintf("listener_%d_%s", n, p.name(svc)),
		Protocol: listeners.Protocol(port.Protocol), ProtocolPort: int(port.Port),
		ConnLimit: ptr.To(-1), Tags: []string{p.name(svc)},
	}
	if p.Provider == "ovn" {
		return opts
	}
	opts.TimeoutClientData, opts.TimeoutMemberData = ptr.To(50000), ptr.To(50000)
	opts.TimeoutMemberConnect, opts.TimeoutTCPInspect = ptr.To(5000), ptr.To(0)
	opts.AllowedCIDRs = svc.Spec.LoadBalancerSourceRanges
	if len(opts.AllowedCIDRs) == 0 {
		opts.AllowedCIDRs = []string{"0.0.0.0/0"}
	}
	return opts
}

// pool is that of the Service's n-th port, without its members.
func (p predecessor) pool(svc *corev1.Service, n int) pools.CreateOpts {
	opts := pools.CreateOpts{
		Name:     fmt.Sprintf("pool_%d_%s", n, p.name(svc)),
		Protocol: pools.Protocol(svc.Spec.Ports[n].Protocol), LBMethod: pools.LBMethod(p.Method),
	}
	if p.proxied(svc) {
		opts.Protocol = pools.ProtocolPROXY
	}
	return opts
}

func (p predecessor) proxied(svc *corev1.Service) bool {
	return yes(svc, prefix+"proxy-protocol", false)
}

// monitor is that of the pool of the Service's n-th port.
func (p predecessor) monitor(svc *corev1.Service, n int) *monitors.CreateOpts {
	opts := &monitors.CreateOpts{
		Name: fmt.Sprintf("monitor_%d_%s", n, p.name(svc)), Type: string(svc.Spec.Ports[n].Protocol),
		Delay: predecessorDelay, Timeout: predecessorTimeout, MaxRetries: predecessorRetries, MaxRetriesDown: predecessorRetriesDown,
	}
	if svc.Spec.Ports[n].Protocol == corev1.ProtocolUDP {
		opts.Type = monitors.TypeUDPConnect
	}
	if p.healthPort(svc) != 0 {
		opts.Type, opts.URLPath, opts.HTTPMethod, opts.ExpectedCodes = monitors.TypeHTTP, "/healthz", "GET", "200"
	}
	return opts
}

// members are the node ports of all nodes.
func (p predecessor) members(svc *corev1.Service, port corev1.ServicePort, nodes []corev1.Node) []pools.BatchUpdateMemberOpts {
	var members []pools.BatchUpdateMemberOpts
	for _, node := range nodes {
		member := pools.BatchUpdateMemberOpts{
			Name: ptr.To(node.Name), Address: nodeAddress(&node), ProtocolPort: int(port.NodePort), SubnetID: ptr.To(p.Subnet),
		}
		if health := p.healthPort(svc); health != 0 {
			member.MonitorPort = &health
		}
		members = append(members, member)
	}
	return members
}

// nodeAddress is the first internal one of IPv4.
func nodeAddress(node *corev1.Node) string {
	at := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
		address, err := netip.ParseAddr(a.Address) // else it is a name
		return a.Type == corev1.NodeInternalIP && err == nil && address.Is4()
	})
	if at < 0 {
		return ""
	}
	return node.Status.Addresses[at].Address
}

// opening is a rule of a security group: who may reach which port.
type opening struct {
	protocol string
	port     int
	from     string
}

// openings are the rules of the Service's security group. Cidr is that of the members'
// subnet.
func (p predecessor) openings(svc *corev1.Service, cidr string) []opening {
	var all []opening
	if svc.Spec.HealthCheckNodePort != 0 { // even if no monitor uses it
		all = append(all, opening{"tcp", int(svc.Spec.HealthCheckNodePort), cidr})
	}
	clients := []string{cidr}
	if p.Provider == "ovn" {
		if clients = svc.Spec.LoadBalancerSourceRanges; len(clients) == 0 {
			clients = []string{"0.0.0.0/0"}
		}
	}
	for _, port := range svc.Spec.Ports {
		for _, client := range clients {
			all = append(all, opening{protocolName(port.Protocol), int(port.NodePort), client})
		}
	}
	return all
}

// status is what it publishes of an address.
func (p predecessor) status(svc *corev1.Service, address string) corev1.LoadBalancerStatus {
	mode := corev1.LoadBalancerIPModeVIP
	if p.proxied(svc) {
		mode = corev1.LoadBalancerIPModeProxy
	}
	return corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address, IPMode: &mode}}}
}
