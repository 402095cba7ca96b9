// Package cleanup removes the objects that a cluster has left in the cloud, for the verb cleanup. It
// needs no Kubernetes API.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Verb returns the verb garbage.
func Verb() cli.Verb {
	return cli.Verb{Name: "cleanup", Short: "Removes the objects of a deleted cluster from OpenStack", Command: func(p cli.Program) *cobra.Command {
		return newCommand(func(ctx context.Context, f *flags) error {
			f.options.Progress = func(text string) { fmt.Fprintln(p.Errs, screen.Printable(text)) }
			report, err := f.run(ctx, p)
			if err != nil {
				return err
			}
			return p.Finish(Report{report}, f.output)
		})
	}}
}

// flags are those of the command.
type flags struct {
	output                   cli.Output
	query                    garbage.Query
	cloudConfig, floatingIPs string
	podNetworks              []string
	yes, force               bool
	options                  garbage.Options
}

func newCommand(run func(context.Context, *flags) error) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use: "cleanup",
		Long: `Lists the load balancers, floating IPs, security groups and routes
that a cluster has left in its OpenStack project, and removes them with --yes.
It needs no Kubernetes API. Run it when the cluster, and its controllers, are gone:
it removes nothing while a member of a load balancer is a running server.

Exit codes: 0 nothing is left to remove, 1 an error, or it was interrupted, 3
objects were found and --yes was not given, 4 no object is certainly the
cluster's, but some that may be were kept, 5 no object in the project has the ID
or the name.`,
		Args: cli.NoArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := f.check(command.Flags().Changed); err != nil {
				return err
			}
			return run(command.Context(), &f)
		},
	}
	set := command.Flags()
	set.StringVar(&f.query.ClusterID, "cluster-id", "", "UID of the cluster's namespace kube-system, which is in the tags and descriptions of its objects.")
	set.StringVar(&f.query.ClusterName, "cluster-name", "", "The cluster's --cluster-name. It adds objects without a cluster ID, such as those of cloud-provider-openstack.")
	cli.AddCloudConfig(set, &f.cloudConfig)
	set.BoolVar(&f.yes, "yes", false, "Remove the objects. Without it, they are only listed.")
	set.BoolVar(&f.force, "force", false, "Do not check whether servers of the cluster still run. A controller that runs creates removed objects again, with other addresses.")
	f.output.AddTo(set)
	set.StringVar(&f.floatingIPs, "floating-ips", "attached", "Floating IPs to remove: attached, those on removed load balancers, or all, including unattached ones, which Services may have kept on purpose.")
	set.StringSliceVar(&f.podNetworks, "cluster-cidr", nil, "The cluster's pod networks. Routes to them, of the router that cloud.conf names, are the cluster's.")
	set.DurationVar(&f.options.Timeout, "timeout", garbage.DefaultTimeout, "Maximum time to wait for all load balancers.")
	return command
}

// isUID matches the UIDs of Kubernetes.
var isUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// check returns an error that names a flag with a wrong value. A given empty flag is assumed to be
// an unset shell variable.
func (f *flags) check(given func(string) bool) error {
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
		return errors.New("--cluster-id, --cluster-name or both must be set")
	case f.output.Check() != nil:
		return f.output.Check()
	case !slices.Contains([]string{"attached", "all"}, f.floatingIPs):
		return fmt.Errorf("--floating-ips is %q: allowed are attached and all", f.floatingIPs)
	case f.options.Timeout <= 0:
		return fmt.Errorf("--timeout is %v: it must be above zero", f.options.Timeout)
	}
	f.query.AllFloatingIPs = f.floatingIPs == "all"
	return nil
}

func (f *flags) run(ctx context.Context, p cli.Program) (*garbage.Report, error) {
	conf, err := p.ReadConfig(f.cloudConfig)
	if err != nil {
		return nil, err
	}
	if conf.Route.RouterID == "" && len(f.query.PodNetworks) > 0 {
		return nil, errors.New("--cluster-cidr has no effect without [Route] router-id in cloud.conf, the router of the routes")
	}
	session, err := p.SignIn(ctx, conf, false)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	f.options.Query, f.options.Remove, f.options.Neutron = f.query, f.yes, session.Neutron()
	f.options.RouterID = conf.Route.RouterID
	f.options.Cloud = garbage.Cloud{AuthURL: withoutUser(conf.Global.AuthURL), Project: session.ProjectID(), ProjectName: conf.Global.TenantName, Region: session.PinnedRegion()}
	f.options.Octavia = session.Octavia()
	if !f.force {
		f.options.Nova = session.Nova()
	}
	report, err := garbage.Run(ctx, f.options)
	if auth.IsNoOctavia(err) && (!conf.LoadBalancer.Enabled || driver.WithoutOctavia(conf.LoadBalancer.LBProvider)) {
		f.options.Octavia = nil
		report, err = garbage.Run(ctx, f.options)
	}
	return report, err
}

// withoutUser returns a URL without user and password, "" if it is invalid.
func withoutUser(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
}
