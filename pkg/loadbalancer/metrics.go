package loadbalancer

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Metrics are the metrics of Services and load balancers. No label names a Service or an object, so
// their number is bounded. A nil Metrics counts nothing.
type Metrics struct {
	address      *metrics.Histogram
	addressParts *metrics.CounterVec
	rounds       *metrics.CounterVec
	drift        *metrics.CounterVec
	quotaLimit   *metrics.GaugeVec
	quotaUsed    *metrics.GaugeVec
	counted      []*countedGauge
	// of is the source of the counted gauges; nil before New.
	of atomic.Pointer[Reconciler]
}

// The values of labels, besides those of telemetry and state.
const (
	// partRetry is the time between a failed round and the next.
	partRetry = "retry"

	// A round's initial knowledge of the load balancer.
	knownUnchanged = "unchanged" // nothing to do, no read
	knownRecalled  = "recalled"  // the last applied state, confirmed now or later
	knownNothing   = "read"      // none: a full read

	driftFound    = "found"
	driftRepaired = "repaired"
	driftReported = "reported"

	roundsWorking   = "working"
	roundsWaiting   = "waiting_for_octavia"
	roundsUnfetched = "unfetched"

	unknownStatus = "unknown"
	otherStatus   = "other"
)

// NewMetrics returns unregistered metrics.
func NewMetrics() *Metrics {
	const namespace = "cloudprovider_openstack"
	m := &Metrics{
		address: metrics.NewHistogram(&metrics.HistogramOpts{
			Namespace: namespace, Name: "service_address_seconds",
			Help:           "Time from when a Service without an address was created, or asked for one, until it had one.",
			Buckets:        []float64{1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600},
			StabilityLevel: metrics.ALPHA,
		}),
		addressParts: telemetry.Counter("cloudprovider_openstack_service_address_part_seconds_total",
			"Where the time until Services had an address went, in seconds; the sum over all parts is that of service_address_seconds.", "part"),
		rounds: telemetry.Counter("cloudprovider_openstack_rounds_total",
			"Rounds of reconciliation by the initial knowledge of the load balancer.", "knowledge"),
		drift: telemetry.Counter("cloudprovider_openstack_drift_total",
			"Changes by other clients that were found, that were repaired, and that were only reported.", "result"),
		quotaLimit: telemetry.Gauge("cloudprovider_openstack_quota_limit",
			"The limit of the project at the last read; missing if there is none.", "resource"),
		quotaUsed: telemetry.Gauge("cloudprovider_openstack_quota_used",
			"The use of a quota by the project at the last read.", "resource"),
	}
	m.counted = []*countedGauge{
		m.newCounted("services", "Services of type LoadBalancer that this process has worked on, by phase.",
			countServices, "phase"),
		m.newCounted("oldest_service_timestamp_seconds", "When the oldest Service in a phase entered it, in seconds since 1970; missing if no Service is in the phase.",
			countOldest, "phase"),
		m.newCounted("loadbalancer_objects", "Load balancers of the cluster, and their parts that belong to Services, by the last status that was read.",
			countObjects, "kind", "provisioning_status", "operating_status"),
		m.newCounted("oldest_pending_loadbalancer_timestamp_seconds", "When the load balancer of the cluster that has been PENDING for longest last changed, in seconds since 1970; missing if none is PENDING.",
			countPending),
		m.newCounted("rounds", "Rounds of reconciliation that work or are queued, that wait for Octavia, or that have a result that no call has fetched yet.",
			countRounds, "state"),
		m.newCounted("rollout_losing_services", "Services whose pods stop before the load balancer has removed their node, so that connections fail during a rollout.",
			func(r *Reconciler, set func(float64, ...string)) { set(float64(warned(r.store, events.Rollouts))) }),
	}
	return m
}

// Register adds the metrics to a registry. It returns the first error.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	all := []metrics.Registerable{m.address, m.addressParts, m.rounds, m.drift, m.quotaLimit, m.quotaUsed}
	for _, counted := range m.counted {
		all = append(all, counted)
	}
	return telemetry.Register(register, all...)
}

// countedGauge is a gauge that is computed when it is collected.
type countedGauge struct {
	*metrics.GaugeVec

	of    *atomic.Pointer[Reconciler]
	count func(*Reconciler, func(value float64, labels ...string))
	mu    sync.Mutex
}

func (m *Metrics) newCounted(name, help string, count func(*Reconciler, func(float64, ...string)), labels ...string) *countedGauge {
	opts := &metrics.GaugeOpts{Namespace: "cloudprovider_openstack", Name: name, Help: help, StabilityLevel: metrics.ALPHA}
	return &countedGauge{GaugeVec: metrics.NewGaugeVec(opts, labels), of: &m.of, count: count}
}

// Collect implements prometheus.Collector.
func (g *countedGauge) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Reset()
	if r := g.of.Load(); r != nil {
		g.count(r, func(value float64, labels ...string) { g.WithLabelValues(labels...).Add(value) })
	}
	g.GaugeVec.Collect(to)
}

func countServices(r *Reconciler, set func(float64, ...string)) {
	census := state.CensusOf(r.store.All())
	for _, phase := range state.Phases() {
		set(float64(census.Services[phase]), string(phase))
	}
}

func countOldest(r *Reconciler, set func(float64, ...string)) {
	for phase, since := range state.CensusOf(r.store.All()).Oldest {
		set(float64(since.Unix()), string(phase))
	}
}

// warned returns the number of Services with a current warning about a subject.
func warned(store *state.Store, subject string) (services int) {
	for _, e := range store.All() {
		if e.Warnings.About(subject) {
			services++
		}
	}
	return services
}

// countObjects counts load balancers in the last snapshot of the project, and their parts in the
// last read of each.
func countObjects(r *Reconciler, set func(float64, ...string)) {
	for lb := range lastSeen(r) {
		set(1, "load_balancer", provisioning(lb.Status), operating(lb.Operating))
	}
	for part, objects := range state.PartsOf(r.store.AllApplied()) {
		set(float64(objects), part.Kind, provisioning(part.Provisioning), operating(part.Operating))
	}
}

// countPending reports the time at which the oldest PENDING began: the last change in the last
// snapshot of the project. A restart of this process does not reset it.
func countPending(r *Reconciler, set func(float64, ...string)) {
	var oldest time.Time
	for lb := range lastSeen(r) {
		pending := strings.HasPrefix(lb.Status, "PENDING_") && !lb.UpdatedAt.IsZero()
		if pending && (oldest.IsZero() || lb.UpdatedAt.Before(oldest)) {
			oldest = lb.UpdatedAt
		}
	}
	if !oldest.IsZero() {
		set(float64(oldest.Unix()))
	}
}

// lastSeen returns the load balancers of the cluster in the last snapshot of the project.
func lastSeen(r *Reconciler) iter.Seq[project.LoadBalancer] {
	return func(yield func(project.LoadBalancer) bool) {
		snap := r.engine().Cloud.Project.Last()
		if snap == nil {
			return
		}
		for id, lb := range snap.LoadBalancers {
			ours := r.store.Serves(id) || r.options.ClusterID != "" && ownership.OwnerOf(lb.Name, "", lb.Tags).ClusterID == r.options.ClusterID
			if ours && !yield(lb) {
				return
			}
		}
	}
}

func countRounds(r *Reconciler, set func(float64, ...string)) {
	rounds, unfetched := r.dispatcher.Size()
	setRounds(rounds, r.engine().Cloud.Watcher.Waiting(), unfetched, set)
}

// setRounds divides rounds by what they do. More may wait than there are rounds, because the two are counted one after
// the other.
func setRounds(rounds, waiting, unfetched int, set func(float64, ...string)) {
	set(float64(max(0, rounds-waiting)), roundsWorking)
	set(float64(waiting), roundsWaiting)
	set(float64(unfetched), roundsUnfetched)
}

// provisioning returns the label of a provisioning status: one of a fixed set.
func provisioning(status string) string { return bounded(status, model.ProvisioningStatuses()) }

func operating(status string) string { return bounded(status, model.OperatingStatuses()) }

func bounded(status string, known []string) string {
	switch {
	case status == "":
		return unknownStatus
	case slices.Contains(known, status):
		return status
	}
	return otherStatus
}

// maxQueued is the longest plausible wait of a new Service for its first round. A Service with an
// earlier creation time may have had another type until now.
const maxQueued = time.Hour

// measure counts the time until a Service gets its first address. Until then it adds up the times
// of its rounds.
func (rd *round) measure(status *v1.LoadBalancerStatus, err error) {
	svc, before := rd.req.Service, rd.before
	if before.accepted != nil || len(svc.Status.LoadBalancer.Ingress) > 0 {
		return
	}
	times := rd.watch.Times()
	if err != nil || status == nil || len(status.Ingress) == 0 {
		now := rd.clock.Now()
		rd.store.Update(svc.UID, func(e *state.Entry) { e.Unsettled.Spend(now, times) })
		return
	}
	now := rd.clock.Now()
	began := before.unsettled.Began(now, times)
	times = times.Plus(before.unsettled.Spent)
	total := max(now.Sub(began), times.Sum())
	retry := total - times.Sum()
	if queued := began.Sub(svc.CreationTimestamp.Time); queued > 0 && queued < maxQueued {
		times[telemetry.Queue] += queued
		total += queued
	}
	rd.metrics.addressed(total, retry, times)
}

func (m *Metrics) addressed(total, retry time.Duration, times telemetry.Times) {
	if m == nil {
		return
	}
	m.address.Observe(total.Seconds())
	m.addressParts.WithLabelValues(partRetry).Add(retry.Seconds())
	for _, part := range telemetry.Parts() {
		m.addressParts.WithLabelValues(part.String()).Add(times[part].Seconds())
	}
}

// began counts a round by its initial knowledge.
func (m *Metrics) began(known goal.Known, err error) {
	switch {
	case m == nil || err != nil:
	case known.Status != nil:
		m.rounds.WithLabelValues(knownUnchanged).Inc()
	case known.Have.Observed != nil:
		m.rounds.WithLabelValues(knownRecalled).Inc()
	default:
		m.rounds.WithLabelValues(knownNothing).Inc()
	}
}

func (m *Metrics) drifted(result string) {
	if m != nil {
		m.drift.WithLabelValues(result).Inc()
	}
}

// resolved counts the end of a Service's drift, if there was any.
func (rd *round) resolved() {
	switch {
	case rd.before.drift.Reason == "":
	case rd.engine().Config.LoadBalancer.DriftPolicy == drift.PolicyReport:
		rd.metrics.drifted(driftReported)
	default:
		rd.metrics.drifted(driftRepaired)
	}
}
