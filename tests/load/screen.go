package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// screen prints lines. On a terminal, the condition of the present wait is a last line that is
// overwritten; elsewhere it is not printed.
type screen struct {
	to       io.Writer
	terminal bool

	mutex sync.Mutex
	open  bool // the last line will be overwritten
}

func newScreen(to io.Writer, terminal bool) *screen { return &screen{to: to, terminal: terminal} }

// isTerminal reports whether a file is one.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// clearLine goes back to the beginning of a terminal's line, and empties it.
const clearLine = "\r\x1b[K"

// mostWaiting is the maximum length of that line.
const mostWaiting = 100

// linef prints a line that stays.
func (s *screen) linef(format string, args ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.open {
		fmt.Fprint(s.to, clearLine)
		s.open = false
	}
	fmt.Fprintf(s.to, format+"\n", args...)
}

// waiting prints the condition of the present wait.
func (s *screen) waiting(text string) {
	if !s.terminal {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	fmt.Fprint(s.to, clearLine, text[:min(len(text), mostWaiting)])
	s.open = true
}
