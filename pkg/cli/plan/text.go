package plan

import (
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// WriteText writes the report for people: a line for each Service, then its steps in the form of a
// diff, and the sums.
func (r *Report) WriteText(out *screen.Screen) error {
	for _, s := range r.Services {
		color := scale().Color(s.Verdict)
		if s.Deletes && s.Verdict == NoChange {
			color = screen.Dim
		}
		out.Line(screen.Cell{Text: s.Namespace + "/" + s.Name + ":", Color: screen.Bold}, screen.Cell{Text: s.verdict(), Color: color})
		out.Table(2, s.rows())
	}
	text, color := r.verdict()
	if len(r.Services) > 0 {
		out.Line()
	}
	out.Line(screen.Cell{Text: text, Color: color})
	return out.Err()
}

func (s Service) verdict() string {
	switch s.Verdict {
	case NoChange:
		if s.Deletes {
			return "its load balancer is already removed"
		}
		return "no change"
	case TakenOver:
		return "taken over, no change"
	case Change:
		return s.change() + ": " + s.Cost.String()
	case Refused:
		return "will be refused, " + s.refused()
	case Unknown:
		return "not known: " + s.Error
	case NotOurs:
	}
	return "not served: it needs no load balancer of this controller"
}

func (s Service) change() string {
	switch {
	case s.Deletes:
		return "will be deleted"
	case s.TakenOver:
		return "taken over, will change"
	case s.Address.Change == loadbalancer.AddressNew:
		return "will be created"
	}
	return "will change"
}

// refused returns the consequence for the load balancer of a refused Service.
func (s Service) refused() string {
	switch {
	case !s.Refusal.Kept:
		return "and has no load balancer"
	case s.Refusal.Stuck != "":
		return "and does not change"
	case len(s.Steps) > 0:
		return "keeps its load balancer, which follows its nodes or pods: " + s.Cost.String()
	}
	return "keeps its load balancer"
}

// String formats a cost, such as "2 writes, 1 load balancer change".
func (c Cost) String() string {
	return count(c.Writes, "write") + ", " + count(c.LoadBalancerChanges, "load balancer change")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s Service) rows() [][]screen.Cell {
	var rows [][]screen.Cell
	add := func(sign, text string, color screen.Color) {
		rows = append(rows, []screen.Cell{{Text: sign, Color: color}, {Text: text, Color: color}})
	}
	if s.Refusal != nil { // lines of bold red are hard to read
		rows = append(rows, []screen.Cell{{Text: "x", Color: screen.Red}, screen.Text(s.Refusal.Text)})
	}
	for _, step := range s.Steps {
		switch step.Action {
		case loadbalancer.Adds:
			add("+", step.Text, screen.Green)
		case loadbalancer.Removes:
			add("-", step.Text, screen.Red)
		case loadbalancer.Changes:
			add("~", step.Text, screen.Yellow)
		}
	}
	if text := s.Address.line(); text != "" && len(s.Steps) > 0 {
		add("@", text, screen.Plain)
	}
	for _, step := range s.Steps {
		if step.Pauses != "" {
			add("!", "pauses: "+step.Pauses, screen.Red)
		}
	}
	for _, note := range s.Notes {
		text := note.Text
		if note.Reason != "" {
			text = string(note.Reason) + ": " + text
		}
		add("i", text, screen.Dim)
	}
	return rows
}

// line returns the effect on the address, "" for none.
func (a Address) line() string {
	after := a.After
	if after == "" {
		after = "chosen by OpenStack"
	}
	switch a.Change {
	case loadbalancer.AddressNew:
		return "address: " + after
	case loadbalancer.AddressKept:
		return "address: " + a.Before + " stays"
	case loadbalancer.AddressChanges:
		return "address: " + a.Before + " → " + after
	case loadbalancer.AddressGoes:
		return "address: " + a.Before + " goes"
	case loadbalancer.AddressNone:
	}
	return ""
}

func (r *Report) verdict() (string, screen.Color) {
	var parts []string
	counts := screen.Count(r.Services, verdictOf)
	for _, p := range []struct {
		verdict Verdict
		text    string
	}{
		{TakenOver, "taken over without a change"}, {NoChange, "without a change"}, {Change, "will change"},
		{Refused, "will be refused"}, {Unknown, "not known"}, {NotOurs, "not served"},
	} {
		if n := counts[p.verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, p.text))
		}
	}
	var cost Cost
	pauses := 0
	for _, s := range r.Services {
		cost.Writes += s.Cost.Writes
		cost.LoadBalancerChanges += s.Cost.LoadBalancerChanges
		for _, step := range s.Steps {
			if step.Pauses != "" {
				pauses++
				break
			}
		}
	}
	if cost != (Cost{}) {
		parts = append(parts, cost.String())
	}
	if pauses > 0 {
		parts = append(parts, "traffic pauses for "+count(pauses, "Service"))
	}
	color := screen.Green
	if r.ExitCode() != ExitNothing {
		color = screen.Worst(scale(), r.Services, verdictOf).Color
	}
	return strings.Join(append([]string{count(len(r.Services), "Service")}, parts...), "; ") + ". Nothing was changed.", color
}
