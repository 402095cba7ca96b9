package lookup_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const (
	networksRoute = "/network/v2.0/networks"
	networkRoute  = "/network/v2.0/networks/{id}"
	subnetsRoute  = "/network/v2.0/subnets"
	portsRoute    = "/network/v2.0/ports"

	age = 10 * time.Minute
)

// environment is a simulated cloud and a reader of its facts.
type environment struct {
	*simulated.Environment
	clock  *clocktesting.FakePassiveClock
	reader *lookup.Reader
}

func newEnvironment(t *testing.T, topology simulator.Topology) *environment {
	t.Helper()
	simulation := simulated.New(t, simulator.Options{Topology: topology})
	session := simulation.SignIn(openstack.SessionOptions{
		Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond},
	})
	clk := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	env := &environment{Environment: simulation, clock: clk, reader: lookup.New(session.Neutron(), session.Octavia(), session.LoadBalancerVersion, clk, age)}
	if _, err := session.Network(t.Context()); err != nil { // as after the first request
		t.Fatal(err)
	}
	simulation.Cloud.RequestLog.Reset()
	return env
}

// external are settings of an external Service of IPv4 with all IDs.
func (env *environment) external(changes ...func(*settings.Settings)) *settings.Settings {
	s := &settings.Settings{Family: v1.IPv4Protocol, VIP: settings.VIPSettings{SubnetID: env.Cloud.Subnet.ID}, Floating: settings.FloatingSettings{NetworkID: env.Cloud.ExternalNetwork.ID}}
	for _, change := range changes {
		change(s)
	}
	return s
}

// internal are settings of an internal one.
func (env *environment) internal(changes ...func(*settings.Settings)) *settings.Settings {
	return env.external(append([]func(*settings.Settings){func(s *settings.Settings) { s.Internal = true }}, changes...)...)
}

func inSubnet(id string) func(*settings.Settings) {
	return func(s *settings.Settings) { s.VIP.SubnetID = id }
}

func inNetwork(id string) func(*settings.Settings) {
	return func(s *settings.Settings) { s.VIP.SubnetID, s.VIP.NetworkID = "", id }
}

func floatingFrom(id string) func(*settings.Settings) {
	return func(s *settings.Settings) { s.Floating.NetworkID = id }
}

func ipv6(s *settings.Settings) { s.Family = v1.IPv6Protocol }

func (env *environment) gather(s *settings.Settings, backends ...members.Backend) (desire.Facts, error) {
	env.T.Helper()
	return env.reader.Gather(env.T.Context(), s, backends, driver.Driver{}, nil)
}

func (env *environment) must(s *settings.Settings, backends ...members.Backend) desire.Facts {
	env.T.Helper()
	known, err := env.gather(s, backends...)
	if err != nil {
		env.T.Fatal(err)
	}
	return known
}

// refused fails the test unless the error contains the given words.
func (env *environment) refused(err error, words ...string) {
	env.T.Helper()
	var lacking *lookup.Error
	if !errors.As(err, &lacking) {
		env.T.Fatalf("error %v, want one for the user", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			env.T.Errorf("error %q says nothing of %q", err, word)
		}
	}
}

// subnet adds a subnet to a network of the tenant.
func (env *environment) subnet(networkID, cidr string) simneutron.Subnet {
	env.T.Helper()
	subnet, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: "subnet " + cidr, NetworkID: networkID, CIDR: cidr})
	if err != nil {
		env.T.Fatal(err)
	}
	return subnet
}

// network adds a network of the tenant.
func (env *environment) network(name string) simneutron.Network {
	return env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{Name: name, ProjectID: env.Cloud.Account.ProjectID})
}

// node adds a server and gives it as a member.
func (env *environment) node(name, address string) members.Backend {
	env.T.Helper()
	server, err := env.Cloud.AddServer(name, address)
	if err != nil {
		env.T.Fatal(err)
	}
	return backend(name, server.Addresses[0], "openstack:///"+server.ID)
}

func backend(name, address, providerID string) members.Backend {
	return members.Backend{
		Node:    &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: providerID}},
		Address: address,
	}
}

// asked fails unless Neutron was asked exactly so often since the last time.
func (env *environment) asked(want int) {
	env.T.Helper()
	got := env.Cloud.RequestLog.Requests(requestlog.Under("/network"))
	if len(got) != want {
		env.T.Errorf("%d requests, want %d: %+v", len(got), want, got)
	}
	env.Cloud.RequestLog.Reset()
}

// pass lets the clock go on.
func (env *environment) pass(d time.Duration) { env.clock.SetTime(env.clock.Now().Add(d)) }

func existing(fip *model.FloatingIP) *model.LoadBalancer { return &model.LoadBalancer{FloatingIP: fip} }
