package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/node"
)

// heartbeat is often enough for a cluster that soon takes silent nodes for dead.
const heartbeat = 2 * time.Second

// Environment is a cluster on a cloud.
type Environment struct {
	*cluster.Cluster
	Cloud    Cloud
	Provider string

	recorder  *Recorder   // nil without a recording
	activity  *activity   // of the cloud
	deadline  time.Time   // when the suite gives up waiting; zero for never
	elsewhere atomic.Bool // the machines are where nothing of theirs can answer
	longest   atomic.Int64
}

// Start starts a cluster without nodes. The recorder may be nil.
func Start(ctx context.Context, cloud Cloud, provider string, recorder *Recorder, logf func(string, ...any)) (*Environment, error) {
	env := newEnvironment(cloud, provider, recorder)
	options := env.options("", logf)
	// Nodes that are silent are found out soon.
	options.ControlPlane.ControllerManagerArgs = append(options.ControlPlane.ControllerManagerArgs,
		"--node-monitor-grace-period=10s", "--node-monitor-period=1s")
	return env, env.start(ctx, options)
}

func newEnvironment(cloud Cloud, provider string, recorder *Recorder) *Environment {
	return &Environment{Cloud: cloud, Provider: provider, recorder: recorder, activity: &activity{look: cloud.API().fingerprint}}
}

// options returns those of a cluster with more keys in cloud.conf.
func (env *Environment) options(keys string, logf func(string, ...any)) cluster.Options {
	var manager []string
	if env.Cloud.SubnetV6() == "" {
		manager = append(manager, "--cluster-cidr="+podNetworkV4())
	}
	return cluster.Options{
		CloudConf:    env.cloudConf(keys),
		KubeProxy:    env.Cloud.KubeProxy(),
		ControlPlane: controlplane.Options{ControllerManagerArgs: manager},
		CCMArgs: []string{
			// Else another process waits fifteen seconds until it leads.
			"--leader-elect-lease-duration=" + env.Cloud.Lease().String(), "--leader-elect-renew-deadline=" + (env.Cloud.Lease() * 2 / 3).String(),
			"--leader-elect-retry-period=500ms",
			// Whether there are any routes is for cloud.conf to say.
			"--configure-cloud-routes=true", "--cluster-cidr=" + controlplane.PodNetworks, "--route-reconciliation-period=2s",
			"--v=2",
		},
		Logf: logf,
	}
}

// podNetworkV4 is the IPv4 network of pods.
func podNetworkV4() string {
	network, _, _ := strings.Cut(controlplane.PodNetworks, ",")
	return network
}

func (env *Environment) start(ctx context.Context, options cluster.Options) (err error) {
	if env.Cluster, err = cluster.Start(ctx, options); err != nil {
		return err
	}
	if err := env.StartCCM(ctx); err != nil {
		return errors.Join(err, env.Stop())
	}
	return nil
}

// cloudConf adds keys to the section [LoadBalancer].
func (env *Environment) cloudConf(keys string) string {
	method := ""
	if env.Provider == "ovn" {
		method = "lb-method=SOURCE_IP_PORT\n"
	}
	conf := fmt.Sprintf("%s\nlb-provider=%s\n%sdrift-interval=15s\ndeny-annotations=\n%s", env.Cloud.CloudConf(), env.Provider, method, keys)
	if env.recorder != nil {
		conf += "\n[Global]\nauth-url=" + env.recorder.AuthURL() + "\n"
	}
	return conf
}

// RestartWith starts the controller anew with more keys in [LoadBalancer].
func (env *Environment) RestartWith(ctx context.Context, keys string) error {
	env.StopCCM()
	if err := env.Configure(env.cloudConf(keys)); err != nil {
		return err
	}
	return env.StartCCM(ctx)
}

// AddNode adds a server and the node that runs on it, and returns when the cloud
// controller manager has initialized it.
func (env *Environment) AddNode(ctx context.Context, name string) error {
	ctx, cancel := env.patient(ctx, env.Cloud.Patience())
	defer cancel()
	if err := env.addNode(ctx, name); err != nil {
		return fmt.Errorf("add node %s: %w", name, err)
	}
	return nil
}

func (env *Environment) addNode(ctx context.Context, name string) error {
	machine, err := env.Cloud.AddMachine(ctx, name)
	if err != nil {
		return err
	}
	options := node.Options{Name: name, Address: machine.Addresses[0], Namespace: machine.Namespace, Elsewhere: machine.Elsewhere, Heartbeat: heartbeat}
	if env.Cloud.Prefix() != "" { // the name does not identify the server
		options.ProviderID = "openstack:///" + machine.ServerID
	}
	env.elsewhere.Store(machine.Elsewhere)
	if len(machine.Addresses) > 1 {
		options.Second = machine.Addresses[1]
	}
	if err := env.StartNode(ctx, options); err != nil {
		return err
	}
	return env.await(ctx, func(ctx context.Context) error { return cluster.Initialized(ctx, env.Client(), name) })
}
