// Package lookup reads what package desire has to know of the cloud: where the VIP goes,
// where floating IPs come from, in which subnets the nodes are; and checks before the
// first write that what a Service names exists. What seldom changes is cached for a while
// and shared by all Services; a fact that cannot be had is an error, never a guess.
package lookup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Neutron is where networks, subnets and ports are read.
type Neutron interface {
	Network(ctx context.Context, id string) (*neutron.Network, error)
	ExternalNetworks(ctx context.Context) ([]neutron.Network, error)
	Subnets(ctx context.Context, networkID string) ([]neutron.Subnet, error)
	Subnet(ctx context.Context, id string) (*neutron.Subnet, error)
	Port(ctx context.Context, id string) (*neutron.Port, error)
	PortsOfDevices(ctx context.Context, deviceIDs []string) ([]neutron.Port, error)
	PortsAt(ctx context.Context, address string) ([]neutron.Port, error)
	PortsAtAddresses(ctx context.Context, addresses []string) ([]neutron.Port, error)
	Quotas(ctx context.Context) (map[string]neutron.Quota, error)
}

// Reader reads facts. Its methods may be called at the same time.
type Reader struct {
	neutron  Neutron
	octavia  Octavia
	flavors  *cache[[]octavia.Flavor]
	zones    *cache[[]octavia.AvailabilityZone]
	version  func(context.Context) (octavia.Version, error)
	networks *cache[*neutron.Network]
	external *cache[[]neutron.Network]
	subnets  *cache[[]neutron.Subnet] // by network
	subnet   *cache[*neutron.Subnet]
	ports    *cache[[]neutron.Port] // by server
	port     *cache[neutron.Port]   // by ID
	// addresses are the ports at addresses, none for those that no port has.
	addresses *cache[[]neutron.Port]
	limits    *cache[map[string]int]           // of Octavia
	quotas    *cache[map[string]neutron.Quota] // of Neutron
	// missed are addresses that ports of their servers did not have when they were read again for it.
	missed *cache[bool] // by server and address
	// nodes are the subnets of the nodes that were asked for last.
	nodes nodeSubnets
}

// New returns a Reader that keeps for age what it has read. Version returns the version of
// the load balancer API.
func New(neutronAPI Neutron, octaviaAPI Octavia, version func(context.Context) (octavia.Version, error), clk clock.PassiveClock, age time.Duration) *Reader {
	return &Reader{
		neutron:   neutronAPI,
		octavia:   octaviaAPI,
		flavors:   newCache[[]octavia.Flavor](clk, age),
		zones:     newCache[[]octavia.AvailabilityZone](clk, age),
		version:   version,
		networks:  newCache[*neutron.Network](clk, age),
		external:  newCache[[]neutron.Network](clk, age),
		subnets:   newCache[[]neutron.Subnet](clk, age),
		subnet:    newCache[*neutron.Subnet](clk, age),
		ports:     newCache[[]neutron.Port](clk, age),
		port:      newCache[neutron.Port](clk, age),
		addresses: newCache[[]neutron.Port](clk, min(age, addressAge)),
		missed:    newCache[bool](clk, age),
		limits:    newCache[map[string]int](clk, min(age, quotaAge)),
		quotas:    newCache[map[string]neutron.Quota](clk, min(age, quotaAge)),
	}
}

// Version returns the version of the load balancer API.
func (r *Reader) Version(ctx context.Context) (octavia.Version, error) { return r.version(ctx) }

// Gather reads the facts for a Service. What a load balancer that exists has
// settled is not asked again: existing is nil when there is none.
func (r *Reader) Gather(ctx context.Context, s *settings.Settings, backends []members.Backend, drv driver.Driver, existing *model.LoadBalancer) (desire.Facts, error) {
	facts := desire.Facts{Driver: drv}
	var err error
	if facts.MemberSubnetID, err = r.memberSubnet(ctx, s); err != nil {
		return facts, err
	}
	forVIP := existing == nil && s.VIP.SubnetID == "" && s.VIP.NetworkID == "" && s.VIP.PortID == ""
	if facts.MemberSubnetID == "" || forVIP {
		if facts.MemberSubnets, err = r.MemberSubnets(ctx, backends); err != nil {
			return facts, err
		}
	}
	if err := r.place(ctx, s, drv, existing == nil, &facts); err != nil {
		return facts, err
	}
	if existing == nil {
		if err := r.vip(ctx, s, &facts); err != nil {
			return facts, err
		}
	} else if s.VIP.PortID == "" {
		facts.VIPSubnetID, facts.VIPNetworkID = s.VIP.SubnetID, s.VIP.NetworkID
	}
	return facts, r.floating(ctx, s, existing, &facts)
}

// Preview returns the facts for the new load balancer of a Service of which no node is known.
// What only the nodes tell is left open: where members are, and a VIP for which nobody names
// a place.
func (r *Reader) Preview(ctx context.Context, s *settings.Settings, drv driver.Driver) (desire.Facts, error) {
	facts := desire.Facts{Driver: drv}
	var err error
	if facts.MemberSubnetID, err = r.memberSubnet(ctx, s); err != nil {
		return facts, err
	}
	if err := r.place(ctx, s, drv, true, &facts); err != nil {
		return facts, err
	}
	if s.VIP.SubnetID != "" || s.VIP.NetworkID != "" || s.VIP.PortID != "" {
		if err := r.vip(ctx, s, &facts); err != nil {
			return facts, err
		}
	}
	return facts, r.floating(ctx, s, nil, &facts)
}

// vip fills in the subnet of the VIP: the configured one, the only one of the family in
// the configured network, or the one that most nodes are in.
func (r *Reader) vip(ctx context.Context, s *settings.Settings, facts *desire.Facts) (err error) {
	switch {
	case s.VIP.PortID != "":
		facts.VIPSubnetID, err = r.ownPort(ctx, s)
	case s.VIP.SubnetID != "":
		facts.VIPSubnetID, facts.VIPNetworkID = s.VIP.SubnetID, s.VIP.NetworkID
	case s.VIP.NetworkID != "":
		facts.VIPNetworkID = s.VIP.NetworkID
		facts.VIPSubnetID, err = r.onlySubnet(ctx, s)
	default:
		facts.VIPSubnetID, facts.ChosenSubnet, err = ofMostNodes(facts.MemberSubnets)
	}
	return err
}

// memberSubnet returns the subnet that all members are in, "" for that of each one's node:
// the one that is asked for, else that of cloud.conf, else that of the VIP, which the
// Service or its class names. One of cloud.conf that is of another family than the
// Service gives way to that of the VIP: nobody could be reached from there.
func (r *Reader) memberSubnet(ctx context.Context, s *settings.Settings) (string, error) {
	switch {
	case s.Members.SubnetID != "":
		return s.Members.SubnetID, nil
	case s.Members.DefaultSubnetID == "" || s.Members.DefaultSubnetID == s.VIP.SubnetID:
		return s.VIP.SubnetID, nil
	case s.VIP.SubnetID == "":
		return s.Members.DefaultSubnetID, nil
	}
	family, err := r.Family(ctx, model.VIP{SubnetID: s.Members.DefaultSubnetID})
	switch {
	case err != nil:
		return "", err
	case family != "" && family != s.Family:
		return s.VIP.SubnetID, nil
	}
	return s.Members.DefaultSubnetID, nil
}

// onlySubnet returns the only subnet of the Service's family in its network.
func (r *Reader) onlySubnet(ctx context.Context, s *settings.Settings) (string, error) {
	if _, err := r.network(ctx, s.VIP.NetworkID); err != nil {
		return "", err
	}
	subnets, err := r.subnets.get(ctx, s.VIP.NetworkID, r.neutron.Subnets)
	if err != nil {
		return "", err
	}
	var names, ids []string
	for _, subnet := range subnets {
		if (subnet.IPVersion == 4) == (s.Family == v1.IPv4Protocol) {
			names, ids = append(names, fmt.Sprintf("%s (%s)", subnet.ID, subnet.Name)), append(ids, subnet.ID)
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return "", &Error{Message: fmt.Sprintf("network %s has no subnet of family %s for the VIP", s.VIP.NetworkID, s.Family)}
	default:
		return "", &Error{Message: fmt.Sprintf("network %s has %d subnets of family %s (%s): name one with the annotation "+
			"loadbalancer.openstack.org/subnet-id, or with subnet-id in cloud.conf", s.VIP.NetworkID, len(ids), s.Family, strings.Join(names, ", "))}
	}
}

// ofMostNodes returns the subnet that most nodes are in, of several the first by ID, and
// a message about the choice where there are others.
func ofMostNodes(memberSubnets map[string]string) (subnet, chosen string, err error) {
	const way = "name one with the annotation loadbalancer.openstack.org/subnet-id, or with subnet-id in cloud.conf"
	nodes := map[string]int{}
	for _, in := range memberSubnets {
		nodes[in]++
	}
	if len(nodes) == 0 {
		return "", "", &Error{Message: "no subnet for the VIP: it would be the one that most nodes are in, but no server that the provider ID of a node names " +
			"has the node's address on a port of this project; " + way}
	}
	var counts []string
	for _, in := range slices.Sorted(maps.Keys(nodes)) {
		if nodes[in] > nodes[subnet] {
			subnet = in
		}
		counts = append(counts, fmt.Sprintf("%s: %d", in, nodes[in]))
	}
	if len(counts) > 1 {
		chosen = fmt.Sprintf("The VIP is in subnet %s, which most nodes are in; the nodes are in %d subnets (%s). To choose, %s", subnet, len(counts), strings.Join(counts, ", "), way)
	}
	return subnet, chosen, nil
}

func (r *Reader) network(ctx context.Context, id string) (*neutron.Network, error) {
	network, err := r.networks.get(ctx, id, r.neutron.Network)
	if apierror.IsNotFound(err) {
		return nil, &Error{Message: fmt.Sprintf("there is no network %s, or this project cannot see it", id)}
	}
	return network, err
}
