package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/cleanup"
	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// cleanupName is the argument that makes the program clean up.
const cleanupName = "cleanup"

// cleanupFlags are those of the command.
type cleanupFlags struct {
	output                   output
	query                    cleanup.Query
	cloudConfig, floatingIPs string
	podNetworks              []string
	yes, force               bool
	options                  cleanup.Options
}

// runCleanup runs the command and returns its exit code.
func runCleanup(arguments []string, env config.Environment, out, errs io.Writer) int {
	return runVerb(arguments, out, errs, func(ctx context.Context, code *int) *cobra.Command {
		return newCleanupCommand(func(f *cleanupFlags) error {
			f.options.Progress = func(text string) { fmt.Fprintln(errs, screen.Printable(text)) }
			report, err := f.run(ctx, env)
			if err != nil {
				return err
			}
			*code = report.ExitCode()
			if f.output.json() {
				return report.WriteJSON(out)
			}
			return report.WriteText(out)
		})
	})
}

// newCleanupCommand returns the command, which calls run with flags that are valid.
func newCleanupCommand(run func(*cleanupFlags) error) *cobra.Command {
	var f cleanupFlags
	command := &cobra.Command{
		Use: programName + " " + cleanupName,
		Long: `Lists the load balancers, floating IPs, security groups and routes
that a cluster has left in its OpenStack project, and removes them with --yes.
It needs no Kubernetes API. Run it when the cluster, and its controllers, are gone:
it leaves everything alone while a member of a load balancer is a server that runs.

Exit codes: 0 nothing is left to be removed, 1 an error, or it was interrupted,
3 something was found and --yes was not given, 4 nothing is left for sure, but
something that may be the cluster's was left alone, 5 nothing in the project
carries the ID or the name.`,
		Args:          noArguments,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := f.check(command.Flags().Changed); err != nil {
				return err
			}
			return run(&f)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.query.ClusterID, "cluster-id", "", "UID of the cluster's namespace kube-system, which tags and descriptions of what was created for it hold.")
	flags.StringVar(&f.query.ClusterName, "cluster-name", "", "The cluster's --cluster-name. It adds what carries no cluster ID, such as what cloud-provider-openstack has created.")
	flags.StringVar(&f.cloudConfig, "cloud-config", "", "Path of cloud.conf; without it, the OS_* environment variables are read.")
	flags.BoolVar(&f.yes, "yes", false, "Remove what is found. Without it, it is only listed.")
	flags.BoolVar(&f.force, "force", false, "Do not look whether servers of the cluster still run. A controller that is there makes anew what is removed, with other addresses.")
	f.output.addTo(flags)
	flags.StringVar(&f.floatingIPs, "floating-ips", "attached", "Floating IPs to remove: attached, those on load balancers that are removed, or all, also those that are on none, as Services may have asked to keep them.")
	flags.StringSliceVar(&f.podNetworks, "cluster-cidr", nil, "The cluster's pod networks. Routes to them, of the router that cloud.conf names, are the cluster's.")
	flags.DurationVar(&f.options.Timeout, "timeout", cleanup.DefaultTimeout, "How long to wait for load balancers, altogether.")
	return command
}

// isUID matches the UIDs of Kubernetes.
var isUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// check returns an error that names a flag with a wrong value. A flag that is given and
// empty is a shell variable without a value.
func (f *cleanupFlags) check(given func(string) bool) error {
	for name, value := range map[string]string{"cluster-id": f.query.ClusterID, "cluster-name": f.query.ClusterName} {
		if given(name) && value == "" {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	if id := f.query.ClusterID; id != "" && !isUID.MatchString(id) {
		return fmt.Errorf("--cluster-id is %q: it must be the UID of a namespace, such as 5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", id)
	}
	if name := f.query.ClusterName; strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("--cluster-name is %q: it must not begin or end with a space, and have no control characters", name)
	}
	for _, text := range f.podNetworks {
		pods, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("--cluster-cidr: %w", err)
		}
		f.query.PodNetworks = append(f.query.PodNetworks, pods.Masked())
	}
	switch {
	case f.query.ClusterID == "" && f.query.ClusterName == "":
		return errors.New("--cluster-id, --cluster-name or both must say which cluster")
	case f.output.check() != nil:
		return f.output.check()
	case !slices.Contains([]string{"attached", "all"}, f.floatingIPs):
		return fmt.Errorf("--floating-ips is %q: allowed are attached and all", f.floatingIPs)
	case f.options.Timeout <= 0:
		return fmt.Errorf("--timeout is %v: it must be above zero", f.options.Timeout)
	}
	f.query.AllFloatingIPs = f.floatingIPs == "all"
	return nil
}

// run reads cloud.conf, signs in and cleans up.
func (f *cleanupFlags) run(ctx context.Context, env config.Environment) (*cleanup.Report, error) {
	conf, warnings, err := config.LoadFile(f.cloudConfig, env)
	for _, warning := range warnings {
		klog.Warning(warning)
	}
	if err != nil {
		return nil, err
	}
	if conf.Route.RouterID == "" && len(f.query.PodNetworks) > 0 {
		return nil, errors.New("--cluster-cidr has no effect without [Route] router-id in cloud.conf, the router of the routes")
	}
	options, err := cloudprovider.SessionOptions(conf, userAgent(thisBuild().version, nil))
	if err != nil {
		return nil, err
	}
	session, err := openstack.NewSession(ctx, conf.Global, options)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	f.options.Query, f.options.Remove, f.options.Neutron = f.query, f.yes, session.Neutron()
	f.options.RouterID = conf.Route.RouterID
	f.options.Cloud = cleanup.Cloud{AuthURL: withoutUser(conf.Global.AuthURL), Project: session.ProjectID(), ProjectName: conf.Global.TenantName, Region: session.PinnedRegion()}
	f.options.Octavia = session.Octavia()
	if !f.force {
		f.options.Nova = session.Nova()
	}
	report, err := cleanup.Run(ctx, f.options)
	var none auth.ErrNoEndpoint
	if errors.As(err, &none) && !conf.LoadBalancer.Enabled { // a cloud without Octavia
		f.options.Octavia = nil
		report, err = cleanup.Run(ctx, f.options)
	}
	return report, err
}

// withoutUser returns a URL without user and password, "" where it is none.
func withoutUser(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
}
