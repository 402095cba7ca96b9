package gobuild

import (
	"bytes"
	"fmt"
	"regexp"
	"sync/atomic"
	"time"
)

// mostSilence is how long a build reports nothing at most.
const mostSilence = time.Minute

// progress is the progress of a build. The total is an upper bound, because packages in Go's build
// cache are not compiled; it is 0 while it is unknown.
type progress struct {
	modules, packages, total int64
	elapsed                  time.Duration
}

func (p progress) String() string {
	elapsed := p.elapsed.Round(time.Second)
	switch {
	case p.packages == 0:
		return fmt.Sprintf("%d modules downloaded, %v", p.modules, elapsed)
	case p.total == 0:
		return fmt.Sprintf("%d packages compiled, %v", p.packages, elapsed)
	default:
		return fmt.Sprintf("%d %%, %d of %d packages compiled, %v", p.percent(), p.packages, p.total, elapsed)
	}
}

func (p progress) percent() int64 { return 100 * p.packages / max(p.packages, p.total, 1) }

// meter selects the progress to print.
type meter struct {
	quarter int64
	last    time.Duration
}

// due reports whether another quarter is done since the last line, or that one was long ago.
func (m *meter) due(p progress) bool {
	var quarter int64
	if p.total > 0 {
		quarter = p.percent() / 25
	}
	if quarter <= m.quarter && p.elapsed-m.last < mostSilence {
		return false
	}
	m.quarter, m.last = max(quarter, m.quarter), p.elapsed
	return true
}

// output counts what `go build -v` prints of its progress, and keeps the rest, which is
// what went wrong.
type output struct {
	modules, packages atomic.Int64
	partial, other    []byte
}

var packageLine = regexp.MustCompile(`^[A-Za-z0-9_.~/-]+$`)

func (o *output) Write(p []byte) (int, error) {
	o.partial = append(o.partial, p...)
	for {
		line, rest, whole := bytes.Cut(o.partial, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		o.partial = rest
		switch {
		case bytes.HasPrefix(line, []byte("go: downloading ")):
			o.modules.Add(1)
		case packageLine.Match(line):
			o.packages.Add(1)
		default:
			o.other = append(append(o.other, line...), '\n')
		}
	}
}

// rest may be called once the build has ended.
func (o *output) rest() string { return string(o.other) + string(o.partial) }
