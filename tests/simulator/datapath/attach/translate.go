package attach

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// datagramPersistence is how long the amphora's keepalived keeps an idle client of UDP on its member
// if the pool has no timeout.
const datagramPersistence = 360 * time.Second

// loadBalancer translates one load balancer with the floating IPs of its VIP ports.
func loadBalancer(lb octavia.LoadBalancer, floatingIPs map[string][]neutron.FloatingIP) datapath.LoadBalancer {
	translated := datapath.LoadBalancer{
		ID:                lb.ID,
		Settled:           lb.ProvisioningStatus == octavia.Active,
		AdminUp:           lb.AdminStateUp,
		KeepClientAddress: lb.Provider == octavia.ProviderOVN,
	}
	addAddresses(&translated, lb, floatingIPs)
	for _, l := range lb.Listeners {
		if present(l.Meta) {
			one := listener(l, lb.Provider)
			one.NotFloating = parse(lb.NotFloating[l.Protocol])
			translated.Listeners = append(translated.Listeners, one)
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

// addAddresses adds the VIP, the additional VIPs and then the floating IPs of all of them.
func addAddresses(translated *datapath.LoadBalancer, lb octavia.LoadBalancer, floatingIPs map[string][]neutron.FloatingIP) {
	texts := []string{lb.VIP.Address}
	ports := []string{lb.VIP.PortID}
	for _, vip := range lb.AdditionalVIPs {
		if vip.Address == "" {
			continue // the provider does not do them
		}
		texts = append(texts, vip.Address)
		if vip.PortID != lb.VIP.PortID {
			ports = append(ports, vip.PortID)
		}
	}
	translated.Fixed = map[netip.Addr]netip.Addr{}
	for _, port := range ports {
		for _, floatingIP := range floatingIPs[port] {
			texts = append(texts, floatingIP.Address)
			translated.Fixed[parse(floatingIP.Address)] = parse(floatingIP.FixedAddress)
		}
	}
	for _, text := range texts {
		if address := parse(text); address.IsValid() {
			translated.Addresses = append(translated.Addresses, address)
		}
	}
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

func listener(l *octavia.Listener, provider string) datapath.Listener {
	translated := datapath.Listener{
		ID:            l.ID,
		Protocol:      l.Protocol,
		Port:          uint16(l.ProtocolPort),
		AdminUp:       l.AdminStateUp,
		PoolID:        l.DefaultPoolID,
		InsertHeaders: l.InsertHeaders,
		Policies:      policies(l.Policies),
	}
	for _, text := range l.AllowedCIDRs {
		// An invalid prefix, which the API does not accept, matches no client.
		prefix, _ := netip.ParsePrefix(text)
		translated.AllowedCIDRs = append(translated.AllowedCIDRs, prefix)
	}
	if provider == octavia.ProviderOVN {
		return translated // ovn takes limits and timeouts, and ignores them
	}
	translated.ConnectionLimit = l.ConnectionLimit
	translated.Timeouts = datapath.Timeouts{
		ClientData:    milliseconds(l.TimeoutClientData),
		MemberConnect: milliseconds(l.TimeoutMemberConnect),
		MemberData:    milliseconds(l.TimeoutMemberData),
	}
	if l.Protocol == datapath.ProtocolTerminatedHTTPS {
		translated.TLS = listenerTLS(l.TLS)
	}
	return translated
}

func listenerTLS(given octavia.ListenerTLS) datapath.ListenerTLS {
	return datapath.ListenerTLS{
		DefaultRef:           given.DefaultContainerRef,
		SNIRefs:              given.SNIContainerRefs,
		ClientAuthentication: given.ClientAuthentication,
		ClientCARef:          given.ClientCAContainerRef,
		Versions:             given.Versions,
		ALPN:                 given.ALPNProtocols,
		HSTS:                 hsts(given),
	}
}

// hsts is the header Strict-Transport-Security that the listener adds.
func hsts(given octavia.ListenerTLS) string {
	if given.HSTSMaxAge == nil {
		return ""
	}
	value := fmt.Sprintf("max-age=%d", *given.HSTSMaxAge)
	if given.HSTSIncludeSubdomains {
		value += "; includeSubDomains"
	}
	if given.HSTSPreload {
		value += "; preload"
	}
	return value
}

func pool(p *octavia.Pool, provider string) datapath.Pool {
	translated := datapath.Pool{
		ID:        p.ID,
		Protocol:  p.Protocol,
		Algorithm: p.Algorithm,
		AdminUp:   p.AdminStateUp,
		TLS: datapath.PoolTLS{
			Enabled:        p.TLS.Enabled,
			CertificateRef: p.TLS.ContainerRef,
			CARef:          p.TLS.CAContainerRef,
			Versions:       p.TLS.Versions,
			ALPN:           p.TLS.ALPNProtocols,
		},
	}
	if p.Persistence != nil && !p.Persistence.Ignored {
		translated.Persistence = p.Persistence.Type
		translated.CookieName = p.Persistence.CookieName
		translated.PersistenceTimeout = persistence(p)
		translated.PersistenceBits = bits(p.Persistence.Granularity)
	}
	if p.Monitor != nil && present(p.Monitor.Meta) {
		translated.Monitor = monitor(p.Monitor)
	}
	for _, m := range p.Members {
		if present(m.Meta) && (p.Serving == nil || p.Serves(m)) {
			translated.Members = append(translated.Members, member(m, provider))
		}
	}
	return translated
}

func persistence(p *octavia.Pool) time.Duration {
	switch {
	case p.Persistence.Timeout != nil:
		return seconds(*p.Persistence.Timeout)
	case p.Protocol == datapath.ProtocolUDP:
		return datagramPersistence
	default:
		return 0
	}
}

// bits reads a persistence_granularity, which is a mask such as 255.255.255.0, as the length
// of a prefix. 0 stands for none.
func bits(granularity string) int {
	mask := parse(granularity)
	if !mask.IsValid() {
		return 0
	}
	ones, _ := net.IPMask(mask.AsSlice()).Size()
	return ones
}

func member(m *octavia.Member, provider string) datapath.Member {
	translated := datapath.Member{
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
	if provider == octavia.ProviderOVN {
		translated.Weight = 1 // ovn takes a weight and ignores it
	}
	return translated
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
		HTTPVersion:    m.HTTPVersion,
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }
