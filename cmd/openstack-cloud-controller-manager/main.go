package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	componentcli "k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// shutdownTimeout is how long running calls may take after the beginning of the shutdown, including
// those that create cloud objects. It is below the 30 s of the kubelet.
const shutdownTimeout = 25 * time.Second

// errSignalled is the cause of a shutdown by a signal.
var errSignalled = errors.New("asked to stop by a signal")

func main() {
	if arguments, is := cli.PluginArguments(os.Args[0], os.Args[1:]); is {
		os.Exit(verbs().RunPlugin(program(os.LookupEnv, os.Stdout, os.Stderr), arguments, thisBuild()))
	}
	os.Exit(run(os.Args[1:], os.LookupEnv, os.Stdout))
}

// run runs the program and returns its exit code.
func run(arguments []string, env config.Environment, out io.Writer) int {
	arguments = ownArguments(arguments)
	if len(arguments) > 0 {
		if v, is := verbs().Find(arguments[0]); is {
			return v.Run(program(env, out, os.Stderr), arguments[1:])
		}
	}
	if word, is := cli.VerbIn(arguments); is {
		fmt.Fprintf(os.Stderr, "Error: %v; without a verb the controller starts, which takes only flags\n", verbs().UnknownVerb(word, programName))
		return cli.ExitError
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	p := &process{ctx: ctx, stop: stop, env: env, build: thisBuild(), returned: make(chan struct{})}
	command, err := newCommand(p, out)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return 1
	}
	command.SetArgs(arguments)
	code := componentcli.Run(command)
	close(p.returned)
	if code != 0 {
		return code
	}
	p.shutdown()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSignalled) {
		klog.ErrorS(cause, "Stopped")
		klog.Flush()
		return 1
	}
	klog.Flush()
	return 0
}

// managerStopTimeout is how long the controller manager of k8s.io/cloud-provider may take to stop.
// It ignores its context while it waits for an unavailable API server.
const managerStopTimeout = 2 * time.Second

// stopOnSignal shuts the process down gracefully at the first SIGTERM or SIGINT, and ends it
// immediately at the second. It logs, and must be called after logging is set up; an earlier signal
// ends the process immediately.
func (p *process) stopOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		select {
		case received := <-signals:
			klog.InfoS("Stopping", "signal", received.String())
			signal.Stop(signals)
			p.stop(errSignalled)
		case <-p.ctx.Done():
			signal.Stop(signals)
			return
		}
		select {
		case <-p.returned:
		case <-time.After(managerStopTimeout):
			p.shutdown()
			klog.FlushAndExit(klog.ExitFlushTimeout, 0)
		}
	}()
}
