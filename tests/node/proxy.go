package node

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// proxyHealthPort is where kube-proxy says that it is healthy.
const proxyHealthPort = 10256

// bindRetry is the pause before a port that could not be had is tried again.
const bindRetry = time.Second

// proxy is the part of a node that answers for Services.
type proxy struct {
	address  netip.Addr
	options  Options
	factory  informers.SharedInformerFactory
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	// changed has room for one note that something changed.
	changed chan struct{}

	// What listens now. Only run's goroutine touches these.
	health       io.Closer
	frontends    map[socket]server[frontend]
	healthChecks map[int32]server[health]
}

// server listens, and can be told anew what to answer.
type server[T any] interface {
	io.Closer
	update(T)
}

// newProxy opens the health port, which also shows that the address is ours.
func newProxy(client kubernetes.Interface, address netip.Addr, options Options) (*proxy, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	p := &proxy{
		address:      address,
		options:      options,
		factory:      factory,
		services:     factory.Core().V1().Services().Lister(),
		slices:       factory.Discovery().V1().EndpointSlices().Lister(),
		changed:      make(chan struct{}, 1),
		frontends:    map[socket]server[frontend]{},
		healthChecks: map[int32]server[health]{},
	}
	note := func() {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Services().Informer(),
		factory.Discovery().V1().EndpointSlices().Informer(),
	} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { note() },
			UpdateFunc: func(any, any) { note() },
			DeleteFunc: func(any) { note() },
		})
		if err != nil {
			return nil, err
		}
	}
	var err error
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
	p.factory.Start(ctx.Done())
	defer p.factory.Shutdown()
	p.factory.WaitForCacheSync(ctx.Done())
	retry := time.NewTicker(bindRetry)
	defer retry.Stop()
	complete := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.changed:
		case <-retry.C:
			if complete {
				continue
			}
		}
		var err error
		if complete, err = p.sync(); err != nil {
			return err
		}
	}
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

func (p *proxy) open(s socket, f frontend) (opened server[frontend], err error) {
	address := endpointOf(p.address, s.port)
	switch s.protocol {
	case corev1.ProtocolTCP:
		opened, err = newTCPServer(p.options, address, f)
	case corev1.ProtocolUDP:
		opened, err = newUDPServer(p.options, address, f)
	default:
		err = fmt.Errorf("protocol %s is not supported", s.protocol)
	}
	if err != nil {
		return nil, fmt.Errorf("open node port %d of %s: %w", s.port, f.service, err)
	}
	p.options.Logf("node %s answers %s/%d for %s", p.options.Name, s.protocol, s.port, f.service)
	return opened, nil
}

// replace closes what nobody wants any more, tells the rest what is new, and
// opens what is missing. The errors are those of opening.
func replace[K comparable, T any](running map[K]server[T], wanted map[K]T, open func(K, T) (server[T], error)) []error {
	maps.DeleteFunc(running, func(key K, s server[T]) bool {
		if _, ok := wanted[key]; ok {
			return false
		}
		s.Close()
		return true
	})
	var errs []error
	for key, want := range wanted {
		if s, ok := running[key]; ok {
			s.update(want)
			continue
		}
		s, err := open(key, want)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		running[key] = s
	}
	return errs
}

func endpointOf(address netip.Addr, port int32) string {
	return net.JoinHostPort(address.String(), strconv.Itoa(int(port)))
}

func familyOf(address netip.Addr) discoveryv1.AddressType {
	if address.Is4() {
		return discoveryv1.AddressTypeIPv4
	}
	return discoveryv1.AddressTypeIPv6
}
