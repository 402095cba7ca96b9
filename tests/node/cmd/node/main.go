// Command node runs one test node until it is interrupted. See package node.
package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/openstack-ccm/openstack-ccm/tests/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("node", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of a user who may register nodes and see Services and EndpointSlices")
	name := flags.String("name", "", "name of the Node, and of its server in OpenStack")
	address := flags.String("address", "", "address of the Node in 127.0.0.0/8, which it listens on")
	labels := flags.StringToString("label", nil, "labels of the Node, key=value")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *name == "" {
		return fmt.Errorf("--name is missing")
	}
	parsed, err := netip.ParseAddr(*address)
	if err != nil {
		return fmt.Errorf("--address: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	return node.Run(ctx, config, node.Options{Name: *name, Address: parsed, Labels: *labels, Logf: logf})
}

func logf(format string, args ...any) {
	fmt.Printf("%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}
