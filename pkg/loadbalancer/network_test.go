package loadbalancer_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// ofNetwork returns a Service that names the network of its VIP, which has two subnets.
func ofNetwork(t *testing.T, options environmentOptions) (*environment, *v1.Service, []*v1.Node, string) {
	t.Helper()
	options.simulator.Config.OmitSubnet = true
	env := newEnvironment(t, options)
	second := env.subnet("127.101.0.0/16")
	if err := env.Cloud.Neutron.AddRouterInterface(env.Cloud.Router.ID, second); err != nil {
		t.Fatal(err)
	}
	svc := service("web", 1)
	svc.Annotations[annotation.NetworkID] = env.Cloud.Network.ID
	return env, svc, env.nodes(2), second
}

// Octavia uses the first subnet with free addresses, or the one that contains the requested
// address. The Service does not have to name a subnet.
func TestVIP_IsInSubnetOfNetworkThatOctaviaChooses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*environment, *v1.Service)
		second bool
	}{
		"the first": {func(*environment, *v1.Service) {}, false},
		"one with free addresses": {func(env *environment, _ *v1.Service) {
			if err := env.Cloud.Neutron.SetExhausted(env.Cloud.Subnet.ID, true); err != nil {
				env.T.Fatal(err)
			}
		}, true},
		"that of the annotation's address": {func(_ *environment, svc *v1.Service) { svc.Annotations[annotation.VIPAddress] = "127.101.7.7" }, true},
		"that of the field's address": {func(_ *environment, svc *v1.Service) {
			svc.Annotations[annotation.Internal], svc.Spec.LoadBalancerIP = "true", "127.101.7.7"
		}, true},
	} {
		for _, provider := range []string{"amphora", "ovn"} {
			t.Run(name+" "+provider, func(t *testing.T) {
				t.Parallel()
				env, svc, nodes, second := ofNetwork(t, environmentOptions{keys: map[string]string{"lb-provider": provider}})
				c.change(env, svc)
				want := env.Cloud.Subnet.ID
				if c.second {
					want = second
				}
				env.foretold(svc, nodes)
				if got := env.loadBalancer().VIP; got.SubnetID != want {
					t.Errorf("the VIP is in %s, want %s", got.SubnetID, want)
				}
				for _, member := range env.loadBalancer().Pools[0].Members {
					if provider == "ovn" && member.SubnetID != env.Cloud.Subnet.ID {
						t.Errorf("member %s is in subnet %q, want that of its node", member.Address, member.SubnetID)
					}
				}
				env.unchanged(svc, nodes)
				env.restart()
				env.unchanged(svc, nodes)
				env.ensure(svc, nodes[:1])
				env.unchanged(svc, nodes[:1])
				env.delete(svc)
				env.loadBalancers(0)
				env.floatingIPs(0)
			})
		}
	}
}

func TestVIP_OfChosenSubnetIsLetInByNodes(t *testing.T) {
	t.Parallel()
	env, svc, nodes, second := ofNetwork(t, environmentOptions{keys: managed("per-service")})
	if err := env.Cloud.Neutron.SetExhausted(env.Cloud.Subnet.ID, true); err != nil {
		t.Fatal(err)
	}
	env.ensure(svc, nodes)
	if got := env.loadBalancer().VIP.SubnetID; got != second {
		t.Fatalf("the VIP is in %s, want %s", got, second)
	}
	if rules := rulesOf(env.group()); len(rules) == 0 {
		t.Error("the nodes let nothing in")
	}
	env.unchanged(svc, nodes)
}

// When the load balancer is found again, its subnet is known.
func TestVIP_OfChosenSubnetIsFoundAfterLostCreation(t *testing.T) {
	t.Parallel()
	env, svc, nodes, _ := ofNetwork(t, environmentOptions{})
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Status: http.StatusGatewayTimeout, AfterWork: true, Count: 1})
	env.ensure(svc, nodes)
	env.loadBalancers(1)
	env.floatingIPs(1)
	env.unchanged(svc, nodes)
}

// otherExternal adds an external network without a router that sorts before the others.
func (env *environment) otherExternal(id string) simneutron.Network {
	env.T.Helper()
	network := env.Cloud.Neutron.AddNetwork(simneutron.NetworkSpec{ID: id, Name: "other", ProjectID: env.Cloud.Admin.ProjectID, External: true})
	if _, err := env.Cloud.Neutron.AddSubnet(simneutron.SubnetSpec{Name: "other", NetworkID: network.ID, CIDR: "127.210.0.0/16"}); err != nil {
		env.T.Fatal(err)
	}
	return network
}

const firstNetwork = "00000000-0000-4000-8000-000000000000"

// Neutron lists a network first that no router connects with the VIP.
func TestFloatingIP_ComesFromNetworkThatRouterOfVIPLeadsTo(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*environment, *v1.Service){
		"of the nodes' subnet": func(*environment, *v1.Service) {},
		"of the named subnet":  func(env *environment, svc *v1.Service) { svc.Annotations[annotation.SubnetID] = env.Cloud.Subnet.ID },
		"of the named network": func(env *environment, svc *v1.Service) {
			env.subnet("127.101.0.0/16")
			svc.Annotations[annotation.NetworkID] = env.Cloud.Network.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitFloatingNetwork: true, OmitSubnet: true}}})
			env.otherExternal(firstNetwork)
			nodes, svc := env.nodes(2), service("web", 1)
			change(env, svc)
			env.foretold(svc, nodes)
			if made := env.Cloud.Neutron.FloatingIPs(); len(made) != 1 || made[0].NetworkID != env.Cloud.ExternalNetwork.ID {
				t.Errorf("floating IPs %+v, want one of the network %s", made, env.Cloud.ExternalNetwork.ID)
			}
			if emitted := env.emitted(); strings.Contains(emitted, "LoadBalancerExternalNetworkChosen") {
				t.Errorf("emitted of a choice where there was none: %s", emitted)
			}
			env.Cloud.RequestLog.Reset()
			other := service("other", 1)
			maps.Copy(other.Annotations, svc.Annotations)
			env.ensure(other, nodes)
			if n := env.Cloud.RequestLog.Count(http.MethodGet, "/network/v2.0/routers"); n > 0 {
				t.Errorf("%d requests for routers that are known", n)
			}
			env.unchanged(svc, nodes)
		})
	}
}

func TestFloatingIP_IsRefusedBeforeCreationWhereNoRouterLeadsOut(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{WithoutRouter: true}, Config: simulator.Config{OmitFloatingNetwork: true}}})
	env.otherExternal(firstNetwork)
	router, err := env.Cloud.Neutron.AddRouter(simneutron.RouterSpec{Name: "inside", ProjectID: env.Cloud.Account.ProjectID, SubnetIDs: []string{env.Cloud.Subnet.ID}})
	if err != nil {
		t.Fatal(err)
	}
	nodes, svc := env.nodes(1), service("web", 1)
	env.refused(svc, nodes, "no router connects the VIP")
	env.loadBalancers(0)
	if err := env.Cloud.Neutron.SetGateway(router.ID, firstNetwork); err != nil {
		t.Fatal(err)
	}
	env.ensure(svc, nodes)
	env.unchanged(svc, nodes)
}

// A hidden router of another project connects a network of that project with the external one. The
// project's own router in the same subnet does not.
func TestFloatingIP_IsTriedWhereARouterMayBeHidden(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"the subnet": true, "the network": false} {
		for what, own := range map[string]bool{"an own router": true, "no own router": false} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitFloatingNetwork: true, OmitSubnet: true}}})
				neutron, admin := env.Cloud.Neutron, env.Cloud.Admin.ProjectID
				env.otherExternal("ffffffff-0000-4000-8000-000000000000")
				shared := neutron.AddNetwork(simneutron.NetworkSpec{Name: "provider", ProjectID: admin, Shared: true})
				subnet, err := neutron.AddSubnet(simneutron.SubnetSpec{NetworkID: shared.ID, CIDR: "127.120.0.0/16", ProjectID: admin})
				if err != nil {
					t.Fatal(err)
				}
				leads := simneutron.RouterSpec{Name: "provider", ProjectID: admin, ExternalNetworkID: env.Cloud.ExternalNetwork.ID, SubnetIDs: []string{subnet.ID}}
				if _, err := neutron.AddRouter(leads); err != nil {
					t.Fatal(err)
				}
				if own {
					env.ownRouter(shared.ID, subnet.ID)
				}
				nodes, svc := env.nodes(1), service("web", 1)
				svc.Annotations[annotation.NetworkID] = shared.ID
				if named {
					svc.Annotations[annotation.SubnetID] = subnet.ID
				}
				env.ensure(svc, nodes)
				if made := neutron.FloatingIPs(); len(made) != 1 || made[0].NetworkID != env.Cloud.ExternalNetwork.ID {
					t.Errorf("floating IPs %+v, want one of the network %s", made, env.Cloud.ExternalNetwork.ID)
				}
				env.unchanged(svc, nodes)
			})
		}
	}
}

// In a network of the own project, the interface of another project's router is visible, but its
// gateway is not.
func TestFloatingIP_IsTriedWhereTheGatewayOfARouterIsHidden(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{WithoutRouter: true}, Config: simulator.Config{OmitFloatingNetwork: true}}})
	env.otherExternal("ffffffff-0000-4000-8000-000000000000")
	leads := simneutron.RouterSpec{
		Name: "provider", ProjectID: env.Cloud.Admin.ProjectID, ExternalNetworkID: env.Cloud.ExternalNetwork.ID, SubnetIDs: []string{env.Cloud.Subnet.ID},
	}
	if _, err := env.Cloud.Neutron.AddRouter(leads); err != nil {
		t.Fatal(err)
	}
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	env.serves(svc, "")
}

// ownRouter adds a router of the project without a gateway to a subnet, at a free address, because
// another router has that of the subnet's gateway.
func (env *environment) ownRouter(network, subnet string) {
	env.T.Helper()
	router, err := env.Cloud.Neutron.AddRouter(simneutron.RouterSpec{Name: "own", ProjectID: env.Cloud.Account.ProjectID})
	if err != nil {
		env.T.Fatal(err)
	}
	if _, err := env.Cloud.Neutron.CreatePort(simneutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: network, SubnetID: subnet, Address: "127.120.9.9",
		DeviceID: router.ID, DeviceOwner: "network:router_interface",
	}); err != nil {
		env.T.Fatal(err)
	}
}

// A single external network is not checked. Neutron reports the lack of a router.
func TestFloatingIP_ErrorNamesSettingWhereNoRouterLeadsToNetwork(t *testing.T) {
	t.Parallel()
	for name, configured := range map[string]bool{"found": false, "configured": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{WithoutRouter: true}, Config: simulator.Config{OmitFloatingNetwork: !configured}}})
			nodes, svc := env.nodes(1), service("web", 1)
			where := "metadata.annotations[" + annotation.FloatingNetID + "]: "
			if configured {
				where = "floating-network-id in cloud.conf: "
			}
			env.refused(svc, nodes, where)
			env.refused(svc, nodes, "connect the VIP's subnet to a router")
			if env.refusedFor() != "unavailable" {
				t.Errorf("refused as %s", env.refusedFor())
			}
			env.delete(svc)
			env.loadBalancers(0)
			env.floatingIPs(0)
		})
	}
}

func TestVIP_IsInNodesSubnetThatRouterLeadsOutOf(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}})
	inside := env.subnet("127.101.0.0/16")
	router, err := env.Cloud.Neutron.AddRouter(simneutron.RouterSpec{Name: "inside", ProjectID: env.Cloud.Account.ProjectID, SubnetIDs: []string{inside}})
	if err != nil {
		t.Fatal(router, err)
	}
	nodes := []*v1.Node{env.node(0), env.nodeAt("b", "127.101.1.1"), env.nodeAt("c", "127.101.1.2")}
	svc, internal := service("web", 1), service("inside", 1)
	internal.Annotations[annotation.Internal] = "true"
	env.ensure(svc, nodes)
	if got := env.loadBalancer().VIP.SubnetID; got != env.Cloud.Subnet.ID {
		t.Errorf("the VIP is in %s, from which no router leads out", got)
	}
	if emitted := env.emitted(); !strings.Contains(emitted, "from which a router leads to an external network") {
		t.Errorf("emitted %q", emitted)
	}
	env.ensure(internal, nodes)
	for _, lb := range env.loadBalancers(2) {
		if strings.Contains(lb.Name, "inside") && lb.VIP.SubnetID != inside {
			t.Errorf("the internal VIP is in %s, want that of most nodes", lb.VIP.SubnetID)
		}
	}
}

// byMembers returns clouds in which the user may choose the address of a floating IP, or not.
func byMembers(chooses bool) environmentOptions {
	return environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{FloatingIPAddressByMembers: chooses}}}
}

func TestFloatingIP_WithAskedAddressIsReservedBeforeLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, byMembers(true))
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Spec.LoadBalancerIP = "127.200.7.7"
	env.Cloud.RequestLog.Reset()
	env.foretold(svc, nodes)
	env.inOrder("POST floatingips", "POST loadbalancers", "PUT floatingips/{id}")
	env.serves(svc, "127.200.7.7")
	env.unchanged(svc, nodes)
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

func TestFloatingIP_ThatCannotBeHadCreatesNoLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chooses bool
		address string
		taken   bool
		words   []string
	}{
		"policy":                {false, "127.200.7.7", false, []string{"does not let the controller create one", "administrator"}},
		"another project's":     {true, "127.200.7.7", true, []string{"none can be created with it", "choose another address"}},
		"of no external subnet": {true, "203.0.113.80", false, []string{"none can be created with it", "choose another address"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, byMembers(c.chooses))
			if c.taken {
				spec := simneutron.FloatingIPSpec{ProjectID: env.Cloud.Admin.ProjectID, NetworkID: env.Cloud.ExternalNetwork.ID, Address: c.address}
				if _, err := env.Cloud.Neutron.CreateFloatingIP(spec); err != nil {
					t.Fatal(err)
				}
			}
			before := len(env.Cloud.Neutron.FloatingIPs())
			nodes, svc := env.nodes(1), service("web", 1)
			svc.Spec.LoadBalancerIP = c.address
			_, err := env.engine.Ensure(env.ctx, svc, nodes)
			for _, word := range append(c.words, "spec.loadBalancerIP: ", c.address) {
				if err == nil || !strings.Contains(err.Error(), word) {
					t.Errorf("error %v says nothing of %q", err, word)
				}
			}
			env.loadBalancers(0)
			env.floatingIPs(before)
			svc.Spec.LoadBalancerIP = ""
			env.ensure(svc, nodes)
			env.floatingIPs(before + 1)
			env.delete(svc)
			env.floatingIPs(before)
		})
	}
}

// The reserved floating IP is deleted with the Service, or when the Service no longer needs it.
func TestFloatingIP_ReservedForFailedCreationDoesNotLeak(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*environment, *v1.Service, []*v1.Node){
		"deleted": func(env *environment, svc *v1.Service, _ []*v1.Node) {
			if !env.exists(svc) {
				env.T.Error("Get finds nothing to delete")
			}
			env.delete(svc)
			env.floatingIPs(0)
		},
		"created later": func(env *environment, svc *v1.Service, nodes []*v1.Node) {
			env.Cloud.Faults.Clear()
			env.ensure(svc, nodes)
			env.serves(svc, "127.200.7.7")
			env.floatingIPs(1)
		},
		"another address": func(env *environment, svc *v1.Service, nodes []*v1.Node) {
			env.Cloud.Faults.Clear()
			svc.Spec.LoadBalancerIP = "127.200.7.8"
			env.ensure(svc, nodes)
			env.serves(svc, "127.200.7.8")
			env.floatingIPs(1)
		},
		"no address": func(env *environment, svc *v1.Service, nodes []*v1.Node) {
			env.Cloud.Faults.Clear()
			svc.Spec.LoadBalancerIP = ""
			env.ensure(svc, nodes)
			env.floatingIPs(1)
		},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " restarted ", restarted), func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, byMembers(true))
				env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Status: http.StatusForbidden, Body: `{"faultcode": "Client", "faultstring": "Quota has been met for resources: Load Balancer"}`})
				nodes, svc := env.nodes(1), service("web", 1)
				svc.Spec.LoadBalancerIP = "127.200.7.7"
				env.refused(svc, nodes, "Quota has been met")
				env.refused(svc, nodes, "Quota has been met")
				env.floatingIPs(1)
				if restarted {
					env.restart()
				}
				end(env, svc, nodes)
			})
		}
	}
}

// Errors of Octavia and Neutron about a setting name it.
func TestRefusal_ByOpenStackNamesSetting(t *testing.T) {
	t.Parallel()
	const absent = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
	for name, c := range map[string]struct {
		keys   map[string]string
		change func(*v1.Service)
		want   string
	}{
		"subnet of cloud.conf":         {map[string]string{"subnet-id": absent}, func(*v1.Service) {}, "subnet-id in cloud.conf: "},
		"floating network, annotation": {nil, func(svc *v1.Service) { svc.Annotations[annotation.FloatingNetID] = absent }, "metadata.annotations[" + annotation.FloatingNetID + "]: "},
		"floating subnet, annotation":  {nil, func(svc *v1.Service) { svc.Annotations[annotation.FloatingSubnet] = absent }, "metadata.annotations[" + annotation.FloatingSubnet + "]: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: c.keys, simulator: simulator.Options{Config: simulator.Config{OmitSubnet: c.keys["subnet-id"] != ""}}})
			svc := service("web", 1)
			c.change(svc)
			nodes := env.nodes(1)
			env.refused(svc, nodes, c.want)
			env.refused(svc, nodes, absent)
		})
	}
}

// A Service with a load balancer keeps it, and an event reports that.
func TestSharing_ReportsLoadBalancerThatDoesNotExist(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
	env.emitted()
	env.ensure(svc, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, "there is no load balancer 67a0ff86") {
		t.Errorf("emitted %q", emitted)
	}
	env.loadBalancers(1)
}
