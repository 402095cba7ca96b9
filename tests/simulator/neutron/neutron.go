// Package neutron is the network service of the simulated cloud: networks,
// subnets with real address pools, routers, ports, floating IPs and security
// groups, over the wire API of Neutron and over Go methods.
//
// The Go methods act as an administrator: no role and no project limits the visible objects. Quotas
// and address pools apply to them too.
package neutron

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// Options describe a Neutron. The zero value is a cloud with today's usual
// policies and default quotas.
type Options struct {
	// Clock stamps created_at and updated_at; nil means the real clock.
	Clock clock.PassiveClock
	// ExternalSubnetsVisible lets ordinary tenants read the subnets of external
	// networks. By default Neutron shows them the network but hides its
	// subnets, which belong to the administrator's project.
	ExternalSubnetsVisible bool
	// FloatingIPAddressByMembers lets plain members choose
	// floating_ip_address; by default this needs the role admin or manager.
	FloatingIPAddressByMembers bool
	// MaxPageSize is pagination_max_limit; zero means no limit, the default.
	MaxPageSize int
	// Extensions are the aliases of GET /v2.0/extensions; nil means DefaultExtensions.
	Extensions []string
	// MaxRoutes is max_routes; zero means 30, the default.
	MaxRoutes int
	// DNSDomain ends the names in a port's dns_assignment; empty means "openstack.test.".
	DNSDomain string
}

// Neutron is a running network service. All methods may be called at the same
// time.
type Neutron struct {
	options Options

	mu             sync.Mutex
	networks       table[*network]
	subnets        table[*subnet]
	routers        table[*router]
	ports          table[*port]
	trunks         table[*trunk]
	floatingIPs    table[*floatingIP]
	securityGroups table[*securityGroup]
	addressGroups  table[*addressGroup]
	quotas         map[string]map[string]int
	// standardAttributes counts the rows of Neutron's table of that name.
	standardAttributes int
	changed            bool

	subscribers subscribers
	handler     http.Handler
}

// New makes a Neutron without any network.
func New(options Options) *Neutron {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.DNSDomain == "" {
		options.DNSDomain = "openstack.test."
	}
	if options.Extensions == nil {
		options.Extensions = DefaultExtensions()
	}
	if options.MaxRoutes == 0 {
		options.MaxRoutes = 30
	}
	n := &Neutron{options: options, quotas: map[string]map[string]int{}}
	n.handler = n.routes()
	return n
}

// ServeHTTP answers the network API. The path must start below the mount point
// (/v2.0/ports), and the context carries the keystone.Caller.
func (n *Neutron) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.handler.ServeHTTP(w, withoutSuffix(wire.Rooted(r)))
}

// withoutSuffix is the request without the ".json" or the slash that its path
// may end with.
func withoutSuffix(r *http.Request) *http.Request {
	path := r.URL.Path
	if strings.Count(path, "/") > 2 {
		path = strings.TrimSuffix(path, "/")
	}
	if !strings.HasSuffix(path, "/details.json") {
		path = strings.TrimSuffix(path, ".json")
	}
	if path == r.URL.Path {
		return r
	}
	trimmed := r.Clone(r.Context())
	trimmed.URL.Path = path
	return trimmed
}

// Subscribe calls changed after each change of a port, a floating IP or a
// security group, outside of Neutron's lock but before the call that changed
// it returns: it must be quick and must not wait for a lock that is held
// around calls to Neutron. Sending on a channel without waiting fits.
func (n *Neutron) Subscribe(changed func()) (cancel func()) {
	return n.subscribers.add(changed)
}

// lock starts a change or a read; unlock ends it and notifies the subscribers of any
// change.
func (n *Neutron) lock() { n.mu.Lock() }

func (n *Neutron) unlock() {
	changed := n.changed
	n.changed = false
	n.mu.Unlock()
	if changed {
		n.subscribers.call()
	}
}

// subscribers are the functions to call after a change.
type subscribers struct {
	mu        sync.Mutex
	next      int
	functions map[int]func()
}

func (s *subscribers) add(f func()) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.functions == nil {
		s.functions = map[int]func(){}
	}
	id := s.next
	s.next++
	s.functions[id] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.functions, id)
	}
}

func (s *subscribers) call() {
	s.mu.Lock()
	functions := make([]func(), 0, len(s.functions))
	for _, f := range s.functions {
		functions = append(functions, f)
	}
	s.mu.Unlock()
	for _, f := range functions {
		f()
	}
}
