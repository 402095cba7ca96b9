package limiter

import (
	"time"

	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Metrics show the queue and the limit of each class. cloud-provider-openstack has none of them.
// Nil Metrics are valid and do nothing.
type Metrics struct {
	queueDepth *metrics.GaugeVec
	limit      *metrics.GaugeVec
	throttles  *metrics.CounterVec
	waits      *metrics.HistogramVec
}

// NewMetrics returns the metrics. They count nothing before Register.
func NewMetrics() *Metrics {
	class := []string{"class"}
	return &Metrics{
		queueDepth: telemetry.Gauge("openstack_api_queue_depth",
			"Number of OpenStack API requests that wait for others to be answered first.", class...),
		limit: telemetry.Gauge("openstack_api_limit",
			"Number of OpenStack API requests that may be in flight at a time; it adapts to what the cloud can bear.", class...),
		throttles: telemetry.Counter("openstack_api_throttled_total",
			"Number of times that fewer OpenStack API requests were let through than before: "+
				"the limit was halved for a status code, for no answer or for latency, or all were held back for a Retry-After.", "class", "reason"),
		waits: telemetry.Histogram("openstack_api_wait_seconds",
			"Time that OpenStack API requests waited for others to be answered first, for each attempt.",
			[]float64{.01, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}, class...),
	}
}

// Register adds the metrics to a registry. It returns the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	return telemetry.Register(register, m.queueDepth, m.limit, m.throttles, m.waits)
}

// limited sets the number of waiting requests of a class, and its limit.
func (m *Metrics) limited(class rest.Class, depth, limit int) {
	if m != nil {
		m.queueDepth.WithLabelValues(string(class)).Set(float64(depth))
		m.limit.WithLabelValues(string(class)).Set(float64(limit))
	}
}

func (m *Metrics) throttled(class rest.Class, reason string) {
	if m != nil {
		m.throttles.WithLabelValues(string(class), reason).Inc()
	}
}

func (m *Metrics) waited(class rest.Class, took time.Duration) {
	if m != nil {
		m.waits.WithLabelValues(string(class)).Observe(took.Seconds())
	}
}
