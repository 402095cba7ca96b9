// Package virtual has a clock for everything that runs in one process. It stands
// still while anybody works and jumps to the next timer when all goroutines wait,
// so an hour of waiting takes no time and work takes none of the clock's.
package virtual

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock is the clock. Its methods may be called from many goroutines.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer // those that are running, in no order
	still  []chan struct{}

	stop chan struct{}
	done sync.WaitGroup
}

var (
	_ clock.WithTicker           = (*Clock)(nil)
	_ clock.WithDelayedExecution = (*Clock)(nil)
)

// New starts a clock. The caller closes it.
func New(now time.Time) *Clock {
	c := &Clock{now: now, stop: make(chan struct{})}
	c.done.Go(c.drive)
	return c
}

// Close lets the clock stand still for ever. No timer fires any more.
func (c *Clock) Close() {
	close(c.stop)
	c.done.Wait()
}

// Idle waits until all goroutines wait, and leaves the time as it is.
func (c *Clock) Idle() {
	reached := make(chan struct{})
	c.mu.Lock()
	c.still = append(c.still, reached)
	c.mu.Unlock()
	select {
	case <-reached:
	case <-c.stop:
	}
}

// drive moves the clock each time that all goroutines have waited for a while.
func (c *Clock) drive() {
	var work activity
	for {
		select {
		case <-c.stop:
			return
		default:
		}
		if work.none(fewLooks) && (!c.far() || work.none(manyLooks)) {
			c.step()
		}
	}
}

// A long jump that comes too early does the greater harm, and there are few.
const (
	fewLooks, manyLooks = 3, 150
	longJump            = 20 * time.Second
)

// far tells that the next timer is a long way off.
func (c *Clock) far() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.next()
	return next != nil && len(c.still) == 0 && next.due.Sub(c.now) > longJump
}

// next gives the timer that fires first, nil if there is none.
func (c *Clock) next() *timer {
	if len(c.timers) == 0 {
		return nil
	}
	return slices.MinFunc(c.timers, func(a, b *timer) int { return a.due.Compare(b.due) })
}

// step tells those that wait for this moment, or else goes to the next timer.
func (c *Clock) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.still) > 0 {
		for _, reached := range c.still {
			close(reached)
		}
		c.still = nil
		return
	}
	next := c.next()
	if next == nil {
		return
	}
	c.now = next.due
	for _, t := range slices.Clone(c.timers) {
		if !t.due.After(c.now) {
			c.fire(t)
		}
	}
}

func (c *Clock) fire(t *timer) {
	if t.period > 0 {
		t.due = t.due.Add(t.period)
	} else {
		c.remove(t)
	}
	t.act(c.now)
}

// remove tells whether the timer was running.
func (c *Clock) remove(t *timer) bool {
	i := slices.Index(c.timers, t)
	if i < 0 {
		return false
	}
	c.timers = slices.Delete(c.timers, i, i+1)
	return true
}

func (c *Clock) add(t *timer, d time.Duration) {
	t.due = c.now.Add(max(d, 0))
	c.timers = append(c.timers, t)
}

func (c *Clock) start(d, period time.Duration, act func(time.Time)) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, period: period, act: act}
	c.add(t, d)
	return t
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// NewTimer implements clock.Clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer { return c.notifying(d, 0) }

// NewTicker implements clock.WithTicker.
func (c *Clock) NewTicker(d time.Duration) clock.Ticker { return ticker{c.notifying(d, d)} }

// Tick implements clock.Clock.
func (c *Clock) Tick(d time.Duration) <-chan time.Time { return c.NewTicker(d).C() }

// After implements clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Sleep implements clock.Clock.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// AfterFunc implements clock.WithDelayedExecution: f runs in a goroutine of its own.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.start(d, 0, func(time.Time) { go f() })
}

func (c *Clock) notifying(d, period time.Duration) *timer {
	ch := make(chan time.Time, 1)
	t := c.start(d, period, func(now time.Time) {
		select {
		case ch <- now:
		default: // nobody took the last one: a ticker drops
		}
	})
	t.ch = ch
	return t
}

// timer is running while its clock has it.
type timer struct {
	clock  *Clock
	due    time.Time
	period time.Duration // 0: fires once
	act    func(now time.Time)
	ch     <-chan time.Time // nil for AfterFunc
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.ch }

// Stop implements clock.Timer.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.clock.remove(t)
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	ran := t.clock.remove(t)
	t.clock.add(t, d)
	return ran
}

type ticker struct{ *timer }

// Stop implements clock.Ticker.
func (t ticker) Stop() { t.timer.Stop() }
