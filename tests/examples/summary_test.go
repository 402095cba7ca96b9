package examples_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// Octavia's default values.
const (
	defaultTimeout, defaultConnect = 50000, 5000
	noLimit                        = -1
)

// summary returns what the Services have in the cloud, line by line.
func (s *site) summary() string {
	var text strings.Builder
	for _, svc := range s.Cluster.Services() {
		fmt.Fprintf(&text, "Service %s: %s\n", testenv.KeyOf(svc), published(svc))
	}
	if s.dualHomed {
		for _, node := range s.Cluster.Nodes() {
			fmt.Fprintf(&text, "Node %s:", node.Name)
			for _, address := range node.Status.Addresses {
				fmt.Fprintf(&text, " %s %s", address.Type, address.Address)
			}
			text.WriteString("\n")
		}
	}
	for _, lb := range s.Cloud.Octavia.Snapshot() {
		fmt.Fprintf(&text, "load balancer %s (%s)\n  VIP %s in %s%s\n", lb.Name, lb.Provider, lb.VIP.Address, s.subnet(lb.VIP.SubnetID), s.floatingIP(lb))
		for _, vip := range lb.AdditionalVIPs {
			fmt.Fprintf(&text, "  VIP %s in %s\n", vip.Address, s.subnet(vip.SubnetID))
		}
		for _, l := range lb.Listeners {
			fmt.Fprintf(&text, "  listener %s/%d%s\n", l.Protocol, l.ProtocolPort, s.listener(l))
			for _, pool := range lb.Pools {
				if pool.ID == l.DefaultPoolID {
					s.pool(&text, pool)
				}
			}
		}
	}
	s.routes(&text)
	s.forwardings(&text)
	s.groups(&text)
	return text.String()
}

// published returns the addresses in the status of a Service.
func published(svc *v1.Service) string {
	var all []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		text := ingress.IP + ingress.Hostname
		if mode := ingress.IPMode; mode != nil && *mode != v1.LoadBalancerIPModeVIP {
			text += ", ipMode " + string(*mode)
		}
		all = append(all, text)
	}
	return cmp.Or(strings.Join(all, "; "), "nothing is published")
}

func (s *site) subnet(id string) string {
	for _, subnet := range s.Cloud.Neutron.Subnets() {
		if subnet.ID == id {
			return subnet.Name
		}
	}
	return "no subnet"
}

func (s *site) floatingIP(lb octavia.LoadBalancer) string { return s.attached(lb.VIP.PortID) }

// attached returns the floating IP of a port.
func (s *site) attached(portID string) string {
	for _, ip := range s.Cloud.Neutron.FloatingIPs() {
		if ip.PortID == portID {
			return ", floating IP " + ip.Address
		}
	}
	return ", no floating IP"
}

// listener is what a listener has that not every one has.
func (s *site) listener(l *octavia.Listener) string {
	var all []string
	if len(l.AllowedCIDRs) > 0 {
		all = append(all, "open to "+strings.Join(l.AllowedCIDRs, " and "))
	}
	for _, timeout := range []struct {
		name        string
		is, without int
	}{
		{"client data", l.TimeoutClientData, defaultTimeout}, {"member connect", l.TimeoutMemberConnect, defaultConnect},
		{"member data", l.TimeoutMemberData, defaultTimeout}, {"TCP inspect", l.TimeoutTCPInspect, 0},
	} {
		if timeout.is != timeout.without {
			all = append(all, fmt.Sprintf("timeout of %s %d ms", timeout.name, timeout.is))
		}
	}
	if l.ConnectionLimit != noLimit {
		all = append(all, fmt.Sprintf("%d connections at most", l.ConnectionLimit))
	}
	if l.TLS.DefaultContainerRef != "" {
		all = append(all, "certificate from Barbican")
	}
	if headers := slices.Sorted(maps.Keys(l.InsertHeaders)); len(headers) > 0 {
		all = append(all, "adds "+strings.Join(headers, ", "))
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, "; ")
}

func (s *site) pool(text *strings.Builder, pool *octavia.Pool) {
	persistence := ""
	if pool.Persistence != nil {
		persistence = strings.TrimSuffix(", persistence "+pool.Persistence.Type+" "+pool.Persistence.CookieName, " ")
	}
	fmt.Fprintf(text, "    pool %s, %s%s\n", pool.Protocol, pool.Algorithm, persistence)
	if m := pool.Monitor; m != nil {
		fmt.Fprintf(text, "      health monitor %s%s, every %ds, timeout %ds, down after %d failures\n", m.Type, asked(m), m.Delay, m.Timeout, m.MaxRetriesDown)
	}
	members := slices.Clone(pool.Members)
	slices.SortFunc(members, func(a, b *octavia.Member) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range members {
		probed := ""
		if m.MonitorPort != 0 {
			probed = fmt.Sprintf(", probed at port %d", m.MonitorPort)
		}
		fmt.Fprintf(text, "      %s %s port %d in %s%s\n", m.Name, m.Address, m.ProtocolPort, s.subnet(m.SubnetID), probed)
	}
}

// asked is what a monitor asks for.
func asked(m *octavia.Monitor) string {
	if m.URLPath == "" {
		return ""
	}
	return fmt.Sprintf(" %s %s (%s)", m.HTTPMethod, m.URLPath, m.ExpectedCodes)
}

// routerVIPs returns the ports that are VIPs of provider router.
func (s *site) routerVIPs() []neutron.Port {
	return slices.DeleteFunc(s.Cloud.Neutron.Ports(), func(port neutron.Port) bool {
		return port.NetworkID != s.Cloud.RouterVIPs.ID || port.DeviceOwner != ""
	})
}

// routes writes the VIPs of provider router, and the routes to them.
func (s *site) routes(text *strings.Builder) {
	for _, port := range s.routerVIPs() {
		at := port.FixedIPs[0]
		fmt.Fprintf(text, "VIP %s in %s%s\n", at.Address, s.subnet(at.SubnetID), s.attached(port.ID))
	}
	for _, route := range s.Cloud.Neutron.Routers()[0].Routes {
		fmt.Fprintf(text, "  route to %s via %s\n", route.Destination, route.NextHop)
	}
}

// forwardings writes the floating IPs with port forwardings.
func (s *site) forwardings(text *strings.Builder) {
	for _, ip := range s.Cloud.Neutron.FloatingIPs() {
		for i, f := range s.Cloud.Neutron.Forwardings(ip.ID) {
			if i == 0 {
				fmt.Fprintf(text, "floating IP %s\n", ip.Address)
			}
			fmt.Fprintf(text, "  %s port %d to port %d of %s\n", f.Protocol, f.ExternalPort, f.InternalPort, f.Address)
		}
	}
}

// groups writes the security groups that the controller has made.
func (s *site) groups(text *strings.Builder) {
	for _, group := range s.Cloud.Neutron.SecurityGroups() {
		if !strings.HasPrefix(group.Name, "lb-sg-") {
			continue
		}
		fmt.Fprintf(text, "security group %s\n", group.Name)
		for _, r := range group.Rules {
			fmt.Fprintf(text, "  %s %s port %d from %s\n", r.Direction, r.Protocol, r.PortRangeMin, cmp.Or(r.RemoteIPPrefix, "everywhere"))
		}
		for _, port := range s.Cloud.Neutron.Ports() {
			if slices.Contains(port.SecurityGroups, group.ID) {
				fmt.Fprintf(text, "  on the port of %s\n", port.FixedIPs[0].Address)
			}
		}
	}
}
