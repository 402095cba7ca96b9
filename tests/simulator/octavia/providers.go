package octavia

import (
	"errors"
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
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
	for _, listener := range lb.Listeners { // the driver ignores their L7 policies
		if failure := ovnListener(listener.Protocol, listener.AllowedCIDRs); failure != nil {
			return failure
		}
	}
	for _, pool := range lb.Pools {
		if failure := o.ovnPool(pool.Protocol, pool.Algorithm); failure != nil {
			return failure
		}
		if failure := o.ovnContents(lb, pool); failure != nil {
			return failure
		}
	}
	return nil
}

// ovnContents is about the monitor and the members of a pool in a full create.
// The driver of Zed does not look at the monitor, and takes the network of the VIP
// for the subnet of members that have none.
func (o *Octavia) ovnContents(lb *LoadBalancer, pool *Pool) *apiError {
	if pool.Monitor != nil && !o.oldOVN(lb) {
		if failure := o.driverMonitor(lb, pool.Monitor.Type); failure != nil {
			return failure
		}
	}
	for _, member := range pool.Members {
		facts := memberFacts(member)
		switch {
		case o.oldOVN(lb):
			facts.address, facts.subnetID = lb.VIP.Address, lb.VIP.SubnetID
		case o.queued(lb) && facts.subnetID == "":
			facts.subnetID = lb.VIP.SubnetID // Octavia's database does not learn of it: see batches
		}
		if failure := o.ovnMember(lb, facts, "Member creation"); failure != nil {
			return failure
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
		if kind := given.object("session_persistence").text("type"); o.queued(lb) && kind != "" && kind != "SOURCE_IP" {
			return providerError(ProviderOVN, "'dict' object has no attribute 'type'")
		}
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

func (o *Octavia) driverMember(lb *LoadBalancer, pool *Pool, given body) *apiError {
	if lb.Provider != ProviderOVN {
		return amphoraMember(lb, pool, given)
	}
	return o.ovnMember(lb, factsOf("", given), "Member creation")
}

// amphoraMember is what amphora refuses of a member: one of an IP family that no VIP has,
// in a pool that does not go through HAProxy and that a listener leads to. It does not
// look at the members of a full create.
func amphoraMember(lb *LoadBalancer, pool *Pool, given body) *apiError {
	if !isAmphora(lb.Provider) || pool.Protocol != "UDP" && pool.Protocol != "SCTP" || len(listenersOf(lb, pool)) == 0 {
		return nil
	}
	six := isIPv6(given.text("address"))
	if isIPv6(lb.VIP.Address) == six {
		return nil
	}
	for _, vip := range lb.AdditionalVIPs {
		if isIPv6(vip.Address) == six {
			return nil
		}
	}
	return unsupportedOption(lb.Provider,
		"This provider doesn't support mixing IPv4 and IPv6 addresses for its VIP and members in %s load balancers.", pool.Protocol)
}

// amphoraPolicy is what amphora refuses of an L7 policy: a listener without layer 7.
func amphoraPolicy(lb *LoadBalancer, listener *Listener) *apiError {
	if !isAmphora(lb.Provider) || listener.Protocol == "HTTP" || listener.Protocol == "TERMINATED_HTTPS" {
		return nil
	}
	return unsupportedOption(lb.Provider, "%s protocol listeners do not support L7 policies", listener.Protocol)
}

// driverMemberUpdate looks at the subnet of the member that is there first.
func (o *Octavia) driverMemberUpdate(lb *LoadBalancer, member *Member, given body) *apiError {
	if lb.Provider != ProviderOVN {
		return nil
	}
	if failure := o.ovnSubnet(lb, member.Address, member.SubnetID, "Member update"); failure != nil {
		return failure
	}
	return o.ovnMember(lb, factsOf("", given.and("address", member.Address, "subnet_id", member.SubnetID)), "Member update")
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

// ovnMember returns ovn's refusal of a member. what is the operation, for the text.
func (o *Octavia) ovnMember(lb *LoadBalancer, member ovnMemberFacts, what string) *apiError {
	switch {
	case member.monitored:
		return unsupportedOption(ProviderOVN, "OVN Load Balancer does not support different member monitor address or port.")
	case o.ovnMixes(lb, member.address):
		return ovnMixed()
	}
	return o.ovnSubnet(lb, member.address, member.subnetID, what)
}

func ovnMixed() *apiError {
	return unsupportedOption(ProviderOVN, "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer.")
}

func (o *Octavia) ovnMixes(lb *LoadBalancer, address string) bool {
	return isIPv6(address) != isIPv6(lb.VIP.Address) && (o.oldOVN(lb) || len(lb.AdditionalVIPs) == 0)
}

// ovnSubnet needs to know each member's subnet: the one given, or that of the
// VIP where the address is inside of it.
func (o *Octavia) ovnSubnet(lb *LoadBalancer, address, subnetID, what string) *apiError {
	if subnetID != "" || o.options.Network == nil {
		return nil
	}
	subnet, err := o.options.Network.Subnet(lb.VIP.SubnetID)
	if err != nil || !inSubnet(address, subnet.CIDR) {
		return unsupportedOption(ProviderOVN, "Subnet is required, or Loadbalancer associated with Pool must have a subnet, "+
			"for %s with OVN Provider Driver if it is not the same as LB VIP subnet", what)
	}
	return nil
}

// driverBatch refuses the whole batch for one bad member.
func (o *Octavia) driverBatch(lb *LoadBalancer, pool *Pool, members []body, plan batch) *apiError {
	if vendor, is := o.vendor(lb); is && vendor.NoBatch {
		return unsupportedAction(lb.Provider, "This provider does not support batch updating members.")
	}
	if lb.Provider != ProviderOVN {
		for _, given := range members {
			if failure := amphoraMember(lb, pool, given); failure != nil {
				return failure
			}
		}
		return nil
	}
	if plan.hangs {
		return providerError(ProviderOVN, "list.remove(x): x not in list")
	}
	skipped := []string{}
	for _, given := range members {
		facts := factsOf(randomID(), given)
		switch {
		case o.queued(lb) && facts.monitored:
			return unsupportedOption(ProviderOVN, "OVN provider does not support monitor options")
		case o.queued(lb) && o.ovnMixes(lb, facts.address):
			return ovnMixed()
		case facts.monitored, o.ovnMixes(lb, facts.address):
			skipped = append(skipped, facts.id)
			continue
		}
		if failure := o.ovnSubnet(lb, facts.address, facts.subnetID, "Member batch update"); failure != nil {
			return failure
		}
	}
	if len(skipped) > 0 {
		return unsupportedOption(ProviderOVN,
			"OVN provider does not support monitor options, so following members skipped: %s", pythonRepr(skipped))
	}
	return nil
}

// vipFailure returns the error for Neutron's refusal of a VIP port.
func (o *Octavia) vipFailure(provider string, err error) *apiError {
	message := err.Error()
	var refused *neutron.Error
	if errors.As(err, &refused) {
		message = refused.Message
		if refused.Type == "IpAddressAlreadyAllocated" && o.release.AddressConflict {
			return refuse(http.StatusConflict, "The VIP IP address is already in use: %s", message)
		}
	}
	switch {
	case !o.release.NeutronSDK:
		message += "\nNeutron server returns request_ids: ['req-" + randomID() + "']"
	case refused != nil && isAmphora(provider):
		message = map[int]string{http.StatusConflict: "ConflictException: 409", http.StatusBadRequest: "BadRequestException: 400"}[refused.Status]
	}
	return providerError(provider, message)
}
