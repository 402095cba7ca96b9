package transport

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// codeNone is the code of a request without an answer, as in client-go's metrics.
const codeNone = "<error>"

// Metrics count and time the requests to the cloud. The names and the label "request" are those of
// cloud-provider-openstack, for existing dashboards. Nil Metrics are valid and do nothing.
type Metrics struct {
	duration *metrics.HistogramVec
	total    *metrics.CounterVec
	errors   *metrics.CounterVec
	retries  *metrics.CounterVec
	limiter  *limiter.Metrics
}

// NewMetrics returns the metrics. They count nothing before Register.
func NewMetrics() *Metrics {
	return &Metrics{
		duration: telemetry.Histogram("openstack_api_request_duration_seconds",
			"Latency of OpenStack API requests in seconds, with the wait for a free place and repetitions.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}, "request"),
		total: telemetry.Counter("openstack_api_requests_total",
			"Number of OpenStack API requests by status code of the final answer.", "request", "code"),
		errors: telemetry.Counter("openstack_api_request_errors_total",
			"Number of OpenStack API requests that were refused, failed or had no answer.", "request", "code"),
		retries: telemetry.Counter("openstack_api_request_retries_total",
			"Number of times that an OpenStack API request was repeated within one call.", "request"),
		limiter: limiter.NewMetrics(),
	}
}

// Register adds the metrics to a registry, for example with legacyregistry.Register. It returns the
// first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	if err := telemetry.Register(register, m.duration, m.total, m.errors, m.retries); err != nil {
		return err
	}
	return m.limiter.Register(register)
}

// forLimiter returns the metrics of the limiter.
func (m *Metrics) forLimiter() *limiter.Metrics {
	if m == nil {
		return nil
	}
	return m.limiter
}

func (m *Metrics) retried(kind rest.Kind) {
	if m != nil {
		m.retries.WithLabelValues(kind.Name).Inc()
	}
}

func (m *Metrics) observe(kind rest.Kind, status int, took time.Duration) {
	if m == nil {
		return
	}
	code := codeNone
	if status != 0 {
		code = strconv.Itoa(status)
	}
	m.duration.WithLabelValues(kind.Name).Observe(took.Seconds())
	m.total.WithLabelValues(kind.Name, code).Inc()
	if status == 0 || status >= http.StatusBadRequest {
		m.errors.WithLabelValues(kind.Name, code).Inc()
	}
}
