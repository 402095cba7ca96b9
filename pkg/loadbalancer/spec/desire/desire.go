// Package desire builds the desired load balancer of a Service from its settings, its hosts and
// facts of the cloud. It is pure: it does no I/O, and it does not change its arguments.
package desire

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Facts are the required facts of the cloud; package lookup reads them.
type Facts struct {
	Driver driver.Driver
	// VIPSubnetID and VIPNetworkID are those of the VIP.
	VIPSubnetID, VIPNetworkID string
	// VIPFamilies are the IP families of the VIPs, that of the first VIP first. AdditionalVIPs are the VIPs
	// besides the first; of an existing load balancer only what the Service requests. OneFamily is the
	// reason why there is none of the second IP family that the Service prefers, "" if there is one.
	VIPFamilies    []v1.IPFamily
	AdditionalVIPs []model.AdditionalVIP
	OneFamily      string
	// FlavorID and AvailabilityZone are those of the load balancer.
	FlavorID, AvailabilityZone string
	// Ignored are settings that the driver does not support.
	Ignored []annotation.Notice
	// FloatingNetworkID is the network of the floating IP, and FloatingSubnetIDs its subnets to try
	// in turn; none means any of them.
	FloatingNetworkID string
	FloatingSubnetIDs []string
	// NoFloatingIP is the reason why an external Service can have no floating IP in this cloud;
	// empty if it can.
	NoFloatingIP string
	// Chosen is the external network that was chosen among several without a setting; ChosenSubnet
	// the same for the VIP and the nodes' subnets.
	Chosen, ChosenSubnet string
	// MemberSubnetID is the subnet of all members; if it is empty, MemberSubnets are those of their
	// nodes, by address.
	MemberSubnetID string
	MemberSubnets  map[string]string
	// Other is the IP family of members that are not in MemberSubnetID; "" for none. OtherSubnetID is their
	// subnet if MemberSubnets does not have it.
	Other         v1.IPFamily
	OtherSubnetID string
}

// members returns the members of a port, equal to one member except for their own subnets and ports.
func (f Facts) members(on members.Port, like model.Member) model.Members {
	like.SubnetID = f.MemberSubnetID
	all := on.Members(like)
	if (f.MemberSubnetID != "" || len(f.MemberSubnets) == 0) && f.Other == "" {
		return all
	}
	return all.Map(func(_ int, m model.Member) model.Member {
		switch {
		case f.Other != "" && model.FamilyOf(m.Address) == string(f.Other):
			m.SubnetID = cmp.Or(f.MemberSubnets[m.Address], f.OtherSubnetID)
		case f.MemberSubnetID == "":
			m.SubnetID = f.MemberSubnets[m.Address]
		}
		return m
	})
}

// LoadBalancer returns the desired load balancer of a Service, with the members of each port. The
// settings must have passed Validate.
func LoadBalancer(id ownership.Identity, s *settings.Settings, on members.Ports, facts Facts) *model.LoadBalancer {
	tags := tags(id, s)
	lb := &model.LoadBalancer{
		Name:             id.Name(),
		Description:      id.Description(),
		Tags:             tags,
		Provider:         s.LoadBalancer.Provider,
		FlavorID:         facts.FlavorID,
		AvailabilityZone: facts.AvailabilityZone,
		VIP:              vip(s, facts),
		Listeners:        make([]model.Listener, 0, len(s.Traffic.Ports)),
	}
	if s.FloatingIP() && facts.NoFloatingIP == "" {
		lb.FloatingIP = floatingIP(s, id.FloatingIPs().Description(), facts)
	}
	for i, port := range s.Traffic.Ports {
		of := s.OfPort(port)
		l := listener(port, i, id, tags, of, facts.Driver)
		l.Pool = pool(port, i, of.Listeners.PoolProtocol(l.Protocol), id, tags, of, on.At(i), facts)
		lb.Listeners = append(lb.Listeners, l)
	}
	if s.Metrics.Port != 0 {
		lb.Listeners = append(lb.Listeners, metricsListener(id, tags, s.Metrics))
	}
	lb.Sort()
	return lb
}

// metricsListener returns the listener with the metrics of the load balancer, which has no pool.
func metricsListener(id ownership.Identity, tags []string, metrics settings.MetricsSettings) model.Listener {
	const index = 65536 // that of no port of a Service
	return model.Listener{
		Name: id.ListenerName(index), Protocol: model.Prometheus, Port: metrics.Port, Tags: tags,
		AllowedCIDRs: slices.Clone(metrics.AllowedCIDRs),
	}
}

// tags returns the tags of all objects of the Service: the user's and those of its owner; none if
// Octavia has no tags. All parts have the same slice.
func tags(id ownership.Identity, s *settings.Settings) []string {
	ours := id.Tags()
	if len(ours) == 0 {
		return nil
	}
	return slices.Clip(slices.Concat(ours, s.LoadBalancer.Tags))
}

func vip(s *settings.Settings, facts Facts) model.VIP {
	v := model.VIP{
		SubnetID: facts.VIPSubnetID, NetworkID: facts.VIPNetworkID,
		PortID: s.VIP.PortID, VIPSettings: s.VIP.VIPSettings, Additional: slices.Clone(facts.AdditionalVIPs),
	}
	floating := s.FloatingIP() && facts.NoFloatingIP == ""
	families := facts.VIPFamilies
	if len(families) == 0 {
		families = s.Families()
	}
	if len(v.Additional) > 0 {
		v.Family = string(families[0])
	}
	v.Address, _ = s.VIPAddress(families[0], floating)
	for _, family := range families[1:] {
		at := slices.IndexFunc(v.Additional, func(vip model.AdditionalVIP) bool { return vip.Family == string(family) })
		if at >= 0 {
			v.Additional[at].Address, _ = s.VIPAddress(family, floating)
		}
	}
	return v
}

func floatingIP(s *settings.Settings, description string, facts Facts) *model.FloatingIP {
	fip, _ := s.AskedFloatingIP()
	fip.NetworkID, fip.SubnetIDs, fip.Description = facts.FloatingNetworkID, facts.FloatingSubnetIDs, description
	return &fip
}

// listener returns the listener of a port, without its pool.
func listener(port v1.ServicePort, i int, id ownership.Identity, tags []string, s *settings.Settings, drv driver.Driver) model.Listener {
	l := model.Listener{
		Name:         id.ListenerName(i),
		Protocol:     s.Listeners.Protocol(port),
		Port:         int(port.Port),
		Tags:         tags,
		AllowedCIDRs: allowedCIDRs(s, drv),
		Limits:       supportedLimits(s.Listeners.Limits, drv),
	}
	if l.Protocol.ReadsHTTP() {
		l.InsertHeaders = slices.Clone(s.Listeners.Headers)
	}
	if l.Protocol == model.TerminatedHTTPS {
		l.TLSContainerRef = s.Listeners.TLSContainerRef
	}
	return l
}

// allowedCIDRs returns the source ranges of a listener. If the driver has none, the security groups
// of the nodes enforce them.
func allowedCIDRs(s *settings.Settings, drv driver.Driver) []string {
	if !drv.Supports(driver.SourceRanges) {
		return nil
	}
	return slices.Clone(s.Access.SourceRanges)
}

// supportedLimits omits the limits that a driver does not enforce.
func supportedLimits(l model.Limits, drv driver.Driver) model.Limits {
	for name, limit := range l.Named {
		if !drv.Supports(settings.LimitFeature(name)) {
			*limit = model.Limit{}
		}
	}
	return l
}

// pool returns the pool of a port, with its monitor and members.
func pool(port v1.ServicePort, i int, protocol model.Protocol, id ownership.Identity, tags []string, s *settings.Settings, on members.Port, facts Facts) model.Pool {
	p := model.Pool{
		Name:      id.PoolName(i),
		Protocol:  protocol,
		Algorithm: s.Pools.Algorithm,
		Tags:      tags,
	}
	if !slices.Contains(facts.Driver.Algorithms, p.Algorithm) {
		p.Algorithm = facts.Driver.Algorithms[0] // only the default is left here
	}
	p.Persistence = persistence(s, port, protocol, facts.Driver)
	var monitorPort int
	p.Monitor, monitorPort = s.For(facts.Driver).HealthMonitor(p.Protocol)
	if p.Monitor != nil {
		p.Monitor.Name, p.Monitor.Tags = id.MonitorName(i), p.Tags
	}
	p.Held = on.Held
	p.Members = facts.members(on, model.Member{Port: int(port.NodePort), MonitorPort: monitorPort})
	return p
}

// persistence returns the session persistence of a pool: by a cookie if its listener reads requests
// and the Service asks for that, else by the client's address. The timeout, which Octavia has only
// for UDP and SCTP, is sent if it is not the default of Kubernetes, or the driver needs one.
func persistence(s *settings.Settings, port v1.ServicePort, protocol model.Protocol, drv driver.Driver) model.Persistence {
	if s.Pools.Persistence != "" && s.Listeners.Protocol(port).ReadsHTTP() {
		return s.Pools.Cookie()
	}
	t := s.Traffic
	if !t.ClientAffinity {
		return model.Persistence{}
	}
	by := model.Persistence{Type: model.SourceIP}
	if protocol.Transport() != model.TCP && (t.CustomAffinityTimeout() || drv.Quirks.AffinityNeedsTimeout) {
		by.Timeout = t.AffinityTimeout
	}
	return by
}
