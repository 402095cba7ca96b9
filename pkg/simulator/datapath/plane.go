package datapath

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Options say what a Plane serves and how. Only Source is required.
type Options struct {
	Source Source
	// Sink hears what the health monitors find; nil for nobody.
	Sink Sink
	// Clock times probes and session persistence; nil for the real one.
	Clock clock.Clock
	// TimeScale stretches the delays of health monitors: 0.1 probes ten times as often.
	// 0 means 1.
	TimeScale float64
	// DialTimeout bounds one try to connect to a member; 0 means 5 seconds.
	DialTimeout time.Duration
	// UDPIdleTimeout ends a client's session that carried nothing; 0 means 30 seconds.
	UDPIdleTimeout time.Duration
	// BindRetry is the pause before an address that could not be bound is tried again;
	// 0 means one second.
	BindRetry time.Duration
	// Report is told what goes wrong but does not stop the plane, such as an address that
	// cannot be bound: once per cause, not per try. It is called from several goroutines.
	// nil for nobody.
	Report func(error)
}

// Plane serves the load balancers of a Source until it is closed.
type Plane struct {
	options     Options
	clock       clock.Clock
	ctx         context.Context
	cancel      context.CancelFunc
	unsubscribe func()
	changed     chan struct{}
	wait        sync.WaitGroup
	connections *connections

	// What follows belongs to the goroutine of run alone.
	inForce   map[string]LoadBalancer
	pools     map[string]*pool
	frontends map[endpoint]frontend
	failed    map[endpoint]string
	probers   map[string]*prober
	probing   chan struct{}
}

// parallelProbes bounds how many probes run at one time.
const parallelProbes = 64

// endpoint is an address and port that is listened on.
type endpoint struct {
	network string
	address netip.AddrPort
}

// frontend is an open endpoint.
type frontend interface {
	// use puts a route in force for what arrives from now on.
	use(route route)
	// close stops listening. Connections that are established live on.
	close()
}

// route says where the traffic of an endpoint goes.
type route struct {
	owner    owner
	listener Listener
	// pool is nil when the listener has none.
	pool *pool
	// source is the address that members see, invalid for the client's own.
	source netip.Addr
}

// owner names the load balancer and the one of its addresses that a connection came in by.
type owner struct {
	loadBalancerID string
	address        netip.Addr
}

// Start begins to serve what options.Source has.
func Start(options Options) *Plane {
	options = options.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	p := &Plane{
		options:     options,
		clock:       options.Clock,
		ctx:         ctx,
		cancel:      cancel,
		changed:     make(chan struct{}, 1),
		connections: newConnections(),
		inForce:     map[string]LoadBalancer{},
		pools:       map[string]*pool{},
		frontends:   map[endpoint]frontend{},
		failed:      map[endpoint]string{},
		probers:     map[string]*prober{},
		probing:     make(chan struct{}, parallelProbes),
	}
	p.notify()
	p.unsubscribe = options.Source.Subscribe(p.notify)
	p.wait.Go(p.run)
	return p
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.TimeScale <= 0 {
		o.TimeScale = 1
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = 5 * time.Second
	}
	if o.UDPIdleTimeout <= 0 {
		o.UDPIdleTimeout = 30 * time.Second
	}
	if o.BindRetry <= 0 {
		o.BindRetry = time.Second
	}
	return o
}

// Close stops listening and probing, cuts every connection and returns when nothing of the
// plane runs any more.
func (p *Plane) Close() {
	p.unsubscribe()
	p.cancel()
	p.wait.Wait()
}

// notify wakes run; notifications that arrive while it is busy become one.
func (p *Plane) notify() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *Plane) report(format string, args ...any) {
	if p.options.Report != nil {
		p.options.Report(fmt.Errorf(format, args...))
	}
}

// pause waits for d or the end of the plane.
func (p *Plane) pause(d time.Duration) {
	timer := p.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
	case <-timer.C():
	}
}

// run applies the source after each change until the plane ends.
func (p *Plane) run() {
	defer p.stop()
	for {
		var retry <-chan time.Time
		if len(p.failed) > 0 {
			retry = p.clock.After(p.options.BindRetry)
		}
		select {
		case <-p.ctx.Done():
			return
		case <-p.changed:
		case <-retry:
		}
		p.apply(p.options.Source.LoadBalancers())
	}
}

func (p *Plane) stop() {
	for at, front := range p.frontends {
		front.close()
		delete(p.frontends, at)
	}
	p.connections.keep(nil)
	for id, prober := range p.probers {
		prober.stop()
		delete(p.probers, id)
	}
}

// apply makes sockets, pools and probes what the load balancers ask for.
func (p *Plane) apply(now []LoadBalancer) {
	p.inForce = settle(p.inForce, now)
	p.applyPools()
	p.connections.keep(p.owners())
	p.applyFrontends(p.routes())
	p.applyProbers()
}

// serving yields the load balancers that carry traffic.
func (p *Plane) serving(yield func(LoadBalancer) bool) {
	for _, lb := range p.inForce {
		if lb.AdminUp && !yield(lb) {
			return
		}
	}
}

func (p *Plane) applyPools() {
	wanted := map[string]bool{}
	for lb := range p.serving {
		for _, config := range lb.Pools {
			wanted[config.ID] = true
			if p.pools[config.ID] == nil {
				p.pools[config.ID] = newPool(p.clock)
			}
			p.pools[config.ID].configure(config)
		}
	}
	for id, pool := range p.pools {
		if !wanted[id] {
			pool.configure(Pool{})
			delete(p.pools, id)
		}
	}
}

// routes lists what must be listened on. Of two load balancers that claim one endpoint, the
// one with the smaller ID has it.
func (p *Plane) routes() map[endpoint]route {
	routes := map[endpoint]route{}
	for lb := range p.serving {
		for _, listener := range lb.Listeners {
			if !listener.AdminUp {
				continue
			}
			for _, address := range lb.Addresses {
				at := endpoint{network: network(listener.Protocol), address: netip.AddrPortFrom(address, listener.Port)}
				if rival, taken := routes[at]; taken && rival.owner.loadBalancerID < lb.ID {
					continue
				}
				routes[at] = route{
					owner:    owner{loadBalancerID: lb.ID, address: address},
					listener: listener,
					pool:     p.pools[listener.PoolID],
					source:   lb.source(),
				}
			}
		}
	}
	return routes
}

// source is the address that the load balancer's members see, invalid for the client's own.
func (lb LoadBalancer) source() netip.Addr {
	if lb.KeepClientAddress || len(lb.Addresses) == 0 || !lb.Addresses[0].IsLoopback() {
		return netip.Addr{}
	}
	return lb.Addresses[0]
}

func network(protocol string) string {
	if protocol == protocolUDP {
		return "udp"
	}
	return "tcp"
}

func (p *Plane) applyFrontends(routes map[endpoint]route) {
	for at, front := range p.frontends {
		if _, wanted := routes[at]; !wanted {
			front.close()
			delete(p.frontends, at)
		}
	}
	for at := range p.failed {
		if _, wanted := routes[at]; !wanted {
			delete(p.failed, at)
		}
	}
	for at, route := range routes {
		if front, ok := p.frontends[at]; ok {
			front.use(route)
			continue
		}
		p.open(at, route)
	}
}

// open listens on an endpoint. A failure is reported when its text is new, and tried again.
func (p *Plane) open(at endpoint, route route) {
	front, err := p.listen(at, route)
	if err == nil {
		p.frontends[at] = front
		delete(p.failed, at)
		return
	}
	if p.failed[at] != err.Error() {
		p.failed[at] = err.Error()
		p.report("listener %s of load balancer %s is not served: %w",
			route.listener.ID, route.owner.loadBalancerID, err)
	}
}

func (p *Plane) listen(at endpoint, route route) (frontend, error) {
	if !at.address.Addr().IsLoopback() {
		return nil, fmt.Errorf("%s is no loopback address", at.address.Addr())
	}
	if at.network == "udp" {
		return p.listenUDP(at, route)
	}
	return p.listenTCP(at, route)
}

// owners lists the addresses whose connections may live on. A listener may be gone from
// them: haproxy finishes what it has accepted. A floating IP or load balancer may not.
func (p *Plane) owners() map[owner]bool {
	owners := map[owner]bool{}
	for lb := range p.serving {
		for _, address := range lb.Addresses {
			owners[owner{loadBalancerID: lb.ID, address: address}] = true
		}
	}
	return owners
}
