package observe_test

import (
	"context"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
)

const lbaas = "/load-balancer/v2.0/lbaas/"

// world is a simulated cloud and an observer of it.
type world struct {
	t        *testing.T
	cloud    *simulator.Cloud
	session  *openstack.Session
	observer *observe.Observer
}

func newWorld(t *testing.T, release string) *world {
	t.Helper()
	cloud, conf := simulated.Cloud(t, simulator.Options{Release: release})
	session := simulated.SignIn(t, conf, openstack.SessionOptions{
		Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond},
	})
	if _, err := session.LoadBalancerVersion(t.Context()); err != nil { // as at start-up
		t.Fatal(err)
	}
	return &world{t: t, cloud: cloud, session: session, observer: &observe.Observer{
		Octavia: session.Octavia(), Neutron: session.Neutron(), Version: session.LoadBalancerVersion,
	}}
}

// us is the identity of the Service default/web.
func us() ownership.Identity {
	return ownership.Identity{ClusterName: "rig", ClusterID: "our-cluster", ServiceUID: "our-service", Namespace: "default", Service: "web"}
}

// another is that of the Service of the same name in another cluster of the same
// name.
func another() ownership.Identity {
	id := us()
	id.ClusterID, id.ServiceUID = "other-cluster", "other-service"
	return id
}

// balancer makes a load balancer. Without an address the cloud chooses one.
func (w *world) balancer(name, description string, tags []string, changes ...func(*loadbalancers.CreateOpts)) *octavia.LoadBalancer {
	w.t.Helper()
	opts := loadbalancers.CreateOpts{Name: name, Description: description, Tags: tags, VipSubnetID: w.cloud.Subnet.ID}
	for _, change := range changes {
		change(&opts)
	}
	made, err := w.session.Octavia().CreateLoadBalancer(w.t.Context(), opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.settle()
	return made
}

// ours makes the load balancer of an identity, as this controller does.
func (w *world) ours(id ownership.Identity, changes ...func(*loadbalancers.CreateOpts)) *octavia.LoadBalancer {
	w.t.Helper()
	return w.balancer(id.Name(), id.Description(), id.Tags(), changes...)
}

// legacy makes one as cloud-provider-openstack does.
func (w *world) legacy(id ownership.Identity) *octavia.LoadBalancer {
	w.t.Helper()
	return w.balancer(id.Name(), id.Description(), []string{id.Name()})
}

// settle waits until the cloud has done everything.
func (w *world) settle() {
	w.t.Helper()
	if err := w.cloud.WaitSettled(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// floatingIP makes a floating IP, on a port unless that is empty.
func (w *world) floatingIP(description, portID string) *floatingips.FloatingIP {
	w.t.Helper()
	fip, err := w.session.Neutron().CreateFloatingIP(w.t.Context(), floatingips.CreateOpts{
		FloatingNetworkID: w.cloud.ExternalNetwork.ID, Description: description, PortID: portID,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return fip
}

// place is where the load balancers of this cluster can be.
func (w *world) place(context.Context) (ownership.Place, error) {
	return ownership.Place{Subnets: []string{w.cloud.Subnet.ID}}, nil
}

// find gives the IDs that Find finds.
func (w *world) find(id ownership.Identity, hints observe.Hints) ([]string, error) {
	if hints.Place == nil {
		hints.Place = w.place
	}
	found, err := w.observer.Find(w.t.Context(), id, hints)
	var ids []string
	for _, lb := range found.LoadBalancers {
		ids = append(ids, lb.ID)
	}
	return ids, err
}

// foreignListener adds a listener without a pool, as somebody else would.
func (w *world) foreignListener(lbID string, port int) string {
	w.t.Helper()
	made, err := w.session.Octavia().CreateListener(w.t.Context(), listeners.CreateOpts{
		LoadbalancerID: lbID, Name: "somebody's", Protocol: listeners.ProtocolTCP, ProtocolPort: port,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.settle()
	return made.ID
}

// reads gives the routes that were read since the last reset, and resets.
func (w *world) reads() map[string]int {
	routes := map[string]int{}
	for _, r := range w.cloud.Books.Requests(books.Reads()) {
		routes[r.Route]++
	}
	w.cloud.Books.Reset()
	return routes
}
