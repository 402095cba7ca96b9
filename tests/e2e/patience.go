package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Patience is how long the suite waits for what a cloud does.
type Patience struct {
	// Standstill ends a wait during which nothing in the cloud changes.
	Standstill time.Duration
	// Most bounds a wait during which something does. If it is not longer than
	// Standstill, nobody looks for changes.
	Most time.Duration
}

// times returns a patience for something n times as long as usual.
func (p Patience) times(n int) Patience {
	return Patience{Standstill: p.Standstill * time.Duration(n), Most: p.Most * time.Duration(n)}
}

const (
	// looksPerStandstill is how often the cloud is looked at before a standstill is one.
	looksPerStandstill = 12
	// lookTimeout bounds one look, which the other waits share.
	lookTimeout = 30 * time.Second
)

// activity knows when something last changed in a cloud. All waits share its looks, and
// a wait shorter than the pause between two of them causes none.
type activity struct {
	// look returns a text that differs after a change.
	look func(context.Context) (string, error)

	mutex           sync.Mutex
	seen            string
	looked, changed time.Time
}

// last returns when a change was last seen, after another look unless the latest one is
// younger than age. A cloud that does not answer has not changed.
func (a *activity) last(ctx context.Context, age time.Duration) time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if time.Since(a.looked) < age {
		return a.changed
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := a.look(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return a.changed // this wait is over; another one looks
	}
	a.looked = time.Now()
	if err == nil && seen != a.seen {
		a.seen, a.changed = seen, a.looked
	}
	return a.changed
}

// patient returns a context that ends when the patience does. Its cause is the reason.
func (a *activity) patient(ctx context.Context, patience Patience) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience.Most, fmt.Errorf("not within %s", patience.Most))
	if patience.Most <= patience.Standstill {
		return ctx, cancel
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	go a.watch(ctx, patience.Standstill, giveUp)
	return ctx, func() {
		giveUp(nil)
		cancel()
	}
}

// watch gives up after a standstill. It returns when the context has ended.
func (a *activity) watch(ctx context.Context, standstill time.Duration, giveUp context.CancelCauseFunc) {
	start, pause := time.Now(), standstill/looksPerStandstill
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		changed := a.last(ctx, pause)
		if changed.Before(start) {
			changed = start
		}
		if still := time.Since(changed); still >= standstill {
			giveUp(fmt.Errorf("nothing in the cloud has changed for %s", still.Round(time.Second)))
			return
		}
	}
}

// fingerprint returns a text that differs after a change of the project's load balancers
// or servers.
func (a *API) fingerprint(ctx context.Context) (string, error) {
	balancers, err := a.LoadBalancers(ctx, "")
	if err != nil {
		return "", err
	}
	machines, err := a.servers(ctx, "")
	if err != nil {
		return "", err
	}
	var lines []string
	for _, lb := range balancers {
		lines = append(lines, fmt.Sprintln(lb.ID, lb.ProvisioningStatus, lb.OperatingStatus, lb.UpdatedAt))
	}
	for _, server := range machines {
		lines = append(lines, fmt.Sprintln(server.ID, server.Status, server.Updated))
	}
	slices.Sort(lines)
	return strings.Join(lines, ""), nil
}

// slowest is how many times the usual pause the pause between two checks may grow to:
// what takes long need not be asked for often.
const slowest = 4

// await calls check until it returns nil. It gives up when the context or the controller
// has ended; the error then has the reason, and check's last error.
func (env *Environment) await(ctx context.Context, check func(context.Context) error) error {
	usual := env.Cloud.Pause()
	for pause := usual; ; pause = min(pause*3/2, slowest*usual) {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if !env.CCM.Running() {
			return fmt.Errorf("%w; last: %w", env.CCM.Err(), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// patient returns a context that ends when the patience or the time of the suite does.
func (env *Environment) patient(ctx context.Context, patience Patience) (context.Context, context.CancelFunc) {
	if env.deadline.IsZero() {
		return env.activity.patient(ctx, patience)
	}
	ctx, cancel := context.WithDeadlineCause(ctx, env.deadline, errTimeUp)
	ctx, stop := env.activity.patient(ctx, patience)
	return ctx, func() {
		stop()
		cancel()
	}
}

// errTimeUp fails the scenarios that the timeout of go test leaves no time for, while
// there is still time to keep what explains the failures.
var errTimeUp = errors.New("the time of the whole suite is up")

// closing is how long before that timeout this is.
const closing = 90 * time.Second
