package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// mostMembers is the maximum number of good members of a pool to show; all others are shown.
const mostMembers = 8

// writeService writes a Service, its problems, and the tree of its load balancer.
func (r *Report) writeService(out *screen.Screen, s Service) {
	address := "without an address"
	if len(s.Addresses) > 0 {
		address = "at " + strings.Join(s.Addresses, ", ")
	}
	out.Line(screen.Cell{Text: s.Namespace + "/" + s.Name, Color: screen.Bold}, screen.Cell{Text: string(s.State), Color: scale().Color(s.State)}, screen.Text(address))
	var rows [][]screen.Cell
	for _, p := range s.Problems {
		label := string(p.State)
		if p.Reason == reason.SettingIgnored {
			label = "ignored"
		}
		rows = append(rows, []screen.Cell{{Text: label, Color: scale().Color(p.State)}, screen.Text(r.problem(p))})
		if p.Kept != "" && p.Kept != refusal.NothingServes {
			rows = append(rows, []screen.Cell{screen.Text("kept"), screen.Text(p.Kept)})
		}
	}
	out.Table(2, rows)
	if s.LoadBalancer != nil {
		out.Table(2, r.tree(s))
	}
	if len(s.SecurityGroups) > 0 && s.LoadBalancer == nil {
		out.Table(2, groupRows("", s.SecurityGroups))
	}
	r.writeEvents(out, s)
	out.Line()
}

// tree returns the rows of a load balancer: its description, its two statuses, and its parts.
func (r *Report) tree(s Service) [][]screen.Cell {
	lb := s.LoadBalancer
	t := &tree{}
	t.row("load balancer", lb.Status, strings.Join(r.aboutBalancer(lb), ", "))
	last := len(lb.Listeners)+len(s.SecurityGroups) == 0 && lb.Traffic == nil
	if lb.Provider != driver.PortForwarding {
		t.plain(branch(last && len(lb.FloatingIPs)+len(lb.NextHops) == 0)+"VIP", aboutVIP(lb.VIP))
	}
	for i, fip := range lb.FloatingIPs {
		t.plain(branch(last && i == len(lb.FloatingIPs)-1 && len(lb.NextHops) == 0)+"floating IP", strings.TrimSpace(fip.Address+"  "+fip.ID))
	}
	for i, hop := range lb.NextHops {
		t.plain(branch(last && i == len(lb.NextHops)-1)+"next hop", strings.TrimSpace(hop.Node+"  "+hop.Address))
	}
	for i, l := range lb.Listeners {
		t.listener(l, s, i == len(lb.Listeners)-1 && len(s.SecurityGroups) == 0 && lb.Traffic == nil)
	}
	for i, group := range s.SecurityGroups {
		t.rows = append(t.rows, groupRows(branch(i == len(s.SecurityGroups)-1 && lb.Traffic == nil), []SecurityGroup{group})...)
	}
	if lb.Traffic != nil {
		t.plain(branch(true)+"traffic", aboutTraffic(*lb.Traffic, len(lb.SharedWith) > 0))
	}
	return t.rows
}

// tree collects rows.
type tree struct{ rows [][]screen.Cell }

func (t *tree) row(what string, s Status, about string) {
	if s.Down {
		about = "switched off, " + about
	}
	t.rows = append(t.rows, []screen.Cell{
		screen.Text(what), {Text: s.Provisioning, Color: provisioningColor(s)}, {Text: s.Operating, Color: operatingColor(s)}, screen.Text(about),
	})
}

func (t *tree) plain(what, about string) { t.row(what, Status{}, about) }

// branch returns the lines before a part, which may be the last one.
func branch(last bool) string {
	if last {
		return "└─ "
	}
	return "├─ "
}

func below(last bool) string {
	if last {
		return "   "
	}
	return "│  "
}

func (t *tree) listener(l Listener, of Service, last bool) {
	about := "open to all"
	if len(l.AllowedCIDRs) > 0 {
		about = "open to " + message.JoinLimited(l.AllowedCIDRs)
	}
	if !strings.HasPrefix(l.key(), l.Protocol+"/") {
		about = l.Protocol + ", " + about
	}
	t.row(branch(last)+"listener "+l.key(), l.Status, about)
	if l.Pool != nil {
		t.pool(below(last), of, *l.Pool)
	}
}

func (t *tree) pool(indent string, of Service, p Pool) {
	about := []string{p.Algorithm, counted(len(p.Members), "member")}
	if p.Persistence != "" {
		about = append(about, "persistence "+p.Persistence)
	}
	if of.Local {
		about = append(about, "only nodes with endpoints answer")
	}
	t.row(indent+branch(true)+"pool", p.Status, strings.Join(about, ", "))
	indent += below(true)
	shown, good := shownMembers(p.Members)
	if m := p.Monitor; m != nil {
		t.row(indent+branch(len(p.Members) == 0)+"monitor", m.Status, aboutMonitor(*m))
	}
	for i, m := range shown {
		about := fmt.Sprintf("%s:%d", m.Address, m.Port)
		if m.Node == "" && m.Name != "" && !of.Pods {
			about += ", no node has the address"
		}
		if m.Weight != nil {
			about += fmt.Sprintf(", weight %d", *m.Weight)
		}
		t.row(indent+branch(i == len(shown)-1 && good == 0)+m.title(), m.Status, about)
	}
	if good > 0 {
		t.plain(indent+branch(true)+fmt.Sprintf("%d more", good), "good")
	}
}

// shownMembers returns the members to show, and the number of the omitted good ones.
func shownMembers(all []Member) (shown []Member, good int) {
	for _, m := range all {
		fine := m.Provisioning == model.StatusActive && (m.Operating == "ONLINE" || m.Operating == "NO_MONITOR") && !m.drained()
		if fine && len(all) > mostMembers {
			good++
			continue
		}
		shown = append(shown, m)
	}
	return shown, good
}

func (r *Report) aboutBalancer(lb *LoadBalancer) []string {
	about := []string{lb.Name + ", " + lb.ID}
	if lb.Provider != "" {
		about = append(about, lb.Provider)
	}
	if !lb.ChangedAt.IsZero() {
		about = append(about, "changed "+r.age(lb.ChangedAt)+" ago")
	}
	switch {
	case lb.Owner != "":
		about = append(about, "made for "+lb.Owner)
	case lb.TakenOver:
		about = append(about, "made by another controller, taken over")
	case lb.Adopted:
		about = append(about, "made by another controller, not yet taken over")
	}
	if len(lb.SharedWith) > 0 {
		about = append(about, "shared with "+message.JoinLimited(lb.SharedWith))
	}
	return about
}

func aboutVIP(vip VIP) string {
	about := vip.Address
	if vip.SubnetID != "" {
		about += ", subnet " + vip.SubnetID
	}
	if len(vip.Additional) > 0 {
		about += ", also " + strings.Join(vip.Additional, ", ")
	}
	if len(vip.SecurityGroupIDs) > 0 {
		about += ", security groups " + message.JoinLimited(vip.SecurityGroupIDs)
	}
	return about
}

func aboutMonitor(m Monitor) string {
	return fmt.Sprintf("%s %severy %ds, waits %ds, down after %s", m.Type, space(m.URLPath), m.Delay, m.Timeout, counted(m.MaxRetries, "failure"))
}

// space appends a space to a text unless it is empty.
func space(text string) string {
	if text == "" {
		return ""
	}
	return text + " "
}

func aboutTraffic(t Traffic, shared bool) string {
	about := fmt.Sprintf("%d connections now, %d in all, %s in, %s out, %s", t.ActiveConnections, t.TotalConnections, size(t.BytesIn), size(t.BytesOut), counted(int(t.RequestErrors), "error"))
	if shared {
		about += ", of all Services on it"
	}
	return about
}

// size formats a number of bytes in the greatest unit below it.
func size(n int64) string {
	const unit = 1000
	value, name := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB", "PB"} {
		if value < unit {
			break
		}
		value, name = value/unit, next
	}
	if name == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, name)
}

func groupRows(indent string, groups []SecurityGroup) (rows [][]screen.Cell) {
	for _, group := range groups {
		about := group.Name
		if len(group.Opens) > 0 {
			about += ": " + message.JoinLimited(group.Opens)
		}
		rows = append(rows, []screen.Cell{screen.Text(indent + "security group"), {}, {}, screen.Text(about)})
	}
	return rows
}

func provisioningColor(s Status) screen.Color {
	switch {
	case s.failed():
		return screen.Red
	case s.pending():
		return screen.Yellow
	}
	return screen.Dim // ACTIVE needs no attention
}

func operatingColor(s Status) screen.Color {
	switch s.Operating {
	case "ONLINE":
		return screen.Green
	case "ERROR":
		return screen.Red
	case "DEGRADED", "OFFLINE", "DRAINING":
		return screen.Yellow
	}
	return screen.Plain
}

// writeEvents writes the last error and the warnings.
func (r *Report) writeEvents(out *screen.Screen, s Service) {
	var rows [][]screen.Cell
	if e := s.LastError; e != nil {
		color, head := screen.Red, "last error"
		if e.Over {
			color, head = screen.Dim, "last error, over"
		}
		about := e.Reason
		if e.RequestID != "" {
			about += ", request " + e.RequestID
		}
		if rest, _ := unsaid(s.Problems, e.text()); rest != "" {
			about += ": " + rest
		}
		rows = append(rows, []screen.Cell{{Text: head, Color: color}, screen.Text(r.times(*e)), screen.Text(about)})
	}
	for _, e := range s.Warnings {
		if s.has(reason.Reason(e.Reason)) {
			continue
		}
		rows = append(rows, []screen.Cell{{Text: "warning", Color: screen.Yellow}, screen.Text(r.times(e)), screen.Text(e.Reason + ": " + e.Message)})
	}
	out.Table(2, rows)
}

// has reports whether one of the problems has a reason.
func (s Service) has(why reason.Reason) bool {
	return slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Reason == why })
}

// times formats the age of an event, and the number of its occurrences.
func (r *Report) times(e Event) string {
	text := r.age(e.Last) + " ago"
	if e.Count > 1 {
		text += fmt.Sprintf(" (%d times since %s)", e.Count, r.age(e.First))
	}
	return text
}
