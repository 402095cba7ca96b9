// Package faults injects faults into a simulated cloud: requests that match a rule are refused before
// any work, or lose their answer after the work, or are delayed.
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

// Rule is one fault. What the fields leave open decides what kind of fault it
// is: with a Status another answer, with Drop or Reset none at all, otherwise
// the true answer, but late, slowly, cut short or out of date.
type Rule struct {
	// Method to match, "" for all.
	Method string
	// Route to match, as in path.Match, where "{id}" is the same as "*" and
	// "**" as the last element stands for any rest:
	// "/load-balancer/v2.0/lbaas/loadbalancers/{id}", "/network/**". "" matches
	// all.
	Route string
	// FromWrite is the first write, counting from 1, whatever its route, before which nothing
	// matches; 0: all may match. Signing in and GETs are no writes.
	FromWrite int
	// From is the first match that fails, counting from 1; 0 is the same as 1.
	From int
	// Count is how many matches fail in a row from there; 0 means all.
	Count int
	// Probability that one of those fails; 0 is the same as 1.
	Probability float64
	// Seed of the dice: the same seed makes the same matches fail.
	Seed uint64

	// Delay passes before anything else is done.
	Delay time.Duration
	// AfterWork does the work first and then fails: the answer is lost.
	AfterWork bool
	// DuringWork fails first, with Drop or Reset, and then does the work.
	DuringWork bool
	// Drop closes the connection without an answer.
	Drop bool
	// Reset breaks the connection off, so that the client sees a reset and not
	// an end.
	Reset bool
	// Status to answer instead, unless Drop or Reset.
	Status int
	// Body and Header of that answer.
	Body   string
	Header http.Header
	// Worded words the answer as the service behind the route would, where
	// Body is empty.
	Worded bool

	// AnswerDelay passes between the work and the true answer.
	AnswerDelay time.Duration
	// BodyDelay is how long the body of the true answer takes on its way.
	BodyDelay time.Duration
	// CutAfter closes the connection after so many bytes of the true answer's
	// body; 0 means never.
	CutAfter int
	// Lag makes GETs tell the state of that long ago, as a replica that lags
	// behind does.
	Lag time.Duration
	// Then is called when a request fails, before it loses its answer and after the work,
	// where that is done; before the work where nothing fails; nil: nobody is told. It must
	// not wait for the request.
	Then func()
	// Skew is added to every created_at and updated_at of the true answer, as
	// by a service whose clock is wrong.
	Skew time.Duration
}

// changesAnswer says whether the true answer is given, but not as it was meant.
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
	// Matches is how many requests the rule was held against, Hits how many
	// of them it has made fail or wait.
	Matches, Hits int
}

// Faults holds the rules, and is the middleware that follows them. Its methods
// are safe for concurrent use.
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

// Stand keeps account of a condition that is no matter of single requests,
// such as an exhausted subnet. end takes it away, once; it may be nil.
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

// Remove takes a rule or a condition away; it says whether there was one.
func (f *Faults) Remove(id string) bool {
	return len(f.take(func(other *planted) bool { return other.id == id })) > 0
}

// Clear removes all rules and conditions.
func (f *Faults) Clear() { f.take(func(*planted) bool { return true }) }

// take removes some and ends what they stand for, without the lock held.
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

// List tells what is in force, the oldest first.
func (f *Faults) List() []Planted {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Planted, 0, len(f.planted))
	for _, p := range f.planted {
		list = append(list, Planted{ID: p.id, Condition: p.condition, Rule: p.rule, Matches: p.matches, Hits: p.hits})
	}
	return list
}

// Hits is how many requests the rules in force have made fail or wait.
func (f *Faults) Hits() int {
	total := 0
	for _, p := range f.List() {
		total += p.Hits
	}
	return total
}

// choose counts the request with every rule that matches and returns the
// first one that is due, and every history that has to hear of the request: of
// what may change what it tells, and of the answers that later ones are to
// tell again.
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

// due throws the dice for each match in its range, so that the same seed
// chooses the same ones.
func (p *planted) due() bool {
	first := max(p.rule.From, 1)
	if p.matches < first || p.rule.Count > 0 && p.matches >= first+p.rule.Count {
		return false
	}
	return p.rule.Probability == 0 || p.dice.Float64() < p.rule.Probability
}

// concerns says whether a request may change what a rule with a lag tells.
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
