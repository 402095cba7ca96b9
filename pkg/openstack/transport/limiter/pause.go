package limiter

import (
	"time"

	"k8s.io/utils/clock"
)

// pause grants no slots until a time, because the service requested it. A shorter pause does not
// end a longer one. The lock is held.
func (l *classLimiter) pause(until time.Time) {
	if !until.After(l.resumes) {
		return
	}
	if !l.paused() {
		l.metrics.throttled(l.class, reasonRetryAfter)
	}
	l.resumes = until
}

// paused reports whether a pause is in effect. The lock is held.
func (l *classLimiter) paused() bool {
	if !l.resumes.IsZero() && !l.clock.Now().Before(l.resumes) {
		l.resumes = time.Time{}
	}
	return !l.resumes.IsZero()
}

// pauseTimer is a waiter's view of a pause. Without a pause it never fires.
type pauseTimer struct {
	until time.Time
	timer clock.Timer
}

// startPause returns a timer for the current pause. If the pause has just ended, it dispatches
// itself, because no other waiter would.
func (l *classLimiter) startPause() pauseTimer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.paused() {
		l.dispatch()
		return pauseTimer{}
	}
	return pauseTimer{until: l.resumes, timer: l.clock.NewTimer(l.resumes.Sub(l.clock.Now()))}
}

func (p pauseTimer) over() <-chan time.Time {
	if p.timer == nil {
		return nil
	}
	return p.timer.C()
}

func (p pauseTimer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// endPause ends the pause of a timer, unless it was extended, and grants slots to the waiters.
func (l *classLimiter) endPause(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resumes.Equal(until) {
		l.resumes = time.Time{}
	}
	l.dispatch()
}
