package octavia

import (
	"errors"
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/neutron"
)

// driverCreate is what a provider refuses of a full create. amphora checks
// nothing of it; ovn refuses after the VIP port was made.
func (o *Octavia) driverCreate(lb *LoadBalancer) *apiError {
	if vendor, is := o.vendor(lb); is && vendor.NoFullCreate && len(lb.Listeners)+len(lb.Pools) > 0 {
		return unsupportedAction(lb.Provider, "This provider does not support creating fully populated load balancers.")
	}
	if lb.Provider != ProviderOVN {
		return nil
	}
	for _, pool := range lb.Pools {
		if failure := o.ovnPool(pool.Protocol, pool.Algorithm); failure != nil {
			return failure
		}
		if pool.Monitor != nil {
			if failure := o.driverMonitor(lb, pool.Monitor.Type); failure != nil {
				return failure
			}
		}
		for _, member := range pool.Members {
			if failure := o.ovnMember(lb, memberFacts(member)); failure != nil {
				return failure
			}
		}
	}
	for _, listener := range lb.Listeners {
		if failure := ovnListener(listener.Protocol, listener.AllowedCIDRs); failure != nil {
			return failure
		}
		if len(listener.Policies) > 0 {
			return o.driverL7(lb, "creating", "l7policies")
		}
	}
	return nil
}

func memberFacts(m *Member) ovnMemberFacts {
	return ovnMemberFacts{m.ID, m.Address, m.SubnetID, m.MonitorAddress != "" || m.MonitorPort != 0}
}

func (o *Octavia) driverListener(lb *LoadBalancer, given body) *apiError {
	if lb.Provider != ProviderOVN {
		return nil
	}
	return ovnListener(given.text("protocol"), given.texts("allowed_cidrs"))
}

func ovnListener(protocol string, cidrs []string) *apiError {
	if protocol != "" && !slices.Contains(ovnProtocols(), protocol) {
		return unsupportedOption(ProviderOVN, "OVN provider does not support %s protocol", protocol)
	}
	if len(cidrs) > 0 {
		return unsupportedOption(ProviderOVN, "OVN provider does not support allowed_cidrs option")
	}
	return nil
}

func ovnProtocols() []string { return []string{"TCP", "UDP", "SCTP"} }

func (o *Octavia) driverPool(lb *LoadBalancer, given body) *apiError {
	algorithm := given.text("lb_algorithm")
	switch {
	case lb.Provider == ProviderOVN:
		return o.ovnPool(given.text("protocol"), algorithm)
	case isAmphora(lb.Provider) && algorithm == "SOURCE_IP_PORT":
		return unsupportedOption(lb.Provider, "Amphora provider does not support %s algorithm.", algorithm)
	}
	return nil
}

func isAmphora(provider string) bool { return provider == ProviderAmphora || provider == ProviderAlias }

func (o *Octavia) ovnPool(protocol, algorithm string) *apiError {
	if protocol != "" && !slices.Contains(ovnProtocols(), protocol) {
		return unsupportedOption(ProviderOVN, "OVN provider does not support %s protocol", protocol)
	}
	supported := []string{"", "SOURCE_IP_PORT"}
	if o.release.OVNSourceIP {
		supported = append(supported, "SOURCE_IP")
	}
	if !slices.Contains(supported, algorithm) {
		return unsupportedOption(ProviderOVN, "OVN provider does not support %s algorithm", algorithm)
	}
	return nil
}

func (o *Octavia) driverMonitor(lb *LoadBalancer, kind string) *apiError {
	if lb.Provider == ProviderOVN && kind != "TCP" && kind != "UDP-CONNECT" {
		return unsupportedOption(ProviderOVN,
			"OVN provider does not support %s health monitor type. Supported types: UDP-CONNECT, TCP", kind)
	}
	return nil
}

func (o *Octavia) driverMember(lb *LoadBalancer, given body) *apiError {
	if lb.Provider != ProviderOVN {
		return nil
	}
	return o.ovnMember(lb, factsOf("", given))
}

func factsOf(id string, given body) ovnMemberFacts {
	monitored := given["monitor_address"] != nil || given["monitor_port"] != nil
	return ovnMemberFacts{id, given.text("address"), given.text("subnet_id"), monitored}
}

// ovnMemberFacts is what ovn looks at in a member.
type ovnMemberFacts struct {
	id, address, subnetID string
	monitored             bool // has a monitor address or port of its own
}

// ovnMember needs to know each member's subnet: the one given, or that of the
// VIP where the address is inside of it.
func (o *Octavia) ovnMember(lb *LoadBalancer, member ovnMemberFacts) *apiError {
	if member.monitored {
		return unsupportedOption(ProviderOVN, "OVN provider does not support monitor options")
	}
	if isIPv6(member.address) != isIPv6(lb.VIP.Address) && (o.oldOVN(lb) || len(lb.AdditionalVIPs) == 0) {
		return unsupportedOption(ProviderOVN, "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer.")
	}
	if member.subnetID != "" || o.options.Network == nil {
		return nil
	}
	subnet, err := o.options.Network.Subnet(lb.VIP.SubnetID)
	if err != nil || !inSubnet(member.address, subnet.CIDR) {
		return unsupportedOption(ProviderOVN,
			"Subnet is required, or Loadbalancer vip_subnet_id, for Member creation with OVN Provider Driver if it is not the same as LB VIP subnet")
	}
	return nil
}

// driverBatch refuses the whole batch for one bad member.
func (o *Octavia) driverBatch(lb *LoadBalancer, members []body, plan batch) *apiError {
	if vendor, is := o.vendor(lb); is && vendor.NoBatch {
		return unsupportedAction(lb.Provider, "This provider does not support batch updating members.")
	}
	if lb.Provider != ProviderOVN {
		return nil
	}
	if plan.hangs {
		return providerError(ProviderOVN, "list.remove(x): x not in list")
	}
	for _, given := range members {
		facts := factsOf(randomID(), given)
		failure := o.ovnMember(lb, facts)
		if failure != nil && (facts.monitored || isIPv6(facts.address) != isIPv6(lb.VIP.Address)) {
			return unsupportedOption(ProviderOVN,
				"OVN provider does not support monitor options, so following members skipped: ['%s']", facts.id)
		}
		if failure != nil {
			return failure
		}
	}
	return nil
}

// vipFailure tells the caller why Neutron did not give a VIP port.
func (o *Octavia) vipFailure(provider string, err error) *apiError {
	message := err.Error()
	var refused *neutron.Error
	if errors.As(err, &refused) {
		message = refused.Message
		if refused.Type == "IpAddressAlreadyAllocated" && o.release.AddressConflict {
			return refuse(http.StatusConflict, "The VIP IP address is already in use: %s", message)
		}
	}
	return providerError(provider, message+"\nNeutron server returns request_ids: ['req-"+randomID()+"']")
}
