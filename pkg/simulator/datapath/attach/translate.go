package attach

import (
	"net/netip"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/octavia"
)

// ovnPersistence is how long ovn keeps an idle client on its member when the API says
// nothing (affinity_timeout).
const ovnPersistence = 360 * time.Second

// loadBalancer translates one load balancer with the floating IPs of its VIP ports.
func loadBalancer(lb octavia.LoadBalancer, floatingIPs map[string][]neutron.FloatingIP) datapath.LoadBalancer {
	translated := datapath.LoadBalancer{
		ID:                lb.ID,
		Settled:           lb.ProvisioningStatus == octavia.Active,
		AdminUp:           lb.AdminStateUp,
		KeepClientAddress: lb.Provider == octavia.ProviderOVN,
		Addresses:         addresses(lb, floatingIPs),
	}
	for _, l := range lb.Listeners {
		if present(l.Meta) {
			translated.Listeners = append(translated.Listeners, listener(l))
		}
	}
	for _, p := range lb.Pools {
		if present(p.Meta) {
			translated.Pools = append(translated.Pools, pool(p, lb.Provider))
		}
	}
	return translated
}

// present reports whether an object is meant to stay.
func present(meta octavia.Meta) bool {
	return meta.ProvisioningStatus != octavia.PendingDelete && meta.ProvisioningStatus != octavia.Deleted
}

// addresses lists the VIP, the additional VIPs and the floating IPs of all of them.
func addresses(lb octavia.LoadBalancer, floatingIPs map[string][]neutron.FloatingIP) []netip.Addr {
	texts := []string{lb.VIP.Address}
	ports := []string{lb.VIP.PortID}
	for _, vip := range lb.AdditionalVIPs {
		texts = append(texts, vip.Address)
		if vip.PortID != lb.VIP.PortID {
			ports = append(ports, vip.PortID)
		}
	}
	for _, port := range ports {
		for _, floatingIP := range floatingIPs[port] {
			texts = append(texts, floatingIP.Address)
		}
	}
	var parsed []netip.Addr
	for _, text := range texts {
		if address := parse(text); address.IsValid() {
			parsed = append(parsed, address)
		}
	}
	return parsed
}

// parse returns an invalid address for text that is none, such as a VIP that is not
// allocated yet.
func parse(text string) netip.Addr {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return address
}

func listener(l *octavia.Listener) datapath.Listener {
	translated := datapath.Listener{
		ID:       l.ID,
		Protocol: l.Protocol,
		Port:     uint16(l.ProtocolPort),
		AdminUp:  l.AdminStateUp,
		PoolID:   l.DefaultPoolID,
	}
	for _, text := range l.AllowedCIDRs {
		// A prefix that cannot be read, which the API does not let pass, matches nobody.
		prefix, _ := netip.ParsePrefix(text)
		translated.AllowedCIDRs = append(translated.AllowedCIDRs, prefix)
	}
	return translated
}

func pool(p *octavia.Pool, provider string) datapath.Pool {
	translated := datapath.Pool{ID: p.ID, Algorithm: p.Algorithm, AdminUp: p.AdminStateUp}
	if p.Persistence != nil {
		translated.Persistence = p.Persistence.Type
		translated.PersistenceTimeout = persistence(p.Persistence, provider)
	}
	if p.Monitor != nil && present(p.Monitor.Meta) {
		translated.Monitor = monitor(p.Monitor)
	}
	for _, m := range p.Members {
		if present(m.Meta) {
			translated.Members = append(translated.Members, member(m))
		}
	}
	return translated
}

func persistence(given *octavia.SessionPersistence, provider string) time.Duration {
	switch {
	case given.Timeout != nil:
		return seconds(*given.Timeout)
	case provider == octavia.ProviderOVN:
		return ovnPersistence
	default:
		return 0
	}
}

func member(m *octavia.Member) datapath.Member {
	return datapath.Member{
		ID:             m.ID,
		Address:        parse(m.Address),
		Port:           uint16(m.ProtocolPort),
		Weight:         m.Weight,
		AdminUp:        m.AdminStateUp,
		Backup:         m.Backup,
		MonitorAddress: parse(m.MonitorAddress),
		MonitorPort:    uint16(m.MonitorPort),
		Status:         m.OperatingStatus,
	}
}

func monitor(m *octavia.Monitor) *datapath.Monitor {
	return &datapath.Monitor{
		Type:           m.Type,
		AdminUp:        m.AdminStateUp,
		Delay:          seconds(m.Delay),
		Timeout:        seconds(m.Timeout),
		MaxRetries:     m.MaxRetries,
		MaxRetriesDown: m.MaxRetriesDown,
		Method:         m.HTTPMethod,
		Path:           m.URLPath,
		ExpectedCodes:  m.ExpectedCodes,
		DomainName:     m.DomainName,
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
