package reload

import (
	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Metrics count the results of configuration changes. Nil Metrics are valid and do nothing.
type Metrics struct {
	reloads *metrics.CounterVec
	refused *metrics.Gauge
	expiry  *metrics.GaugeVec
}

// Values of the label "result".
const (
	resultApplied = "applied"
	resultRefused = "refused"
)

// NewMetrics returns metrics that count nothing before Register.
func NewMetrics() *Metrics {
	const namespace, subsystem = "cloudprovider_openstack", "configuration"
	return &Metrics{
		reloads: telemetry.Counter("cloudprovider_openstack_configuration_changes_total",
			"Changes of cloud.conf and of the files that it names since the start, by whether they were applied or refused.", "result"),
		refused: metrics.NewGauge(&metrics.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "refused",
			Help:           "1 while a change of cloud.conf or of a file that it names is refused, so that the previous settings stay in force; else 0.",
			StabilityLevel: metrics.ALPHA,
		}),
		expiry: telemetry.Gauge("cloudprovider_openstack_credentials_expiry_timestamp_seconds",
			"When the credentials in force expire, in seconds since 1970, by their kind. Absent if they do not expire, or Keystone does not report it.", "kind"),
	}
}

// Register adds the metrics to a registry. It returns the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	return telemetry.Register(register, m.reloads, m.refused, m.expiry)
}

func (m *Metrics) count(result string) {
	if m != nil {
		m.reloads.WithLabelValues(result).Inc()
	}
}

// pending sets whether a change is refused.
func (m *Metrics) pending(refused bool) {
	switch {
	case m == nil:
	case refused:
		m.refused.Set(1)
	default:
		m.refused.Set(0)
	}
}

// expire sets when the credentials expire.
func (m *Metrics) expire(expiry auth.Expiry) {
	if m == nil {
		return
	}
	for _, kind := range []string{auth.ExpiringPassword, auth.ExpiringApplicationCredential, auth.ExpiringToken} {
		if kind == expiry.Kind && !expiry.At.IsZero() {
			m.expiry.WithLabelValues(kind).Set(float64(expiry.At.Unix()))
		} else {
			m.expiry.Delete(map[string]string{"kind": kind})
		}
	}
}
