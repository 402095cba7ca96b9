package transport

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
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
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "openstack_api_request_duration_seconds",
			Help:           "Latency of OpenStack API requests in seconds, with the wait for a free place and repetitions.",
			Buckets:        []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
			StabilityLevel: metrics.ALPHA,
		}, []string{"request"}),
		total: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "openstack_api_requests_total",
			Help:           "Number of OpenStack API requests by status code of the final answer.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"request", "code"}),
		errors: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "openstack_api_request_errors_total",
			Help:           "Number of OpenStack API requests that were refused, failed or had no answer.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"request", "code"}),
		retries: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "openstack_api_request_retries_total",
			Help:           "Number of times that an OpenStack API request was repeated within one call.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"request"}),
		limiter: limiter.NewMetrics(),
	}
}

// Register adds the metrics to a registry, for example with legacyregistry.Register. It returns the
// first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, metric := range []metrics.Registerable{m.duration, m.total, m.errors, m.retries} {
		if err := register(metric); err != nil {
			return err
		}
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
