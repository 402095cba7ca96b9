package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// WriteText implements cli.Report: all settings on request, the findings by topic, and a summary. A
// terminal shows the end, so the topics with warnings and errors are the last ones.
func (r *Report) WriteText(out *screen.Screen) error {
	if r.ShowsSettings {
		r.writeSettings(out)
	}
	ordered := topics()
	slices.SortStableFunc(ordered, func(a, b Topic) int { return r.severity(a) - r.severity(b) })
	for _, topic := range ordered {
		r.writeTopic(out, topic)
	}
	text, color := r.verdict()
	out.Line(screen.Cell{Text: text, Color: color})
	return out.Err()
}

func (r *Report) writeSettings(out *screen.Screen) {
	if len(r.Settings) == 0 {
		return
	}
	from := "the environment"
	if r.File != "" {
		from = r.File
	}
	heading(out, "Settings of "+from)
	var rows [][]screen.Cell
	for _, section := range sectionsOf(r.Settings) {
		rows = append(rows, []screen.Cell{{Text: section, Color: screen.Bold}})
		var unset []string
		for _, s := range r.Settings {
			switch {
			case s.Section != section:
			case s.Value == "" && !s.Given:
				unset = append(unset, s.Key)
			default:
				rows = append(rows, settingRow(s))
			}
		}
		if len(unset) > 0 {
			rows = append(rows, []screen.Cell{{Text: "  not set: " + strings.Join(unset, ", "), Color: screen.Dim}})
		}
	}
	out.Table(2, rows)
	out.Line()
}

func settingRow(s config.Setting) []screen.Cell {
	color := screen.Plain
	if !s.Given {
		color = screen.Dim
	}
	return []screen.Cell{{Text: "  " + s.Key, Color: color}, {Text: s.Source, Color: screen.Dim}, {Text: s.Value, Color: color}}
}

func sectionsOf(all []config.Setting) []string {
	var sections []string
	for _, s := range all {
		if !slices.Contains(sections, s.Section) {
			sections = append(sections, s.Section)
		}
	}
	return sections
}

// severity returns the rank of the worst finding of a topic; good and unchecked ones are equal.
func (r *Report) severity(topic Topic) int {
	of := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Topic != topic })
	return max(scale().Rank(screen.Worst(scale(), of, verdictOf).Verdict), scale().Rank(Unchecked))
}

func (r *Report) writeTopic(out *screen.Screen, topic Topic) {
	var rows [][]screen.Cell
	for _, f := range r.Findings {
		if f.Topic != topic {
			continue
		}
		text := f.Text
		if f.Source != "" {
			text += " (" + f.Source + ")"
		}
		rows = append(rows, []screen.Cell{{Text: string(f.Verdict), Color: scale().Color(f.Verdict)}, screen.Text(f.Subject), screen.Text(text)})
	}
	if len(rows) == 0 {
		return
	}
	heading(out, topic.title())
	out.Table(2, rows)
	out.Line()
}

func heading(out *screen.Screen, text string) { out.Line(screen.Cell{Text: text, Color: screen.Bold}) }

func (t Topic) title() string {
	if t == LoadBalancers {
		return "Load balancers"
	}
	return strings.ToUpper(string(t[:1])) + string(t[1:])
}

// runs reports whether the controller runs despite wrong findings: it needs a readable
// configuration, and to sign in. Wrong values of load balancers only cause refusals of Services.
func (r *Report) runs() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Verdict == Wrong && (f.Topic == SignIn || f.Topic == Certificates || f.Topic == Configuration && !strings.HasPrefix(f.Subject, "[LoadBalancer"))
	})
}

// verdict returns the last line.
func (r *Report) verdict() (string, screen.Color) {
	counts := screen.Count(r.Findings, verdictOf)
	wrong, warnings, unchecked := counts[Wrong], counts[Warning], counts[Unchecked]
	rest := fmt.Sprintf("%d wrong, %d warnings, %d not checked", wrong, warnings, unchecked)
	if warnings == 1 {
		rest = fmt.Sprintf("%d wrong, 1 warning, %d not checked", wrong, unchecked)
	}
	if r.Offline {
		rest += "; without requests to the cloud"
	}
	switch r.ExitCode() {
	case ExitWrong:
		if r.runs() {
			return "Runs, but does not serve all: " + rest, screen.Red
		}
		return "Cannot run: " + rest, screen.Red
	case ExitWarning:
		return "Runs, with warnings: " + rest, screen.Yellow
	}
	return "Good: " + rest, screen.Green
}
