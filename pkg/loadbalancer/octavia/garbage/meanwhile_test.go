package garbage_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// meanwhile is an Octavia where something happens between the lists and the first look at a
// load balancer.
type meanwhile struct {
	garbage.Octavia

	happens func()
	once    sync.Once
}

func (m *meanwhile) LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	m.once.Do(m.happens)
	return m.Octavia.LoadBalancer(ctx, id)
}

// Between the list and the removal another cluster comes to be on the load balancer: it keeps
// it, and its address.
func TestRun_LooksAgainBeforeItRemoves(t *testing.T) {
	t.Parallel()
	for what, status := range map[string]string{"ACTIVE": simoctavia.Active, "PENDING": simoctavia.PendingUpdate} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t)
			dead := of(deadID, "dead", "web")
			made := env.loadBalancer(dead.Name(), dead.Description(), dead.Tags(), dead.ListenerName(0), dead.PoolName(0))
			_, err := env.Cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
				ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Conf.LoadBalancer.FloatingNetworkID, PortID: made.VIPPortID, Description: dead.FloatingIPs().Description(),
			})
			env.check(err)
			joined := &meanwhile{Octavia: env.session.Octavia(), happens: func() {
				env.join(made.ID, 81, of(livingID, "living", "api"))
				env.check(env.Cloud.Octavia.SetProvisioningStatus(made.ID, status))
			}}
			active := &leaps{each: func(int) { _ = env.Cloud.Octavia.SetProvisioningStatus(made.ID, simoctavia.Active) }}
			query := garbage.Query{ClusterID: deadID}
			report := env.cleaned(garbage.Options{Query: query, Remove: true, Octavia: joined, Clock: active}, garbage.ExitFailed)
			if !strings.Contains(report.Items[0].Why, "changed since it was listed") || count(report, garbage.Removed) > 0 {
				t.Errorf("%+v", report.Items)
			}
			env.check(env.Cloud.Octavia.SetProvisioningStatus(made.ID, simoctavia.Active))
			env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
			env.Settle()
			if left := env.Cloud.Octavia.Snapshot(); len(left) != 1 || len(left[0].Listeners) != 1 || len(env.Cloud.Neutron.FloatingIPs()) != 1 {
				t.Errorf("left are %+v", left)
			}
		})
	}
}

// Another client moves the floating IP to its own port between the list and the removal.
func TestRun_LeavesFloatingIPThatSomebodyTook(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	env.cluster(deadID, "dead").ensure("web", 1)
	port, err := env.Cloud.Neutron.CreatePort(simneutron.PortSpec{ProjectID: env.Cloud.Account.ProjectID, SubnetID: env.Cloud.Subnet.ID})
	env.check(err)
	fip := env.Cloud.Neutron.FloatingIPs()[0]
	taken := &meanwhile{Octavia: env.session.Octavia(), happens: func() {
		_, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, port.ID, "")
		env.check(err)
	}}
	query := garbage.Query{ClusterID: deadID}
	env.cleaned(garbage.Options{Query: query, Remove: true, Octavia: taken}, garbage.ExitFailed)
	env.cleaned(garbage.Options{Query: query, Remove: true}, garbage.ExitClean)
	env.Settle()
	if left := env.Cloud.Neutron.FloatingIPs(); len(left) != 1 || left[0].PortID != port.ID || len(env.Cloud.Octavia.Snapshot()) > 0 {
		t.Errorf("left are %+v", left)
	}
}

// reused is a Neutron where a server gets an address after the routes to it were listed.
type reused struct {
	garbage.Neutron

	routers int
	happens func()
}

func (r *reused) Router(ctx context.Context, id string) (*neutron.Router, error) {
	if r.routers++; r.routers == 2 {
		r.happens()
	}
	return r.Neutron.Router(ctx, id)
}

func TestRun_LeavesRouteWhoseNextHopCameBack(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	routes := []simneutron.Route{{Destination: "10.244.1.0/24", NextHop: "127.100.1.201"}}
	env.check(env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, routes))
	network := &reused{Neutron: env.session.Neutron(), happens: func() {
		_, err := env.Cloud.AddServer("new", "127.100.1.201")
		env.check(err)
	}}
	env.cleaned(garbage.Options{Query: garbage.Query{ClusterID: deadID, PodNetworks: podNetworks}, Remove: true, RouterID: env.Cloud.Router.ID, Neutron: network}, garbage.ExitFailed)
	if left := env.Cloud.Neutron.Routers()[0].Routes; !slices.Equal(left, routes) {
		t.Errorf("left are %v", left)
	}
}

// watched is an Octavia that records the requests about a load balancer while its lock is not held.
type watched struct {
	garbage.Octavia

	mu      sync.Mutex
	locked  map[string]bool
	without []string
}

func (w *watched) lock(_ context.Context, id string) (func(), error) {
	w.set(id, true)
	return func() { w.set(id, false) }, nil
}

func (w *watched) set(id string, locked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.locked[id] = locked
}

func (w *watched) note(what, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.locked[id] {
		w.without = append(w.without, what)
	}
}

func (w *watched) LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	w.note("look", id)
	return w.Octavia.LoadBalancer(ctx, id)
}

func (w *watched) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	w.note("deletion", id)
	return w.Octavia.DeleteLoadBalancer(ctx, id, cascade)
}

// Objects of a live cluster are checked while their load balancer is locked, and the Services are
// read again. Without them nothing is removed.
//
//proves:88
func TestRun_DecidesAboutLivingClusterUnderTheLock(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t)
	env.cluster(livingID, "living").ensure("web", 1)
	octavia := &watched{Octavia: env.session.Octavia(), locked: map[string]bool{}}
	var failure error
	options := garbage.Options{
		Query:  garbage.Query{ClusterID: livingID, ClusterName: "living", Services: garbage.NewServices(nil)},
		Remove: true, Octavia: octavia, Lock: octavia.lock,
		Living: func(context.Context) (*garbage.Services, error) { return garbage.NewServices(nil), failure },
	}
	failure = errors.New("no API server")
	if report := env.cleaned(options, garbage.ExitFailed); count(report, garbage.Removed) != 1 { // the security group is no load balancer's
		t.Errorf("without an API server: %q", words(report.Items))
	}
	failure = nil
	env.cleaned(options, garbage.ExitClean)
	env.Settle()
	if left := env.Cloud.Octavia.Snapshot(); len(left) > 0 || len(octavia.without) > 0 {
		t.Errorf("left are %d, without the lock %q", len(left), octavia.without)
	}
}
