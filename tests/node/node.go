// Package node is a Kubernetes node for tests and the demo that looks real to a cloud load
// balancer: it registers and stays Ready as a kubelet with --cloud-provider=external and --node-ip
// does, and it answers on node ports and health check node ports. There are no containers: the node
// answers in place of the pods in EndpointSlices. There are two kinds:
//
//   - with a separate address in 127.0.0.0/8, so that many nodes share one machine and one set of
//     port numbers without privileges: the node answers on node ports like pods behind kube-proxy;
//   - in a separate network namespace, with Kubernetes' kube-proxy: the node answers only in place
//     of its pods, and kube-proxy forwards connections to them.
package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// Options say who the node is.
type Options struct {
	// Name is the Node's name. In OpenStack the server has the same.
	Name string
	// Address is the Node's address, which it listens on.
	Address netip.Addr
	// Second is its address of the other IP family; it may have none.
	Second netip.Addr
	// Namespace is the network namespace in which it has these addresses.
	Namespace netns.Namespace
	// KubeProxy is to run in the namespace; nil lets the node answer in its place.
	KubeProxy *KubeProxy
	// Elsewhere is set if the addresses are not of this machine: the node is registered, but does
	// not answer.
	Elsewhere bool
	// ProviderID is the provider ID that the kubelet sets; it may be empty.
	ProviderID string
	// Labels are added to those that a kubelet sets.
	Labels map[string]string
	// Heartbeat is the pause between two renewals of the Lease and of the Ready
	// condition; zero means a kubelet's ten seconds.
	Heartbeat time.Duration
	// Logf takes what the node does; nil drops it.
	Logf func(format string, args ...any)
}

// defaultHeartbeat is the kubelet's: a quarter of its lease's forty seconds.
const defaultHeartbeat = 10 * time.Second

// Node is a node that runs.
type Node struct {
	kubelet *kubelet
	parts   []part
	cancel  context.CancelFunc
	group   *errgroup.Group
}

// part is what of a node answers. It runs until its context ends; one that does not
// get so far is closed.
type part interface {
	run(context.Context) error
	close()
}

// Start registers the node and begins to answer. When it returns, the Node
// exists and is Ready, and its kube-proxy health check answers. The context bounds
// the start only; the node runs until Stop is called.
func Start(ctx context.Context, config *rest.Config, options Options) (*Node, error) {
	if options.Logf == nil {
		options.Logf = func(string, ...any) {}
	}
	if options.Heartbeat == 0 {
		options.Heartbeat = defaultHeartbeat
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("start node %s: %w", options.Name, err)
	}
	n := &Node{kubelet: newKubelet(client, options)}
	if err := n.open(ctx, client, config, options); err != nil {
		for _, p := range n.parts {
			p.close()
		}
		return nil, fmt.Errorf("start node %s: %w", options.Name, err)
	}
	ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.group, ctx = errgroup.WithContext(ctx)
	n.group.Go(func() error { return n.kubelet.run(ctx) })
	for _, p := range n.parts {
		n.group.Go(func() error { return p.run(ctx) })
	}
	return n, nil
}

// open lets the node answer on its addresses, and registers it: before a kube-proxy
// starts, which asks for its Node's addresses, and after a stand-in has shown that
// the address is free.
func (n *Node) open(ctx context.Context, client kubernetes.Interface, config *rest.Config, options Options) error {
	if options.Elsewhere {
		return n.kubelet.register(ctx)
	}
	if options.KubeProxy == nil {
		for _, address := range options.addresses() {
			p, err := newProxy(client, address, options)
			if err != nil {
				return err
			}
			n.parts = append(n.parts, p)
		}
		return n.kubelet.register(ctx)
	}
	if err := n.kubelet.register(ctx); err != nil {
		return err
	}
	pods, err := newPods(client, options)
	if err != nil {
		return err
	}
	n.parts = append(n.parts, pods)
	proxy, err := startKubeProxy(ctx, config, options)
	if err != nil {
		return err
	}
	n.parts = append(n.parts, proxy)
	return nil
}

// addresses are the Node's own, the first one first.
func (o Options) addresses() []netip.Addr {
	if o.Second.IsValid() {
		return []netip.Addr{o.Address, o.Second}
	}
	return []netip.Addr{o.Address}
}

// Stop ends the node as a power cut does: nothing answers any more, and the Node
// object stays. It returns what ended the node before, if anything did.
func (n *Node) Stop() error {
	n.cancel()
	return n.Wait()
}

// Wait returns when the node has ended.
func (n *Node) Wait() error {
	err := n.group.Wait()
	n.cancel()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Run starts a node and returns when the context has ended.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	n, err := Start(ctx, config, options)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, n.cancel)
	defer stop()
	return n.Wait()
}
