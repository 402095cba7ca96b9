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

// Patience limits the waits of the suite by the progress of the cloud, so that a busy machine makes
// a run longer, but does not fail it.
type Patience struct {
	// Standstill ends a wait during which nothing in the cloud changes.
	Standstill time.Duration
	// Most bounds a wait with changes in the cloud. If it is not longer than Standstill, changes
	// are not looked for.
	Most time.Duration
}

const (
	// looksPerStandstill is the number of looks during a standstill, and fewestLooks their minimum:
	// if the machine itself stood still, the elapsed time has no meaning.
	looksPerStandstill, fewestLooks = 12, 6
	// lookTimeout bounds one look, which the other waits share.
	lookTimeout = 30 * time.Second
)

// activity knows when something last changed in a cloud. All waits share its looks, and
// a wait shorter than the pause between two of them causes none.
type activity struct {
	// look returns a text that differs after a change.
	look func(context.Context) (string, error)

	mutex  sync.Mutex
	seen   string
	looked time.Time
	state  observed
}

// observed is what the looks at a cloud have shown.
type observed struct {
	// changed is when a change was last seen, at look number changedAt of so many looks.
	changed          time.Time
	changedAt, looks int
	// err is why the last look had no answer.
	err error
}

// last returns what the looks have shown, after another one unless the latest is younger
// than age. A cloud that does not answer has not changed.
func (a *activity) last(ctx context.Context, age time.Duration) observed {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if time.Since(a.looked) < age {
		return a.state
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := a.look(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return a.state // this wait is over; another one looks
	}
	a.looked = time.Now()
	a.state.looks++
	a.state.err = err
	if err == nil && seen != a.seen {
		a.seen, a.state.changed, a.state.changedAt = seen, a.looked, a.state.looks
	}
	return a.state
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
	first := a.count()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		now := a.last(ctx, pause)
		if now.changed.Before(start) {
			now.changed, now.changedAt = start, first
		}
		still, looks := time.Since(now.changed), now.looks-now.changedAt
		if still < standstill || looks < fewestLooks {
			continue
		}
		why := fmt.Errorf("nothing in the cloud has changed for %s, in %d looks", still.Round(time.Second), looks)
		if now.err != nil {
			why = fmt.Errorf("%w, the last of them without an answer: %w", why, now.err)
		}
		giveUp(why)
		return
	}
}

// count returns how many looks there were.
func (a *activity) count() int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.state.looks
}

// fingerprint returns a text that differs after a change of the project's load balancers,
// floating IPs, security groups or servers.
func (a *API) fingerprint(ctx context.Context) (string, error) {
	balancers, err := a.LoadBalancers(ctx, "")
	if err != nil {
		return "", err
	}
	ips, err := a.FloatingIPs(ctx, "")
	if err != nil {
		return "", err
	}
	groups, err := a.SecurityGroups(ctx, "")
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
	for _, ip := range ips {
		lines = append(lines, fmt.Sprintln(ip.ID, ip.PortID, ip.Status, ip.UpdatedAt))
	}
	for _, group := range groups {
		lines = append(lines, fmt.Sprintln(group.ID, len(group.Rules), group.UpdatedAt))
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
	defer env.waited(time.Now())
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

// waited notes how long a wait was that began at a time.
func (env *Environment) waited(began time.Time) {
	took := int64(time.Since(began))
	for longest := env.longest.Load(); took > longest && !env.longest.CompareAndSwap(longest, took); {
		longest = env.longest.Load()
	}
}

// LongestWait returns how long the longest wait was.
func (env *Environment) LongestWait() time.Duration { return time.Duration(env.longest.Load()) }

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
