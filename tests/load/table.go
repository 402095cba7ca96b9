package main

import (
	"fmt"
	"slices"
	"strings"
)

// columns returns the columns of the table with their widths.
func columns() []struct {
	title string
	width int
	show  func(Row) string
} {
	figure := func(decimals int, of func(Row) float64) func(Row) string {
		return func(r Row) string { return fmt.Sprintf("%.*f", decimals, of(r)) }
	}
	count := func(of func(Row) int) func(Row) string {
		return func(r Row) string { return fmt.Sprint(of(r)) }
	}
	return []struct {
		title string
		width int
		show  func(Row) string
	}{
		{"case", -12, func(r Row) string { return r.Case }},
		{"seconds", 8, figure(1, func(r Row) float64 { return r.Seconds })},
		{"cloud's", 8, figure(1, func(r Row) float64 { return r.CloudSeconds })},
		{"address", 8, figure(1, func(r Row) float64 { return r.LastAddress })},
		{"CPU s", 7, figure(1, func(r Row) float64 { return r.CPU })},
		{"µs/member", 10, figure(1, func(r Row) float64 { return r.CPU * 1e6 / float64(max(1, r.Members)) })},
		{"peak MiB", 9, figure(0, func(r Row) float64 { return r.PeakRSS })},
		{"rest", 5, figure(0, func(r Row) float64 { return r.RSS })},
		{"heap", 5, figure(0, func(r Row) float64 { return r.Heap })},
		{"gorout.", 8, count(func(r Row) int { return r.Goroutines })},
		{"requests", 9, count(func(r Row) int { return r.Requests })},
		{"writes", 7, count(func(r Row) int { return r.Writes })},
		{"MiB", 7, figure(1, func(r Row) float64 { return r.Bytes })},
		{"kube", 6, count(func(r Row) int { return r.KubeWrites })},
		{"events", 7, count(func(r Row) int { return r.KubeEvents })},
		{"busy", 6, func(r Row) string { return fmt.Sprintf("%.0f %%", 100*r.Busy) }},
	}
}

// header is the first line of the table.
func header() string {
	line := &strings.Builder{}
	for _, c := range columns() {
		fmt.Fprintf(line, "%*s", c.width, c.title)
	}
	return line.String()
}

// line returns the row of the table.
func (r Row) line() string {
	line := &strings.Builder{}
	for _, c := range columns() {
		fmt.Fprintf(line, "%*s", c.width, c.show(r))
	}
	if r.Error != "" {
		first, _, _ := strings.Cut(r.Error, "\n")
		fmt.Fprintf(line, "  failed: %s", first)
	}
	return line.String()
}

// growth returns, for each repeated phase, the growth from its second repetition to its last: the
// first one fills caches.
func growth(rows []Row) []string {
	var cases []string
	byCase := map[string][]Row{}
	for _, row := range rows {
		if row.Repetition > 0 && row.Error == "" {
			byCase[row.Case] = append(byCase[row.Case], row)
		}
		if !slices.Contains(cases, row.Case) {
			cases = append(cases, row.Case)
		}
	}
	var lines []string
	for _, name := range cases {
		repeated := byCase[name]
		if len(repeated) < 2 {
			continue
		}
		first, last := repeated[min(1, len(repeated)-2)], repeated[len(repeated)-1]
		lines = append(lines, fmt.Sprintf("%-12s repetition %d → %d: resident %.1f → %.1f MiB, peak %.1f → %.1f MiB, heap %.1f → %.1f MiB, goroutines %d → %d, CPU %.2f → %.2f s",
			name, first.Repetition, last.Repetition, first.RSS, last.RSS, first.PeakRSS, last.PeakRSS,
			first.Heap, last.Heap, first.Goroutines, last.Goroutines, first.CPU, last.CPU))
	}
	return lines
}
