// Package sweep tries every fault at every request of a scenario, one at a time: the
// scenario is run once without, and then again for each request and each fault. However it
// was disturbed, what there is in the end has to be the same, and nothing may have been more
// open or less served meanwhile than before and after.
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

// Scenario is something that happens in an environment.
type Scenario struct {
	Name string
	// Kind is what happens, on whatever cloud; "": nothing else is of its kind.
	Kind    string
	Options testenv.Options
	// Before makes what there is before.
	Before func(env *testenv.Env) error
	// Then makes more, when the controller has done its part; nil: nothing.
	Then func(env *testenv.Env)
	// Cold has the controller start with the act, and not before.
	Cold bool
	// Act is what happens.
	Act func(ctx context.Context, env *testenv.Env) error
	// Check finds what else is wrong in the end; nil: nothing.
	Check func(env *testenv.Env) []string
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

// Run is a scenario with a fault at a request; without Fault nothing is disturbed.
type Run struct {
	Scenario Scenario
	Fault    Fault
	Request  Request
}

// Name says which run it is; Sweep finds it by that.
func (r Run) Name() string { return r.Scenario.Name + "/" + r.Fault.Name + "/" + r.Request.String() }

// Selected tells whether a run is in the share that a seed chooses.
func (r Run) Selected(seed uint64, share float64) bool {
	return float64(draw(seed, r.Name())) < share*math.MaxUint64
}

// draw is the same number each time for a seed and a name.
func draw(seed uint64, name string) uint64 {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%d %s", seed, name) // which cannot fail
	return sum.Sum64() * 0x9E3779B97F4A7C15      // the lower bits of FNV are the better ones
}

// OneOfEach returns of each kind of scenario the one that a seed chooses.
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

// Outcome is what a run came to.
type Outcome struct {
	// Requests until nothing was left to be done, and the first of each kind after that.
	Requests []Request
	// Writes are the requests that may change something, answered or not, but for the one
	// that was struck.
	Writes int
	// Before and After are what could be reached, Absent the listeners of both that were
	// away for a while.
	Before, After testenv.Exposure
	Absent        []string
	Books         testenv.Books
	// Moved are the Services whose address has changed.
	Moved map[testenv.Key]bool
	// Took is how long it was until nothing was left to be done.
	Took time.Duration
	// Struck tells that the request of the run came.
	Struck  bool
	Watcher *testenv.Watcher
	// pieces are what may be made piece by piece, where a load balancer with everything in
	// it is refused.
	pieces int
	// Wrong is what is wrong in itself.
	Wrong []string
}

const (
	// rest is how long nothing happens after a run: two looks for changes by others.
	rest = 2*testenv.DriftInterval + 30*time.Second
	// patience is how long it may take until then.
	patience = 2 * time.Hour
)

// Do runs in a bubble of testing/synctest. An error is of the scenario itself.
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

// refusesWhole tells whether a load balancer with everything in it is refused, as when a quota
// has no room for all of it, or by a release of Octavia with a defect.
func (r Run) refusesWhole() bool {
	return r.Request.Method == http.MethodPost && strings.HasSuffix(r.Request.Route, "/loadbalancers") &&
		(r.Fault.Name == "403 quota" || r.Fault.Name == "500 before")
}

// prepare makes what there is before.
func (r Run) prepare(ctx context.Context, env *testenv.Env) error {
	if err := r.Scenario.Before(env); err != nil || r.Scenario.Cold {
		return err
	}
	env.Start(ctx)
	confirmed := testenv.DriftInterval + 10*time.Second // one look for changes by others falls into it
	if err := env.Settle(ctx, confirmed, patience); err != nil || r.Scenario.Then == nil {
		return err
	}
	r.Scenario.Then(env)
	return env.Settle(ctx, confirmed, patience)
}

// plant has the request fail.
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

// note takes down what there is in the end. Of the requests that are repeated when nothing
// changes any more, the first of each kind counts.
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

// Compare returns what is wrong with an outcome, by that of the same scenario without a
// fault.
func (o Outcome) Compare(calm Outcome) []string {
	wrong := append([]string(nil), o.Wrong...)
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
	if most := 2*calm.Writes + o.pieces; o.Writes > most {
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

// Runs returns all runs of a scenario that has gone so without a fault, and how many more
// there would be if every fault made sense for every request.
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
