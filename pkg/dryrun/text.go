package dryrun

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Path is the URL path of the report.
const Path = "/dry-run"

// ServeHTTP implements http.Handler: text, or JSON with ?output=json.
func (r *Report) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch output := req.URL.Query().Get("output"); output {
	case "", "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = r.WriteText(screen.New(w, nil)) // a client that has gone
	case "json":
		w.Header().Set("Content-Type", "application/json")
		_ = r.WriteJSON(w) // a client that has gone
	default:
		http.Error(w, fmt.Sprintf("output is %q: allowed are text and json", output), http.StatusBadRequest)
	}
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(out io.Writer) error {
	return screen.WriteJSON(out, "DryRun", r.State())
}

// WriteText writes the report for people: the number of Services by outcome, all with changes, and
// the other changes.
func (r *Report) WriteText(out *screen.Screen) error {
	state := r.State()
	out.Line(screen.Cell{Text: "Dry run since " + clockTime(state.Started) + ": nothing was written", Color: screen.Bold})
	var counts []string
	for _, o := range outcomes() {
		if n := state.Counts[o.Verdict]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, o.Verdict.words()))
		}
	}
	if counts == nil {
		counts = []string{"none yet"}
	}
	out.Line(screen.Text("Services: " + strings.Join(counts, ", ")))
	for _, s := range state.Services {
		if s.Outcome != Unchanged || len(s.Notes) > 0 {
			writeService(out, s)
		}
	}
	if len(state.Changes) > 0 {
		out.Line()
		out.Line(screen.Cell{Text: "Other changes", Color: screen.Bold})
	}
	var rows [][]screen.Cell
	for _, c := range state.Changes {
		rows = append(rows, []screen.Cell{{Text: c.Object}, {Text: "since " + clockTime(c.First), Color: screen.Dim}, {Text: c.What}})
	}
	out.Table(2, rows)
	return out.Err()
}

func writeService(out *screen.Screen, s Service) {
	out.Line()
	out.Line(screen.Cell{Text: s.Namespace + "/" + s.Name, Color: screen.Bold}, screen.Cell{Text: s.Outcome.words(), Color: outcomes().Color(s.Outcome)},
		screen.Cell{Text: "(since " + clockTime(s.Since) + ")", Color: screen.Dim})
	var rows [][]screen.Cell
	add := func(what, text string) {
		if text != "" {
			rows = append(rows, []screen.Cell{{Text: what, Color: screen.Dim}, {Text: text}})
		}
	}
	add("why", s.Text)
	for _, step := range s.Steps {
		add("step", step)
	}
	add("address", s.Address)
	for _, note := range s.Notes {
		add("note", note)
	}
	out.Table(2, rows)
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
