package desire

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Facts are what build has to know of the cloud.
type Facts struct {
	Driver driver.Driver
	// VIPSubnetID and VIPNetworkID are where the VIP goes.
	VIPSubnetID, VIPNetworkID string
	// FlavorID and AvailabilityZone are what the load balancer is built like, and
	// where.
	FlavorID, AvailabilityZone string
	// Ignored are settings that this provider does not have.
	Ignored []annotation.Notice
	// FloatingNetworkID is where the floating IP comes from, and FloatingSubnetIDs
	// its subnets to try in turn; none means any of them.
	FloatingNetworkID string
	FloatingSubnetIDs []string
	// NoFloatingIP says why the Service, though it is external, can have no floating
	// IP in this cloud; empty when it can.
	NoFloatingIP string
	// Chosen says which of several external networks was taken, if nobody has chosen;
	// ChosenSubnet the same of the VIP and the nodes' subnets.
	Chosen, ChosenSubnet string
	// MembersIn is the subnet of all members; where it is empty, MemberSubnets are those
	// of their nodes, by address.
	MembersIn     string
	MemberSubnets map[string]string
}

// Backend is a node with the address at which it is a member.
type Backend struct {
	Node    *v1.Node
	Address string
}

// Backends picks the nodes that become members, ordered by name, each with its
// address of the Service's family. It also gives the names of those left out for
// want of one, and an error if that leaves none.
func Backends(s Settings, nodes []*v1.Node) (backends []Backend, without []string, err error) {
	selected := slices.Collect(func(yield func(*v1.Node) bool) {
		for _, node := range nodes {
			if s.NodeSelector.Matches(labels.Set(node.Labels)) && !yield(node) {
				return
			}
		}
	})
	slices.SortFunc(selected, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	taken := map[string]bool{}
	for _, node := range selected {
		address := nodeAddress(node, s.Family)
		switch {
		case address == "":
			without = append(without, node.Name)
		case !taken[address]:
			taken[address] = true
			backends = append(backends, Backend{node, address})
		}
	}
	if len(backends) > 0 {
		return subset(backends, s.MaxMembers, s.Seed), without, nil
	}
	switch {
	case len(nodes) == 0:
		return nil, nil, fmt.Errorf("the cluster has no node that can be a member")
	case len(selected) == 0:
		return nil, nil, &NoneSelectedError{len(nodes), s.NodeSelector.String()}
	default:
		return nil, without, fmt.Errorf("no node has an address of family %s: %s", describe(s.Family), Some(without))
	}
}

// NoneSelectedError tells that the node selector of a Service matches none of the nodes.
type NoneSelectedError struct {
	Nodes    int
	Selector string
}

// Error implements error.
func (e *NoneSelectedError) Error() string {
	return fmt.Sprintf("none of %d nodes matches the node selector %q", e.Nodes, e.Selector)
}

// nodeAddress gives the first internal address of a family, else the first
// external one.
func nodeAddress(node *v1.Node, wanted v1.IPFamily) string {
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range node.Status.Addresses {
			if a.Type != kind {
				continue
			}
			if address, err := netip.ParseAddr(a.Address); err == nil && address.Zone() == "" && sameFamily(address, wanted) {
				return address.Unmap().String()
			}
		}
	}
	return ""
}

// Some joins names for a message, which stays short however many there are.
func Some(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Validate refuses what cannot be served, before anything is read of the cloud
// but the version of Octavia.
func Validate(svc *v1.Service, s Settings, drv driver.Driver) field.ErrorList {
	return append(validatePorts(svc, drv), validateSettings(svc, s, drv)...)
}

// LoadBalancer gives the load balancer that a Service asks for. The Service must
// have passed Validate.
func LoadBalancer(svc *v1.Service, id ownership.Identity, s Settings, backends []Backend, facts Facts) *model.LoadBalancer {
	lb := &model.LoadBalancer{
		Name:             id.Name(),
		Description:      id.Description(),
		Tags:             s.tagsOf(id),
		Provider:         s.Provider,
		FlavorID:         facts.FlavorID,
		AvailabilityZone: facts.AvailabilityZone,
		VIP:              vip(s, facts),
	}
	if s.FloatingIP() && facts.NoFloatingIP == "" {
		lb.FloatingIP = floatingIP(s, id.FloatingIPDescription(), facts)
	}
	for i, port := range svc.Spec.Ports {
		l := listener(port, i, id, s, facts.Driver)
		l.Pool = pool(svc, i, s.Listeners.poolProtocol(l.Protocol), id, s, backends, facts)
		lb.Listeners = append(lb.Listeners, l)
	}
	lb.Sort()
	return lb
}

func pool(svc *v1.Service, i int, protocol model.Protocol, id ownership.Identity, s Settings, backends []Backend, facts Facts) model.Pool {
	port := svc.Spec.Ports[i]
	p := model.Pool{
		Name:      id.PoolName(i),
		Protocol:  protocol,
		Algorithm: s.Method,
		Tags:      s.tagsOf(id),
	}
	if !slices.Contains(facts.Driver.Algorithms, s.Method) {
		p.Algorithm = facts.Driver.Algorithms[0] // only a default comes this far
	}
	p.Persistence, p.PersistenceTimeout = affinity(svc, protocol)
	var monitorPort int
	p.Monitor, monitorPort = monitor(svc, p.Protocol, s.Monitor, facts.Driver)
	if p.Monitor != nil {
		p.Monitor.Name, p.Monitor.Tags = id.MonitorName(i), p.Tags
	}
	for _, b := range backends {
		p.Members = append(p.Members, model.Member{
			Name:        b.Node.Name,
			Address:     b.Address,
			Port:        int(port.NodePort),
			SubnetID:    first(facts.MembersIn, facts.MemberSubnets[b.Address]),
			MonitorPort: monitorPort,
		})
	}
	return p
}
