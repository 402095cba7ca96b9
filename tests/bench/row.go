package bench

import (
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Row is the cost of one case.
type Row struct {
	Case     string `json:"case"`
	Ports    int    `json:"ports"`
	Nodes    int    `json:"nodes"`
	Services int    `json:"services"`
	Provider string `json:"provider"`
	// Monitors is set if pools have health monitors.
	Monitors bool `json:"monitors"`
	// KubeProxy is set if these probe kube-proxy's healthz.
	KubeProxy bool `json:"monitor_kube_proxy,omitempty"`
	// Workers is the number of concurrent Services.
	Workers int `json:"workers"`

	// Reads are GETs without WatchReads. Those are the requests of the shared watcher for the state
	// of load balancers before and after changes, and the reads of the result of a change: a status
	// tree, or its replacement for large load balancers, or a snapshot of all load balancers and
	// all floating IPs after the first write.
	Reads      int `json:"reads"`
	WatchReads int `json:"watch_reads"`
	// Writes are all other requests except the sign-in.
	Writes int `json:"writes"`
	// Cycles is the number of times that load balancers became PENDING.
	Cycles int   `json:"cycles"`
	Floor  Floor `json:"floor"`
	// Peer is the cost of cloud-provider-openstack, null if it is unknown.
	Peer *Peer `json:"peer"`

	// Bytes counts all bodies, in both directions.
	Bytes int `json:"bytes"`
	// Allocs and RSSMiB are those of the whole process, including the simulated cloud, unless Alone
	// is set. RSSPeakMiB is the maximum so far.
	Allocs     uint64  `json:"allocs"`
	RSSMiB     float64 `json:"rss_mib"`
	RSSPeakMiB float64 `json:"rss_peak_mib,omitempty"`
	// CPUSeconds is the time of the controller, user and system, if Alone is set.
	CPUSeconds float64 `json:"cpu_seconds,omitempty"`
	Alone      bool    `json:"controller_alone"`
	// Seconds are those of the simulated clock, 0 without one; Retries is how often a Service
	// returned to the queue.
	Seconds float64 `json:"seconds"`
	Retries int     `json:"retries"`
	// Units is Seconds in units of the cloud's own limit, Floor.Seconds.
	Units float64 `json:"units,omitempty"`
	// Requests has the number of requests of each method, route and status.
	Requests map[string]int `json:"requests"`
	Error    string         `json:"error,omitempty"`
}

// count sets the figures of the request log.
func (r *Row) count(all []requestlog.Request, cycles int) {
	r.Cycles, r.Requests = cycles, map[string]int{}
	isWrite, isRead, changed := requestlog.Writes(), requestlog.Reads(), changes{}
	for _, request := range all {
		r.Bytes += request.RequestBytes + request.Bytes
		r.Requests[logged(request)]++
		switch {
		case isWrite(request):
			r.Writes++
			changed.note(request.LoadBalancerID)
		case isRead(request) && (isWatcher(request) || isPoll(request) && changed.include(request.LoadBalancerID)):
			r.WatchReads++
		case isRead(request):
			r.Reads++
		}
	}
}

func logged(r requestlog.Request) string {
	line := r.Method + " " + r.Route
	if _, query, found := strings.Cut(r.Path, "?"); found {
		line += "?" + parameters(query)
	}
	if r.Status >= 300 || r.Status == 0 {
		line += " -> " + strconv.Itoa(r.Status)
	}
	return line
}

// parameters removes the values that differ from object to object.
func parameters(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		value, err := url.QueryUnescape(value)
		if err == nil && !plainValue.MatchString(value) {
			parts[i] = name + "=…"
		}
	}
	return strings.Join(parts, "&")
}

// oneFloatingIP matches queries for certain floating IPs.
var oneFloatingIP = regexp.MustCompile(`[?&](port_id|description|floating_ip_address|id)=`)

// plainValue matches field names, statuses and numbers.
var plainValue = regexp.MustCompile(`^([a-z_]+|[A-Z_]+|\d+)$`)

// isWatcher reports whether a request is from the shared watcher: only that requests these fields.
func isWatcher(r requestlog.Request) bool {
	return strings.Contains(r.Route, "/lbaas/loadbalancers") && strings.Contains(r.Path, "fields=provisioning_status&fields=operating_status&fields=updated_at")
}

// isPoll reports whether a request reads the state of load balancers, or all floating IPs, which
// are listed together with all load balancers.
func isPoll(r requestlog.Request) bool {
	if strings.HasSuffix(r.Route, "/v2.0/floatingips") {
		return !oneFloatingIP.MatchString(r.Path)
	}
	_, below, found := strings.Cut(r.Route, "/lbaas/loadbalancers")
	switch {
	case strings.Contains(r.Route, "/lbaas/pools"):
		return strings.Contains(r.Path, "fields=provisioning_status")
	case !found:
		return false
	case strings.HasSuffix(below, "/status"), strings.HasSuffix(below, "/statuses"):
		return true
	default:
		_, query, _ := strings.Cut(r.Path, "?")
		return strings.Contains(query, "provisioning_status")
	}
}

// changes has the IDs of the changed load balancers, and "" if there is any.
type changes map[string]bool

func (c changes) note(id string)         { c[id], c[""] = true, true }
func (c changes) include(id string) bool { return c[id] }

// allocations returns the number of objects that this process has allocated since its start.
func allocations() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

// cpuSeconds returns the CPU time of this process so far, user and system.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// residentMiB returns the present and the maximum resident memory of this process; zero if the
// system does not report them.
func residentMiB() (now, most float64) {
	usage, err := process.UsageOf(os.Getpid())
	if err != nil {
		return 0, 0
	}
	const mib = 1 << 20
	return float64(usage.RSS) / mib, float64(usage.PeakRSS) / mib
}
