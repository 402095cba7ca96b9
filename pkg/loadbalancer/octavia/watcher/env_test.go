package watcher_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeOctavia has load balancers in statuses that the test sets, and records the requests and their
// times.
type fakeOctavia struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	statuses map[string]string
	unlisted map[string]bool  // existing, but missing in lists
	fails    error            // every request
	refuses  map[string]error // requests for an ID
	asked    []request
}

type request struct {
	at     time.Time
	id     string // "" is a list
	status string // the filter of a list; "" is a list of all
	size   int    // the number of load balancers in the answer to a list
}

func (o *fakeOctavia) set(status string, ids ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		o.statuses[id] = status
	}
}

func (o *fakeOctavia) failFor(id string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuses[id] = err
}

func (o *fakeOctavia) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fails = err
}

// requests returns the requests for one ID, or the lists.
func (o *fakeOctavia) requests(id string) []request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.asked), func(r request) bool { return r.id != id })
}

func (o *fakeOctavia) all() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked)
}

// LoadBalancerState implements watcher.Octavia.
func (o *fakeOctavia) LoadBalancerState(ctx context.Context, id string) (none octavia.LoadBalancerState, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, request{at: o.clock.Now(), id: id})
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	status, there := o.statuses[id]
	switch {
	case o.fails != nil:
		return none, o.fails
	case o.refuses[id] != nil:
		return none, o.refuses[id]
	case !there:
		return none, answer(http.StatusNotFound, "Load Balancer "+id+" not found.")
	}
	return octavia.LoadBalancerState{ID: id, ProvisioningStatus: status, UpdatedAt: updatedAt(id)}, nil
}

// LoadBalancerStates implements watcher.Octavia.
func (o *fakeOctavia) LoadBalancerStates(_ context.Context, pending string) (all []octavia.LoadBalancerState, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		o.asked = append(o.asked, request{at: o.clock.Now(), status: pending, size: len(all)})
	}()
	if o.fails != nil {
		return nil, o.fails
	}
	for id, status := range o.statuses {
		if !o.unlisted[id] && (pending == "" || pending == status) {
			all = append(all, octavia.LoadBalancerState{ID: id, ProvisioningStatus: status, UpdatedAt: updatedAt(id)})
		}
	}
	return all, nil
}

// StatusTree implements watcher.Octavia.
func (o *fakeOctavia) StatusTree(_ context.Context, id string) (*octavia.StatusTree, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, request{at: o.clock.Now(), id: id})
	tree := &octavia.StatusTree{}
	tree.ProvisioningStatus = o.statuses[id]
	return tree, o.fails
}

// updatedAt returns another time for each load balancer.
func updatedAt(id string) time.Time { return time.Unix(int64(len(id)), 0) }

// answer returns an error as the typed calls do.
func answer(status int, text string) error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodGet, URL: "http://cloud/load-balancer/v2.0/lbaas/loadbalancers", Actual: status,
		Body:           []byte(fmt.Sprintf(`{"faultcode": "Client", "faultstring": %q, "debuginfo": null}`, text)),
		ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "read load balancers")
}

// env is a watcher with a clock that only advance moves.
type env struct {
	t       *testing.T
	clock   *clocktesting.FakeClock
	octavia *fakeOctavia
	watcher *watcher.Watcher
}

func newEnv(t *testing.T, statuses map[string]string) *env {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	o := &fakeOctavia{clock: clk, statuses: statuses, unlisted: map[string]bool{}, refuses: map[string]error{}}
	e := &env{t: t, clock: clk, octavia: o, watcher: watcher.New(o, clk)}
	t.Cleanup(e.watcher.Close)
	return e
}

func pace() watcher.Pace {
	return watcher.Pace{First: time.Second, Cap: 10 * time.Second, Pending: "PENDING_UPDATE"}
}

// result is the result of a wait.
type result struct {
	token watcher.Token
	err   error
}

// changePace is the pace of a change of a load balancer's members.
func changePace() watcher.Pace {
	return watcher.Pace{
		First: time.Second, Step: 500 * time.Millisecond, Cap: 3 * time.Second,
		Pending: "PENDING_UPDATE", Kind: watcher.Kind{Provider: "amphora", Operation: watcher.Updating},
	}
}

// wait waits for a load balancer in the background.
func (e *env) wait(ctx context.Context, id string) <-chan result { return e.waitAt(ctx, id, pace()) }

// waitAt is wait at another pace.
func (e *env) waitAt(ctx context.Context, id string, pace watcher.Pace) <-chan result {
	ended := make(chan result, 1)
	go func() {
		token, err := e.watcher.Settled(ctx, id, pace)
		ended <- result{token, err}
	}()
	return ended
}

// waitAll starts one wait for each ID, and returns when all are parked.
func (e *env) waitAll(ids ...string) []<-chan result {
	e.t.Helper()
	var ended []<-chan result
	for _, id := range ids {
		ended = append(ended, e.wait(e.t.Context(), id))
	}
	e.until("all are parked", func() bool { return e.watcher.Waiting() == len(ids) })
	return ended
}

// until waits in real time, without the clock, for a condition.
func (e *env) until(what string, holds func() bool) {
	e.t.Helper()
	deadline := time.Now().Add(await.Patience)
	for !holds() {
		if time.Now().After(deadline) {
			e.t.Fatalf("never: %s", what)
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// advance advances the clock in small steps. Before each, the watcher has executed the due polls
// and sleeps, or has none.
func (e *env) advance(d time.Duration) {
	e.t.Helper()
	for step := min(d, 100*time.Millisecond); d > 0; d -= step {
		e.until("the watcher sleeps", func() bool { return e.clock.HasWaiters() || e.watcher.Waiting() == 0 })
		e.clock.Step(step)
	}
	e.until("the watcher sleeps", func() bool { return e.clock.HasWaiters() || e.watcher.Waiting() == 0 })
}

// advanceUntil advances the clock until a condition holds.
func (e *env) advanceUntil(what string, holds func() bool) {
	e.t.Helper()
	for range 3000 { // five minutes
		if holds() {
			return
		}
		e.advance(100 * time.Millisecond)
	}
	e.t.Fatalf("%s: not after five minutes", what)
}

// ended returns the result of a wait that must have ended.
func (e *env) ended(c <-chan result) result {
	e.t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(await.Patience):
		e.t.Fatal("the wait goes on")
		return result{}
	}
}

func names(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("lb-%d", i))
	}
	return ids
}

func pending(ids ...string) map[string]string {
	statuses := map[string]string{}
	for _, id := range ids {
		statuses[id] = "PENDING_UPDATE"
	}
	return statuses
}
