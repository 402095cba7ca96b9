package dryrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Outcome is the result for a Service.
type Outcome string

// The outcomes, in the order of their urgency.
const (
	// Unknown: the preview failed, or took too long.
	Unknown Outcome = "unknown"
	// Refused: the Service would be refused, and keep its load balancer.
	Refused Outcome = "refused"
	Deleted Outcome = "deleted"
	Changed Outcome = "changed"
	// Unchanged: it would be taken over without a change.
	Unchanged Outcome = "unchanged"
)

// outcomes returns the outcomes in the order of the report, with their colors.
func outcomes() screen.Scale[Outcome] {
	return screen.Scale[Outcome]{
		{Verdict: Unknown, Color: screen.Red}, {Verdict: Refused, Color: screen.Red},
		{Verdict: Deleted, Color: screen.Yellow}, {Verdict: Changed, Color: screen.Yellow},
		{Verdict: Unchanged, Color: screen.Green},
	}
}

// Service is the preview for a Service of type LoadBalancer.
type Service struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Outcome   Outcome `json:"outcome"`
	// Reason is that of a refusal, Text the explanation of a refusal or an error.
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text,omitempty"`
	// Steps are the changes in OpenStack, in order, Notes are further events for users.
	Steps []string `json:"steps,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Address is the effect on the address.
	Address string `json:"address,omitempty"`
	// Since is the time of the first equal preview, Checked that of the last one.
	Since   time.Time `json:"since"`
	Checked time.Time `json:"checked"`
}

func outcomeOf(s Service) Outcome { return s.Outcome }

// same reports whether two previews of a Service are equal.
func (s Service) same(other Service) bool {
	return s.Outcome == other.Outcome && s.Reason == other.Reason && s.Text == other.Text && s.Address == other.Address &&
		slices.Equal(s.Steps, other.Steps) && slices.Equal(s.Notes, other.Notes)
}

// Change is a change other than of a load balancer: of a Node, or a route.
type Change struct {
	// Object is its kind and name, What the change.
	Object string `json:"object"`
	What   string `json:"what"`
	// First and Last are the times of its first and last request, Times the number: a change that
	// is not made is requested again.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Times int       `json:"times"`
}

// changeAge is how long a change that is no longer requested stays in the report: another
// controller has made it, or it is no longer needed. The controllers of nodes request one at least
// every five minutes.
const changeAge = 15 * time.Minute

// Report contains the changes that a controller would make. Its methods may be called concurrently.
type Report struct {
	clock   clock.PassiveClock
	metrics *Metrics
	started time.Time

	mu       sync.Mutex
	services map[types.NamespacedName]Service
	changes  map[[2]string]Change
}

// New returns an empty Report. metrics may be nil.
func New(clock clock.PassiveClock, metrics *Metrics) *Report {
	return &Report{
		clock: clock, metrics: metrics, started: clock.Now(),
		services: map[types.NamespacedName]Service{}, changes: map[[2]string]Change{},
	}
}

// Preview stores the preview of a Service, and logs it if it has changed.
func (r *Report) Preview(ctx context.Context, s Service) {
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	r.mu.Lock()
	s.Checked = r.clock.Now()
	before, known := r.services[key]
	if s.Since = s.Checked; known && s.same(before) {
		s.Since = before.Since
	}
	r.services[key] = s
	r.count()
	r.mu.Unlock()
	if !known || !s.same(before) {
		klog.FromContext(ctx).Info("Dry run: "+s.Outcome.words(), "service", key, "steps", s.Steps, "reason", s.Reason,
			"text", s.Text, "address", s.Address, "notes", s.Notes)
	}
}

// Forget drops a Service that is no longer ours.
func (r *Report) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.services, key)
	r.count()
}

// Open returns the Services with changes to make: those may change without an event.
func (r *Report) Open() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	var open []types.NamespacedName
	for key, s := range r.services {
		if s.Outcome != Unchanged {
			open = append(open, key)
		}
	}
	return open
}

// Would reports another change, and logs the first of its kind.
func (r *Report) Would(ctx context.Context, object, what string) {
	r.mu.Lock()
	key, now := [2]string{object, what}, r.clock.Now()
	c, known := r.changes[key]
	if !known {
		c = Change{Object: object, What: what, First: now}
	}
	c.Last = now
	c.Times++
	r.changes[key] = c
	r.drop(now)
	r.mu.Unlock()
	if !known {
		klog.FromContext(ctx).Info("Dry run: would change", "object", object, "what", what)
	}
}

// drop drops the changes that are no longer requested. The caller holds the lock.
func (r *Report) drop(now time.Time) {
	maps.DeleteFunc(r.changes, func(_ [2]string, c Change) bool { return now.Sub(c.Last) > changeAge })
}

// Withheld records a write that Kubernetes has withheld. All are counted; those of Services are not
// reported, because their previews contain more, nor are events.
func (r *Report) Withheld(w Write) {
	r.metrics.withheld(w)
	if resource, _, _ := strings.Cut(w.Resource, "/"); resource == "services" || resource == "events" {
		return
	}
	object := w.Name
	if w.Namespace != "" {
		object = w.Namespace + "/" + w.Name
	}
	what := w.Verb
	if w.Patch != "" {
		what += " " + limited(w.Patch)
	}
	r.Would(context.Background(), strings.TrimSpace(w.Resource+" "+object), what)
}

// maxPatch is the maximum length of a patch in the report.
const maxPatch = 500

func limited(text string) string {
	if len(text) <= maxPatch {
		return text
	}
	return strings.ToValidUTF8(text[:maxPatch], "") + "…"
}

// count updates the metrics. The caller holds the lock.
func (r *Report) count() {
	r.metrics.services(screen.Count(slices.Collect(maps.Values(r.services)), outcomeOf))
}

// State is a Report at a time.
type State struct {
	Started  time.Time       `json:"started"`
	Services []Service       `json:"services"`
	Changes  []Change        `json:"changes"`
	Counts   map[Outcome]int `json:"counts"`
}

// State returns the current state, the most urgent first.
func (r *Report) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.clock.Now())
	s := State{
		Started:  r.started,
		Services: slices.Collect(maps.Values(r.services)), Changes: slices.Collect(maps.Values(r.changes)),
	}
	order := outcomes()
	slices.SortFunc(s.Services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(order.Rank(a.Outcome), order.Rank(b.Outcome)),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.What, b.What))
	})
	s.Counts = screen.Count(s.Services, outcomeOf)
	for _, o := range order {
		s.Counts[o.Verdict] += 0
	}
	return s
}

// words describe an outcome.
func (o Outcome) words() string {
	switch o {
	case Unknown:
		return "unknown"
	case Refused:
		return "would be refused"
	case Deleted:
		return "would be deleted"
	case Changed:
		return "would change"
	case Unchanged:
		return "no change"
	}
	panic(fmt.Sprintf("no such outcome: %s", string(o)))
}
