package check

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestCheck_RefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for says, arguments := range map[string][]string{
		`--output is "yaml": allowed are text and json`:                                                       {"-o", "yaml"},
		"--timeout is 0s: it must be above zero":                                                              {"--timeout=0"},
		`"cloud.conf": the verb takes no arguments, only flags; a configuration is --cloud-config=cloud.conf`: {"cloud.conf"},
		"unknown flag: --online":                                                                              {"--online"},
	} {
		command := newCommand(func(*cobra.Command, *flags) error {
			t.Errorf("%q: it runs", arguments)
			return nil
		})
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetArgs(arguments)
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", arguments, err, says)
		}
	}
}
