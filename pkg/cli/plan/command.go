package plan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
)

// atATime is the number of concurrent previews: the session limits their reads.
const atATime = 100

// Verb returns the verb plan.
func Verb() cli.Verb {
	return cli.Verb{Name: "plan", Short: "Previews the controller's changes for Services", Command: func(p cli.Program) *cobra.Command {
		return newCommand(p, func(ctx context.Context, f *flags) (err error) {
			var report cli.Report
			if f.target == "" {
				report, err = f.run(ctx, p)
			} else {
				report, err = f.goBack(ctx, p)
			}
			if err != nil {
				return err
			}
			return p.Finish(report, f.output)
		})
	}}
}

// flags are those of the command.
type flags struct {
	output                   cli.Output
	kubernetes               cli.Kubernetes
	cloudConfig, clusterName string
	query                    Query
	file                     string
	nodes                    NodeChange
	timeout                  time.Duration
	// target is the next controller of the cluster; "" means this one.
	target string
}

func newCommand(p cli.Program, run func(context.Context, *flags) error) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use: "plan [SERVICE… | --all | -f FILE]",
		Long: `Lists for each Service the changes that the controller would make now: the
steps in their order, refusals and their reasons, settings without effect, the
effect on the address and on traffic, and the number of writes and load balancer
changes. It runs the code of the controller, and changes nothing, neither in
Kubernetes nor in OpenStack.

SERVICE is a name, or NAMESPACE/NAME. Without one, it is about all Services of
the namespace that the controller serves.

Exit codes: 0 nothing would change, 1 the changes are not known, or a flag is
wrong, 2 something would change, 3 a Service is refused.

With --for=cloud-provider-openstack it lists instead the features that this does
not have or handles differently, and the steps before going back to it: 0 none,
2 some.`,
		RunE: func(command *cobra.Command, names []string) error {
			f.query.Names, f.query.All = names, f.kubernetes.All
			if err := f.check(); err != nil {
				return err
			}
			return run(command.Context(), &f)
		},
	}
	set := command.Flags()
	cli.AddCloudConfig(set, &f.cloudConfig)
	set.StringVar(&f.clusterName, "cluster-name", "kubernetes", "The controller's --cluster-name.")
	f.kubernetes.AddTo(command, p)
	set.BoolVar(&f.kubernetes.All, "all", false, "The same as --all-namespaces.")
	set.StringVarP(&f.file, "filename", "f", "", "Manifests, - for standard input: preview the state after their Services are applied.")
	set.StringSliceVar(&f.nodes.Without, "without-nodes", nil, "Names of nodes to preview as removed.")
	set.StringSliceVar(&f.nodes.With, "with-nodes", nil, "Nodes to preview as members: the name of one that load balancers exclude, or NAME=ADDRESS of a new one.")
	set.DurationVar(&f.timeout, "timeout", time.Minute, "Maximum time to wait for one Service, such as for a load balancer that is PENDING.")
	set.StringVar(&f.target, "for", "", "The next controller of the cluster: cloud-provider-openstack.")
	f.output.AddTo(set)
	return command
}

func (f *flags) check() error {
	asked := 0
	for _, given := range []bool{len(f.query.Names) > 0, f.query.All, f.file != ""} {
		if given {
			asked++
		}
	}
	switch {
	case f.target != "" && f.target != previousController:
		return fmt.Errorf("--for is %q: allowed is %s", f.target, previousController)
	case f.target != "" && (len(f.query.Names) > 0 || f.file != "" || len(f.nodes.Without)+len(f.nodes.With) > 0):
		return errors.New("--for covers all Services of a namespace, or of all with --all, and accepts no names, files and nodes")
	case asked > 1:
		return errors.New("give either names of Services, --all or --filename")
	case f.clusterName == "":
		return errors.New("--cluster-name is empty")
	case f.timeout <= 0:
		return fmt.Errorf("--timeout is %v: it must be above zero", f.timeout)
	}
	return f.output.Check()
}

// run reads cloud.conf, signs in, and previews with the engine of the controller.
func (f *flags) run(ctx context.Context, p cli.Program) (*Report, error) {
	conf, err := p.ReadConfig(f.cloudConfig)
	if err != nil {
		return nil, err
	}
	if !conf.LoadBalancer.Enabled {
		return nil, errors.New("cloud.conf has [LoadBalancer] enabled=false: Services of type LoadBalancer are ignored")
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
	client, err := f.kubernetes.ReadOnlyClient()
	if err != nil {
		return nil, err
	}
	if f.query.Namespace, err = f.kubernetes.Namespace(); err != nil {
		return nil, err
	}
	f.query.Enforced = f.kubernetes.NamespaceGiven()
	starting, cancel := context.WithTimeout(klog.NewContext(ctx, klog.Logger{}), f.timeout)
	defer cancel()
	if err := mayPlan(starting, client); err != nil {
		return nil, err
	}
	engine, end, err := cloudprovider.Rehearse(starting, cloudprovider.Connection{
		Config: conf, UserAgent: p.UserAgent, Client: client, ClusterName: f.clusterName, Clock: clock.RealClock{},
	})
	if err != nil {
		return nil, err
	}
	defer end()
	return Run(ctx, Options{Client: client, Engine: engine, Query: f.query, Nodes: f.nodes, Patience: f.timeout, AtATime: atATime})
}

// mayPlan returns an error if the user may not read the UID of the cluster, by which load balancers
// are found.
func mayPlan(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("this user may not read namespace %s, the UID of which identifies the cluster: grant the rights in docs/commands.md (%w)", metav1.NamespaceSystem, err)
	}
	return nil // any other error occurs again, and is retried
}
