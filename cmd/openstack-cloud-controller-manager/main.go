// Command openstack-cloud-controller-manager connects a Kubernetes cluster to the
// OpenStack that it runs on: Services of type LoadBalancer become Octavia load
// balancers, and nodes learn their addresses, flavor, zone and region.
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

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// shutdownPatience is how long calls may take to return once they were told to
// end, with those that create something in the cloud. It is below the 30 s that the
// kubelet gives a pod.
const shutdownPatience = 25 * time.Second

// errSignalled is the cause of an end that was asked for.
var errSignalled = errors.New("asked to stop by a signal")

func main() {
	os.Exit(run(os.Args[1:], os.LookupEnv, os.Stdout))
}

// run is the program: it gives the exit code.
func run(arguments []string, env config.Environment, out io.Writer) int {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	p := &process{ctx: ctx, stop: stop, env: env, build: thisBuild(), returned: make(chan struct{})}
	command, err := newCommand(p, out)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return 1
	}
	command.SetArgs(ownArguments(arguments))
	code := cli.Run(command)
	close(p.returned)
	if code != 0 {
		return code
	}
	p.finish()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSignalled) {
		klog.ErrorS(cause, "Stopped")
		klog.Flush()
		return 1
	}
	klog.Flush()
	return 0
}

// upstreamPatience is how long upstream may take to notice the end. It waits for an API
// server that is away without listening.
const upstreamPatience = 2 * time.Second

// stopOnSignal ends the process in order at the first SIGTERM or SIGINT, and at
// once at the second. It logs, and so begins after the log is set up; a signal before
// that ends the process as it is.
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
		case <-time.After(upstreamPatience):
			p.finish()
			klog.FlushAndExit(klog.ExitFlushTimeout, 0)
		}
	}()
}
