package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// silence is how long nothing may be printed: after that, the narrator says what
// is being waited for.
const silence = 1500 * time.Millisecond

// narrator prints lines with the time since the start. Its methods may be called
// by several goroutines.
type narrator struct {
	to    io.Writer
	begin time.Time
	ended chan struct{}

	mutex sync.Mutex
	// last is when something was printed last, doing what is going on.
	last  time.Time
	doing string
	since time.Time
}

func newNarrator(to io.Writer) *narrator {
	now := time.Now()
	n := &narrator{to: to, begin: now, last: now, since: now, ended: make(chan struct{})}
	go n.breakSilence()
	return n
}

// title begins a chapter.
func (n *narrator) title(text string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	fmt.Fprintln(n.to)
	n.line("== " + text)
	n.doing, n.since = text, time.Now()
}

// say tells something that happened.
func (n *narrator) say(format string, args ...any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.line("   " + fmt.Sprintf(format, args...))
}

// waitFor says, when silence falls, that this is being waited for.
func (n *narrator) waitFor(format string, args ...any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.doing, n.since = fmt.Sprintf(format, args...), time.Now()
}

// final is the last line. It has no time before it, so that it is easy to find.
func (n *narrator) final(format string, args ...any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	fmt.Fprintf(n.to, format+"\n", args...)
}

func (n *narrator) elapsed() time.Duration { return time.Since(n.begin) }

func (n *narrator) close() { close(n.ended) }

// line expects the mutex to be held.
func (n *narrator) line(text string) {
	n.last = time.Now()
	fmt.Fprintf(n.to, "%6.1fs %s\n", n.last.Sub(n.begin).Seconds(), text)
}

func (n *narrator) breakSilence() {
	ticker := time.NewTicker(silence / 10)
	defer ticker.Stop()
	for {
		select {
		case <-n.ended:
			return
		case <-ticker.C:
			n.fill()
		}
	}
}

func (n *narrator) fill() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if now := time.Now(); now.Sub(n.last) >= silence && n.doing != "" {
		n.line(fmt.Sprintf("   ... %s (%.0f s)", n.doing, now.Sub(n.since).Seconds()))
	}
}
