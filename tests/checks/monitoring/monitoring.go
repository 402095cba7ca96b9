// Package monitoring documents the controller's metrics for operators: a table has a query for
// each. docs/metrics.md and the dashboard are generated from the table and the registrations, and
// the alerting rules are checked against them.
package monitoring

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// Registration is a metric as the program registers it.
type Registration struct {
	Name, Type, Help, Stability string
	Labels                      []string
	Buckets                     int
}

// Register registers the metrics of the program except its version.
func Register(registry metrics.KubeRegistry) (*cloudprovider.Metrics, *transport.Metrics, error) {
	reconciles, requests := cloudprovider.NewMetrics(clock.RealClock{}), transport.NewMetrics()
	return reconciles, requests, errors.Join(reconciles.Register(registry.Register), requests.Register(registry.Register))
}

// versions are registered by the program itself: a test of it compares them.
func versions() []Registration {
	return []Registration{
		{Name: "cloudprovider_openstack_build_info", Type: "gauge", Stability: "ALPHA", Labels: []string{"version", "commit", "goversion", "kubernetes_libraries"},
			Help: "1, labeled by version and commit of this program, the Go toolchain that built it, and the Kubernetes libraries in it."},
		{Name: "kubernetes_build_info", Type: "gauge", Stability: "BETA",
			Labels: []string{"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"},
			Help: "A metric with a constant '1' value, labeled by major and minor release of the Kubernetes libraries, " +
				"version and commit of this program, Go version, compiler and platform."},
	}
}

// Registrations returns what the program registers, by name.
func Registrations() (map[string]Registration, error) {
	found, registry := map[string]Registration{}, metrics.NewKubeRegistry()
	register := func(metric metrics.Registerable) error {
		if err := registry.Register(metric); err != nil {
			return err
		}
		r, err := Describe(metric)
		found[r.Name] = r
		return err
	}
	for _, r := range versions() {
		found[r.Name] = r
	}
	err := errors.Join(cloudprovider.NewMetrics(clock.RealClock{}).Register(register), transport.NewMetrics().Register(register))
	return found, err
}

// described are the parts of how a metric describes itself.
var described = regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: (".*"), unit: "", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// Describe returns how a metric that is registered describes itself.
func Describe(metric metrics.Registerable) (Registration, error) {
	descriptions := make(chan *prometheus.Desc, 1)
	metric.Describe(descriptions)
	text := (<-descriptions).String()
	match := described.FindStringSubmatch(text)
	if match == nil {
		return Registration{}, fmt.Errorf("a metric that describes itself as %s", text)
	}
	help, err := strconv.Unquote(match[2])
	if err != nil {
		return Registration{}, err
	}
	r := Registration{Name: match[1], Type: "gauge"}
	if stability, rest, ok := strings.Cut(strings.TrimPrefix(help, "["), "] "); ok {
		r.Stability, r.Help = stability, rest
	}
	if match[3] != "" {
		r.Labels = strings.Split(match[3], ",")
	}
	switch m := metric.(type) {
	case *metrics.CounterVec, *metrics.Counter:
		r.Type = "counter"
	case *metrics.HistogramVec:
		r.Type, r.Buckets = "histogram", len(m.Buckets)
	case *metrics.Histogram:
		r.Type, r.Buckets = "histogram", len(m.Buckets)
	}
	return r, nil
}

// Upstream returns metrics of libraries that rules and queries may use, with their labels; a test
// finds them in the running program.
func Upstream() map[string][]string {
	return map[string][]string{
		"leader_election_master_status": {"name"},
		"workqueue_depth":               {"name"},
		"process_resident_memory_bytes": nil,
		"process_cpu_seconds_total":     nil,
		"process_start_time_seconds":    nil,
	}
}

// Series returns the series that can be asked for, by name, with their labels.
func Series(registered map[string]Registration) map[string][]string {
	series := Upstream()
	for _, group := range Groups() {
		for _, use := range group.Uses {
			var labels []string
			for _, label := range use.Labels {
				labels = append(labels, label.Name)
			}
			if registered[use.Metric].Type != "histogram" {
				series[use.Metric] = labels
				continue
			}
			series[use.Metric+"_bucket"] = append(slices.Clone(labels), "le")
			series[use.Metric+"_sum"], series[use.Metric+"_count"] = labels, labels
		}
	}
	return series
}

// The parts of a query in PromQL that are no metrics.
var (
	stringLiteral = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	grouping      = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	matchers      = regexp.MustCompile(`([a-zA-Z_:][\w:]*)?\{([^}]*)\}`)
	duration      = regexp.MustCompile(`\[[^\]]*\]`)
	word          = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	called        = regexp.MustCompile(`[a-zA-Z_]\w*\s*\(`)
	number        = regexp.MustCompile(`\b\d[\w.]*`)
)

// Unknown returns the metrics and labels in a query that there are not.
func Unknown(query string, series map[string][]string) []string {
	var unknown, labels []string
	used := map[string]bool{"le": true, "job": true, "instance": true, "namespace": true, "pod": true}
	use := func(name string) {
		known, ok := series[name]
		if !ok {
			unknown = append(unknown, name)
		}
		for _, label := range known {
			used[label] = true
		}
	}
	rest := stringLiteral.ReplaceAllString(query, "")
	for _, match := range matchers.FindAllStringSubmatch(rest, -1) {
		for _, label := range word.FindAllString(match[2], -1) {
			if !slices.Contains(append(series[match[1]], "job", "instance", "namespace", "pod"), label) {
				unknown = append(unknown, match[1]+"{"+label+"}")
			}
		}
	}
	rest = matchers.ReplaceAllString(rest, "$1")
	for _, match := range grouping.FindAllStringSubmatch(rest, -1) {
		labels = append(labels, word.FindAllString(match[1], -1)...)
	}
	rest = duration.ReplaceAllString(grouping.ReplaceAllString(rest, ""), "")
	rest = called.ReplaceAllString(rest, "(")
	for _, name := range word.FindAllString(number.ReplaceAllString(rest, ""), -1) {
		if !slices.Contains([]string{"by", "and", "or", "unless", "bool", "group_left", "group_right", "sum", "max", "min", "count"}, name) {
			use(name)
		}
	}
	for _, label := range labels {
		if !used[label] {
			unknown = append(unknown, "label "+label)
		}
	}
	return unknown
}
