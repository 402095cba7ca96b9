package lookup

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Neutron is the part of the network service that this package uses.
type Neutron interface {
	Network(ctx context.Context, id string) (*neutron.Network, error)
	OwnsNetwork(network *neutron.Network) bool
	ExternalNetworks(ctx context.Context) ([]neutron.Network, error)
	Subnets(ctx context.Context, networkID string) ([]neutron.Subnet, error)
	Subnet(ctx context.Context, id string) (*neutron.Subnet, error)
	Port(ctx context.Context, id string) (*neutron.Port, error)
	PortsOfDevices(ctx context.Context, deviceIDs []string) ([]neutron.Port, error)
	PortsAt(ctx context.Context, address string) ([]neutron.Port, error)
	PortsAtAddresses(ctx context.Context, addresses []string) ([]neutron.Port, error)
	RouterInterfaces(ctx context.Context, networkID, subnetID string) ([]neutron.Port, error)
	Routers(ctx context.Context, ids []string) ([]neutron.Router, error)
	RouterPorts(ctx context.Context, routerID string) ([]neutron.RoutedPort, error)
	PortsWithAddresses(ctx context.Context, addresses []string) ([]neutron.RoutedPort, error)
	Quotas(ctx context.Context) (map[string]neutron.Quota, error)
}

// Reader reads facts. Its methods are safe for concurrent use.
type Reader struct {
	nodePorts

	// Quotas reports the limits of the project, Pools reads the pools of VIPs of provider router.
	Quotas *Quotas
	Pools  *Pools

	neutron  Neutron
	octavia  Octavia
	flavors  *cache[[]octavia.Flavor]
	zones    *cache[[]octavia.AvailabilityZone]
	version  func(context.Context) (model.Version, error)
	networks *networkReader
	routers  *routerReader
	// hops are the ports of next hops, by address.
	hops *cache[[]neutron.RoutedPort]
}

// New returns a Reader that caches facts for age. version returns the version of the load balancer
// API.
func New(neutronAPI Neutron, octaviaAPI Octavia, version func(context.Context) (model.Version, error), clk clock.PassiveClock, age time.Duration) *Reader {
	networks := newNetworkReader(neutronAPI, clk, age)
	return &Reader{
		nodePorts: nodePorts{
			neutron:   neutronAPI,
			ports:     newCache[[]neutron.Port](clk, age),
			port:      newCache[neutron.Port](clk, age),
			addresses: newCache[[]neutron.Port](clk, min(age, addressAge)),
			missed:    newCache[bool](clk, age),
		},
		neutron:  neutronAPI,
		octavia:  octaviaAPI,
		flavors:  newCache[[]octavia.Flavor](clk, age),
		zones:    newCache[[]octavia.AvailabilityZone](clk, age),
		version:  version,
		networks: networks,
		routers:  &routerReader{neutron: neutronAPI, networks: networks, routers: newCache[routers](clk, age), ports: newCache[[]neutron.RoutedPort](clk, age)},
		hops:     newCache[[]neutron.RoutedPort](clk, age),
		Quotas:   newQuotas(neutronAPI, octaviaAPI, clk, age),
		Pools:    &Pools{neutron: neutronAPI, networks: networks, bySubnet: newCache[*Pool](clk, age)},
	}
}

// Version returns the version of the load balancer API.
func (r *Reader) Version(ctx context.Context) (model.Version, error) { return r.version(ctx) }

// gathering sets the facts for the settings of a Service.
type gathering struct {
	*Reader

	s     *settings.Settings
	facts *desire.Facts
}

// Gather reads the facts for a Service. It does not read facts that an existing load balancer has
// fixed; existing is nil if there is none.
func (r *Reader) Gather(ctx context.Context, s *settings.Settings, backends []members.Backend, drv driver.Driver, existing *model.LoadBalancer) (desire.Facts, error) {
	facts := desire.Facts{Driver: drv, VIPFamilies: s.For(drv).VIPFamilies()}
	g := gathering{r, s, &facts}
	var err error
	if facts.MemberSubnetID, err = g.memberSubnet(ctx); err != nil {
		return facts, err
	}
	forVIP := existing == nil && s.VIP.SubnetID == "" && s.VIP.NetworkID == "" && s.VIP.PortID == ""
	if facts.MemberSubnetID == "" || forVIP || s.Second != "" || s.LoadBalancer.AllowReplace && s.Dual.Second != "" {
		if facts.MemberSubnets, err = r.MemberSubnets(ctx, backends); err != nil {
			return facts, err
		}
	}
	if err := g.place(ctx, existing == nil); err != nil {
		return facts, err
	}
	if existing == nil {
		if err := g.vip(ctx); err != nil {
			return facts, err
		}
		if err := g.named(ctx, annotation.MemberSubnetID, s.Members.SubnetID); err != nil {
			return facts, err
		}
	} else if err := g.existingVIPs(ctx, existing.VIP); err != nil {
		return facts, err
	}
	if err := g.otherSubnet(ctx, existing); err != nil {
		return facts, err
	}
	err = g.floating(ctx, existing)
	return facts, err
}

// existingVIPs sets the requested place of the VIPs of an existing load balancer. It reads it only if it
// decides on a replacement.
func (g gathering) existingVIPs(ctx context.Context, there model.VIP) error {
	s, facts := g.s, g.facts
	if s.VIP.PortID == "" {
		facts.VIPSubnetID, facts.VIPNetworkID = s.VIP.SubnetID, s.VIP.NetworkID
	}
	if there.DualStack() && there.IPFamily() != string(facts.VIPFamilies[0]) {
		slices.Reverse(facts.VIPFamilies)
	}
	if !s.For(facts.Driver).WantsVIPs() {
		return nil
	}
	if s.LoadBalancer.AllowReplace && s.Dual.Second != "" && !s.Dual.Required() && !there.DualStack() {
		beside := *facts
		beside.VIPSubnetID, beside.VIPFamilies = cmp.Or(facts.VIPSubnetID, there.SubnetID), []v1.IPFamily{s.Family, s.Dual.Second}
		err := gathering{g.Reader, s, &beside}.additionalVIPs(ctx)
		if facts.OneFamily = beside.OneFamily; err != nil || facts.OneFamily != "" {
			return err
		}
	}
	for _, id := range s.VIP.AdditionalSubnetIDs {
		facts.AdditionalVIPs = append(facts.AdditionalVIPs, model.AdditionalVIP{SubnetID: id})
	}
	if len(facts.AdditionalVIPs) == 0 {
		facts.AdditionalVIPs = []model.AdditionalVIP{{Family: string(s.Dual.Second)}}
	}
	return nil
}

// Preview returns the facts for the new load balancer of a Service without known nodes. Facts that
// depend on the nodes are left open: the subnets of members, and that of a VIP if no setting has
// one.
func (r *Reader) Preview(ctx context.Context, s *settings.Settings, drv driver.Driver) (desire.Facts, error) {
	facts := desire.Facts{Driver: drv, VIPFamilies: s.For(drv).VIPFamilies()}
	g := gathering{r, s, &facts}
	var err error
	if facts.MemberSubnetID, err = g.memberSubnet(ctx); err != nil {
		return facts, err
	}
	if err := g.place(ctx, true); err != nil {
		return facts, err
	}
	if s.VIP.SubnetID != "" || s.VIP.NetworkID != "" || s.VIP.PortID != "" {
		if err := g.vip(ctx); err != nil {
			return facts, err
		}
	} else if s.Second != "" && s.For(drv).WantsVIPs() {
		facts.AdditionalVIPs = []model.AdditionalVIP{{Family: string(s.Second)}}
	}
	err = g.floating(ctx, nil)
	return facts, err
}

// memberSubnet returns the subnet of all members, "" for the subnet of each one's node. It is that
// of the Service, else that of cloud.conf, else that of the VIP if the Service or its class has
// one. If the one in cloud.conf has another IP family than the Service, it is ignored, because
// members could not be reached from there.
func (g gathering) memberSubnet(ctx context.Context) (string, error) {
	s := g.s
	switch {
	case s.Members.SubnetID != "":
		return s.Members.SubnetID, nil
	case s.Members.DefaultSubnetID == "" || s.Members.DefaultSubnetID == s.VIP.SubnetID:
		return s.VIP.SubnetID, nil
	case s.VIP.SubnetID == "":
		return s.Members.DefaultSubnetID, nil
	}
	family, err := g.Family(ctx, model.VIP{SubnetID: s.Members.DefaultSubnetID})
	switch {
	case err != nil:
		return "", err
	case family != "" && family != s.Family:
		return s.VIP.SubnetID, nil
	}
	return s.Members.DefaultSubnetID, nil
}
