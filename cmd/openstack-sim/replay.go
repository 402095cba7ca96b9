package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/replay"
)

// errMismatches ends the program with an error; the mismatches have been printed.
var errMismatches = errors.New("some answers differ from the recorded ones")

// replayCommand compares the simulated Octavia with recorded answers of a real
// one, such as those in tests/simulator/replay/testdata.
func replayCommand() *cobra.Command {
	release := ""
	command := &cobra.Command{
		Use:   "replay --release RELEASE FILE...",
		Short: "Send recorded requests to the simulated Octavia and print where its answers differ",
		Long: "Send recorded requests to the simulated Octavia and print where its answers differ.\n\n" +
			"A FILE that ends in .json is an exchange with a whole control plane; those of one directory\n" +
			"follow one another. Any other is a sequence, one JSON object a line, for an API of its own.",
		Args:          cobra.MinimumNArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, files []string) error {
			result, err := replay.Files(release, files...)
			if err != nil {
				command.PrintErrln("Error:", err)
				return err
			}
			if err := result.Print(command.OutOrStdout()); err != nil {
				return err
			}
			if result.Failed > 0 {
				return errMismatches
			}
			return nil
		},
	}
	names := strings.Join(slices.Sorted(maps.Keys(octavia.Releases())), ", ")
	command.Flags().StringVar(&release, "release", "zed", "the release that was recorded: "+names)
	return command
}
