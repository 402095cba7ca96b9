package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// planName is the argument that makes the program say what the controller would do.
const planName = "plan"

// planAtATime is how many Services are looked at at a time: what they read is bounded by [Limits].
const planAtATime = 100

// planFlags are those of the command.
type planFlags struct {
	output                   output
	kubernetes               kubernetesFlags
	cloudConfig, clusterName string
	query                    plan.Query
	file                     string
	nodes                    plan.NodeChange
	timeout                  time.Duration
	// target is the controller that is to serve the cluster; "" means this one.
	target string
}

// runPlan runs the command and returns its exit code.
func runPlan(arguments []string, env config.Environment, out, errs io.Writer) int {
	return runVerb(arguments, out, errs, func(ctx context.Context, code *int) *cobra.Command {
		return newPlanCommand(func(f *planFlags) error {
			var report planReport
			var err error
			if f.target != "" {
				report, err = f.goBack(ctx, env, screen.New(errs, env))
			} else {
				report, err = f.run(ctx, env)
			}
			if err != nil {
				return err
			}
			*code = report.ExitCode()
			if f.output.json() {
				return report.WriteJSON(out)
			}
			return report.WriteText(screen.New(out, env))
		})
	})
}

// planReport is what the command writes.
type planReport interface {
	ExitCode() int
	WriteJSON(out io.Writer) error
	WriteText(out *screen.Screen) error
}

// newPlanCommand returns the command, which calls run with flags that are valid.
func newPlanCommand(run func(*planFlags) error) *cobra.Command {
	var f planFlags
	command := &cobra.Command{
		Use:   programName + " " + planName + " [SERVICE… | --all | -f FILE]",
		Short: "Says what the controller would do for Services",
		Long: `Says for each Service what the controller would do now: the steps in their
order, what is refused and why, what has no effect, what becomes of the address
and of traffic, and how many writes and load balancer changes it takes. It goes
by the code of the controller, and changes nothing, neither in Kubernetes nor in
OpenStack.

SERVICE is a name, or NAMESPACE/NAME. Without one, it is about all Services of
the namespace that the controller serves.

Exit codes: 0 nothing is to be done, 1 it could not be found out, or a flag is
wrong, 2 something would change, 3 a Service is refused.

With --for=cloud-provider-openstack it lists instead what that does not have or
does otherwise, and what to do before going back to it: 0 nothing, 2 something.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(_ *cobra.Command, names []string) error {
			f.query.Names, f.query.All = names, f.kubernetes.all
			if err := f.check(); err != nil {
				return err
			}
			return run(&f)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.cloudConfig, "cloud-config", "", "Path of cloud.conf; without it, the OS_* environment variables are read.")
	flags.StringVar(&f.clusterName, "cluster-name", "kubernetes", "The controller's --cluster-name.")
	f.kubernetes.addTo(command)
	flags.BoolVar(&f.kubernetes.all, "all", false, "The same as --all-namespaces.")
	flags.StringVarP(&f.file, "filename", "f", "", "Manifests, - for standard input: what would be done once their Services are applied.")
	flags.StringSliceVar(&f.nodes.Without, "without-nodes", nil, "Names of nodes that are taken to be gone.")
	flags.StringSliceVar(&f.nodes.With, "with-nodes", nil, "Nodes that are taken to be there: the name of one that load balancers leave out at present, or NAME=ADDRESS of one that does not exist yet.")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "How long is waited for one Service, as for a load balancer that is PENDING.")
	flags.StringVar(&f.target, "for", "", "The controller that is to serve the cluster next: cloud-provider-openstack.")
	f.output.addTo(flags)
	return command
}

// check returns an error that names a flag with a wrong value.
func (f *planFlags) check() error {
	asked := 0
	for _, given := range []bool{len(f.query.Names) > 0, f.query.All, f.file != ""} {
		if given {
			asked++
		}
	}
	switch {
	case f.target != "" && f.target != predecessor:
		return fmt.Errorf("--for is %q: allowed is %s", f.target, predecessor)
	case f.target != "" && (len(f.query.Names) > 0 || f.file != "" || len(f.nodes.Without)+len(f.nodes.With) > 0):
		return errors.New("--for looks at all Services of a namespace, or of all with --all, and takes no names, files and nodes")
	case asked > 1:
		return errors.New("give either names of Services, --all or --filename")
	case f.clusterName == "":
		return errors.New("--cluster-name is empty")
	case f.timeout <= 0:
		return fmt.Errorf("--timeout is %v: it must be above zero", f.timeout)
	}
	return f.output.check()
}

// run reads cloud.conf, signs in, and asks the engine of the controller.
func (f *planFlags) run(ctx context.Context, env config.Environment) (*plan.Report, error) {
	conf, warnings, err := config.LoadFile(f.cloudConfig, env)
	for _, warning := range warnings {
		klog.Warning(warning)
	}
	if err != nil {
		return nil, err
	}
	if !conf.LoadBalancer.Enabled {
		return nil, errors.New("cloud.conf says [LoadBalancer] enabled=false: Services of type LoadBalancer are left alone")
	}
	if f.file != "" && f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, fmt.Errorf("--filename: %w", err)
		}
		defer file.Close()
		f.query.File = file
	} else if f.file == "-" {
		f.query.File = os.Stdin
	}
	reached, err := f.kubernetes.config()
	if err != nil {
		return nil, err
	}
	if f.query.Namespace, err = f.kubernetes.namespace(); err != nil {
		return nil, err
	}
	f.query.Enforced = f.kubernetes.namespaceGiven()
	agent := userAgent(thisBuild().version, nil)
	client, err := readOnlyClient(reached, agent)
	if err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(klog.NewContext(ctx, klog.Logger{}), f.timeout)
	defer cancel()
	if err := mayPlan(starting, client); err != nil {
		return nil, err
	}
	engine, end, err := cloudprovider.Rehearse(starting, cloudprovider.Connection{
		Config: conf, UserAgent: agent, Client: client, ClusterName: f.clusterName, Clock: clock.RealClock{},
	})
	if err != nil {
		return nil, err
	}
	defer end()
	return plan.Run(ctx, plan.Options{
		Client: client, Engine: engine, Query: f.query, Nodes: f.nodes, Patience: f.timeout, AtATime: planAtATime,
	})
}

// mayPlan returns an error where the user may not read what identifies the cluster, by which load
// balancers are found.
func mayPlan(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("this user may not read namespace %s, whose UID identifies the cluster: grant the rights that docs/plan.md lists (%w)", metav1.NamespaceSystem, err)
	}
	return nil // any other error is met again, and tried again
}
