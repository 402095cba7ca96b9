package garbage_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// store is an Octavia, a Neutron and a project with the objects of an inventory. It deletes them on request.
type store struct {
	garbage.Neutron
	cloud

	mu sync.Mutex
	// status and updated are those of load balancers by ID, otherwise ACTIVE and the zero time.
	status  map[string]string
	updated map[string]time.Time
	// routers are by ID, interfaces their ports; forwardings are by floating IP, members by load balancer.
	routers     map[string]*neutron.Router
	interfaces  []neutron.Port
	forwardings map[string][]neutron.Forwarding
	members     map[string][]string
	// deleted are the deletions in order, calls counts the requests by method.
	deleted []string
	calls   map[string]int
	// fails has the errors of methods; the request with the number broken fails too.
	fails         map[string]error
	count, broken int
	// happens is called before each request.
	happens func(method string)
}

func newStore(changes ...change) *store {
	s := &store{status: map[string]string{}, updated: map[string]time.Time{}, calls: map[string]int{}, fails: map[string]error{}, routers: map[string]*neutron.Router{}}
	for _, change := range changes {
		change(&s.cloud)
	}
	return s
}

// refusal is an answer of a service with an HTTP status.
func refusal(status int, body string) error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodDelete, Actual: status, Body: []byte(body), ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "do it")
}

// call counts a request, and returns its error. The caller unlocks the store.
func (s *store) call(method string) error {
	if s.happens != nil {
		s.happens(method)
	}
	s.mu.Lock()
	s.calls[method]++
	if s.count++; s.count == s.broken {
		return refusal(http.StatusBadRequest, `{"faultstring": "broken"}`)
	}
	return s.fails[method]
}

// list returns the objects of a table that a filter accepts, unless the request fails.
func list[T any](s *store, method string, all *[]T, accepts func(T) bool) ([]T, error) {
	err := s.call(method)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(*all), func(one T) bool { return !accepts(one) }), nil
}

// remove deletes the objects of a table that a filter accepts, unless the request fails.
func remove[T any](s *store, method, id string, all *[]T, is func(T) bool) error {
	err := s.call(method)
	defer s.mu.Unlock()
	if err == nil {
		s.deleted = append(s.deleted, strings.TrimPrefix(method, "Delete")+" "+id)
		*all = slices.DeleteFunc(*all, is)
	}
	return err
}

func every[T any](T) bool { return true }

// Snapshot implements garbage.Project.
func (s *store) Snapshot(context.Context, time.Duration) (*project.Snapshot, error) {
	err := s.call("Snapshot")
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var balancers []project.LoadBalancer
	for _, lb := range s.Inventory.LoadBalancers {
		var more []model.AdditionalVIP
		for _, vip := range lb.AdditionalVIPs {
			more = append(more, model.AdditionalVIP{Address: vip.Address})
		}
		balancers = append(balancers, project.LoadBalancer{
			ID: lb.ID, Name: lb.Name, Description: lb.Description, Tags: lb.Tags, VIPPortID: lb.VIPPortID, VIPAddress: lb.VIPAddress, UpdatedAt: s.updated[lb.ID], AdditionalVIPs: more,
		})
	}
	var fips []project.FloatingIP
	for _, fip := range s.Inventory.FloatingIPs {
		fips = append(fips, project.FloatingIP{ID: fip.ID, Address: fip.FloatingIP, PortID: fip.PortID, Description: fip.Description, RouterID: fip.RouterID})
	}
	return project.Of(time.Time{}, balancers, fips), nil
}

func (s *store) LoadBalancers(context.Context, octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return list(s, "LoadBalancers", &s.Inventory.LoadBalancers, every)
}

func (s *store) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	found, err := list(s, "LoadBalancer", &s.Inventory.LoadBalancers, func(lb octavia.LoadBalancer) bool { return lb.ID == id })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, refusal(http.StatusNotFound, "")
	}
	if found[0].ProvisioningStatus = s.status[id]; s.status[id] == "" {
		found[0].ProvisioningStatus = "ACTIVE"
	}
	return &found[0], nil
}

func (s *store) AllListeners(context.Context) ([]octavia.Listener, error) {
	return list(s, "AllListeners", &s.Inventory.Listeners, every)
}

func (s *store) ListenerOwners(context.Context) ([]octavia.Listener, error) {
	return list(s, "ListenerOwners", &s.Inventory.Listeners, every)
}

func (s *store) Listeners(_ context.Context, id string) ([]octavia.Listener, error) {
	return list(s, "Listeners", &s.Inventory.Listeners, func(l octavia.Listener) bool { return l.LoadBalancers[0].ID == id })
}

func (s *store) PoolOwners(_ context.Context, id string) ([]octavia.Pool, error) {
	return list(s, "PoolOwners", &s.Inventory.Pools, func(p octavia.Pool) bool { return id == "" || p.LoadBalancers[0].ID == id })
}

func (s *store) DeleteLoadBalancer(_ context.Context, id string, _ bool) error {
	return remove(s, "DeleteLoadBalancer", id, &s.Inventory.LoadBalancers, func(lb octavia.LoadBalancer) bool { return lb.ID == id })
}

func (s *store) DeleteListener(_ context.Context, id string) error {
	return remove(s, "DeleteListener", id, &s.Inventory.Listeners, func(l octavia.Listener) bool { return l.ID == id })
}

func (s *store) DeletePool(_ context.Context, id string) error {
	return remove(s, "DeletePool", id, &s.Inventory.Pools, func(p octavia.Pool) bool { return p.ID == id })
}

func (s *store) StatusTree(_ context.Context, id string) (*octavia.StatusTree, error) {
	err := s.call("StatusTree")
	defer s.mu.Unlock()
	pool := octavia.PoolStatus{}
	for _, address := range s.members[id] {
		pool.Members = append(pool.Members, octavia.MemberStatus{Address: address, NodeStatus: octavia.NodeStatus{Name: " node "}})
	}
	return &octavia.StatusTree{Listeners: []octavia.ListenerStatus{{}, {Pools: []octavia.PoolStatus{{}, pool}}}}, err
}

func (s *store) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return list(s, "FloatingIPs", &s.Inventory.FloatingIPs, func(fip floatingips.FloatingIP) bool {
		return filter.All || slices.Contains(filter.IDs, fip.ID) || slices.Contains(filter.PortIDs, fip.PortID)
	})
}

func (s *store) DeleteFloatingIP(_ context.Context, id string) error {
	return remove(s, "DeleteFloatingIP", id, &s.Inventory.FloatingIPs, func(fip floatingips.FloatingIP) bool { return fip.ID == id })
}

func (s *store) Forwardings(_ context.Context, id string) ([]neutron.Forwarding, error) {
	err := s.call("Forwardings")
	defer s.mu.Unlock()
	return s.forwardings[id], err
}

func (s *store) VIPPorts(context.Context, string) ([]neutron.VIPPort, error) {
	return list(s, "VIPPorts", &s.Inventory.VIPs, every)
}

func (s *store) VIPPort(_ context.Context, id string) (*neutron.VIPPort, error) {
	found, err := list(s, "VIPPort", &s.Inventory.VIPs, func(p neutron.VIPPort) bool { return p.ID == id })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, refusal(http.StatusNotFound, "")
	}
	return &found[0], nil
}

func (s *store) DeletePort(_ context.Context, id string) error {
	return remove(s, "DeletePort", id, &s.Inventory.VIPs, func(p neutron.VIPPort) bool { return p.ID == id })
}

func (s *store) SecurityGroupNames(context.Context) ([]neutron.SecurityGroup, error) {
	return list(s, "SecurityGroupNames", &s.Inventory.SecurityGroups, every)
}

func (s *store) PortsInGroup(context.Context, string) ([]neutron.Port, error) {
	err := s.call("PortsInGroup")
	defer s.mu.Unlock()
	return nil, err
}

func (s *store) DeleteSecurityGroup(_ context.Context, id string) error {
	return remove(s, "DeleteSecurityGroup", id, &s.Inventory.SecurityGroups, func(g neutron.SecurityGroup) bool { return g.ID == id })
}

func (s *store) RouterInterfaces(context.Context, string, string) ([]neutron.Port, error) {
	return list(s, "RouterInterfaces", &s.interfaces, every)
}

// Router returns a 404 about the router, as Neutron does for one of another project.
func (s *store) Router(_ context.Context, id string) (*neutron.Router, error) {
	err := s.call("Router")
	defer s.mu.Unlock()
	if router := s.routers[id]; err != nil || router != nil {
		return router, err
	}
	return nil, refusal(http.StatusNotFound, `{"NeutronError": {"type": "RouterNotFound", "message": "Router could not be found", "detail": ""}}`)
}

func (s *store) PortsWithAddresses(context.Context, []string) ([]neutron.RoutedPort, error) {
	err := s.call("PortsWithAddresses")
	defer s.mu.Unlock()
	if s.Routes == nil {
		return nil, err
	}
	return s.Routes.Ports, err
}

func (s *store) RemoveRoutes(_ context.Context, id string, gone []neutron.ExtraRoute) error {
	err := s.call("RemoveRoutes")
	defer s.mu.Unlock()
	if err == nil {
		for _, route := range gone {
			s.deleted = append(s.deleted, "Route "+route.Destination+" of "+id)
		}
	}
	return err
}

// assertDeleted compares the deletions, in any order, since the last time.
func (s *store) assertDeleted(t *testing.T, what string, want ...string) {
	t.Helper()
	got := slices.Sorted(slices.Values(s.deleted))
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("%s: deleted %q, want %q", what, got, want)
	}
	s.deleted = nil
}

// assertOrder fails the test unless one deletion came before another one.
func (s *store) assertOrder(t *testing.T, first, second string) {
	t.Helper()
	if a, b := slices.Index(s.deleted, first), slices.Index(s.deleted, second); a < 0 || b < a {
		t.Errorf("deleted %q, want %q before %q", s.deleted, first, second)
	}
}
