// Package sweep tries every fault at every request of a scenario, one at a time: the scenario runs
// once without a fault, and then again for each request and each fault. After each fault the final
// state must be the same. In between, no port may be more open, and none less served, than before
// and after the scenario.
package sweep

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// Scenario is a change in an environment.
type Scenario struct {
	Name string
	// Kind is the change, independently of the cloud; "" if there is no other of its kind.
	Kind    string
	Options testenv.Options
	// Before creates the objects that exist before.
	Before func(env *testenv.Env) error
	// Then creates further ones, after the work of the controller; it may be nil.
	Then func(env *testenv.Env)
	// Cold starts the controller together with the act, and not before.
	Cold bool
	// Act makes the change.
	Act func(ctx context.Context, env *testenv.Env) error
	// Check finds further errors in the final state; it may be nil.
	Check func(env *testenv.Env) []string
	// Back is the number of writes by which the controller returns to the former state, if it changed that and the
	// next request was refused.
	Back int
}

// Request is one of a scenario: the Nth of its method and route.
type Request struct {
	Method, Route string
	Nth           int
	// Bytes of the answer.
	Bytes int
}

// String prints it without blanks.
func (r Request) String() string { return fmt.Sprintf("%s:%s:%d", r.Method, r.Route, r.Nth) }

func (r Request) under(service string) bool { return strings.HasPrefix(r.Route, "/"+service+"/") }

func (r Request) writes() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// Run is a scenario with a fault at a request; without Fault, it runs undisturbed.
type Run struct {
	Scenario Scenario
	Fault    Fault
	Request  Request
}

// Name identifies the run.
func (r Run) Name() string { return r.Scenario.Name + "/" + r.Fault.Name + "/" + r.Request.String() }

// Selected reports whether a run is in the share that a seed selects.
func (r Run) Selected(seed uint64, share float64) bool {
	return float64(draw(seed, r.Name())) < share*math.MaxUint64
}

// draw returns the same number each time for a seed and a name.
func draw(seed uint64, name string) uint64 {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%d %s", seed, name) // which cannot fail
	return sum.Sum64() * 0x9E3779B97F4A7C15      // the lower bits of FNV are the better ones
}

// OneOfEach returns one scenario of each kind, selected by a seed.
func OneOfEach(all []Scenario, seed uint64) []Scenario {
	chosen, order := map[string]Scenario{}, []string(nil)
	for _, s := range all {
		kind := cmp.Or(s.Kind, s.Name)
		best, known := chosen[kind]
		if !known {
			order = append(order, kind)
		}
		if !known || draw(seed, s.Name) < draw(seed, best.Name) {
			chosen[kind] = s
		}
	}
	var some []Scenario
	for _, kind := range order {
		some = append(some, chosen[kind])
	}
	return some
}

// Outcome is the result of a run.
type Outcome struct {
	// Requests has the requests until no work was left, and the first of each kind after that.
	Requests []Request
	// Writes is the number of requests that may change state, answered or not, except the one with
	// the fault.
	Writes int
	// Before and After are the exposures at both times, Absent has the listeners of both that were
	// missing for a while.
	Before, After testenv.Exposure
	Absent        []string
	Books         testenv.Books
	// Moved has the Services with a changed address.
	Moved map[testenv.Key]bool
	// Took is the time until no work was left.
	Took time.Duration
	// Struck is set if the request of the run was sent.
	Struck  bool
	Watcher *testenv.Watcher
	// pieces is the number of objects that may be created singly if a full creation is refused.
	pieces int
	// back is that of the scenario.
	back int
	// Wrong lists errors that need no comparison.
	Wrong []string
}

const (
	// rest is the duration without changes after a run: two drift checks.
	rest = 2*testenv.DriftInterval + 30*time.Second
	// patience is the maximum time until then.
	patience = 2 * time.Hour
)

// Do runs in a bubble of testing/synctest. The error is one of the scenario itself.
func (r Run) Do(ctx context.Context, log io.Writer) (outcome Outcome, err error) {
	options := r.Scenario.Options
	options.Log = log
	env, err := testenv.New(options)
	if err != nil {
		return outcome, err
	}
	defer env.Close()
	if err := r.prepare(ctx, env); err != nil {
		return outcome, fmt.Errorf("before: %w", err)
	}
	outcome.Before = env.Exposure()
	outcome.Watcher = env.Watch()
	addresses := env.Addresses()
	env.Cloud.RequestLog.Reset()
	id := r.plant(env)
	start, restarts := time.Now(), env.Restarts()
	if err := r.Scenario.Act(ctx, env); err != nil {
		return outcome, fmt.Errorf("act: %w", err)
	}
	if r.Scenario.Cold {
		env.Start(ctx)
	}
	if err := env.Settle(ctx, rest, patience); err != nil {
		outcome.Wrong = append(outcome.Wrong, err.Error())
	}
	outcome.Took = env.LastChange().Sub(start)
	for _, planted := range env.Cloud.Faults.List() {
		outcome.Struck = outcome.Struck || planted.ID == id && planted.Hits > 0
	}
	outcome.Watcher.Stop()
	outcome.note(env, addresses)
	outcome.back = r.Scenario.Back
	if outcome.Struck && r.Request.writes() {
		outcome.Writes--
	}
	if !r.refusesWhole() {
		outcome.pieces = 0
	}
	if r.Fault.kills && outcome.Struck && env.Restarts() == restarts {
		outcome.Wrong = append(outcome.Wrong, "the process was not killed")
	}
	if r.Scenario.Check != nil {
		outcome.Wrong = append(outcome.Wrong, r.Scenario.Check(env)...)
	}
	return outcome, nil
}

// refusesWhole reports whether a full creation is refused, for example by a quota without room for
// all of it, or by a release of Octavia with a defect.
func (r Run) refusesWhole() bool {
	return r.Request.Method == http.MethodPost && strings.HasSuffix(r.Request.Route, "/loadbalancers") &&
		(r.Fault.Name == "403 quota" || r.Fault.Name == "500 before")
}

// prepare creates the objects that exist before.
func (r Run) prepare(ctx context.Context, env *testenv.Env) error {
	if err := r.Scenario.Before(env); err != nil || r.Scenario.Cold {
		return err
	}
	env.Start(ctx)
	confirmed := testenv.DriftInterval + 10*time.Second // contains one drift check
	if err := env.Settle(ctx, confirmed, patience); err != nil || r.Scenario.Then == nil {
		return err
	}
	r.Scenario.Then(env)
	return env.Settle(ctx, confirmed, patience)
}

// plant makes the request fail.
func (r Run) plant(env *testenv.Env) (id string) {
	if r.Fault.rule == nil {
		return ""
	}
	rule, _ := r.Fault.rule(r.Request)
	rule.Method, rule.Route, rule.From, rule.Count = r.Request.Method, r.Request.Route, r.Request.Nth, 1
	if r.Fault.kills {
		rule.Then = env.Kill
	}
	return env.Cloud.Faults.Plant(rule)
}

// note records the final state. Of the requests that repeat without changes, the first of each kind
// counts.
func (o *Outcome) note(env *testenv.Env, addresses map[testenv.Key]string) {
	o.After, o.Books, o.Moved = env.Exposure(), env.Books(), map[testenv.Key]bool{}
	o.Absent = o.Watcher.Absent(o.Before, o.After)
	for key, address := range env.Addresses() {
		o.Moved[key] = addresses[key] != "" && addresses[key] != address
	}
	all := env.Cloud.RequestLog.Requests()
	nth, repeated := map[string]int{}, map[string]bool{}
	for i, request := range all {
		kind := request.Method + request.Route
		nth[kind]++
		if i >= env.RequestsUntilRest() {
			if repeated[kind] {
				continue
			}
			repeated[kind] = true
		}
		route := strings.ReplaceAll(request.Route, "{id}", "*")
		o.Requests = append(o.Requests, Request{Method: request.Method, Route: route, Nth: nth[kind], Bytes: request.Bytes})
	}
	for _, lb := range env.Cloud.Octavia.Snapshot() {
		o.pieces += 2 * len(lb.Listeners) // with its pool
		for _, pool := range lb.Pools {
			o.pieces += len(pool.Members)
			if pool.Monitor != nil {
				o.pieces++
			}
		}
	}
	o.Writes = len(env.Cloud.RequestLog.Requests(requestlog.Writes()))
}

// Compare returns the errors of an outcome, compared with that of the same scenario without a
// fault.
func (o Outcome) Compare(calm Outcome) []string {
	wrong := append([]string(nil), o.Wrong...)
	if o.Watcher == nil { // the act was not reached
		return wrong
	}
	wrong = append(wrong, o.Watcher.Violations(calm.Before, calm.After)...)
	for _, key := range o.Absent {
		if !contains(calm.Absent, key) {
			wrong = append(wrong, "listener "+key+" was away for a while")
		}
	}
	for _, line := range calm.Books.Diff(o.Books) {
		wrong = append(wrong, "in the end: "+line)
	}
	for key, moved := range o.Moved {
		if moved != calm.Moved[key] {
			wrong = append(wrong, fmt.Sprintf("Service %s: the address has changed: %v, without a fault %v", key, moved, calm.Moved[key]))
		}
	}
	if most := 2*calm.Writes + o.pieces + o.back; o.Writes > most {
		wrong = append(wrong, fmt.Sprintf("%d writes, more than %d; without a fault it is %d", o.Writes, most, calm.Writes))
	}
	return wrong
}

func contains(all []string, one string) bool {
	for _, other := range all {
		if other == one {
			return true
		}
	}
	return false
}

// Runs returns all runs of a scenario with this outcome without a fault, and the number of further
// ones with faults that make no sense for their request.
func Runs(scenario Scenario, calm Outcome) (runs []Run, pointless int) {
	for _, request := range calm.Requests {
		for _, fault := range Faults() {
			if _, sensible := fault.rule(request); !sensible {
				pointless++
				continue
			}
			runs = append(runs, Run{Scenario: scenario, Fault: fault, Request: request})
		}
	}
	return runs, pointless
}
