// Package simulator simulates an OpenStack cloud in one HTTP server on loopback. Keystone, Nova,
// Neutron, Octavia and Barbican share their state and implement the real API. A log records every
// request, and faults can be injected.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/barbican"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Cloud is a running simulator. Tests use the services to create objects, to change them as another
// client would, and to read their state.
type Cloud struct {
	Keystone *keystone.Keystone
	Neutron  *neutron.Neutron
	Nova     *nova.Nova
	// Elsewhere is the Nova of OtherRegion, nil if there is none.
	Elsewhere  *nova.Nova
	Octavia    *octavia.Octavia
	Barbican   *barbican.Barbican
	RequestLog *requestlog.Log
	Faults     *faults.Faults

	// Account is the user of the first project. Admin is a user with the role admin in another
	// project.
	Account, Admin Account

	// ExternalNetwork and ExternalSubnet are the floating network.
	ExternalNetwork neutron.Network
	ExternalSubnet  neutron.Subnet
	// Network, Subnet and SubnetV6 belong to Account's project; SubnetV6 is
	// zero without Topology.IPv6CIDR.
	Network  neutron.Network
	Subnet   neutron.Subnet
	SubnetV6 neutron.Subnet
	// RouterVIPs is a network for VIPs of provider router, zero without Topology.RouterVIPCIDR.
	RouterVIPs neutron.Network
	// Router connects the subnets with the external network.
	Router neutron.Router

	options  Options
	listener net.Listener
	door     *door
	api      http.Handler // without request log and faults
	mux      *http.ServeMux
	server   *http.Server
	served   chan struct{}

	mu      sync.Mutex
	ending  []func()
	traffic func(listenerID string) octavia.Statistics
}

// Start starts a cloud. The caller closes it.
func Start(options Options) (*Cloud, error) {
	options = options.withDefaults()
	if err := options.check(); err != nil {
		return nil, err
	}
	listener, err := options.Listen(options.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for the simulated cloud: %w", options.Addr, err)
	}
	c := &Cloud{options: options, listener: listener, door: newDoor(listener, options.Listen), served: make(chan struct{})}
	c.addServices()
	if err := c.addTopology(); err != nil {
		return nil, errors.Join(fmt.Errorf("set up the simulated network: %w", err), listener.Close())
	}
	c.mount()
	c.server = &http.Server{Handler: c.mux, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(c.served)
		_ = c.server.Serve(c.door) // ends with ErrServerClosed at Close
	}()
	return c, nil
}

func (c *Cloud) addServices() {
	o := c.options
	c.Keystone = keystone.New(keystone.Options{
		Clock: o.signInClock, TokenLifetime: o.TokenLifetime, BaseURL: c.URL(), Regions: o.regions(), Services: o.catalog(),
	})
	network := neutron.Options{Clock: o.Clock, ExternalSubnetsVisible: o.Topology.ExternalSubnetVisible,
		FloatingIPAddressByMembers: o.Topology.FloatingIPAddressByMembers}
	if o.Neutron != nil {
		o.Neutron(&network)
	}
	c.Neutron = neutron.New(network)
	c.Nova = nova.New(nova.Options{Clock: o.Clock, Flavors: o.Flavors}, c.Neutron)
	c.Barbican = barbican.New(barbican.Options{Clock: o.Clock})
	c.RequestLog = requestlog.New(func(kind, id string) string { return c.Octavia.LoadBalancerOf(kind, id) })
	c.Faults = faults.New(o.Clock)
	c.Faults.SetLatencies(o.Seed, o.Latencies...)
	c.Octavia = octavia.New(c.octaviaOptions())
	c.RequestLog.Learn(requestlog.Facts{Project: c.Keystone.ProjectOf})
	c.Account = c.AddAccount(o.Project, o.User)
	c.Admin = c.addAccount("admin", "admin", []string{"admin", "member", "reader"})
}

// octaviaOptions returns the options of Octavia, which include those of the cloud.
func (c *Cloud) octaviaOptions() octavia.Options {
	o, pace := c.options, newPace(c.options)
	options := octavia.Options{
		Certificates: c.findCertificate, Statistics: c.statistics,
		Release: o.Release, Providers: o.Providers, Delays: pace.delays, Quirks: o.Quirks, Quota: o.Quota,
		VIPPortDelay: o.VIPPortDelay, ProjectLockTimeout: o.ProjectLockTimeout,
		Clock: o.Clock, Network: c.Neutron, OnPending: func(id string) {
			c.RequestLog.CountCycle(id)
			pace.next()
		},
	}
	if o.Octavia != nil {
		o.Octavia(&options)
	}
	return options
}

// CountTraffic sets the source of the statistics of listeners, such as a data path. It is called
// with Octavia's lock held.
func (c *Cloud) CountTraffic(count func(listenerID string) octavia.Statistics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.traffic = count
}

func (c *Cloud) statistics(listenerID string) octavia.Statistics {
	c.mu.Lock()
	count := c.traffic
	c.mu.Unlock()
	if count == nil {
		return octavia.Statistics{}
	}
	return count(listenerID)
}

// mount serves the services below their prefixes. Requests of the cloud's API pass the request log
// and the faults, others do not.
func (c *Cloud) mount() {
	api := http.NewServeMux()
	api.Handle("/identity/", http.StripPrefix("/identity", c.Keystone))
	for prefix, service := range map[string]http.Handler{
		"/compute": c.Nova, "/network": c.settled(c.Neutron), "/load-balancer": c.Octavia,
		"/key-manager": c.Barbican, "/image": c.Nova.Images(),
	} {
		c.protect(api, prefix, service)
	}
	if c.options.OtherRegion != "" {
		network := neutron.New(neutron.Options{Clock: c.options.Clock})
		c.Elsewhere = nova.New(nova.Options{Clock: c.options.Clock, Flavors: c.options.Flavors}, network)
		c.protect(api, "/elsewhere/compute", c.Elsewhere)
		c.protect(api, "/elsewhere/network", network)
	}
	c.api = api
	c.mux = http.NewServeMux()
	c.mux.Handle("/", c.RequestLog.Record(c.Faults.Inject(api)))
}

// protect serves a service below its prefix to clients with a token.
func (c *Cloud) protect(api *http.ServeMux, prefix string, service http.Handler) {
	protected := http.StripPrefix(prefix, c.Keystone.Authenticate(service, isPublic))
	api.Handle(prefix, protected)
	api.Handle(prefix+"/", protected)
}

// settled makes Octavia finish its due work before a request of the network service, so that the
// VIP port of a deleted load balancer is deleted too.
func (c *Cloud) settled(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Octavia.Settle()
		next.ServeHTTP(w, r)
	})
}

// isPublic reports whether a request needs no token, as for the versions of a service.
func isPublic(r *http.Request) bool {
	return r.URL.Path == "" || r.URL.Path == "/" || r.URL.Path == "/healthcheck"
}

// Handle adds a handler below a prefix that is not part of the cloud: its requests are not logged
// and have no faults.
func (c *Cloud) Handle(prefix string, handler http.Handler) { c.mux.Handle(prefix, handler) }

// URL is the root of all services, without a trailing slash.
func (c *Cloud) URL() string { return "http://" + c.listener.Addr().String() }

// AuthURL is the URL of Keystone.
func (c *Cloud) AuthURL() string { return c.URL() + "/identity/v3" }

// Close stops the cloud. Requests in progress lose their connection.
func (c *Cloud) Close() {
	c.mu.Lock()
	ending := c.ending
	c.mu.Unlock()
	for _, end := range ending {
		end()
	}
	c.Faults.Clear()
	_ = c.server.Close() // the error of the listener has no use here
	<-c.served
	c.Octavia.Close()
}

// atClose registers a function that Close calls.
func (c *Cloud) atClose(end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = append(c.ending, end)
}

// Disconnect breaks every connection, as the death of all clients does, and waits until their
// requests are finished or abandoned: a request continues without its client. New connections are
// accepted meanwhile. It does not wait for the DuringWork of faults.
func (c *Cloud) Disconnect(ctx context.Context) error {
	if err := c.door.clear(ctx); err != nil {
		return fmt.Errorf("wait for requests of clients that are gone: %w", err)
	}
	return nil
}

// Connections returns the number of open connections of clients.
func (c *Cloud) Connections() int { return c.door.count() }

// WaitSettled waits until no load balancer and none of its children is in a
// PENDING state, or the context ends.
func (c *Cloud) WaitSettled(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	cancel := c.Octavia.Subscribe(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer cancel()
	for {
		unsettled := c.Octavia.Unsettled()
		if len(unsettled) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for load balancers %v to settle: %w", unsettled, ctx.Err())
		}
	}
}
