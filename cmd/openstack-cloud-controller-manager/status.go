package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// statusName is the argument that makes the program show what Services have.
const statusName = "status"

// statusFlags are those of the command.
type statusFlags struct {
	output                   output
	kubernetes               kubernetesFlags
	cloudConfig, clusterName string
	// services are NAME or NAMESPACE/NAME.
	services          []string
	watch             bool
	interval, timeout time.Duration
}

// runStatus runs the command and returns its exit code.
func runStatus(arguments []string, env config.Environment, out, errs io.Writer) int {
	return runVerb(arguments, out, errs, func(ctx context.Context, code *int) *cobra.Command {
		return newStatusCommand(func(f *statusFlags) (err error) {
			*code, err = f.run(ctx, env, out, screen.New(errs, env))
			return err
		})
	})
}

// newStatusCommand returns the command, which calls run with flags that are valid.
func newStatusCommand(run func(*statusFlags) error) *cobra.Command {
	var f statusFlags
	command := &cobra.Command{
		Use:   programName + " " + statusName + " [SERVICE...]",
		Short: "Shows what Services of type LoadBalancer have in OpenStack",
		Long: `Shows of Services of type LoadBalancer what they have in OpenStack, and what is
wrong with it. With names (NAME or NAMESPACE/NAME): the tree from the address down
to the members, security groups, traffic and the last error. Without: a line for
each Service of the namespace, or of all with -A. It works without the controller,
and only reads.

Exit codes: 0 all is good, 1 the status could not be read, or a flag is wrong,
2 something is degraded or pending, 3 something is in ERROR or refused.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(_ *cobra.Command, services []string) error {
			f.services = services
			if err := f.check(); err != nil {
				return err
			}
			return run(&f)
		},
	}
	flags := command.Flags()
	f.kubernetes.addTo(command)
	flags.StringVar(&f.cloudConfig, "cloud-config", "", "Path of cloud.conf; without it, the OS_* environment variables are read.")
	flags.StringVar(&f.clusterName, "cluster-name", "kubernetes", "That of the controller, by which load balancers are named.")
	flags.BoolVarP(&f.watch, "watch", "w", false, "Show the status again and again, until a signal ends it.")
	flags.DurationVar(&f.interval, "interval", 5*time.Second, "How long --watch waits in between.")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "How long one reading may take.")
	f.output.addTo(flags)
	return command
}

func (f *statusFlags) check() error {
	switch {
	case f.kubernetes.all && len(f.services) > 0:
		return errors.New("--all-namespaces lists Services, and takes no names: give NAMESPACE/NAME")
	case f.interval < time.Second:
		return fmt.Errorf("--interval is %v: it must be a second at least", f.interval)
	case f.timeout <= 0:
		return fmt.Errorf("--timeout is %v: it must be above zero", f.timeout)
	}
	return f.output.check()
}

// run reads the status, as often as it is asked for, and returns the exit code of the last
// reading.
func (f *statusFlags) run(ctx context.Context, env config.Environment, out io.Writer, errs *screen.Screen) (int, error) {
	reached, err := f.kubernetes.config()
	if err != nil {
		return exitError, err
	}
	namespace, err := f.kubernetes.namespace()
	if err != nil {
		return exitError, err
	}
	client, err := readOnlyClient(reached, userAgent(thisBuild().version, nil))
	if err != nil {
		return exitError, err
	}
	session, conf, err := f.signIn(ctx, env, errs)
	if err != nil {
		return exitError, err
	}
	defer session.Close()
	reader, err := status.New(status.Options{
		Config: conf, Session: session, Kubernetes: client, ClusterName: f.clusterName, Clock: clock.RealClock{}, Progress: errs.Progress,
	})
	if err != nil {
		return exitError, err
	}
	query := status.Query{Namespace: namespace, Services: f.services}
	read := func() (*status.Report, error) {
		defer errs.Progress("")
		limited, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		return reader.Read(limited, query)
	}
	shown := func(report *status.Report, to *screen.Screen) error {
		if f.output.json() {
			return report.WriteJSON(out)
		}
		return report.WriteText(to)
	}
	if f.watch {
		return f.follow(ctx, read, shown, screen.New(out, env))
	}
	report, err := read()
	if err != nil {
		return exitError, err
	}
	return report.ExitCode(), shown(report, screen.New(out, env))
}

// follow shows readings until the context ends. One that fails is told of, and does not end it,
// unless it is the first.
func (f *statusFlags) follow(ctx context.Context, read func() (*status.Report, error), shown func(*status.Report, *screen.Screen) error, to *screen.Screen) (int, error) {
	code := exitError
	for first := true; ; first = false {
		report, err := read()
		switch {
		case ctx.Err() != nil:
			return code, nil //nolint:nilerr // it is the user who has ended it
		case err != nil && first:
			return exitError, err
		case err != nil:
			code = exitError
			to.Line(screen.Cell{Text: "Error: " + err.Error(), Color: screen.Red})
		default:
			code = report.ExitCode()
			if !f.output.json() {
				to.Clear()
				to.Line(screen.Cell{Text: report.At.Local().Format(time.TimeOnly), Color: screen.Dim})
			}
			if err := shown(report, to); err != nil {
				return exitError, err
			}
		}
		select {
		case <-ctx.Done():
			return code, nil
		case <-time.After(f.interval):
		}
	}
}

// signIn reads cloud.conf and signs in to the cloud that it names.
func (f *statusFlags) signIn(ctx context.Context, env config.Environment, errs *screen.Screen) (*openstack.Session, *config.Config, error) {
	errs.Progress("Signing in")
	defer errs.Progress("")
	conf, _, err := config.LoadFile(f.cloudConfig, env)
	if err != nil {
		return nil, nil, err
	}
	options, err := cloudprovider.SessionOptions(conf, userAgent(thisBuild().version, nil))
	if err != nil {
		return nil, nil, err
	}
	options.ReadOnly = true
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, klog.Logger{}), f.timeout)
	defer cancel()
	session, err := openstack.NewSession(ctx, conf.Global, options)
	return session, conf, err
}
