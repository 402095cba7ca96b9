package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
)

// proxyHealthPort is the port of kube-proxy's health check.
const proxyHealthPort = 10256

// proxy is the part of a node that answers for Services in kube-proxy's place, at one
// of the node's addresses.
type proxy struct {
	follower
	address  netip.Addr
	options  Options
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister

	// What listens now. Only run's goroutine touches these.
	health       io.Closer
	frontends    map[socket]server[frontend]
	healthChecks map[int32]server[health]
}

// newProxy opens the health port, which also shows that the address is ours.
func newProxy(client kubernetes.Interface, address netip.Addr, options Options) (*proxy, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	services, slices := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	follower, err := newFollower(factory, services.Informer(), slices.Informer())
	if err != nil {
		return nil, err
	}
	p := &proxy{
		follower:     follower,
		address:      address,
		options:      options,
		services:     services.Lister(),
		slices:       slices.Lister(),
		frontends:    map[socket]server[frontend]{},
		healthChecks: map[int32]server[health]{},
	}
	if p.health, err = serveHTTP(options.Namespace, endpointOf(address, proxyHealthPort), proxyHealth{}); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *proxy) close() {
	p.health.Close()
	for _, s := range p.frontends {
		s.Close()
	}
	for _, s := range p.healthChecks {
		s.Close()
	}
}

// run follows Services and EndpointSlices until the context ends.
func (p *proxy) run(ctx context.Context) error {
	defer p.close()
	return p.follow(ctx, p.sync)
}

// sync lets exactly the sockets listen that the rules want. It is not complete
// when one of them could not be had.
func (p *proxy) sync() (complete bool, err error) {
	services, err := p.services.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("list services: %w", err)
	}
	slices, err := p.slices.List(labels.Everything())
	if err != nil {
		return false, fmt.Errorf("list endpoint slices: %w", err)
	}
	rules := rulesFor(p.options.Name, familyOf(p.address), services, slices)

	nodePorts := replace(p.frontends, rules.frontends, p.open)
	healthPorts := replace(p.healthChecks, rules.healthChecks, func(port int32, h health) (server[health], error) {
		return newHealthServer(p.options.Namespace, endpointOf(p.address, port), h)
	})
	for _, err := range append(nodePorts, healthPorts...) {
		p.options.Logf("node %s: %v", p.options.Name, err)
	}
	return len(nodePorts)+len(healthPorts) == 0, nil
}

func (p *proxy) open(s socket, f frontend) (server[frontend], error) {
	opened, err := openServer(p.options.Namespace, s.protocol, endpointOf(p.address, s.port), p.reached, f)
	if err != nil {
		return nil, fmt.Errorf("open node port %d of %s: %w", s.port, f.service, err)
	}
	p.options.Logf("node %s answers %s/%d for %s", p.options.Name, s.protocol, s.port, f.service)
	return opened, nil
}

// reached returns this node: each client here has connected to one of its node ports.
func (p *proxy) reached(net.Addr) string { return p.options.Name }

func endpointOf(address netip.Addr, port int32) string {
	return net.JoinHostPort(address.String(), strconv.Itoa(int(port)))
}

func familyOf(address netip.Addr) discoveryv1.AddressType {
	if address.Is4() {
		return discoveryv1.AddressTypeIPv4
	}
	return discoveryv1.AddressTypeIPv6
}
