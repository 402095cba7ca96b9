// Package metricstest reads metrics in tests.
package metricstest

import (
	"testing"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// Value returns what a metric with these labels shows, of a histogram the number of
// observations.
func Value(t *testing.T, registry metrics.KubeRegistry, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	value := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			if testutil.LabelsMatch(metric, labels) {
				value += metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return value
}
