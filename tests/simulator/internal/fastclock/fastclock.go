// Package fastclock is a clock that runs faster than another one, so that minutes in the simulated
// cloud take milliseconds of a test.
package fastclock

import (
	"time"

	"k8s.io/utils/clock"
)

// Clock runs speed times as fast as its base. It agrees with the base at the
// moment it was made.
type Clock struct {
	base  clock.WithDelayedExecution
	speed float64
	start time.Time
}

var _ clock.WithDelayedExecution = (*Clock)(nil)

// New returns a clock. A speed of 1, 0 or below is that of the base.
func New(base clock.WithDelayedExecution, speed float64) clock.WithDelayedExecution {
	if speed <= 0 || speed == 1 {
		return base
	}
	return &Clock{base: base, speed: speed, start: base.Now()}
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time {
	return c.start.Add(time.Duration(float64(c.base.Since(c.start)) * c.speed))
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(then time.Time) time.Duration { return c.Now().Sub(then) }

// After implements clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Sleep implements clock.Clock.
func (c *Clock) Sleep(d time.Duration) { c.base.Sleep(c.real(d)) }

// Tick implements clock.Clock.
func (c *Clock) Tick(d time.Duration) <-chan time.Time {
	return c.base.Tick(max(c.real(d), 1))
}

// NewTimer implements clock.Clock. The channel sends the time of the base clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	return &timer{Timer: c.base.NewTimer(c.real(d)), clock: c}
}

// AfterFunc implements clock.WithDelayedExecution.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return &timer{Timer: c.base.AfterFunc(c.real(d), f), clock: c}
}

// real is how long something takes by the base. It is rounded up: a timer must
// not fire before its time by this clock.
func (c *Clock) real(d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	return time.Duration(float64(d)/c.speed) + 1
}

// timer is one of the base that is set again by this clock.
type timer struct {
	clock.Timer
	clock *Clock
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool { return t.Timer.Reset(t.clock.real(d)) }
