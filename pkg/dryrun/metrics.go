package dryrun

import (
	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Metrics are those of a dry run.
type Metrics struct {
	previews *metrics.GaugeVec
	writes   *metrics.CounterVec
}

// NewMetrics returns metrics without values before Register.
func NewMetrics() *Metrics {
	return &Metrics{
		previews: telemetry.Gauge("cloudprovider_openstack_dry_run_services",
			"Services by outcome: unchanged, changed, refused, deleted, unknown. Only with --dry-run.", "outcome"),
		writes: telemetry.Counter("cloudprovider_openstack_dry_run_withheld_writes_total",
			"Writes to the API server that were not sent. Only with --dry-run.", "verb", "resource"),
	}
}

// Register adds the metrics to a registry, for example with legacyregistry.Register. It
// returns the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	if err := register(m.previews); err != nil {
		return err
	}
	return register(m.writes)
}

func (m *Metrics) services(counts map[Outcome]int) {
	if m == nil {
		return
	}
	for _, o := range outcomes() {
		m.previews.WithLabelValues(string(o.Verdict)).Set(float64(counts[o.Verdict]))
	}
}

func (m *Metrics) withheld(w Write) {
	if m != nil {
		m.writes.WithLabelValues(w.Verb, w.Resource).Inc()
	}
}
