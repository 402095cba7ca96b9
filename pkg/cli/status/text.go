package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// WriteText writes the report for people: the trees of the named Services, or a line for each
// Service, and the sums.
func (r *Report) WriteText(out *screen.Screen) error {
	if r.detailed {
		for _, s := range r.Services {
			r.writeService(out, s)
		}
	} else {
		r.writeList(out)
	}
	r.writeQuotas(out)
	for _, note := range r.Notes {
		out.Line(screen.Cell{Text: "Note: " + note, Color: screen.Yellow})
	}
	if !r.detailed || len(r.Services) > 1 {
		out.Line(r.total()...)
	}
	return out.Err()
}

// mostReason is the maximum length of a reason in a list, in bytes: trees have the whole one.
const mostReason = 120

// writeList writes a line for each Service, the worst last: a terminal shows the end.
func (r *Report) writeList(out *screen.Screen) {
	var rows [][]screen.Cell
	heading := func(text string) screen.Cell { return screen.Cell{Text: text, Color: screen.Bold} }
	if len(r.Services) > 0 {
		rows = append(rows, []screen.Cell{heading("NAMESPACE"), heading("NAME"), heading("STATE"), heading("ADDRESS"), heading("REASON")})
	}
	for _, s := range r.fromTheBest() {
		address := "-"
		if len(s.Addresses) > 0 {
			address = strings.Join(s.Addresses, ",")
		}
		rows = append(rows, []screen.Cell{
			screen.Text(s.Namespace), screen.Text(s.Name), {Text: string(s.State), Color: scale().Color(s.State)},
			screen.Text(address), screen.Text(r.why(s)),
		})
	}
	out.Table(0, rows)
}

// why returns the worst problem of a Service, the number of the others, and whether its rollouts lose connections, of which only
// trees have the event.
func (r *Report) why(s Service) string {
	var parts []string
	if len(s.Problems) > 0 {
		worst := s.Problems[0]
		if worst.Reason == reason.SettingIgnored {
			worst.Text = "ignored: " + worst.Text
		}
		worst.Text, worst.Reason = message.Truncate(worst.Text, mostReason), ""
		why := r.problem(worst)
		if more := len(s.Problems) - 1; more > 0 {
			why += fmt.Sprintf(" (and %d more)", more)
		}
		parts = append(parts, why)
	}
	for _, e := range s.Warnings {
		if e.Reason == string(reason.RolloutLoses) {
			parts = append(parts, "rollouts lose connections ("+r.age(e.Last)+" ago)")
		}
	}
	return strings.Join(parts, "; ")
}

// fromTheBest returns the Services by their states, the best first.
func (r *Report) fromTheBest() []Service {
	ordered := slices.Clone(r.Services)
	slices.SortStableFunc(ordered, func(a, b Service) int {
		return scale().Rank(a.State) - scale().Rank(b.State)
	})
	return ordered
}

// total returns the number of Services in each state.
func (r *Report) total() []screen.Cell {
	cells := []screen.Cell{screen.Text(counted(len(r.Services), "Service") + ":")}
	var parts []screen.Cell
	counts := screen.Count(r.Services, stateOf)
	for _, grade := range scale() {
		if n := counts[grade.Verdict]; n > 0 {
			parts = append(parts, screen.Cell{Text: fmt.Sprintf("%d %s", n, grade.Verdict), Color: grade.Color})
		}
	}
	if len(parts) == 0 {
		return []screen.Cell{screen.Text("No Service of type LoadBalancer")}
	}
	for i := range parts[:len(parts)-1] {
		parts[i].Text += ","
	}
	return append(cells, parts...)
}

// problem formats a problem with the reason of its condition, its age, and whether it may be about
// an earlier state of the Service.
func (r *Report) problem(p Problem) string {
	var known []string
	if p.Reason != "" && p.Reason != reason.SettingIgnored { // its line starts with that
		known = append(known, string(p.Reason))
	}
	if p.Since != nil {
		known = append(known, "since "+r.age(*p.Since))
	}
	if p.ServiceChanged != nil {
		known = append(known, "said before the Service was changed "+r.age(*p.ServiceChanged)+" ago")
	}
	if len(known) == 0 {
		return p.Text
	}
	return p.Text + " (" + strings.Join(known, ", ") + ")"
}

// age formats the time since something.
func (r *Report) age(at time.Time) string {
	return duration.HumanDuration(max(r.At.Sub(at), 0))
}

func (r *Report) writeQuotas(out *screen.Screen) {
	if len(r.Quotas) == 0 {
		return
	}
	cells := []screen.Cell{{Text: "Quota left:", Color: screen.Bold}}
	for i, q := range r.Quotas {
		cell := screen.Cell{Text: fmt.Sprintf("%d of %d %s", q.Left(), q.Limit, q.Of)}
		if q.Left() == 0 {
			cell.Color = screen.Yellow
		}
		if i < len(r.Quotas)-1 {
			cell.Text += ","
		}
		cells = append(cells, cell)
	}
	out.Line(cells...)
}
