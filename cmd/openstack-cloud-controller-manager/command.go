package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/provider"
)

const (
	programName = "openstack-cloud-controller-manager"

	// Nodes of a growing cluster come in groups; each costs one request.
	defaultNodeSyncs = 50

	// Hundreds of workers with an event and a status each want more of the API
	// server than upstream's 20 requests a second.
	defaultQPS, defaultBurst = 100, 200
)

// newCommand makes upstream's command with our defaults, flags and provider.
func newCommand(p *process, out io.Writer) (*cobra.Command, error) {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("make the default options: %w", err)
	}
	opts.KubeCloudShared.CloudProvider.Name = provider.Name
	opts.ServiceController.ConcurrentServiceSyncs = provider.DefaultServiceWorkers
	opts.NodeController.ConcurrentNodeSyncs = defaultNodeSyncs
	opts.Generic.ClientConnection.QPS, opts.Generic.ClientConnection.Burst = defaultQPS, defaultBurst

	var flags cliflag.NamedFlagSets
	flags.FlagSet("openstack").StringArrayVar(&p.userAgents, "user-agent", nil,
		"Text to add to the User-Agent of OpenStack requests. May be given several times.")

	command := app.NewCloudControllerManagerCommand(opts, p.initCloud, p.controllers(),
		names.CCMControllerAliases(), flags, p.ctx.Done())
	command.Flags().Lookup("concurrent-service-syncs").Usage = "The number of Services that are worked on at a time. " +
		"A Service holds its worker for at most half a second times this number; past that the work goes on by itself, " +
		"and the Service comes back to the queue for its end, with an event."
	command.Use = programName
	command.Long = programName + ` connects a Kubernetes cluster to the OpenStack that it
runs on. It reads cloud.conf (--cloud-config), or the OS_* environment variables
when it is given none.`
	printOwnVersion(command, p.version, out)
	return command, nil
}

// printOwnVersion makes --version tell our version: upstream's would tell that of
// its libraries, as "Kubernetes".
func printOwnVersion(command *cobra.Command, version string, out io.Writer) {
	runUpstream := command.RunE
	command.RunE = func(command *cobra.Command, arguments []string) error {
		switch command.Flags().Lookup("version").Value.String() {
		case "true", "raw":
			_, err := fmt.Fprintf(out, "%s %s\n", programName, version)
			return err
		}
		return runUpstream(command, arguments)
	}
}

// initCloud is called by upstream once the flags are parsed; it cannot fail other
// than by ending the process.
func (p *process) initCloud(completed *appconfig.CompletedConfig) cloudprovider.Interface {
	cloud, err := p.connect(completed)
	if err != nil {
		logProblems(err)
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
	return cloud
}
