// Package loglines records the log of a context.
package loglines

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// Line is a line of the log: its values by name, and its text as "msg".
type Line map[string]any

// Log has the log lines of a context.
type Log struct {
	mu    sync.Mutex
	lines []Line
}

// At returns a context and its log at a verbosity, which is that of --v.
func At(ctx context.Context, verbosity int) (context.Context, *Log) {
	log := &Log{}
	logger := funcr.NewJSON(log.write, funcr.Options{Verbosity: verbosity})
	return klog.NewContext(ctx, logger), log
}

func (l *Log) write(text string) {
	line := Line{}
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		line["msg"] = text
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// Take returns the lines since the last call.
func (l *Log) Take() []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.lines
	l.lines = nil
	return taken
}
