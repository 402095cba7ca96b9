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
	// Sink gets the results of the health monitors; it may be nil.
	Sink Sink
	// Certificates reads what TLS listeners and pools refer to; nil for no store, which
	// leaves them unserved.
	Certificates Certificates
	// Clock times probes, session persistence and the listeners' timeouts; nil for the
	// real one.
	Clock clock.Clock
	// TimeScale stretches the delays of health monitors: 0.1 probes ten times as often.
	// 0 means 1.
	TimeScale float64
	// DialTimeout bounds one try to connect to a member where the listener does not; 0
	// means 5 seconds.
	DialTimeout time.Duration
	// UDPIdleTimeout ends a client's session that carried nothing; 0 means 30 seconds.
	UDPIdleTimeout time.Duration
	// BindRetry is the pause before an address that could not be bound is tried again;
	// 0 means one second.
	BindRetry time.Duration
	// Report is called with errors that do not stop the plane, such as an address that cannot be
	// bound: once per cause, not per try. It is called from several goroutines, and may be nil.
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
	meters      *meters

	// What follows belongs to the goroutine of run alone.
	inForce   map[string]LoadBalancer
	pools     map[string]*pool
	frontends map[endpoint]frontend
	gates     map[string]*gate
	keyring   *keyring
	// failed and unready say why an endpoint is not served and, by ID, why the TLS of a
	// pool is not ready.
	failed  map[endpoint]string
	unready map[string]string
	probers map[string]*prober
	probing chan struct{}
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
		meters:      newMeters(),
		inForce:     map[string]LoadBalancer{},
		pools:       map[string]*pool{},
		frontends:   map[endpoint]frontend{},
		gates:       map[string]*gate{},
		keyring:     newKeyring(options.Certificates),
		failed:      map[endpoint]string{},
		unready:     map[string]string{},
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
		if len(p.failed)+len(p.unready) > 0 {
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
	p.applyGates()
	p.applyFrontends(p.routes())
	p.applyProbers()
	p.forgetRefs()
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
			p.applyPoolTLS(config)
		}
	}
	for id, pool := range p.pools {
		if !wanted[id] {
			pool.configure(Pool{})
			delete(p.pools, id)
			delete(p.unready, id)
		}
	}
}

// applyPoolTLS reads the certificates of a pool. A failure is reported when its text is new,
// and tried again; until then members are not connected to.
func (p *Plane) applyPoolTLS(config Pool) {
	ready, err := p.keyring.poolTLS(config.TLS)
	if err == nil {
		p.pools[config.ID].encrypt(ready)
		delete(p.unready, config.ID)
		return
	}
	if p.unready[config.ID] != err.Error() {
		p.unready[config.ID] = err.Error()
		p.report("pool %s has no TLS to its members: %w", config.ID, err)
	}
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
		p.open(at, route)
	}
}

// open listens on an endpoint, or puts a new route in force where that is done already. A
// failure is reported when its text is new, and tried again; the old route stays.
func (p *Plane) open(at endpoint, route route) {
	err := p.tryOpen(at, route)
	if err == nil {
		delete(p.failed, at)
		return
	}
	if p.failed[at] != err.Error() {
		p.failed[at] = err.Error()
		p.report("listener %s of load balancer %s is not served: %w",
			route.listener.ID, route.owner.loadBalancerID, err)
	}
}

func (p *Plane) tryOpen(at endpoint, route route) (err error) {
	if route.tls, err = p.keyring.listenerTLS(route.listener); err != nil {
		return err
	}
	front, open := p.frontends[at]
	if open {
		front.use(route)
		return nil
	}
	if front, err = p.listen(at, route); err == nil {
		p.frontends[at] = front
	}
	return err
}

func (p *Plane) listen(at endpoint, route route) (frontend, error) {
	if !at.address.Addr().IsLoopback() {
		return nil, fmt.Errorf("%s is no loopback address", at.address.Addr())
	}
	if at.network == networkUDP {
		return p.listenUDP(at, route)
	}
	return p.listenTCP(at, route)
}

// owners returns the addresses that may keep their connections. Their listener may be gone, because
// haproxy finishes accepted connections; their floating IP or load balancer must exist.
func (p *Plane) owners() map[owner]bool {
	owners := map[owner]bool{}
	for lb := range p.serving {
		for _, address := range lb.Addresses {
			owners[owner{loadBalancerID: lb.ID, address: address}] = true
		}
	}
	return owners
}
