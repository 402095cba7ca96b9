package testenv

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Books describe all objects in a cloud, and the Services in the cluster, with a line for each
// object. Symbols replace values that differ from run to run: IDs, addresses that the cloud
// assigns, times. Books of two runs with the same result are equal.
type Books []string

// Books returns the present state.
func (env *Env) Books() Books {
	b := &books{names: map[string]string{}}
	balancers := env.Cloud.Octavia.Snapshot()
	b.nameNetwork(env)
	b.nameLoadBalancers(balancers)
	b.nameVIPs(env)
	b.nameFloatingIPs(env, balancers)
	b.symbols = b.replacer()
	for _, lb := range balancers {
		b.loadBalancer(lb)
	}
	for _, ip := range env.Cloud.Neutron.FloatingIPs() {
		b.add("floating IP", ip)
		for _, f := range env.Cloud.Neutron.Forwardings(ip.ID) {
			b.add("forwarding", map[string]any{
				"FloatingIP": ip.Address, "Protocol": f.Protocol, "ExternalPort": f.ExternalPort, "InternalPort": f.InternalPort, "NextHop": f.Address,
			})
		}
	}
	for _, group := range env.Cloud.Neutron.SecurityGroups() {
		rules := group.Rules
		group.Rules = nil
		b.add("security group", group)
		for _, rule := range rules {
			b.add("rule", rule)
		}
	}
	for _, port := range env.Cloud.Neutron.Ports() {
		if port.DeviceOwner != "network:floatingip" { // the floating IP's own line has it
			b.add("port", port)
		}
	}
	for _, router := range env.Cloud.Neutron.Routers() {
		b.add("router", router)
	}
	for _, group := range env.Cloud.Neutron.AddressGroups() {
		b.add("address group", group)
	}
	b.cluster(env)
	slices.Sort(b.lines)
	return b.lines
}

type books struct {
	names   map[string]string // by ID or address
	symbols *strings.Replacer
	lines   []string
}

func (b *books) nameNetwork(env *Env) {
	for _, subnet := range env.Cloud.Neutron.Subnets() {
		b.names[subnet.ID] = "subnet(" + subnet.Name + ")"
	}
	for _, network := range env.Cloud.Neutron.Networks() {
		b.names[network.ID] = "network(" + network.Name + ")"
	}
	for _, router := range env.Cloud.Neutron.Routers() {
		b.names[router.ID] = "router(" + router.Name + ")"
	}
	for _, server := range env.Cloud.Nova.Servers() {
		b.names[server.ID] = "server(" + server.Name + ")"
		for _, id := range server.PortIDs {
			b.names[id] = "port-of(" + server.Name + ")"
		}
	}
	for _, port := range env.Cloud.Neutron.Ports() {
		for _, ip := range port.FixedIPs {
			b.names[ip.Address] = ip.Address // stays, also if another one is its beginning
		}
	}
	count := map[string]int{}
	for _, group := range env.Cloud.Neutron.SecurityGroups() {
		count[group.ProjectID+group.Name]++
		b.names[group.ID] = numbered("group("+group.Name+")", count[group.ProjectID+group.Name])
	}
}

func numbered(name string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s#%d", name, n)
	}
	return name
}

func (b *books) nameLoadBalancers(balancers []octavia.LoadBalancer) {
	count := map[string]int{}
	for _, lb := range balancers {
		count[lb.Name]++
		name := numbered(lb.Name, count[lb.Name])
		b.names[lb.ID] = "lb(" + name + ")"
		b.names[lb.VIP.Address], b.names[lb.VIP.PortID] = "vip("+name+")", "vip-port("+name+")"
		for i, further := range lb.AdditionalVIPs {
			vip := fmt.Sprintf("vip-%d(%s)", i+2, name)
			b.names[further.Address], b.names[strings.ReplaceAll(further.Address, ":", "-")] = vip, vip // the latter in host names
			if further.PortID != lb.VIP.PortID {
				b.names[further.PortID] = fmt.Sprintf("vip-port-%d(%s)", i+2, name)
			}
		}
		for _, l := range lb.Listeners {
			b.names[l.ID] = fmt.Sprintf("listener(%s %s/%d)", name, l.Protocol, l.ProtocolPort)
		}
		for _, pool := range lb.Pools {
			b.names[pool.ID] = fmt.Sprintf("pool(%s %s)", name, pool.Name)
			for _, member := range pool.Members {
				b.names[member.Address] = cmp.Or(b.names[member.Address], member.Address)
			}
		}
	}
}

// nameVIPs names the ports of VIPs of provider router.
func (b *books) nameVIPs(env *Env) {
	count := map[string]int{}
	for _, port := range env.Cloud.Neutron.Ports() {
		if len(port.Tags) == 0 || port.DeviceOwner != "" || len(port.FixedIPs) == 0 {
			continue
		}
		count[port.Name]++
		name := numbered(port.Name, count[port.Name])
		b.names[port.ID], b.names[port.FixedIPs[0].Address] = "vip-port("+name+")", "vip("+name+")"
	}
}

func (b *books) nameFloatingIPs(env *Env, balancers []octavia.LoadBalancer) {
	for _, ip := range env.Cloud.Neutron.FloatingIPs() {
		name := cmp.Or(b.names[ip.PortID], "nobody")
		for _, lb := range balancers {
			if ip.PortID == lb.VIP.PortID {
				name = b.names[lb.ID]
			}
		}
		for _, svc := range env.Cluster.Services() {
			if ip.PortID == "" && strings.Contains(ip.Description, string(svc.UID)) {
				name = "Service " + KeyOf(svc).String()
			}
		}
		b.names[ip.ID], b.names[ip.Address] = "fip("+name+")", "address("+name+")"
	}
}

// loadBalancer adds a load balancer and its parts.
func (b *books) loadBalancer(lb octavia.LoadBalancer) {
	whole := lb
	whole.Listeners, whole.Pools, whole.Amphorae = nil, nil, nil
	b.add("load balancer", whole)
	for _, l := range lb.Listeners {
		b.add("listener", l)
	}
	for _, pool := range lb.Pools {
		members := pool.Members
		pool.Members = nil
		b.add("pool", pool)
		for _, m := range members {
			b.add("member", m)
		}
	}
}

// cluster adds the Services and the Nodes.
func (b *books) cluster(env *Env) {
	for _, svc := range env.Cluster.Services() {
		b.add("Service "+KeyOf(svc).String(), map[string]any{
			"annotations": svc.Annotations, "status": svc.Status.LoadBalancer, "finalizers": svc.Finalizers, "deleted": svc.DeletionTimestamp != nil,
		})
	}
	for _, node := range env.Cluster.Nodes() {
		b.add("Node "+node.Name, map[string]any{"spec": node.Spec, "labels": node.Labels, "addresses": node.Status.Addresses})
	}
}

// add adds an object, without fields that differ from run to run.
func (b *books) add(kind string, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		b.lines = append(b.lines, fmt.Sprintf("%s: %v", kind, err)) // there is no error: they are texts and numbers
		return
	}
	var fields map[string]any
	_ = json.Unmarshal(text, &fields) // the text is an object that was just encoded
	b.lines = append(b.lines, kind+" "+b.flat(fields))
}

// varying reports whether a field differs from run to run, or repeats other lines.
func varying(field string) bool {
	return slices.Contains([]string{
		"ID", "CreatedAt", "UpdatedAt", "ProjectID", "OperatingStatus", "MACAddress", "mac_address", "DeviceID", "LoadBalancerID", "PoolID",
	}, field)
}

// unknown matches the IDs and the floating addresses of deleted objects.
var unknown = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(_[0-9a-f]{8})?|127\.200\.\d+\.\d+`)

// flat prints the fields that are set, and sorts those without an order.
func (b *books) flat(value any) string {
	switch value := value.(type) {
	case map[string]any:
		var parts []string
		for name, inner := range value {
			if text := b.flat(inner); text != "" && !varying(name) {
				parts = append(parts, name+"="+text)
			}
		}
		slices.Sort(parts)
		if len(parts) == 0 {
			return ""
		}
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		var parts []string
		for _, inner := range value {
			parts = append(parts, b.flat(inner))
		}
		slices.Sort(parts)
		if len(parts) == 0 {
			return ""
		}
		return "[" + strings.Join(parts, " ") + "]"
	case nil, bool:
		if value == true {
			return "true"
		}
		return ""
	case string:
		return unknown.ReplaceAllString(b.symbols.Replace(value), "(gone)")
	}
	if text := fmt.Sprint(value); text != "0" {
		return text
	}
	return ""
}

// replacer replaces values by symbols. If one address is a prefix of another, the longer one comes
// first.
func (b *books) replacer() *strings.Replacer {
	var pairs [][2]string
	for id, name := range b.names {
		if id != "" {
			pairs = append(pairs, [2]string{id, name})
		}
	}
	slices.SortFunc(pairs, func(x, y [2]string) int { return cmp.Or(cmp.Compare(len(y[0]), len(x[0])), cmp.Compare(x[0], y[0])) })
	var all []string
	for _, pair := range pairs {
		all = append(all, pair[0], pair[1])
	}
	return strings.NewReplacer(all...)
}

// Diff returns the lines that only one of two books has, each with - or +; none if they are equal.
func (b Books) Diff(other Books) []string {
	var lines []string
	count := map[string]int{}
	for _, line := range b {
		count[line]--
	}
	for _, line := range other {
		count[line]++
	}
	for line, n := range count {
		for ; n < 0; n++ {
			lines = append(lines, "- "+line)
		}
		for ; n > 0; n-- {
			lines = append(lines, "+ "+line)
		}
	}
	slices.SortFunc(lines, func(x, y string) int { return cmp.Or(cmp.Compare(x[2:], y[2:]), cmp.Compare(y[0], x[0])) })
	return lines
}

// Addresses returns the published address of every Service, by name.
func (env *Env) Addresses() map[Key]string {
	all := map[Key]string{}
	for _, svc := range env.Cluster.Services() {
		for _, ingress := range svc.Status.LoadBalancer.Ingress {
			all[KeyOf(svc)] += ingress.IP + ingress.Hostname + " "
		}
	}
	return all
}

// Leaks returns the objects that belong to no Service: load balancers, listeners, pools, floating
// IPs, ports, groups and rules. Objects with a name in ignore are left out.
func (env *Env) Leaks(ignore ...string) []string {
	var living []string
	for _, svc := range env.Cluster.Services() {
		living = append(living, string(svc.UID), KeyOf(svc).String())
	}
	var lines []string
	for _, orphan := range env.Cloud.Orphans(living, ignore) {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", orphan.Kind, orphan.ID, orphan.Name, orphan.Detail))
	}
	for _, port := range env.Cloud.LeakedPorts() {
		lines = append(lines, "VIP port "+port.Name)
	}
	return lines
}

// openTo returns the ingress rules that apply to each server's port.
func openTo(ports []neutron.Port, groups []neutron.SecurityGroup) map[string]bool {
	byID := map[string]neutron.SecurityGroup{}
	for _, group := range groups {
		byID[group.ID] = group
	}
	open := map[string]bool{}
	for _, port := range ports {
		if !strings.HasPrefix(port.DeviceOwner, "compute:") {
			continue
		}
		for _, id := range port.SecurityGroups {
			for _, r := range byID[id].Rules {
				if r.Direction == "ingress" {
					open[fmt.Sprintf("%s: %s %s %d-%d from %s%s", port.FixedIPs[0].Address, r.EtherType, r.Protocol,
						r.PortRangeMin, r.PortRangeMax, r.RemoteIPPrefix, named(byID, r.RemoteGroupID))] = true
				}
			}
		}
	}
	return open
}

// named returns the name of the group in a rule. The ID of a group differs from run to run.
func named(groups map[string]neutron.SecurityGroup, id string) string {
	if id == "" {
		return ""
	}
	return "group " + groups[id].Name
}

// covers reports whether a CIDR lies within one of others.
func covers(others []string, cidr string) bool {
	inner, err := netip.ParsePrefix(cidr)
	if err != nil {
		return slices.Contains(others, cidr)
	}
	return slices.ContainsFunc(others, func(other string) bool {
		outer, err := netip.ParsePrefix(other)
		return err == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
	})
}
