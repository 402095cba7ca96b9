package reload

import "k8s.io/component-base/metrics"

// Metrics count what comes of changes of the configuration. Nil Metrics count nothing.
type Metrics struct {
	reloads *metrics.CounterVec
	refused *metrics.Gauge
}

// The values of the label "result".
const (
	resultApplied = "applied"
	resultRefused = "refused"
)

// NewMetrics returns metrics that count nothing before Register.
func NewMetrics() *Metrics {
	const namespace, subsystem = "cloudprovider_openstack", "configuration"
	return &Metrics{
		reloads: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "changes_total",
			Help:           "Changes of cloud.conf and of the files that it names since the start, by whether they were applied or refused.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"result"}),
		refused: metrics.NewGauge(&metrics.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "refused",
			Help:           "1 while cloud.conf or a file that it names has something that is refused, so that what it had before stays in force; else 0.",
			StabilityLevel: metrics.ALPHA,
		}),
	}
}

// Register adds the metrics to a registry. It returns the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, metric := range []metrics.Registerable{m.reloads, m.refused} {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}

func (m *Metrics) count(result string) {
	if m != nil {
		m.reloads.WithLabelValues(result).Inc()
	}
}

// pending sets whether something is refused.
func (m *Metrics) pending(refused bool) {
	switch {
	case m == nil:
	case refused:
		m.refused.Set(1)
	default:
		m.refused.Set(0)
	}
}
