// Command controlplane builds the test control plane and runs one until it is
// interrupted, to try things by hand:
//
//	go run ./tests/controlplane/cmd/controlplane
//	export KUBECONFIG=...   # it prints the path
//
// With --build it only builds, and with --kubectl, --kube-proxy, --helm, --helm-cli, --oldest and --upstream
// further programs: kubectl and kube-proxy of its release, what renders charts, Helm, the API
// server of the oldest release that is supported, and what only make e2e-upstream runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

func main() {
	buildOnly := flag.Bool("build", false, "only build")
	var further []builder
	for name, build := range map[string]builder{
		"kubectl":    controlplane.BuildKubectl,
		"kube-proxy": controlplane.BuildKubeProxy,
		"helm":       controlplane.BuildHelm,
		"helm-cli":   controlplane.BuildHelmCLI,
		"oldest":     controlplane.BuildOldestAPIServer,
		"upstream":   buildUpstream,
	} {
		flag.BoolFunc(name, "build this too, and print its path", func(string) error {
			further = append(further, build)
			return nil
		})
	}
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *buildOnly, further); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

// builder builds a program and returns its path.
type builder func(ctx context.Context, logf func(format string, args ...any)) (string, error)

func run(ctx context.Context, buildOnly bool, further []builder) error {
	programs, err := controlplane.Build(ctx, progress)
	if err != nil {
		return err
	}
	for _, build := range further {
		path, err := build(ctx, progress)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	if buildOnly {
		return nil
	}
	begin := time.Now()
	plane, err := controlplane.Start(ctx, controlplane.Options{Programs: programs, Logf: progress})
	if err != nil {
		return err
	}
	progress("started in %.1f s; logs in %s; Ctrl-C ends and removes it", time.Since(begin).Seconds(), plane.Dir())
	fmt.Printf("export KUBECONFIG='%s'\n", plane.AdminKubeconfig())
	<-ctx.Done()
	return plane.Stop()
}

func buildUpstream(ctx context.Context, logf func(string, ...any)) (string, error) {
	programs, err := controlplane.BuildUpstream(ctx, logf)
	return filepath.Dir(programs.Kubelet), err
}

// progress goes to standard error, so that standard output can be evaluated.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
