package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	upstream "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/dryrun"
	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
)

const (
	programName = "openstack-cloud-controller-manager"

	// Nodes of a growing cluster arrive in groups; each costs one request.
	defaultNodeSyncs = 50

	// Hundreds of workers with an event and a status each need more of the API server
	// than the 20 requests a second of k8s.io/cloud-provider.
	defaultQPS, defaultBurst = 100, 200
)

// newCommand returns the command of k8s.io/cloud-provider with our defaults, flags and
// provider.
func newCommand(p *process, out io.Writer) (*cobra.Command, error) {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("create the default options: %w", err)
	}
	opts.KubeCloudShared.CloudProvider.Name = cloudprovider.Name
	opts.ServiceController.ConcurrentServiceSyncs = cloudprovider.DefaultServiceWorkers
	opts.NodeController.ConcurrentNodeSyncs = defaultNodeSyncs
	opts.Generic.ClientConnection.QPS, opts.Generic.ClientConnection.Burst = defaultQPS, defaultBurst

	var flags cliflag.NamedFlagSets
	flags.FlagSet("openstack").StringArrayVar(&p.userAgents, "user-agent", nil,
		"Text to add to the User-Agent of OpenStack requests. May be given several times.")
	flags.FlagSet("openstack").BoolVar(&p.podGates, "pod-readiness-gates", false,
		"Open the readiness gates of pods with the label "+gates.Label+"=true once their load balancers have followed them.")
	flags.FlagSet("openstack").StringVar(&p.tracing, tracingFlag, "",
		"File with a TracingConfiguration, as for kube-apiserver: spans of the work on Services are sent to its endpoint. By default, there are none.")
	flags.FlagSet("openstack").BoolVar(&p.dryRun.asked, "dry-run", false,
		"Write nothing to OpenStack, and to Kubernetes only a leader election lease with the suffix "+dryRunSuffix+
			", and report the changes to make: in the log, in metrics, and at "+dryrun.Path+". Runs next to the active controller.")
	opts.Authentication.WithCustomRoundTripper(p.dryRun.wrapReviews)
	opts.Authorization.WithCustomRoundTripper(p.dryRun.wrapReviews)

	command := app.NewCloudControllerManagerCommand(opts, p.initCloud, p.controllers(),
		names.CCMControllerAliases(), flags, p.ctx.Done())
	command.Flags().Lookup("concurrent-service-syncs").Usage = "The number of Services that are reconciled concurrently. " +
		"A Service holds its worker for at most ten seconds, and for less when workers become scarce. After that the operation " +
		"continues in the background, and the Service is queued again at its end."
	command.Use = programName
	command.Long = programName + ` connects a Kubernetes cluster to the OpenStack cloud
that it runs on. It reads cloud.conf (--cloud-config), or the OS_* environment
variables if no file is given.

Verbs, each with its own --help: check validates cloud.conf without a cluster,
plan previews changes for Services, status shows their load balancers, and
cleanup removes the objects of a deleted cluster.`
	command.SilenceUsage = true // its 170 lines would hide the error
	command.SetFlagErrorFunc(cli.SuggestFlag)
	gates := tolerateUnknownGates(command.Flags(), utilfeature.DefaultMutableFeatureGate)
	runManager := command.RunE
	command.RunE = func(command *cobra.Command, arguments []string) error {
		switch command.Flags().Lookup("version").Value.String() {
		case "true", "raw": // otherwise it is the version of the libraries, as "Kubernetes"
			_, err := fmt.Fprintf(out, "%s %s\n", programName, p.build)
			return err
		}
		if err := p.start(command.Flags(), gates.unknown); err != nil {
			return err
		}
		p.serving.take(opts)
		return runManager(command, arguments)
	}
	return command, nil
}

// start runs before the controller manager starts: our line is the first of the log.
func (p *process) start(flags *pflag.FlagSet, unknownGates []string) error {
	if err := startLogging(flags); err != nil {
		return err
	}
	p.stopOnSignal()
	klog.InfoS("Starting", "program", programName, "version", p.build.version, "commit", p.build.commit,
		"go", p.build.toolchain, "kubernetesLibraries", p.build.libraries)
	limitMemory(p.env)
	go returnAtRest(p.ctx, clock.RealClock{}, allocatedBytes, debug.FreeOSMemory)
	if len(unknownGates) > 0 {
		klog.InfoS("Ignored feature gates in --feature-gates that this program does not have", "ignored", unknownGates)
	}
	return setFromEnvironment(flags, p.env)
}

// initCloud returns the provider after the flags are parsed. It cannot return an error: without a
// provider, it ends the process.
func (p *process) initCloud(completed *appconfig.CompletedConfig) upstream.Interface {
	cloud, err := p.connect(completed)
	if errors.Is(context.Cause(p.ctx), errSignalled) {
		klog.FlushAndExit(klog.ExitFlushTimeout, 0)
	}
	if err != nil {
		logProblems(err)
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
	return cloud
}
