package node

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/utils/ptr"
)

// podSocket is what a pod listens on.
type podSocket struct {
	protocol corev1.Protocol
	address  string // with the port
}

// pods is the part of a node that answers as pods on it would, at the addresses that
// EndpointSlices give them.
type pods struct {
	follower
	options Options
	nodes   corelisters.NodeLister
	slices  discoverylisters.EndpointSliceLister

	servers map[podSocket]server[frontend] // only run's goroutine touches it
}

func newPods(client kubernetes.Interface, options Options) (*pods, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes, slices := factory.Core().V1().Nodes(), factory.Discovery().V1().EndpointSlices()
	nodes.Informer() // is asked when requests come
	follower, err := newFollower(factory, slices.Informer())
	if err != nil {
		return nil, err
	}
	return &pods{
		follower: follower, options: options, nodes: nodes.Lister(), slices: slices.Lister(),
		servers: map[podSocket]server[frontend]{},
	}, nil
}

func (p *pods) close() {
	for _, s := range p.servers {
		s.Close()
	}
}

// run follows EndpointSlices until the context ends.
func (p *pods) run(ctx context.Context) error {
	defer p.close()
	return p.follow(ctx, p.sync)
}

func (p *pods) sync() (complete bool, err error) {
	slices, err := p.slices.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("list endpoint slices: %w", err)
	}
	errs := replace(p.servers, podsOn(p.options.Name, slices), func(s podSocket, f frontend) (server[frontend], error) {
		opened, err := openServer(p.options.Namespace, s.protocol, s.address, p.reached, f)
		if err != nil {
			return nil, fmt.Errorf("answer for a pod of %s at %s: %w", f.service, s.address, err)
		}
		return opened, nil
	})
	for _, err := range errs {
		p.options.Logf("node %s: %v", p.options.Name, err)
	}
	return len(errs) == 0, nil
}

// podsOn are the pods of a node, ready or not, by what they listen on.
func podsOn(node string, all []*discoveryv1.EndpointSlice) map[podSocket]frontend {
	here := map[podSocket]frontend{}
	for _, slice := range all {
		service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		for _, e := range slice.Endpoints {
			address, err := netip.ParseAddr(e.Addresses[0]) // else it is the name of a host
			if err != nil || ptr.Deref(e.NodeName, "") != node {
				continue
			}
			for _, port := range slice.Ports {
				protocol := cmp.Or(ptr.Deref(port.Protocol, ""), corev1.ProtocolTCP)
				if !served(protocol) {
					continue
				}
				here[podSocket{protocol, endpointOf(address, ptr.Deref(port.Port, 0))}] = frontend{
					service: service, port: ptr.Deref(port.Name, ""),
					endpoints: []endpoint{{address: address.String(), node: node}},
				}
			}
		}
	}
	return here
}

// reached is another node where that one's kube-proxy has sent the client on to a pod
// here: the client then comes from its address. Else it is this node.
func (p *pods) reached(client net.Addr) string {
	host, _, err := net.SplitHostPort(client.String())
	if err != nil {
		return p.options.Name
	}
	nodes, err := p.nodes.List(labels.Everything())
	if err != nil {
		return p.options.Name
	}
	for _, node := range nodes {
		for _, address := range node.Status.Addresses {
			if address.Address == host {
				return node.Name
			}
		}
	}
	return p.options.Name
}
