// Package faults injects faults into a simulated cloud: requests that match a rule are refused
// before any work, or lose their answer after the work, or are delayed.
package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Rule is one fault. With a Status it is another answer, with Drop or Reset no answer, otherwise
// the true answer, but late, slow, truncated or outdated.
type Rule struct {
	// Method to match, "" for all.
	Method string
	// Route to match, as in path.Match, where "{id}" is the same as "*" and
	// "**" as the last element stands for any rest:
	// "/load-balancer/v2.0/lbaas/loadbalancers/{id}", "/network/**". "" matches
	// all.
	Route string
	// FromWrite is the number of the first write that may match, counting from 1 over all routes; 0
	// means that all requests may match. Sign-ins and GETs are no writes.
	FromWrite int
	// From is the first match that fails, counting from 1; 0 is the same as 1.
	From int
	// Count is the number of consecutive matches that fail from there; 0 means all.
	Count int
	// Probability that each of them fails; 0 is the same as 1.
	Probability float64
	// Seed of the random numbers: the same seed makes the same matches fail.
	Seed uint64

	// Delay passes before anything else is done.
	Delay time.Duration
	// AfterWork does the work first and then fails: the answer is lost.
	AfterWork bool
	// DuringWork fails first, with Drop or Reset, and then does the work.
	DuringWork bool
	// Drop closes the connection without an answer.
	Drop bool
	// Reset resets the connection instead of closing it.
	Reset bool
	// Status to answer instead, unless Drop or Reset.
	Status int
	// Body and Header of that answer.
	Body   string
	Header http.Header
	// Worded sets the body that the service of the route would send, if Body is empty.
	Worded bool

	// AnswerDelay passes between the work and the true answer.
	AnswerDelay time.Duration
	// BodyDelay is the duration of the transfer of the true answer's body.
	BodyDelay time.Duration
	// CutAfter closes the connection after so many bytes of the true answer's
	// body; 0 means never.
	CutAfter int
	// Lag makes GETs return the state of that long ago, as a replica that lags behind does.
	Lag time.Duration
	// Then is called when a request fails, before its answer is lost and after the work, if that is
	// done. If nothing fails, it is called before the work. It may be nil, and must not wait for
	// the request.
	Then func()
	// Skew is added to every created_at and updated_at of the true answer, as by a service with a
	// wrong clock.
	Skew time.Duration
}

// changesAnswer reports whether the rule changes or delays the true answer.
func (r Rule) changesAnswer() bool {
	return r.AnswerDelay > 0 || r.BodyDelay > 0 || r.CutAfter > 0 || r.Lag > 0 || r.Skew != 0
}

// Planted is a rule in force, or a condition of the cloud that lasts until it
// is removed.
type Planted struct {
	ID string
	// Condition in words; empty for a rule.
	Condition string
	Rule      Rule
	// Matches is the number of requests that the rule matched, Hits the number of those that it
	// made fail or wait.
	Matches, Hits int
}

// Faults has the rules, and is the middleware that applies them. Its methods are safe for
// concurrent use.
type Faults struct {
	clock clock.Clock

	mu       sync.Mutex
	planted  []*planted
	sequence int
	slow     []Latency
	dice     *rand.Rand // of latencies
}

// Of several rules that match a request the oldest decides; each counts its
// matches for itself.
type planted struct {
	id            string
	rule          Rule
	dice          *rand.Rand
	matches, hits int
	writes        int      // that came since
	history       *history // of a rule with a lag

	condition string
	remove    func()
}

// New returns faults without any rule. The clock is for delays.
func New(clock clock.Clock) *Faults {
	return &Faults{clock: clock, dice: newDice(0)}
}

func newDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Add puts a rule in force until remove is called.
func (f *Faults) Add(rule Rule) (remove func()) {
	id := f.Plant(rule)
	return func() { f.Remove(id) }
}

// Plant puts a rule in force until its ID is removed.
func (f *Faults) Plant(rule Rule) (id string) {
	added := &planted{rule: rule, dice: newDice(rule.Seed)}
	if rule.Lag > 0 {
		added.history = newHistory(f.clock)
	}
	return f.plant(added)
}

// Stand adds a condition that does not concern single requests, such as an exhausted subnet. end
// removes it, and is called once; it may be nil.
func (f *Faults) Stand(condition string, end func()) (id string) {
	return f.plant(&planted{condition: condition, remove: end})
}

func (f *Faults) plant(added *planted) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sequence++
	added.id = fmt.Sprintf("fault-%d", f.sequence)
	f.planted = append(f.planted, added)
	return added.id
}

// Remove removes a rule or a condition, and reports whether it existed.
func (f *Faults) Remove(id string) bool {
	return len(f.take(func(other *planted) bool { return other.id == id })) > 0
}

// Clear removes all rules and conditions.
func (f *Faults) Clear() { f.take(func(*planted) bool { return true }) }

// take removes the chosen entries, and calls the ends of conditions without the lock.
func (f *Faults) take(chosen func(*planted) bool) []*planted {
	f.mu.Lock()
	var taken, kept []*planted
	for _, other := range f.planted {
		if chosen(other) {
			taken = append(taken, other)
		} else {
			kept = append(kept, other)
		}
	}
	f.planted = kept
	f.mu.Unlock()
	for _, gone := range taken {
		if gone.remove != nil {
			gone.remove()
		}
	}
	return taken
}

// List returns the rules and conditions in force, the oldest first.
func (f *Faults) List() []Planted {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Planted, 0, len(f.planted))
	for _, p := range f.planted {
		list = append(list, Planted{ID: p.id, Condition: p.condition, Rule: p.rule, Matches: p.matches, Hits: p.hits})
	}
	return list
}

// Hits returns the number of requests that the rules in force have made fail or wait.
func (f *Faults) Hits() int {
	total := 0
	for _, p := range f.List() {
		total += p.Hits
	}
	return total
}

// choose counts the request with every rule that matches. It returns the first one that is due, and
// every history that must record the request: because the request may change the answers of the
// history, or because later requests get its answer.
func (f *Faults) choose(r *http.Request) (chosen *planted, told []*history) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.planted {
		if p.condition != "" {
			continue
		}
		if p.history != nil && (p.concerns(r) || p.rule.From > 1 && r.Method == http.MethodGet && p.rule.match(r)) {
			told = append(told, p.history)
		}
		if writes(r) {
			p.writes++
		}
		if p.writes < p.rule.FromWrite || !p.rule.match(r) {
			continue
		}
		p.matches++
		if chosen == nil && p.due() {
			chosen = p
		}
	}
	if chosen != nil {
		chosen.hits++
	}
	return chosen, told
}

// due takes a random number for each match in the range of the rule, so that the same seed selects
// the same matches.
func (p *planted) due() bool {
	first := max(p.rule.From, 1)
	if p.matches < first || p.rule.Count > 0 && p.matches >= first+p.rule.Count {
		return false
	}
	return p.rule.Probability == 0 || p.dice.Float64() < p.rule.Probability
}

// concerns reports whether a request may change the answers of a rule with a lag.
func (p *planted) concerns(r *http.Request) bool {
	prefix, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return r.Method != http.MethodGet && (p.rule.Route == "" || strings.HasPrefix(p.rule.Route, "/"+prefix+"/") ||
		strings.HasPrefix(p.rule.Route, "/*"))
}

func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.HasSuffix(r.URL.Path, "/auth/tokens")
}

func (r Rule) match(asked *http.Request) bool {
	if r.Method != "" && r.Method != asked.Method {
		return false
	}
	return r.Route == "" || matchRoute(r.Route, asked.URL.Path)
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
