package monitoring

import (
	"fmt"
	"strings"
)

// Page returns docs/metrics.md, after its introduction.
func Page(registered map[string]Registration) string {
	var b strings.Builder
	for _, group := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", group.Title, group.Text)
		for _, use := range group.Uses {
			r := registered[use.Metric]
			fmt.Fprintf(&b, "| `%s` | %s, %s | %s | %s |\n", r.Name, r.Type, strings.ToLower(r.Stability), cell(use.Labels), escape(r.Help))
		}
		for _, use := range group.Uses {
			fmt.Fprintf(&b, "\n**%s** (`%s`)\n\n    %s\n", use.Title, use.Metric, use.Query)
			if use.Note != "" {
				fmt.Fprintf(&b, "\n%s\n", use.Note)
			}
		}
	}
	return b.String()
}

// cell returns the labels of a metric with their values.
func cell(labels []Label) string {
	var all []string
	for _, label := range labels {
		says := label.Text
		if len(label.Values) > 0 {
			says = "`" + strings.Join(label.Values, "`, `") + "`"
		}
		if says != "" {
			says = ": " + says
		}
		all = append(all, fmt.Sprintf("`%s`%s", label.Name, says))
	}
	return escape(strings.Join(all, "<br>"))
}

func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// Most returns how many series a metric can have.
func (u Use) Most(r Registration) int {
	series := 1
	for _, label := range u.Labels {
		series *= max(label.Most, len(label.Values))
	}
	if r.Type == "histogram" {
		series *= r.Buckets + 3 // with +Inf, sum and count
	}
	return series
}
