// Command openstack-sim is a simulated OpenStack in one process: Keystone, Nova, Neutron and
// Octavia on one loopback port, with load balancers that carry traffic. See
// docs/internals/simulator.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1) // cobra has printed the error
	}
}

func command() *cobra.Command {
	var chosen settings
	command := &cobra.Command{
		Use:          "openstack-sim",
		Short:        "A simulated OpenStack with load balancers that carry traffic",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := chosen.check(); err != nil {
				return err
			}
			return serve(command.Context(), chosen, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	chosen.addTo(command.Flags())
	command.AddCommand(replayCommand())
	return command
}
