package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// String implements Step.
func (s CreateLoadBalancer) String() string {
	lb := s.LoadBalancer
	ports := make([]string, 0, len(lb.Listeners))
	for _, l := range lb.Listeners {
		ports = append(ports, l.Key().String())
	}
	text := fmt.Sprintf("load balancer %s: create (%s) with %s and %s",
		lb.Name, lb.Provider, strings.Join(ports, ", "), count(lb.CountMembers(), "member"))
	if vips := lb.VIP.Additional; len(vips) > 0 {
		text += fmt.Sprintf(", additional VIPs: %s", printVIPs(vips))
	}
	if s.Replaces != "" {
		text += fmt.Sprintf(", to take the place of %s: %s", s.Replaces, s.Why)
	}
	return text
}

// String implements Step.
func (s DeleteLoadBalancer) String() string {
	text := fmt.Sprintf("load balancer %s (%s): delete", s.Name, s.ID)
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

// String implements Step.
func (s CreateVIP) String() string {
	return strings.TrimSpace("VIP "+cmp.Or(s.LoadBalancer.VIP.Address, s.Prefer)) + ": create in subnet " + s.LoadBalancer.VIP.SubnetID
}

// String implements Step.
func (s LeadVIP) String() string {
	text := fmt.Sprintf("VIP %s: next hops %v → %v", cmp.Or(s.Address, "made last"), s.From, s.To)
	if len(s.Barred) > 0 {
		text += fmt.Sprintf(", address pairs on the ports of %v", s.Barred)
	}
	return text
}

// String implements Step.
func (s DeleteVIP) String() string {
	return fmt.Sprintf("VIP %s (port %s): delete", s.Address, s.PortID)
}

// String implements Step.
func (s CreateListener) String() string {
	l := s.Listener
	text := fmt.Sprintf("listener %s: create", l.Key())
	if l.Protocol != l.Protocol.Transport() {
		text += fmt.Sprintf(" (%s)", l.Protocol)
	}
	if len(l.AllowedCIDRs) > 0 {
		text += fmt.Sprintf(", allowed_cidrs %v", l.AllowedCIDRs)
	}
	return text
}

// String implements Step.
func (s UpdateListener) String() string {
	var changes changes
	from, to := s.From, s.To
	changes.switched(from.AdminDown, to.AdminDown)
	changes.add("allowed_cidrs", fmt.Sprint(from.AllowedCIDRs), fmt.Sprint(to.AllowedCIDRs))
	for _, limit := range model.LimitChanges(from.Limits, to.Limits) {
		changes.add(limit.Name, limit.From, limit.To)
	}
	changes.add("insert_headers", fmt.Sprint(from.InsertHeaders), fmt.Sprint(to.InsertHeaders))
	changes.add("default_tls_container_ref", cmp.Or(from.TLSContainerRef, "none"), cmp.Or(to.TLSContainerRef, "none"))
	if s.SwitchesPool() {
		changes.add("default_pool", cmp.Or(string(from.Pool.Protocol), "none"), "new "+string(to.Pool.Protocol))
	}
	return fmt.Sprintf("listener %s: %s", s.Key, changes)
}

// String implements Step.
func (s DeleteListener) String() string { return fmt.Sprintf("listener %s: delete", s.Key) }

// String implements Step.
func (s CreatePool) String() string {
	return fmt.Sprintf("pool %s: create (%s, %s%s)", s.Key, s.Pool.Protocol, s.Pool.Algorithm, affinity(s.Pool))
}

func affinity(p model.Pool) string {
	if p.Persistence == (model.Persistence{}) {
		return ""
	}
	return ", session_persistence " + persistence(p.Persistence)
}

// persistence returns a session persistence, such as "SOURCE_IP for 60 s" or "APP_COOKIE sid".
func persistence(p model.Persistence) string {
	switch {
	case p.CookieName != "":
		return p.Type + " " + p.CookieName
	case p.Timeout != 0:
		return fmt.Sprintf("%s for %d s", p.Type, p.Timeout)
	default:
		return cmp.Or(p.Type, "none")
	}
}

// String implements Step.
func (s UpdatePool) String() string {
	var changes changes
	changes.switched(s.From.AdminDown, s.To.AdminDown)
	changes.add("lb_algorithm", s.From.Algorithm, s.To.Algorithm)
	changes.add("session_persistence", persistence(s.From.Persistence), persistence(s.To.Persistence))
	return fmt.Sprintf("pool %s: %s", s.Pool, changes)
}

// String implements Step.
func (s DeletePool) String() string { return fmt.Sprintf("pool %s (%s): delete", s.Name, s.ID) }

// String implements Step.
func (s SetMembers) String() string {
	var parts []string
	for _, part := range []struct {
		sign    string
		members model.Members
	}{{"+", s.Added}, {"-", s.Removed}, {"~", s.Changed}} {
		if part.members.Len() > 0 {
			parts = append(parts, part.sign+list(part.members))
		}
	}
	if s.Additive {
		return fmt.Sprintf("pool %s: members %s beside those that are there", s.Pool, strings.Join(parts, " "))
	}
	return fmt.Sprintf("pool %s: members %s (%d in all)", s.Pool, cmp.Or(strings.Join(parts, " "), "as they are"), s.Members.Len())
}

// String implements Step.
func (s AddMember) String() string {
	return fmt.Sprintf("pool %s: member +%s", s.Pool, printMember(s.Member))
}

// String implements Step.
func (s UpdateMember) String() string {
	var changes changes
	changes.add("monitor_port", s.From.MonitorPort, s.To.MonitorPort)
	changes.add("weight", s.From.EffectiveWeight(), s.To.EffectiveWeight())
	changes.add("backup", s.From.Backup, s.To.Backup)
	changes.add("settings", s.From.Unasked, s.To.Unasked)
	return fmt.Sprintf("pool %s: member %s: %s", s.Pool, s.To.Name, changes)
}

// String implements Step.
func (s RemoveMember) String() string {
	return fmt.Sprintf("pool %s: member -%s", s.Pool, printMember(s.Member))
}

// String implements Step.
func (s CreateMonitor) String() string {
	return fmt.Sprintf("monitor %s: create %s", s.Pool, printMonitor(s.Monitor))
}

// String implements Step.
func (s UpdateMonitor) String() string {
	var changes changes
	changes.switched(s.From.AdminDown, s.To.AdminDown)
	changes.add("delay", s.From.Delay, s.To.Delay)
	changes.add("timeout", s.From.Timeout, s.To.Timeout)
	changes.add("max_retries", s.From.MaxRetries, s.To.MaxRetries)
	changes.add("max_retries_down", s.From.MaxRetriesDown, s.To.MaxRetriesDown)
	changes.add("http_method", s.From.HTTPMethod, s.To.HTTPMethod)
	changes.add("url_path", s.From.URLPath, s.To.URLPath)
	changes.add("expected_codes", s.From.ExpectedCodes, s.To.ExpectedCodes)
	changes.add("http_version", cmp.Or(s.From.HTTPVersion, "none"), cmp.Or(s.To.HTTPVersion, "none"))
	changes.add("domain_name", cmp.Or(s.From.DomainName, "none"), cmp.Or(s.To.DomainName, "none"))
	return fmt.Sprintf("monitor %s: %s", s.Pool, changes)
}

// String implements Step.
func (s DeleteMonitor) String() string {
	return fmt.Sprintf("monitor %s: delete %s", s.Pool, s.Monitor.Type)
}

// String implements Step.
func (s CreateFloatingIP) String() string {
	text := strings.TrimSpace("floating IP: create on network " + s.FloatingIP.NetworkID + " " + s.FloatingIP.Address)
	if s.Beside {
		text += ", not attached yet"
	}
	return text
}

// String implements Step.
func (s AssociateFloatingIP) String() string {
	text := "floating IP " + cmp.Or(s.Address, "made last") + ": associate"
	if s.Describe != "" {
		text += ", and take it over"
	}
	return text
}

// String implements Step.
func (s MoveFloatingIP) String() string {
	text := "floating IP " + s.Address + ": move to the new load balancer"
	if s.Describe != "" {
		text += ", and take it over"
	}
	return text
}

// String implements Step.
func (s DisassociateFloatingIP) String() string { return "floating IP " + s.Address + ": disassociate" }

// String implements Step.
func (s ClaimFloatingIP) String() string { return "floating IP " + s.Address + ": take over" }

// String implements Step.
func (s DeleteFloatingIP) String() string { return "floating IP " + s.Address + ": delete" }

// changes are the changes of a PUT; none means a repair.
type changes []string

func (c *changes) add(attribute string, from, to any) {
	if from != to {
		*c = append(*c, fmt.Sprintf("%s %v → %v", attribute, from, to))
	}
}

func (c *changes) switched(from, to bool) { c.add("admin_state_up", !from, !to) }

// String implements fmt.Stringer.
func (c changes) String() string {
	if len(c) == 0 {
		return "repair"
	}
	return strings.Join(c, ", ")
}

func printMember(m model.Member) string {
	text := fmt.Sprintf("%s=%s:%d", m.Name, m.Address, m.Port)
	if strings.Contains(m.Address, ":") {
		text = fmt.Sprintf("%s=[%s]:%d", m.Name, m.Address, m.Port)
	}
	if m.MonitorPort != 0 {
		text += fmt.Sprintf("(monitor_port %d)", m.MonitorPort)
	}
	if weight := m.EffectiveWeight(); weight != 1 {
		text += fmt.Sprintf("(weight %d)", weight)
	}
	return text
}

func list(members model.Members) string {
	const most = 3
	var names []string
	for i := range min(most, members.Len()) {
		names = append(names, printMember(members.At(i)))
	}
	if members.Len() > most {
		names = append(names, fmt.Sprintf("… %d", members.Len()))
	}
	return strings.Join(names, ",")
}

func printMonitor(m model.Monitor) string {
	text := m.Type
	if m.URLPath != "" {
		text += " " + m.HTTPMethod + " " + m.URLPath
	}
	return fmt.Sprintf("%s every %d s", text, m.Delay)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
