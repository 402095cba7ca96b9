package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/tests/await"
	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/node"
	"github.com/openstack-ccm/openstack-ccm/tests/process"
)

// stopGrace is how long the cloud controller manager may take to end.
const stopGrace = 20 * time.Second

// heartbeat is often enough for a cluster that soon takes silent nodes for dead.
const heartbeat = 2 * time.Second

// World is a cluster on a cloud: its control plane, the cloud controller manager
// and its nodes.
type World struct {
	Cloud    Cloud
	Provider string

	logf    func(string, ...any)
	plane   *controlplane.ControlPlane
	program cluster.CCM
	ccm     *process.Process

	mutex sync.Mutex
	nodes map[string]*node.Node
}

// StartWorld starts a cluster without nodes. Keys are added to the section
// [LoadBalancer].
func StartWorld(ctx context.Context, cloud Cloud, provider string, keys string, logf func(string, ...any)) (*World, error) {
	w := &World{Cloud: cloud, Provider: provider, logf: logf, nodes: map[string]*node.Node{}}
	if err := w.start(ctx, keys); err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	return w, nil
}

func (w *World) start(ctx context.Context, keys string) (err error) {
	if w.plane, err = controlplane.Start(ctx, controlplane.Options{
		Logf: w.logf,
		// Nodes that are silent are found out soon.
		ControllerManagerArgs: []string{"--node-monitor-grace-period=10s", "--node-monitor-period=1s"},
	}); err != nil {
		return err
	}
	w.program = cluster.CCM{
		Directory: w.plane.Dir(),
		CloudConf: filepath.Join(w.plane.Dir(), "cloud.conf"),
		// Else another process waits fifteen seconds until it leads.
		Args: []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms", "--v=2"},
	}
	if err := w.Configure(keys); err != nil {
		return err
	}
	if w.program.Program, err = cluster.BuildProgram(ctx, cluster.CCMProgram, w.plane.Dir()); err != nil {
		return err
	}
	if w.program.Installation, err = cluster.Install(ctx, w.plane); err != nil {
		return err
	}
	return w.StartCCM(ctx)
}

// Configure writes cloud.conf, for the next start of the controller.
func (w *World) Configure(keys string) error {
	method := ""
	if w.Provider == "ovn" {
		method = "lb-method=SOURCE_IP_PORT\n"
	}
	conf := fmt.Sprintf("%s\nlb-provider=%s\n%sdrift-interval=15s\n%s", w.Cloud.CloudConf(), w.Provider, method, keys)
	return os.WriteFile(w.program.CloudConf, []byte(conf), 0o600)
}

// StartCCM starts the cloud controller manager, for the first time or again.
func (w *World) StartCCM(ctx context.Context) (err error) {
	w.ccm, err = w.program.Start(ctx)
	return err
}

// Client is the administrator's.
func (w *World) Client() kubernetes.Interface { return w.plane.Client() }

// AddNode adds a server and the node that runs on it, and returns when the cloud
// controller manager has initialized it.
func (w *World) AddNode(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("node %s is not ready in time", name))
	defer cancel()
	machine, err := w.Cloud.AddMachine(ctx, name)
	if err != nil {
		return err
	}
	options := node.Options{Name: name, Address: machine.Addresses[0], Namespace: machine.Namespace, Heartbeat: heartbeat, Logf: w.logf}
	if len(machine.Addresses) > 1 {
		options.Second = machine.Addresses[1]
	}
	n, err := node.Start(ctx, w.plane.Config(), options)
	if err != nil {
		return err
	}
	w.mutex.Lock()
	w.nodes[name] = n
	w.mutex.Unlock()
	return await.Success(ctx, func(ctx context.Context) error { return cluster.Initialized(ctx, w.Client(), name) })
}

// StopNode ends a node as a power cut does. Its Node object and its server stay.
func (w *World) StopNode(name string) error {
	w.mutex.Lock()
	n := w.nodes[name]
	delete(w.nodes, name)
	w.mutex.Unlock()
	return n.Stop()
}

// ControllerLog is the end of the cloud controller manager's log.
func (w *World) ControllerLog(lines int) string { return w.ccm.Log(lines) }

// Stop ends everything but the cloud.
func (w *World) Stop() error {
	var errs []error
	if w.ccm != nil {
		w.ccm.Stop(stopGrace)
	}
	for name := range w.nodes {
		errs = append(errs, w.StopNode(name))
	}
	if w.plane != nil {
		errs = append(errs, w.plane.Stop())
	}
	return errors.Join(errs...)
}
