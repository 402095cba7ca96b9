package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// silence is the maximum time without output: after that, the narrator prints the current wait.
// Without a terminal it prints the next line after rarer times the wait so far.
const (
	silence = 1500 * time.Millisecond
	rarer   = 4
)

// clearLine goes back to the beginning of a terminal's line, and empties it.
const clearLine = "\r\x1b[K"

// narrator prints lines with the time since the start. Its methods may be called
// by several goroutines.
type narrator struct {
	to       io.Writer
	terminal bool
	begin    time.Time
	ended    chan struct{}

	mutex sync.Mutex
	// last is the time of the last output, doing the current wait, since its start, and due its
	// duration at the next output.
	last  time.Time
	doing string
	since time.Time
	due   time.Duration
	// open is whether the terminal's line is one that will be written over.
	open bool
}

// newNarrator returns a narrator that prints. On a terminal, the current wait is a line that is
// overwritten.
func newNarrator(to io.Writer, terminal bool) *narrator {
	now := time.Now()
	n := &narrator{to: to, terminal: terminal, begin: now, last: now, since: now, due: silence, ended: make(chan struct{})}
	go n.breakSilence()
	return n
}

// isTerminal reports whether a file is one.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// title begins a chapter.
func (n *narrator) title(format string, args ...any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	text := fmt.Sprintf(format, args...)
	n.clear()
	fmt.Fprintln(n.to)
	n.line("== " + text)
	n.wait(text)
}

// say prints a line about an event.
func (n *narrator) say(format string, args ...any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.line("   " + fmt.Sprintf(format, args...))
}

// waitFor sets the current wait; empty means none.
func (n *narrator) waitFor(format string, args ...any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.wait(fmt.Sprintf(format, args...))
}

// wait expects the mutex to be held, as the functions below do.
func (n *narrator) wait(doing string) { n.doing, n.since, n.due = doing, time.Now(), silence }

// final is the last line. It has no time before it, so that it is easy to find.
func (n *narrator) final(format string, args ...any) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.clear()
	fmt.Fprintf(n.to, format+"\n", args...)
}

func (n *narrator) elapsed() time.Duration { return time.Since(n.begin) }

func (n *narrator) close() { close(n.ended) }

func (n *narrator) line(text string) {
	n.clear()
	n.last = time.Now()
	fmt.Fprintf(n.to, "%s %s\n", n.stamp(n.last), text)
}

func (n *narrator) stamp(now time.Time) string {
	return fmt.Sprintf("%6.1fs", now.Sub(n.begin).Seconds())
}

func (n *narrator) clear() {
	if n.open {
		fmt.Fprint(n.to, clearLine)
		n.open = false
	}
}

func (n *narrator) breakSilence() {
	ticker := time.NewTicker(silence / 10)
	defer ticker.Stop()
	for {
		select {
		case <-n.ended:
			return
		case now := <-ticker.C:
			n.fill(now)
		}
	}
}

// fill prints the current wait if it is due.
func (n *narrator) fill(now time.Time) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	waited := now.Sub(n.since)
	if n.doing == "" || now.Sub(n.last) < silence || waited < n.due {
		return
	}
	text := fmt.Sprintf("   ... %s (%.0f s)", n.doing, waited.Seconds())
	if n.terminal {
		fmt.Fprintf(n.to, "%s%s %s", clearLine, n.stamp(now), text)
		n.open = true
		return
	}
	n.line(text)
	n.due = rarer * waited
}
