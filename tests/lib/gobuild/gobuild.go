// Package gobuild builds Go programs and reports the progress to users: for a build of more than a
// few seconds, it prints a line for each quarter. It imports only the standard library, because it
// builds everything else.
package gobuild

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// quiet is how long a build may take before it reports anything.
const quiet = 3 * time.Second

// stopGrace is what the compiler gets to end in after an interrupt.
const stopGrace = 10 * time.Second

// Program is one to build.
type Program struct {
	// Name is what reports and errors call it.
	Name string
	// Dir is in the program's module, Package the package's path as from there.
	Dir, Package string
	// LDFlags are further flags of the linker.
	LDFlags string
}

// Build builds the program at the target. However long it takes, it ends with its context
// only. An error has what the compiler printed, and leaves no file at the target.
//
// The flags are those of the container image. They are the same for all that this
// repository builds, so that what two programs share is compiled once.
func (p Program) Build(ctx context.Context, target string, logf func(format string, args ...any)) error {
	// go build does not write a file that is up to date.
	unfinished := fmt.Sprintf("%s.%d", target, os.Getpid())
	_ = os.Link(target, unfinished)
	defer func() { _ = os.Remove(unfinished) }()
	build := p.command(ctx, "build", "-v", "-buildvcs=false", "-ldflags", "-s -w "+p.LDFlags, "-o", unfinished, p.Package)
	var output output
	build.Stdout, build.Stderr = &output, &output

	stop := p.report(ctx, &output, logf)
	err := build.Run()
	stop(err)
	if err != nil {
		return fmt.Errorf("build %s: go build in %s: %w\n%s", p.Name, p.Dir, err, output.rest())
	}
	return os.Rename(unfinished, target)
}

func (p Program) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = p.Dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath -tags=grpcnotrace"))
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopGrace
	return command
}

// report reports the progress of a build until the returned function is called with the
// error that the build ended with.
func (p Program) report(ctx context.Context, output *output, logf func(string, ...any)) (stop func(error)) {
	ctx, cancel := context.WithCancel(ctx)
	start, ended := time.Now(), make(chan bool)
	go func() { ended <- p.follow(ctx, start, output, logf) }()
	return func(err error) {
		cancel()
		if reported := <-ended; reported && err == nil {
			logf("built %s in %v", p.Name, time.Since(start).Round(time.Second))
		}
	}
}

// follow reports until the context ends, and returns whether it has reported anything.
func (p Program) follow(ctx context.Context, start time.Time, output *output, logf func(string, ...any)) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(quiet):
	}
	logf("building %s", p.Name)
	var total atomic.Int64
	go func() { total.Store(p.packages(ctx)) }()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	meter := meter{}
	for {
		select {
		case <-ctx.Done():
			return true
		case <-ticker.C:
			now := progress{modules: output.modules.Load(), packages: output.packages.Load(), total: total.Load(), elapsed: time.Since(start)}
			if meter.due(now) {
				logf("building %s: %s", p.Name, now)
			}
		}
	}
}

// packages returns how many packages the program is made of, or 0 when that is not known.
func (p Program) packages(ctx context.Context) int64 {
	list, err := p.command(ctx, "list", "-deps", p.Package).Output()
	if err != nil {
		return 0
	}
	return int64(bytes.Count(list, []byte("\n")))
}
