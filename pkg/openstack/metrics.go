package openstack

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
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

	queueDepth *metrics.GaugeVec
	limit      *metrics.GaugeVec
	throttles  *metrics.CounterVec
	waits      *metrics.HistogramVec
}

// NewMetrics makes the metrics. They count nothing before Register.
func NewMetrics() *Metrics {
	m := &Metrics{
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
	}
	m.addPacing()
	return m
}

// addPacing makes the metrics of the wait for a place. The peer has none of these.
func (m *Metrics) addPacing() {
	class := []string{"class"}
	m.queueDepth = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "openstack_api_queue_depth",
		Help:           "Number of OpenStack API requests that wait for others to be answered first.",
		StabilityLevel: metrics.ALPHA,
	}, class)
	m.limit = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "openstack_api_limit",
		Help:           "Number of OpenStack API requests that may be in flight at a time; it adapts to what the cloud can bear.",
		StabilityLevel: metrics.ALPHA,
	}, class)
	m.throttles = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "openstack_api_throttled_total",
		Help: "Number of times that fewer OpenStack API requests were let through than before: " +
			"the limit was halved for a status code, for no answer or for latency, or all were held back for a Retry-After.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"class", "reason"})
	m.waits = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name:           "openstack_api_wait_seconds",
		Help:           "Time that OpenStack API requests waited for others to be answered first, for each attempt.",
		Buckets:        []float64{.01, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600},
		StabilityLevel: metrics.ALPHA,
	}, class)
}

// Register makes the metrics known to a registry, for example with
// legacyregistry.Register. It stops at the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, metric := range []metrics.Registerable{
		m.duration, m.total, m.errors, m.retries,
		m.queueDepth, m.limit, m.throttles, m.waits,
	} {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}

func (m *Metrics) retried(kind request.Kind) {
	if m != nil {
		m.retries.WithLabelValues(kind.Name).Inc()
	}
}

// paced shows how many requests of a class wait, and how many may be in flight.
func (m *Metrics) paced(class request.Class, depth, limit int) {
	if m != nil {
		m.queueDepth.WithLabelValues(string(class)).Set(float64(depth))
		m.limit.WithLabelValues(string(class)).Set(float64(limit))
	}
}

func (m *Metrics) throttled(class request.Class, reason string) {
	if m != nil {
		m.throttles.WithLabelValues(string(class), reason).Inc()
	}
}

func (m *Metrics) waited(class request.Class, took time.Duration) {
	if m != nil {
		m.waits.WithLabelValues(string(class)).Observe(took.Seconds())
	}
}

func (m *Metrics) observe(kind request.Kind, status int, took time.Duration) {
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
	kind, started := request.KindOf(req.Method, req.URL.Path), t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	took := t.clock.Since(started)
	status, requestID := 0, ""
	if resp != nil {
		status, requestID = resp.StatusCode, apierror.RequestIDOf(resp.Header)
	}
	t.metrics.observe(kind, status, took)
	klog.FromContext(req.Context()).V(5).Info("OpenStack request", "request", kind.Name, "method", req.Method,
		"path", req.URL.Path, "status", status, "took", took, "requestID", requestID, "err", err)
	return resp, err
}
