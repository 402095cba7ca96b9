package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
)

// options are the flags.
type options struct {
	provider string
	// playground is the directory for the files that a shell needs; the cluster then keeps running.
	// If it is empty, the demo runs to its end.
	playground string
}

// stopGrace is how long a process may take to end before it is killed.
const stopGrace = 15 * time.Second

// logLines is how much of its log a process shows when the demo fails.
const logLines = 40

// demo is what a run of the demo has built, started and measured so far.
type demo struct {
	options options
	out     *narrator

	// kubernetes are the programs of the control plane, programs ours by package.
	kubernetes controlplane.Programs
	programs   map[string]string
	// directory has the built programs, and the files that programs write.
	directory string
	plane     *controlplane.ControlPlane
	network   cluster.Network
	cloud     client.Cloud
	cloudConf string
	ccm       *cluster.Controller
	// cleanups run in reverse order.
	cleanups []func() error

	// open is set when the playground is; ready, where it is not nil, is closed then.
	open  bool
	ready chan struct{}

	// What the story is about.
	port     int32
	address  string // host and port
	requests int
	cycles   int
}

func (d *demo) later(cleanup func() error) { d.cleanups = append(d.cleanups, cleanup) }

// stop ends every process, the last started first, and removes every file.
func (d *demo) stop() error {
	var errs []error
	for i := len(d.cleanups) - 1; i >= 0; i-- {
		errs = append(errs, d.cleanups[i]())
	}
	d.cleanups = nil
	return errors.Join(errs...)
}

// showLogs prints the logs after a failure.
func (d *demo) showLogs() {
	if d.ccm != nil {
		d.out.say("the end of the cloud controller manager's log:\n%s", d.ccm.Log(logLines))
	}
}

func (d *demo) startControlPlane(ctx context.Context) (err error) {
	d.out.waitFor("starting etcd, kube-apiserver and kube-controller-manager")
	d.plane, err = controlplane.Start(ctx, controlplane.Options{Programs: d.kubernetes, Logf: d.out.say})
	if err != nil {
		return err
	}
	d.later(d.plane.Stop)
	d.out.say("etcd, kube-apiserver and kube-controller-manager answer at %s", d.plane.Config().Host)
	return nil
}

func (d *demo) buildControlPlane(ctx context.Context) (err error) {
	d.out.waitFor("")
	d.kubernetes, err = controlplane.Build(ctx, d.out.say)
	if err == nil {
		d.out.say("ready: %s", filepath.Dir(d.kubernetes.APIServer))
	}
	return err
}

func (d *demo) buildPrograms(ctx context.Context) (err error) {
	d.out.waitFor("")
	if d.directory, err = os.MkdirTemp("", "openstack-ccm-demo-"); err != nil {
		return err
	}
	d.later(func() error { return os.RemoveAll(d.directory) })
	d.programs = map[string]string{}
	for _, program := range []string{cluster.SimulatorProgram, cluster.CCMProgram, cluster.NodeProgram} {
		if d.programs[program], err = cluster.BuildProgram(ctx, program, d.directory, d.out.say); err != nil {
			return err
		}
	}
	d.out.say("ready: openstack-sim, openstack-cloud-controller-manager, node")
	return nil
}

// start runs a program until the demo ends.
func (d *demo) start(name, program string, args ...string) (*process.Process, error) {
	p, err := process.Start(process.Spec{
		Name: name, Path: d.programs[program], Args: args, LogFile: filepath.Join(d.directory, name+".log"),
	})
	if err != nil {
		return nil, err
	}
	d.later(func() error { p.Stop(stopGrace); return nil })
	return p, nil
}

func (d *demo) startCloud(ctx context.Context) (err error) {
	if d.network, err = cluster.ClaimNetwork(); err != nil {
		return err
	}
	d.later(d.network.Release)
	simulator, err := cluster.Simulator{
		Program: d.programs[cluster.SimulatorProgram], Directory: d.directory,
		Args: []string{
			"--provider=" + d.options.provider, "--create-delay=6s", "--update-delay=1s", "--monitor-speed=5",
			"--subnet-cidr=" + d.network.CIDR, "--external-cidr=" + d.network.ExternalCIDR, "--router-vip-cidr=10.77.0.0/24",
		},
	}.Start(ctx)
	if err != nil {
		return err
	}
	d.later(func() error { simulator.End(); return nil })
	d.cloud, d.cloudConf = simulator.Cloud, simulator.CloudConf
	d.out.say("Keystone, Nova, Neutron and Octavia answer at %s", d.cloud.URL)
	d.out.say("servers are in %s, floating IPs in %s", d.network.CIDR, d.network.ExternalCIDR)
	return nil
}

func (d *demo) startCCM(ctx context.Context) error {
	installation, err := cluster.Install(ctx, d.plane)
	if err != nil {
		return err
	}
	d.out.say("applied the rights in manifests/static")
	ccm := cluster.CCM{
		Program: d.programs[cluster.CCMProgram], CloudConf: d.cloudConf,
		Installation: installation, Directory: d.directory,
	}
	if d.ccm, err = ccm.Start(ctx); err != nil {
		return err
	}
	d.later(func() error { d.ccm.Stop(stopGrace); return nil })
	d.out.say("it is healthy; its flags: %s", strings.Join(installation.Args, " "))
	return nil
}

// addNode boots a server and starts the node on it, and waits until the cloud
// controller manager has recognized it.
func (d *demo) addNode(ctx context.Context, name string) error {
	booted, err := d.cloud.AddServer(ctx, name)
	if err != nil {
		return err
	}
	p, err := d.start(name, cluster.NodeProgram,
		"--kubeconfig="+d.plane.AdminKubeconfig(), "--name="+name, "--address="+booted.Address)
	if err != nil {
		return err
	}
	d.out.waitFor("waiting for the cloud controller manager to initialize %s", name)
	err = p.Await(ctx, func(ctx context.Context) error { return cluster.Initialized(ctx, d.plane.Client(), name) })
	if err != nil {
		return err
	}
	d.out.say("%s at %s is server %s, and initialized", name, booted.Address, booted.ID)
	return nil
}

// servicePort is 80 where an ordinary user may listen there, else 8080.
func (d *demo) servicePort() int32 {
	address := strings.Replace(d.network.ExternalCIDR, "0/24", "255:80", 1)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return 8080
	}
	if err := listener.Close(); err != nil {
		return 8080
	}
	return 80
}

func (d *demo) summary() string {
	return fmt.Sprintf("created, scaled, switched to Local and deleted with %d writes and %d PENDING cycles", d.requests, d.cycles)
}
