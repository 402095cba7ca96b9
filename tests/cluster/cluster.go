// Package cluster is a Kubernetes cluster on one machine: a real control plane, the cloud
// controller manager as a process with the rights of manifests/static, and nodes that answer on
// node ports. The caller provides the cloud: the simulator needs no rights at all; a real one needs
// the network namespaces of its servers, in which Kubernetes' kube-proxy can run.
//
// Cluster combines the parts. The demo uses them as separate processes.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/secrets"
	"github.com/openstack-ccm/openstack-ccm/tests/node"
)

// Options may differ between clusters.
type Options struct {
	// ControlPlane is how the control plane starts.
	ControlPlane controlplane.Options
	// CloudConf is the cloud.conf.
	CloudConf string
	// CCMArgs are added to the flags of the cloud controller manager.
	CCMArgs []string
	// KubeProxy is the program of a kube-proxy that every node runs, in its own network namespace;
	// if it is empty, the nodes answer themselves.
	KubeProxy string
	// Logf logs the progress; it may be nil.
	Logf func(format string, args ...any)
}

// stopGrace is the maximum time that the cloud controller manager may take to end.
const stopGrace = 20 * time.Second

// Cluster is a running cluster. Stop ends it.
type Cluster struct {
	// CCM is the cloud controller manager, nil before its start.
	CCM *Controller

	logf    func(string, ...any)
	plane   *controlplane.ControlPlane
	program CCM
	// kubeProxy runs on every node; if it is nil, the nodes answer themselves.
	kubeProxy *node.KubeProxy

	mutex sync.Mutex
	nodes map[string]*node.Node
	// secrets has all secrets of the cloud controller manager. Its log must contain none.
	secrets secrets.Set
}

// Start starts a cluster without nodes, in which only the cloud controller manager has not been
// started. The context limits only the start.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	options.ControlPlane.Logf = options.Logf
	c := &Cluster{logf: options.Logf, nodes: map[string]*node.Node{}, secrets: secrets.Set{}}
	if err := c.start(ctx, options); err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, options Options) (err error) {
	if c.plane, err = controlplane.Start(ctx, options.ControlPlane); err != nil {
		return err
	}
	c.program = CCM{
		Directory: c.plane.Dir(),
		CloudConf: filepath.Join(c.plane.Dir(), "cloud.conf"),
		Args:      options.CCMArgs,
	}
	if err := c.Configure(options.CloudConf); err != nil {
		return err
	}
	if c.program.Program, err = BuildProgram(ctx, CCMProgram, c.plane.Dir(), c.logf); err != nil {
		return err
	}
	if c.program.Installation, err = Install(ctx, c.plane); err != nil || options.KubeProxy == "" {
		return err
	}
	c.kubeProxy = &node.KubeProxy{Program: options.KubeProxy, PodNetworks: controlplane.PodNetworks, Directory: c.plane.Dir()}
	c.kubeProxy.Kubeconfig, err = c.plane.Kubeconfig("system:kube-proxy") // every cluster has its rights
	return err
}

// Configure writes cloud.conf, for the next start of the cloud controller manager, or for the
// running one.
func (c *Cluster) Configure(cloudConf string) error {
	c.secrets.Add(secrets.InConf(cloudConf))
	return os.WriteFile(c.program.CloudConf, []byte(cloudConf), 0o600)
}

// StartCCM starts the cloud controller manager, for the first time or again.
func (c *Cluster) StartCCM(ctx context.Context) (err error) {
	c.CCM, err = c.program.Start(ctx)
	return err
}

// StopCCM ends it gracefully.
func (c *Cluster) StopCCM() { c.CCM.Stop(stopGrace) }

// Command runs a command of the program beside the controller, as an administrator does: with
// cloud.conf and, unless it needs none, an administrator's kubeconfig. It returns the standard
// output and the exit code.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) (output string, code int, err error) {
	all := []string{name, "--cloud-config=" + c.program.CloudConf}
	if name != "check" && name != "cleanup" {
		all = append(all, "--kubeconfig="+c.plane.AdminKubeconfig())
	}
	text, err := exec.CommandContext(ctx, c.program.Program, append(all, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return string(text), exit.ExitCode(), nil
	}
	return string(text), 0, err
}

// ControlPlane returns the control plane.
func (c *Cluster) ControlPlane() *controlplane.ControlPlane { return c.plane }

// Client returns the administrator's client.
func (c *Cluster) Client() kubernetes.Interface { return c.plane.Client() }

// StartNode starts a node on an existing server. It is registered and Ready then; the cloud
// controller manager initializes it later.
func (c *Cluster) StartNode(ctx context.Context, options node.Options) error {
	options.Logf, options.KubeProxy = c.logf, c.kubeProxy
	n, err := node.Start(ctx, c.plane.Config(), options)
	if err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.nodes[options.Name] = n
	return nil
}

// SetPods puts one pod of a Service without selector on each of these nodes, and on
// no other. Those on the nodes leaving terminate, but still serve; all others are ready.
func (c *Cluster) SetPods(ctx context.Context, service *corev1.Service, nodes []string, leaving ...string) error {
	if c.kubeProxy != nil {
		return SetHostPods(ctx, c.Client(), service, nodes, leaving...)
	}
	on := map[string]int{}
	for _, name := range slices.Concat(nodes, leaving) {
		on[name] = 1
	}
	return SetPods(ctx, c.Client(), service, on, leaving...)
}

// StopNode ends a node as a power cut does. Its Node object and its server stay.
func (c *Cluster) StopNode(name string) error {
	c.mutex.Lock()
	n := c.nodes[name]
	delete(c.nodes, name)
	c.mutex.Unlock()
	return n.Stop()
}

// Stop ends everything, and may be called after a failed start. It returns an error if the log of
// the cloud controller manager has a secret of its cloud.conf.
func (c *Cluster) Stop() error {
	var errs []error
	if c.CCM != nil {
		c.StopCCM()
		errs = append(errs, c.secrets.CheckFile(c.program.logFile()))
	}
	for name := range c.nodes {
		errs = append(errs, c.StopNode(name))
	}
	if c.plane != nil {
		errs = append(errs, c.plane.Stop())
	}
	return errors.Join(errs...)
}
