package e2e

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// legacy is the predecessor at work in the cloud of a scene.
type legacy struct {
	predecessor
	*scene
	nodes    []corev1.Node
	cidr     string // of the nodes' subnet
	external string // network of floating IPs
}

// startLegacy finds out where the nodes are, as the predecessor does.
func (s *scene) startLegacy() *legacy {
	s.Helper()
	l := &legacy{scene: s, predecessor: predecessor{ClusterName: "kubernetes", Provider: s.Provider, Method: "ROUND_ROBIN"}}
	if s.Provider == "ovn" {
		l.Method = "SOURCE_IP_PORT"
	}
	list, err := s.Client().CoreV1().Nodes().List(s.Context(), metav1.ListOptions{})
	s.must(err)
	l.nodes = list.Items
	port, err := l.portOf(s.Context(), &l.nodes[0])
	s.must(err)
	l.Network = port.NetworkID
	for _, ip := range port.FixedIPs {
		if ip.IPAddress == nodeAddress(&l.nodes[0]) {
			l.Subnet = ip.SubnetID
		}
	}
	subnet, err := subnets.Get(s.Context(), s.Cloud.API().Network, l.Subnet).Extract()
	s.must(err)
	l.cidr = subnet.CIDR
	pages, err := networks.List(s.Cloud.API().Network, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: ptr.To(true)}).AllPages(s.Context())
	s.must(err)
	all, err := networks.ExtractNetworks(pages)
	s.must(err)
	if len(all) == 0 {
		s.Fatal("the cloud has no external network")
	}
	l.external = all[0].ID
	return l
}

// portOf is the port of a node's server that has the node's address.
func (l *legacy) portOf(ctx context.Context, node *corev1.Node) (ports.Port, error) {
	pages, err := ports.List(l.Cloud.API().Network, ports.ListOpts{DeviceID: path.Base(node.Spec.ProviderID)}).AllPages(ctx)
	if err != nil {
		return ports.Port{}, err
	}
	all, err := ports.ExtractPorts(pages)
	if err != nil {
		return ports.Port{}, err
	}
	for _, port := range all {
		if slices.ContainsFunc(port.FixedIPs, func(ip ports.IP) bool { return ip.IPAddress == nodeAddress(node) }) {
			return port, nil
		}
	}
	return ports.Port{}, fmt.Errorf("node %s: none of %d ports has its address", node.Name, len(all))
}

// serve does for a Service what the predecessor does: a load balancer of its own, or
// listeners on that which it names, the floating IP, the security group; in the end it
// writes down in the Service where that is.
func (l *legacy) serve(ctx context.Context, svc *corev1.Service) error {
	id := svc.Annotations[prefix+"load-balancer-id"]
	if id == "" {
		made, err := loadbalancers.Create(ctx, l.Cloud.API().LoadBalancer, l.loadBalancer(svc, l.nodes)).Extract()
		if err != nil {
			return fmt.Errorf("make the load balancer of %s: %w", svc.Name, err)
		}
		id = made.ID
	} else if err := l.join(ctx, id, svc); err != nil {
		return fmt.Errorf("put %s on load balancer %s: %w", svc.Name, id, err)
	}
	lb, err := l.active(ctx, id)
	if err != nil {
		return err
	}
	address, err := l.address(ctx, lb, svc)
	if err != nil {
		return fmt.Errorf("floating IP of %s: %w", svc.Name, err)
	}
	if err := l.open(ctx, svc); err != nil {
		return fmt.Errorf("security group of %s: %w", svc.Name, err)
	}
	return l.publish(ctx, svc, lb.ID, address)
}

// active waits until a load balancer is.
func (l *legacy) active(ctx context.Context, id string) (lb *loadbalancers.LoadBalancer, err error) {
	ctx, cancel := l.patient(ctx, l.patience)
	defer cancel()
	return lb, await.Every(ctx, l.Cloud.Pause(), func(ctx context.Context) error {
		if lb, err = loadbalancers.Get(ctx, l.Cloud.API().LoadBalancer, id).Extract(); err == nil && lb.ProvisioningStatus != "ACTIVE" {
			err = fmt.Errorf("load balancer %s is %s", lb.Name, lb.ProvisioningStatus)
		}
		return err
	})
}

// join puts the Service on a load balancer that was made for another.
func (l *legacy) join(ctx context.Context, id string, svc *corev1.Service) error {
	client := l.Cloud.API().LoadBalancer
	for n, port := range svc.Spec.Ports {
		opts := l.listener(svc, n)
		opts.LoadbalancerID = id
		listener, err := listeners.Create(ctx, client, opts).Extract()
		if err != nil {
			return err
		}
		if _, err := l.active(ctx, id); err != nil {
			return err
		}
		pool := l.pool(svc, n)
		pool.ListenerID = listener.ID
		made, err := pools.Create(ctx, client, pool).Extract()
		if err != nil {
			return err
		}
		if _, err := l.active(ctx, id); err != nil {
			return err
		}
		if err := pools.BatchUpdateMembers(ctx, client, made.ID, l.members(svc, port, l.nodes)).ExtractErr(); err != nil {
			return err
		}
		if _, err := l.active(ctx, id); err != nil {
			return err
		}
		if !l.monitored(svc) {
			continue
		}
		monitor := l.monitor(svc, n)
		monitor.PoolID = made.ID
		if _, err := monitors.Create(ctx, client, monitor).Extract(); err != nil {
			return err
		}
	}
	lb, err := l.active(ctx, id)
	if err != nil {
		return err
	}
	tags := append(lb.Tags, l.name(svc))
	_, err = loadbalancers.Update(ctx, client, id, loadbalancers.UpdateOpts{Tags: &tags}).Extract()
	return err
}

// address is what it publishes: the VIP of an internal Service, else the floating IP that
// is there, that which the Service asks for, or a new one.
func (l *legacy) address(ctx context.Context, lb *loadbalancers.LoadBalancer, svc *corev1.Service) (string, error) {
	if yes(svc, internalAnnotation, false) {
		return lb.VipAddress, nil
	}
	client := l.Cloud.API().Network
	all, err := l.Cloud.API().FloatingIPs(ctx, "")
	if err != nil {
		return "", err
	}
	for _, ip := range all {
		if ip.PortID == lb.VipPortID {
			return ip.FloatingIP, nil
		}
	}
	if wanted := svc.Spec.LoadBalancerIP; wanted != "" {
		at := slices.IndexFunc(all, func(ip floatingips.FloatingIP) bool { return ip.FloatingIP == wanted })
		if at < 0 {
			return "", errors.New("there is no " + wanted)
		}
		_, err := floatingips.Update(ctx, client, all[at].ID, floatingips.UpdateOpts{PortID: &lb.VipPortID}).Extract()
		return wanted, err
	}
	made, err := floatingips.Create(ctx, client, floatingips.CreateOpts{
		FloatingNetworkID: l.external, PortID: lb.VipPortID, Description: l.floatingIPDescription(svc),
	}).Extract()
	if err != nil {
		return "", err
	}
	return made.FloatingIP, nil
}

// open makes the Service's security group, and puts it on the ports of all nodes.
func (l *legacy) open(ctx context.Context, svc *corev1.Service) error {
	client := l.Cloud.API().Network
	group, err := groups.Create(ctx, client, groups.CreateOpts{Name: l.groupName(svc), Description: l.groupDescription(svc)}).Extract()
	if err != nil {
		return err
	}
	for _, o := range l.openings(svc, l.cidr) {
		_, err := rules.Create(ctx, client, rules.CreateOpts{
			Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.RuleProtocol(o.protocol),
			PortRangeMin: o.port, PortRangeMax: o.port, RemoteIPPrefix: o.from, SecGroupID: group.ID,
		}).Extract()
		if err != nil {
			return err
		}
	}
	for _, rule := range group.Rules { // those that every new group has
		if err := rules.Delete(ctx, client, rule.ID).ExtractErr(); err != nil {
			return err
		}
	}
	for _, node := range l.nodes {
		port, err := l.portOf(ctx, &node)
		if err != nil {
			return err
		}
		all := append(port.SecurityGroups, group.ID)
		if _, err := ports.Update(ctx, client, port.ID, ports.UpdateOpts{SecurityGroups: &all}).Extract(); err != nil {
			return err
		}
	}
	return nil
}

// publish writes into the Service where its load balancer is.
func (l *legacy) publish(ctx context.Context, svc *corev1.Service, id, address string) error {
	services := l.Client().CoreV1().Services(svc.Namespace)
	svc = svc.DeepCopy()
	metav1.SetMetaDataAnnotation(&svc.ObjectMeta, prefix+"load-balancer-id", id)
	metav1.SetMetaDataAnnotation(&svc.ObjectMeta, prefix+"load-balancer-address", address)
	written, err := services.Update(ctx, svc, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	written.Status.LoadBalancer = l.status(svc, address)
	_, err = services.UpdateStatus(ctx, written, metav1.UpdateOptions{})
	return err
}

// protocolName is Neutron's.
func protocolName(protocol corev1.Protocol) string { return strings.ToLower(string(protocol)) }
