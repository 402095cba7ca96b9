// Command demo shows the cloud controller manager from the creation of a load balancer to its
// deletion, on one machine and without privileges. Run it with `make demo`, or `go run
// ./tests/demo`.
//
// Every part is a separate process: a simulated OpenStack, a real Kubernetes control plane, the
// cloud controller manager with the flags and rights of manifests/static, and nodes. All of them
// end with the demo, even if it is killed. Its last line is "demo: OK" and a summary, or the reason
// of its failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

var errInterrupted = errors.New("interrupted")

func main() {
	var options options
	pflag.StringVar(&options.provider, "provider", "amphora", "Octavia provider: amphora or ovn")
	pflag.StringVar(&options.playground, "playground", "", "stop where the cluster works, write what a shell needs to use it into this directory, and stay")
	pflag.Parse()

	ctx, stop := interruptible(context.Background())
	defer stop()
	if err := run(ctx, options); err != nil {
		fmt.Printf("demo: %v\n", err)
		os.Exit(1)
	}
}

// interruptible returns a context that the first Ctrl-C or SIGTERM ends. Later
// ones do nothing: the processes are then being ended already.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE) // of a reader that Ctrl-C has ended first, such as tee
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

func run(ctx context.Context, options options) error {
	out := newNarrator(os.Stdout, isTerminal(os.Stdout))
	defer out.close()
	d := &demo{options: options, out: out}
	story := d.story()
	if options.playground != "" {
		story = d.playground()
	}
	d.intro(len(story))
	err := d.play(ctx, story)
	if err != nil && !errors.Is(err, errInterrupted) {
		d.showLogs()
	}
	out.say("ending every process")
	if stopErr := d.stop(); err == nil {
		err = stopErr
	}
	if d.open && errors.Is(err, errInterrupted) {
		out.final("playground: ended")
		return nil
	}
	if err == nil {
		out.final("demo: OK, in %.0f s: %s", out.elapsed().Seconds(), d.summary())
	}
	return err
}
