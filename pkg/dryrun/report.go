// Package dryrun keeps a controller that runs beside another one from writing to Kubernetes, and
// reports what it would have done.
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

// Outcome is what would become of a Service.
type Outcome string

// The outcomes, in the order of how much they ask for.
const (
	// Unknown: the cloud did not say, or not in time.
	Unknown Outcome = "unknown"
	// Refused: the Service would keep what it has, and not be given what it asks for.
	Refused Outcome = "refused"
	Deleted Outcome = "deleted"
	Changed Outcome = "changed"
	// Unchanged: it would be taken over as it is.
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

// Service is what would be done for a Service of type LoadBalancer.
type Service struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Outcome   Outcome `json:"outcome"`
	// Reason is that of a refusal, Text why: of a refusal or of what is unknown.
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text,omitempty"`
	// Steps are the changes in OpenStack, in order, Notes what users would be told besides.
	Steps []string `json:"steps,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Address is what would become of the address.
	Address string `json:"address,omitempty"`
	// Since is when all of this was first so, Checked when it was last found.
	Since   time.Time `json:"since"`
	Checked time.Time `json:"checked"`
}

func outcomeOf(s Service) Outcome { return s.Outcome }

// same reports whether two previews of a Service say the same.
func (s Service) same(other Service) bool {
	return s.Outcome == other.Outcome && s.Reason == other.Reason && s.Text == other.Text && s.Address == other.Address &&
		slices.Equal(s.Steps, other.Steps) && slices.Equal(s.Notes, other.Notes)
}

// Change is something other than a load balancer that would be changed: a Node, a route.
type Change struct {
	// Object is its kind and name, What what would be done to it.
	Object string `json:"object"`
	What   string `json:"what"`
	// First and Last are when that was asked for, Times how often: what is not done is asked
	// for again.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Times int       `json:"times"`
}

// changeAge is how long a change stays in the report that is not asked for any more: somebody
// else has made it, or it is not needed any more. The controllers of nodes ask every five
// minutes at the latest.
const changeAge = 15 * time.Minute

// Report is what a controller would do. Its methods may be called from many goroutines.
type Report struct {
	clock   clock.PassiveClock
	metrics *Metrics
	started time.Time

	mu       sync.Mutex
	services map[types.NamespacedName]Service
	changes  map[[2]string]Change
}

// New returns an empty Report. Without metrics none are kept.
func New(clock clock.PassiveClock, metrics *Metrics) *Report {
	return &Report{
		clock: clock, metrics: metrics, started: clock.Now(),
		services: map[types.NamespacedName]Service{}, changes: map[[2]string]Change{},
	}
}

// Preview reports what would be done for a Service. What differs from before is logged.
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

// Forget drops a Service that is none of ours any more.
func (r *Report) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.services, key)
	r.count()
}

// Open returns the Services whose preview is not that nothing would be done: it can become
// another one without anybody's notice.
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

// Would reports a change of something else. The first of its kind is logged.
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

// drop forgets the changes that are not asked for any more. The caller holds the lock.
func (r *Report) drop(now time.Time) {
	maps.DeleteFunc(r.changes, func(_ [2]string, c Change) bool { return now.Sub(c.Last) > changeAge })
}

// Withheld takes the writes that Kubernetes withholds. All are counted; those of Services are
// not told, as their previews say more, nor are events.
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

// maxPatch bounds what the report has of a patch.
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

// State returns what is known by now: what asks for the most comes first.
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

// words are an outcome for people.
func (o Outcome) words() string {
	switch o {
	case Unknown:
		return "not known what would be done"
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
