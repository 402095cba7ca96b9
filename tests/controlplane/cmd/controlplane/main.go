// Command controlplane builds the test control plane and runs one until it is
// interrupted, to try things by hand:
//
//	go run ./tests/controlplane/cmd/controlplane
//	export KUBECONFIG=...   # it prints the path
//
// With --build it only builds, with --kube-proxy also the kube-proxy of its release.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

func main() {
	buildOnly := flag.Bool("build", false, "only build the binary, and print its path")
	kubeProxy := flag.Bool("kube-proxy", false, "build kube-proxy too, and print its path")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *buildOnly, *kubeProxy); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, buildOnly, kubeProxy bool) error {
	binary, err := controlplane.Build(ctx, progress)
	if err != nil {
		return err
	}
	if kubeProxy {
		program, err := controlplane.BuildKubeProxy(ctx, progress)
		if err != nil {
			return err
		}
		fmt.Println(program)
	}
	if buildOnly {
		fmt.Println(binary)
		return nil
	}
	begin := time.Now()
	plane, err := controlplane.Start(ctx, controlplane.Options{Binary: binary, Logf: progress})
	if err != nil {
		return err
	}
	progress("started in %.1f s; logs in %s; Ctrl-C ends and removes it", time.Since(begin).Seconds(), plane.Dir())
	fmt.Printf("export KUBECONFIG='%s'\nalias kubectl='%s kubectl'\n", plane.AdminKubeconfig(), plane.Binary())
	<-ctx.Done()
	return plane.Stop()
}

// progress goes to standard error, so that standard output can be evaluated.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
