// Package faults makes a simulated cloud fail on purpose: requests that match
// a rule are refused before any work is done, or lose their answer after it
// was done, or take their time.
package faults

import (
	"bytes"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Rule is one fault.
type Rule struct {
	// Method to match, "" for all.
	Method string
	// Route to match, as in path.Match, where "{id}" is the same as "*" and
	// "**" as the last element stands for any rest:
	// "/load-balancer/v2.0/lbaas/loadbalancers/{id}", "/network/**". "" matches
	// all.
	Route string
	// From is the first match that fails, counting from 1; 0 is the same as 1.
	From int
	// Count is how many matches fail in a row from there; 0 means all.
	Count int

	// Delay passes before anything else is done.
	Delay time.Duration
	// AfterWork does the work first and then fails: the answer is lost.
	AfterWork bool
	// Drop closes the connection without an answer.
	Drop bool
	// Status to answer instead, unless Drop. 0 with Drop unset means that the
	// rule only delays.
	Status int
	// Body and Header of that answer.
	Body   string
	Header http.Header
}

// Faults holds the rules, and is the middleware that follows them. Its methods
// are safe for concurrent use.
type Faults struct {
	clock clock.Clock

	mu    sync.Mutex
	rules []*counted
}

type counted struct {
	Rule
	matches int
	hits    int
}

// New returns faults without any rule. The clock is for delays.
func New(clock clock.Clock) *Faults { return &Faults{clock: clock} }

// Add puts a rule in force until remove is called. Of several rules that match
// a request the oldest decides; each counts its matches for itself.
func (f *Faults) Add(rule Rule) (remove func()) {
	added := &counted{Rule: rule}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, added)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rules = slices.DeleteFunc(f.rules, func(other *counted) bool { return other == added })
	}
}

// Clear removes all rules.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Hits is how many requests the rules in force have made fail or wait.
func (f *Faults) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := 0
	for _, rule := range f.rules {
		total += rule.hits
	}
	return total
}

// choose counts the request with every rule that matches and returns the
// first one that is due.
func (f *Faults) choose(r *http.Request) (Rule, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var chosen *counted
	for _, rule := range f.rules {
		if !rule.match(r) {
			continue
		}
		rule.matches++
		if chosen == nil && rule.due() {
			chosen = rule
		}
	}
	if chosen == nil {
		return Rule{}, false
	}
	chosen.hits++
	return chosen.Rule, true
}

func (c *counted) due() bool {
	first := max(c.From, 1)
	return c.matches >= first && (c.Count == 0 || c.matches < first+c.Count)
}

func (c *counted) match(r *http.Request) bool {
	if c.Method != "" && c.Method != r.Method {
		return false
	}
	return c.Route == "" || matchRoute(c.Route, r.URL.Path)
}

func matchRoute(pattern, requested string) bool {
	pattern = strings.ReplaceAll(pattern, "{id}", "*")
	if prefix, open := strings.CutSuffix(pattern, "/**"); open {
		depth := strings.Count(prefix, "/") + 1
		parts := strings.Split(requested, "/")
		if len(parts) < depth {
			return false
		}
		pattern, requested = prefix, strings.Join(parts[:depth], "/")
	}
	matched, err := path.Match(pattern, requested)
	return err == nil && matched
}

// Inject is the middleware.
func (f *Faults) Inject(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rule, due := f.choose(r)
		if !due {
			next.ServeHTTP(w, r)
			return
		}
		if rule.Delay > 0 && !f.wait(r, rule.Delay) {
			panic(http.ErrAbortHandler)
		}
		if !rule.Drop && rule.Status == 0 {
			next.ServeHTTP(w, r)
			return
		}
		if rule.AfterWork {
			next.ServeHTTP(&discard{header: http.Header{}}, r)
		}
		rule.answer(w)
	})
}

// wait says whether the client is still there after the delay.
func (f *Faults) wait(r *http.Request, delay time.Duration) bool {
	timer := f.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-r.Context().Done():
		return false
	}
}

func (r Rule) answer(w http.ResponseWriter) {
	if r.Drop {
		// The server closes the connection without a word in its log.
		panic(http.ErrAbortHandler)
	}
	for key, values := range r.Header {
		w.Header()[http.CanonicalHeaderKey(key)] = values
	}
	w.WriteHeader(r.Status)
	_, _ = bytes.NewBufferString(r.Body).WriteTo(w) // the client may be gone
}

// discard swallows an answer that is going to be lost.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(text []byte) (int, error) { return len(text), nil }
func (d *discard) WriteHeader(int)                {}
