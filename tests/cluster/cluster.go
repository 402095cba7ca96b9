// Package cluster runs a whole Kubernetes cluster on a simulated OpenStack, on
// one machine and without any rights: a real control plane, the cloud controller
// manager as a process with the rights that manifests/static gives it, nodes that
// answer on node ports, and a cloud whose load balancers carry traffic.
//
// Start puts it all together with the cloud and the nodes inside the calling
// process, where a test can reach them. The demo uses the parts, and has every
// one of them as a process of its own.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/datapath/attach"
	"github.com/openstack-ccm/openstack-ccm/tests/await"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/node"
	"github.com/openstack-ccm/openstack-ccm/tests/process"
)

// Options are what may differ between clusters.
type Options struct {
	// Nodes is how many nodes there are at the start: node-1, node-2 and so on.
	Nodes int
	// Simulator is the cloud. Its address ranges are set when they are empty.
	Simulator simulator.Options
	// MonitorSpeed makes health monitors probe so many times as often as their delay
	// says; zero means 20.
	MonitorSpeed float64
	// CloudConf changes the cloud.conf; nil leaves it.
	CloudConf func(string) string
	// CCMArgs are added to the flags of the cloud controller manager.
	CCMArgs []string
	// WithoutCCM leaves it to the caller to start the cloud controller manager.
	WithoutCCM bool
	// Logf takes the progress; nil drops it.
	Logf func(format string, args ...any)
}

// defaultMonitorSpeed turns the usual five seconds into a quarter of one.
const defaultMonitorSpeed = 20

// stopGrace is how long the cloud controller manager may take to end.
const stopGrace = 20 * time.Second

// Cluster is a running cluster. Stop ends it.
type Cluster struct {
	// Plane is the control plane, Cloud the OpenStack below it.
	Plane *controlplane.ControlPlane
	Cloud *simulator.Cloud
	// CCM is the cloud controller manager, nil before its start.
	CCM *process.Process

	options Options
	network Network
	traffic *datapath.Plane
	program CCM
	nodes   map[string]*node.Node
	// servers are the nodes' servers in the cloud.
	servers map[string]string
}

// Start starts a cluster and returns when all its nodes are initialized. The
// context bounds the start only.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	if options.MonitorSpeed == 0 {
		options.MonitorSpeed = defaultMonitorSpeed
	}
	c := &Cluster{options: options, nodes: map[string]*node.Node{}, servers: map[string]string{}}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.Plane, err = controlplane.Start(ctx, controlplane.Options{Logf: c.options.Logf}); err != nil {
		return err
	}
	if err := c.startCloud(); err != nil {
		return err
	}
	if err := c.prepareCCM(ctx); err != nil {
		return err
	}
	for i := range c.options.Nodes {
		if err := c.AddNode(ctx, fmt.Sprintf("node-%d", i+1)); err != nil {
			return err
		}
	}
	if c.options.WithoutCCM {
		return nil
	}
	if err := c.StartCCM(ctx); err != nil {
		return err
	}
	for name := range c.nodes {
		err := await.Success(ctx, func(ctx context.Context) error { return Initialized(ctx, c.Client(), name) })
		if err != nil {
			return fmt.Errorf("%w; the end of the cloud controller manager's log:\n%s", err, c.CCM.Log(errorLogLines))
		}
	}
	return nil
}

func (c *Cluster) startCloud() (err error) {
	if c.network, err = ClaimNetwork(); err != nil {
		return err
	}
	options := c.options.Simulator
	if options.Topology.CIDR == "" {
		options.Topology.CIDR = c.network.CIDR
	}
	if options.Topology.ExternalCIDR == "" {
		options.Topology.ExternalCIDR = c.network.ExternalCIDR
	}
	if c.Cloud, err = simulator.Start(options); err != nil {
		return err
	}
	c.traffic = attach.Start(c.Cloud.Octavia, c.Cloud.Neutron, datapath.Options{
		TimeScale: 1 / c.options.MonitorSpeed,
		Report:    func(err error) { c.options.Logf("data path: %v", err) },
	})
	return nil
}

// prepareCCM builds the program, and writes its configuration.
func (c *Cluster) prepareCCM(ctx context.Context) (err error) {
	c.program = CCM{
		Directory: c.Plane.Dir(),
		CloudConf: filepath.Join(c.Plane.Dir(), "cloud.conf"),
		Args:      c.options.CCMArgs,
	}
	conf := c.Cloud.CloudConf()
	if c.options.CloudConf != nil {
		conf = c.options.CloudConf(conf)
	}
	if err := os.WriteFile(c.program.CloudConf, []byte(conf), 0o600); err != nil {
		return err
	}
	if c.program.Program, err = BuildProgram(ctx, CCMProgram, c.Plane.Dir()); err != nil {
		return err
	}
	c.program.Installation, err = Install(ctx, c.Plane)
	return err
}

// StartCCM starts the cloud controller manager, for the first time or again.
func (c *Cluster) StartCCM(ctx context.Context) (err error) {
	c.CCM, err = c.program.Start(ctx)
	return err
}

// Client returns the administrator's client.
func (c *Cluster) Client() kubernetes.Interface { return c.Plane.Client() }

// AddNode adds a server to the cloud and the node that runs on it. The node is
// registered when it returns; a cloud controller manager initializes it later.
func (c *Cluster) AddNode(ctx context.Context, name string) error {
	server, err := c.Cloud.AddServer(name, "")
	if err != nil {
		return err
	}
	address, err := netip.ParseAddr(server.Addresses[0])
	if err != nil {
		return fmt.Errorf("address of server %s: %w", name, err)
	}
	n, err := node.Start(ctx, c.Plane.Config(), node.Options{Name: name, Address: address, Logf: c.options.Logf})
	if err != nil {
		return err
	}
	c.nodes[name], c.servers[name] = n, server.ID
	return nil
}

// StopNode ends a node as a power cut does. Its Node object and its server stay.
func (c *Cluster) StopNode(name string) error {
	err := c.nodes[name].Stop()
	delete(c.nodes, name)
	return err
}

// Server is the ID of a node's server.
func (c *Cluster) Server(node string) string { return c.servers[node] }

// Stop ends everything, and may be called for a cluster that is half started.
func (c *Cluster) Stop() error {
	var errs []error
	if c.CCM != nil {
		c.CCM.Stop(stopGrace)
	}
	for name := range c.nodes {
		errs = append(errs, c.StopNode(name))
	}
	if c.traffic != nil {
		c.traffic.Close()
	}
	if c.Cloud != nil {
		c.Cloud.Close()
	}
	if c.network.claim != nil {
		errs = append(errs, c.network.Release())
	}
	if c.Plane != nil {
		errs = append(errs, c.Plane.Stop())
	}
	return errors.Join(errs...)
}
