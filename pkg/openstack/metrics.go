package openstack

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// codeNone is the code of a request that had no answer, as client-go's metrics
// have it.
const codeNone = "<error>"

// Metrics counts and times the requests to the cloud. The names and the label
// "request" are those that dashboards for cloud-provider-openstack ask for.
type Metrics struct {
	duration *metrics.HistogramVec
	total    *metrics.CounterVec
	errors   *metrics.CounterVec
	retries  *metrics.CounterVec
}

// NewMetrics makes the metrics. They count nothing before Register.
func NewMetrics() *Metrics {
	return &Metrics{
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "openstack_api_request_duration_seconds",
			Help:           "Latency of OpenStack API requests in seconds, with the wait for a free slot and repetitions.",
			Buckets:        []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
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
	}
}

// Register makes the metrics known to a registry, for example with
// legacyregistry.Register. It stops at the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, metric := range []metrics.Registerable{m.duration, m.total, m.errors, m.retries} {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}

func (m *Metrics) retried(kind requestKind) {
	if m != nil {
		m.retries.WithLabelValues(kind.Name).Inc()
	}
}

func (m *Metrics) observe(kind requestKind, status int, took time.Duration) {
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

// observeTransport measures and logs every request.
type observeTransport struct {
	next    http.RoundTripper
	metrics *Metrics
	clock   clock.Clock
}

// RoundTrip passes the request on.
func (t *observeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	kind, started := kindOf(req.Method, req.URL.Path), t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	took := t.clock.Since(started)
	status, requestID := 0, ""
	if resp != nil {
		status, requestID = resp.StatusCode, headerRequestID(resp.Header)
	}
	t.metrics.observe(kind, status, took)
	klog.FromContext(req.Context()).V(5).Info("OpenStack request", "request", kind.Name, "method", req.Method,
		"path", req.URL.Path, "status", status, "took", took, "requestID", requestID, "err", err)
	return resp, err
}
