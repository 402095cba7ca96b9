package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Verb returns the verb status.
func Verb() cli.Verb {
	return cli.Verb{Name: "status", Short: "Shows the load balancers of Services", Command: func(p cli.Program) *cobra.Command {
		return newCommand(p, func(ctx context.Context, f *flags) error { return f.run(ctx, p) })
	}}
}

// flags are those of the command.
type flags struct {
	output                   cli.Output
	kubernetes               cli.Kubernetes
	cloudConfig, clusterName string
	// services are NAME or NAMESPACE/NAME.
	services          []string
	watch             bool
	interval, timeout time.Duration
}

func newCommand(p cli.Program, run func(context.Context, *flags) error) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use: "status [SERVICE...]",
		Long: `Shows the load balancers of Services and their problems. With names (NAME or
NAMESPACE/NAME): the tree from the address down to the members, security groups,
traffic and the last error. Without: a line for each Service of the namespace, or
of all with -A. It works without the controller, and never writes.

Exit codes: 0 all is good, 1 the status could not be read, or a flag is wrong,
2 something is degraded or pending, 3 something is in ERROR or refused.`,
		RunE: func(command *cobra.Command, services []string) error {
			f.services = services
			if err := f.check(); err != nil {
				return err
			}
			return run(command.Context(), &f)
		},
	}
	set := command.Flags()
	f.kubernetes.AddTo(command, p)
	cli.AddCloudConfig(set, &f.cloudConfig)
	set.StringVar(&f.clusterName, "cluster-name", "kubernetes", "The controller's --cluster-name, which is in the names of load balancers.")
	set.BoolVarP(&f.watch, "watch", "w", false, "Show the status repeatedly, until a signal ends it.")
	set.DurationVar(&f.interval, "interval", 5*time.Second, "Time between two readings of --watch.")
	set.DurationVar(&f.timeout, "timeout", time.Minute, "Maximum time of one reading.")
	f.output.AddTo(set)
	return command
}

func (f *flags) check() error {
	switch {
	case f.kubernetes.All && len(f.services) > 0:
		return errors.New("--all-namespaces lists Services, and takes no names: give NAMESPACE/NAME")
	case f.interval < time.Second:
		return fmt.Errorf("--interval is %v: it must be at least one second", f.interval)
	case f.timeout <= 0:
		return fmt.Errorf("--timeout is %v: it must be above zero", f.timeout)
	}
	return f.output.Check()
}

// run reads the status, once or until a signal ends it, and returns the exit code of the last
// reading.
func (f *flags) run(ctx context.Context, p cli.Program) error {
	client, err := f.kubernetes.ReadOnlyClient()
	if err != nil {
		return err
	}
	namespace, err := f.kubernetes.Namespace()
	if err != nil {
		return err
	}
	reader, end, err := Connect(ctx, p, Connection{CloudConfig: f.cloudConfig, ClusterName: f.clusterName, Client: client, Timeout: f.timeout})
	if err != nil {
		return err
	}
	defer end()
	read := func() (*Report, error) {
		limited, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		return reader.Read(limited, Query{Namespace: namespace, Services: f.services})
	}
	if f.watch {
		return f.follow(ctx, read, p)
	}
	report, err := read()
	if err != nil {
		return err
	}
	return p.Finish(report, f.output)
}

// follow shows readings until the context ends, and returns the exit code of the last one. It
// continues after a reading that fails, unless it is the first.
func (f *flags) follow(ctx context.Context, read func() (*Report, error), p cli.Program) error {
	to := screen.New(p.Out, p.Env)
	code := cli.Exit(cli.ExitError)
	for first := true; ; first = false {
		report, err := read()
		switch {
		case ctx.Err() != nil:
			return code
		case err != nil && first:
			return err
		case err != nil:
			code = cli.ExitError
			to.Line(screen.Cell{Text: "Error: " + err.Error(), Color: screen.Red})
		default:
			code = cli.Exit(report.ExitCode())
			if !f.output.JSON() {
				to.Clear()
				to.Line(screen.Cell{Text: report.At.Local().Format(time.TimeOnly), Color: screen.Dim})
			}
			if err := p.Write(report, f.output); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return code
		case <-time.After(f.interval):
		}
	}
}

// Connection has the arguments of Connect.
type Connection struct {
	// CloudConfig is the path of cloud.conf, "" for the environment alone.
	CloudConfig, ClusterName string
	Client                   kubernetes.Interface
	// Timeout bounds the sign-in.
	Timeout time.Duration
}

// Connect reads cloud.conf, signs in for reads only, and returns a Reader that shows its progress.
// The caller calls end.
func Connect(ctx context.Context, p cli.Program, c Connection) (reader *Reader, end func(), err error) {
	errs := screen.New(p.Errs, p.Env)
	errs.Progress("Signing in")
	defer errs.Progress("")
	conf, _, err := config.LoadFile(c.CloudConfig, p.Env)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, klog.Logger{}), c.Timeout)
	defer cancel()
	session, err := p.SignIn(ctx, conf, true)
	if err != nil {
		return nil, nil, err
	}
	reader, err = New(Options{
		Config: conf, Session: session, Kubernetes: c.Client, ClusterName: c.ClusterName, Clock: clock.RealClock{}, Progress: errs.Progress,
	})
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return reader, session.Close, nil
}
