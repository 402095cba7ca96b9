package cloudprovider

import (
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/reload"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// The values of the label "operation". calls.traced composes those of nodes and routes.
// cloud-provider-openstack has ensure, update and delete.
const (
	operationEnsure = "loadbalancer_ensure"
	operationUpdate = "loadbalancer_update"
	operationRepair = "loadbalancer_repair"
	operationDelete = "loadbalancer_delete"
	operationGet    = "loadbalancer_get"
)

// Metrics count the calls of the controllers, under the names of cloud-provider-openstack, for
// its dashboards.
type Metrics struct {
	clock     clock.PassiveClock
	duration  *metrics.HistogramVec
	total     *metrics.CounterVec
	errors    *metrics.CounterVec
	refused   *metrics.GaugeVec
	held      *metrics.Gauge
	missing   *metrics.Gauge
	forbidden *metrics.Gauge
	nodes     *uninitializedNodes
	garbage   *metrics.GaugeVec
	removed   *metrics.CounterVec
	balancers *loadbalancer.Metrics
	reload    *reload.Metrics
}

// NewMetrics returns metrics that count nothing before Register.
func NewMetrics(clock clock.PassiveClock) *Metrics {
	const namespace = "cloudprovider_openstack"
	labels := []string{"operation"}
	return &Metrics{
		clock: clock,
		duration: telemetry.Histogram("cloudprovider_openstack_reconcile_duration_seconds",
			"Time that a call of the service, node or route controller took.",
			[]float64{0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 7.5, 10, 12.5, 15, 17.5, 20, 22.5, 25, 27.5, 30, 50, 60, 75, 100, 120, 300, 600, 1000}, labels...),
		total: telemetry.Counter("cloudprovider_openstack_reconcile_total",
			"Calls of the service, node and route controllers.", labels...),
		errors: telemetry.Counter("cloudprovider_openstack_reconcile_errors_total",
			"Calls of the service, node and route controllers that failed. A call for a Service that is refused did not fail, nor one that asks to be repeated later, because the load balancer is being built.", labels...),
		refused: telemetry.Gauge("cloudprovider_openstack_refused_services",
			"Services that are currently refused, by reason: their load balancers keep the last good state.", "reason"),
		held: metrics.NewGauge(&metrics.GaugeOpts{
			Namespace: namespace, Name: "held_nodes",
			Help:           "Nodes without a server that stay because too many would be deleted at once.",
			StabilityLevel: metrics.ALPHA,
		}),
		missing: metrics.NewGauge(&metrics.GaugeOpts{
			Namespace: namespace, Name: "octavia_missing",
			Help:           "1 while the cloud has no load balancer service (Octavia), so that no Service is served.",
			StabilityLevel: metrics.ALPHA,
		}),
		forbidden: metrics.NewGauge(&metrics.GaugeOpts{
			Namespace: namespace, Name: "endpointslices_forbidden",
			Help:           "1 while the controller may not list and watch EndpointSlices, so that load balancers that could follow endpoints have all nodes as members, and pods do not become members.",
			StabilityLevel: metrics.ALPHA,
		}),
		nodes: &uninitializedNodes{GaugeVec: telemetry.Gauge("cloudprovider_openstack_oldest_uninitialized_node_timestamp_seconds",
			"When the oldest Node that is not initialized was created, in seconds since 1970; missing if all are initialized.")},
		garbage: telemetry.Gauge("cloudprovider_openstack_garbage",
			"Objects in OpenStack that belong to no Service of this cluster, by kind; those that are not proven to be are never removed.", "kind", "proven"),
		removed: telemetry.Counter("cloudprovider_openstack_garbage_removed_total",
			"Objects in OpenStack of no Service of this cluster that were removed (garbage-policy=delete), by kind.", "kind"),
		balancers: loadbalancer.NewMetrics(),
		reload:    reload.NewMetrics(),
	}
}

// Register adds the metrics to a registry, for example with legacyregistry.Register. It
// returns the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	if err := telemetry.Register(register, m.duration, m.total, m.errors, m.refused, m.held, m.missing, m.forbidden, m.nodes, m.garbage, m.removed); err != nil {
		return err
	}
	if err := m.balancers.Register(register); err != nil {
		return err
	}
	return m.reload.Register(register)
}

// forReload returns the metrics of changes of cloud.conf.
func (m *Metrics) forReload() *reload.Metrics {
	if m == nil {
		return nil
	}
	return m.reload
}

// forLoadBalancers returns the metrics of load balancers.
func (m *Metrics) forLoadBalancers() *loadbalancer.Metrics {
	if m == nil {
		return nil
	}
	return m.balancers
}

// Refused sets the number of Services that are refused for a reason. On nil Metrics it does
// nothing.
func (m *Metrics) Refused(reason string, services int) {
	if m != nil {
		m.refused.WithLabelValues(reason).Set(float64(services))
	}
}

// Held sets the number of Nodes that are kept without a server. On nil Metrics it does nothing.
func (m *Metrics) Held(nodes int) {
	if m != nil {
		m.held.Set(float64(nodes))
	}
}

// octaviaMissing sets whether the cloud lacks a load balancer service. On nil Metrics it does
// nothing.
func (m *Metrics) octaviaMissing(missing bool) {
	if m != nil {
		m.missing.Set(number(missing))
	}
}

// endpointsForbidden sets whether the controller may not watch EndpointSlices. On nil Metrics it does
// nothing.
func (m *Metrics) endpointsForbidden(forbidden bool) {
	if m != nil {
		m.forbidden.Set(number(forbidden))
	}
}

// number returns 1 for true.
func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// useNodes sets the Nodes that a scrape counts. On nil Metrics it does nothing.
func (m *Metrics) useNodes(nodes corelisters.NodeLister) {
	if m != nil {
		m.nodes.lister.Store(&nodes)
	}
}

// uninitializedNodes is a gauge with the age of the oldest Node that waits for its server's
// metadata.
type uninitializedNodes struct {
	*metrics.GaugeVec

	lister atomic.Pointer[corelisters.NodeLister]
}

// Collect implements prometheus.Collector.
func (u *uninitializedNodes) Collect(to chan<- prometheus.Metric) {
	u.Reset()
	if lister := u.lister.Load(); lister != nil {
		if nodes, err := (*lister).List(labels.Everything()); err == nil { // a lister of an informer has no errors
			if oldest := oldestUninitialized(nodes); !oldest.IsZero() {
				u.WithLabelValues().Set(float64(oldest.Unix()))
			}
		}
	}
	u.GaugeVec.Collect(to)
}

// oldestUninitialized returns the creation time of the oldest Node with the taint of an external
// cloud provider; zero if there is none.
func oldestUninitialized(nodes []*v1.Node) (oldest time.Time) {
	for _, node := range nodes {
		created := node.CreationTimestamp.Time
		waits := slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
		if waits && (oldest.IsZero() || created.Before(oldest)) {
			oldest = created
		}
	}
	return oldest
}

// garbageFound sets the number of objects of a kind without a Service. On nil Metrics it does
// nothing.
func (m *Metrics) garbageFound(kind string, proven bool, objects int) {
	if m != nil {
		m.garbage.WithLabelValues(kind, strconv.FormatBool(proven)).Set(float64(objects))
	}
}

// garbageRemoved counts the removal of an object without a Service. On nil Metrics it does nothing.
func (m *Metrics) garbageRemoved(kind string) {
	if m != nil {
		m.removed.WithLabelValues(kind).Inc()
	}
}

// begin returns a function that counts a call when it ends. On nil Metrics that does nothing.
func (m *Metrics) begin(operation string) (end func(error)) {
	if m == nil {
		return func(error) {}
	}
	start := m.clock.Now()
	return func(err error) {
		m.duration.WithLabelValues(operation).Observe(m.clock.Since(start).Seconds())
		m.total.WithLabelValues(operation).Inc()
		var later *cloudproviderapi.RetryError
		if err != nil && !errors.As(err, &later) && !errors.Is(err, loadbalancer.ErrInProgress) && !loadbalancer.IsRefusal(err) {
			m.errors.WithLabelValues(operation).Inc()
		}
	}
}
