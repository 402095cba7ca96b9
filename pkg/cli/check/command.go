package check

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
)

// Verb returns the verb check.
func Verb() cli.Verb {
	return cli.Verb{Name: "check", Short: "Checks a cloud.conf and its cloud", Command: func(p cli.Program) *cobra.Command {
		return newCommand(func(command *cobra.Command, f *flags) error { return f.run(command, p) })
	}}
}

// flags are those of the command.
type flags struct {
	output  cli.Output
	options Options
	// tolerant replaces the exit code of warnings with that of success.
	tolerant bool
	// settings shows all settings too.
	settings bool
}

func newCommand(run func(*cobra.Command, *flags) error) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use: "check",
		Long: `Reads cloud.conf, signs in to the cloud that it names, and reports how the
controller would use both: every setting with its source (--settings, and in
JSON), settings that are wrong or have no effect, the services and their versions,
the networks of load balancers, quotas, and rights. It needs no Kubernetes, and
changes nothing.

Exit codes: 0 all is good, 1 nodes, load balancers or routes would not be
served, or a flag is wrong, 2 the controller runs, but something has no effect,
or an unexpected one.`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := f.output.Check(); err != nil {
				return err
			}
			if f.options.Timeout <= 0 {
				return fmt.Errorf("--timeout is %v: it must be above zero", f.options.Timeout)
			}
			return run(command, &f)
		},
	}
	f.addTo(command.Flags())
	return command
}

func (f *flags) addTo(set *pflag.FlagSet) {
	cli.AddCloudConfig(set, &f.options.Path)
	set.BoolVar(&f.options.Offline, "offline", false, "Read only cloud.conf and the files that it names, without requests to the cloud.")
	set.BoolVar(&f.options.ReadOnly, "read-only", false, "Send only reads. Without it, two invalid creations test the policies of the services.")
	set.DurationVar(&f.options.Timeout, "timeout", time.Minute, "Maximum time of all requests together.")
	set.BoolVar(&f.tolerant, "tolerate-warnings", false, "Exit with 0 instead of 2, so that an init container lets the controller start.")
	set.BoolVar(&f.settings, "settings", false, "Print every setting with its source before the findings.")
	f.output.AddTo(set)
}

func (f *flags) run(command *cobra.Command, p cli.Program) error {
	f.options.Env, f.options.Clock, f.options.UserAgent = p.Env, clock.RealClock{}, p.UserAgent
	report := Run(command.Context(), f.options)
	report.ShowsSettings = f.settings
	if err := p.Write(report, f.output); err != nil {
		return err
	}
	if code := report.ExitCode(); code != ExitWarning || !f.tolerant {
		return cli.Exit(code)
	}
	return nil
}
