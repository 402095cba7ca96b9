package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/check"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// checkName is the argument that makes the program check cloud.conf.
const checkName = "check"

// checkFlags are those of the command.
type checkFlags struct {
	output  output
	options check.Options
	// tolerant takes warnings for good.
	tolerant bool
	// settings shows all settings too.
	settings bool
}

// runCheck runs the command and returns its exit code.
func runCheck(arguments []string, env config.Environment, out, errs io.Writer) int {
	return runVerb(arguments, out, errs, func(ctx context.Context, code *int) *cobra.Command {
		return newCheckCommand(func(f *checkFlags) error {
			f.options.Env, f.options.Clock, f.options.UserAgent = env, clock.RealClock{}, userAgent(thisBuild().version, nil)
			report := check.Run(ctx, f.options)
			if *code = report.ExitCode(); *code == check.ExitWarning && f.tolerant {
				*code = check.ExitGood
			}
			if f.output.json() {
				return report.WriteJSON(out)
			}
			return report.WriteText(screen.New(out, env), f.settings)
		})
	})
}

// newCheckCommand returns the command, which calls run with flags that are valid.
func newCheckCommand(run func(*checkFlags) error) *cobra.Command {
	var f checkFlags
	command := &cobra.Command{
		Use: programName + " " + checkName,
		Long: `Reads cloud.conf, signs in to the cloud that it names, and says what the
controller would make of both: every setting with its source (--settings, and in
JSON), what is wrong or has no effect, the services and their versions, where load balancers would be,
what is left of quotas, and what the user may do. It needs no Kubernetes, and
changes nothing.

Exit codes: 0 all is good, 1 nodes, load balancers or routes would not be
served, or a flag is wrong, 2 the controller runs, but something has no effect,
or not the one that is expected.`,
		Args:          noArguments,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			if err := f.output.check(); err != nil {
				return err
			}
			if f.options.Timeout <= 0 {
				return fmt.Errorf("--timeout is %v: it must be above zero", f.options.Timeout)
			}
			return run(&f)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.options.Path, "cloud-config", "", "Path of cloud.conf; without it, the OS_* environment variables are read.")
	flags.BoolVar(&f.options.Offline, "offline", false, "Ask no cloud: only cloud.conf, and the files that it names, are read.")
	flags.BoolVar(&f.options.ReadOnly, "read-only", false, "Send reads only. Without it, two requests to create something are sent that the services have to refuse, to see whether their policy would.")
	flags.DurationVar(&f.options.Timeout, "timeout", time.Minute, "How long all requests together may take.")
	flags.BoolVar(&f.tolerant, "tolerate-warnings", false, "Exit with 0 in place of 2, as an init container needs that is to let the controller start.")
	flags.BoolVar(&f.settings, "settings", false, "Print every setting with its source before the findings.")
	f.output.addTo(flags)
	return command
}
