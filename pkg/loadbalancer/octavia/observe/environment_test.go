package observe_test

import (
	"context"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const lbaas = "/load-balancer/v2.0/lbaas/"

// environment is a simulated cloud and an observer of it.
type environment struct {
	*simulated.Environment
	session  *openstack.Session
	observer *observe.Observer
}

func newEnvironment(t *testing.T, release string) *environment {
	t.Helper()
	simulation := simulated.New(t, simulator.Options{Release: release})
	session := simulation.SignIn(openstack.SessionOptions{
		Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond},
	})
	if _, err := session.LoadBalancerVersion(t.Context()); err != nil { // as at start-up
		t.Fatal(err)
	}
	return &environment{Environment: simulation, session: session, observer: &observe.Observer{
		Octavia: session.Octavia(), Neutron: session.Neutron(), Version: session.LoadBalancerVersion,
	}}
}

// project returns a reader of the project.
func (env *environment) project() *project.Reader {
	return project.New(env.session.Octavia(), env.session.Neutron(), clock.RealClock{})
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
func (env *environment) balancer(name, description string, tags []string, changes ...func(*octavia.LoadBalancer)) *octavia.LoadBalancer {
	env.T.Helper()
	opts := octavia.LoadBalancer{Name: name, Description: description, Tags: tags, VIPSubnetID: env.Cloud.Subnet.ID}
	for _, change := range changes {
		change(&opts)
	}
	made, err := env.session.Octavia().CreateLoadBalancer(env.T.Context(), opts)
	if err != nil {
		env.T.Fatal(err)
	}
	env.Settle()
	return made
}

// ours makes the load balancer of an identity, as this controller does.
func (env *environment) ours(id ownership.Identity, changes ...func(*octavia.LoadBalancer)) *octavia.LoadBalancer {
	env.T.Helper()
	return env.balancer(id.Name(), id.Description(), id.Tags(), changes...)
}

// legacy makes one as cloud-provider-openstack does.
func (env *environment) legacy(id ownership.Identity) *octavia.LoadBalancer {
	env.T.Helper()
	return env.balancer(id.Name(), id.Description(), []string{id.Name()})
}

// floatingIP makes a floating IP, on a port unless that is empty.
func (env *environment) floatingIP(description, portID string) *floatingips.FloatingIP {
	env.T.Helper()
	fip, err := env.session.Neutron().CreateFloatingIP(env.T.Context(), floatingips.CreateOpts{
		FloatingNetworkID: env.Cloud.ExternalNetwork.ID, Description: description, PortID: portID,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	return fip
}

// place is where the load balancers of this cluster can be.
func (env *environment) place(context.Context) (ownership.Place, error) {
	return ownership.Place{Subnets: []string{env.Cloud.Subnet.ID}}, nil
}

// find gives the IDs that Find finds.
func (env *environment) find(id ownership.Identity, hints observe.Hints) ([]string, error) {
	if hints.Place == nil {
		hints.Place = env.place
	}
	found, err := env.observer.Find(env.T.Context(), id, hints)
	var ids []string
	for _, lb := range found.LoadBalancers {
		ids = append(ids, lb.ID)
	}
	return ids, err
}

// foreignListener adds a listener without a pool, as another client would.
func (env *environment) foreignListener(lbID string, port int) string {
	env.T.Helper()
	made, err := env.session.Octavia().CreateListener(env.T.Context(), octavia.Listener{
		LoadBalancerID: lbID, Name: "somebody's", Protocol: "TCP", Port: port,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	env.Settle()
	return made.ID
}

// reads gives the routes that were read since the last reset, and resets.
func (env *environment) reads() map[string]int {
	routes := map[string]int{}
	for _, r := range env.Cloud.RequestLog.Requests(requestlog.Reads()) {
		routes[r.Route]++
	}
	env.Cloud.RequestLog.Reset()
	return routes
}
