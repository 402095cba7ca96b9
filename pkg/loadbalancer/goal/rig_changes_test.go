package goal

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// rigIdentity is that of the Service of a rig, anotherIdentity that of another one of the cluster.
func rigIdentity() ownership.Identity {
	return ownership.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "service-uid", Namespace: "default", Service: "web"}
}

func anotherIdentity() ownership.Identity {
	id := rigIdentity()
	id.ServiceUID, id.Service = "another", "another"
	return id
}

const serviceUID = types.UID("service-uid")

// by returns a Service with a provider, "" for the default, after changes. It is newer than the process.
func by(provider string, changes ...func(*v1.Service)) *v1.Service {
	return fixture.Service(append([]func(*v1.Service){func(svc *v1.Service) {
		svc.CreationTimestamp.Time = noon.Add(time.Hour)
		if provider != "" {
			svc.Annotations[annotation.Provider] = provider
		}
	}}, changes...)...)
}

// at publishes addresses.
func at(addresses ...string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Status.LoadBalancer = published(addresses...).Status }
}

// old makes a Service older than the process.
func old(svc *v1.Service) { svc.CreationTimestamp.Time = noon.Add(-time.Hour) }

func loadBalancerIP(address string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address }
}

// service changes the Service.
func service(changes ...func(*v1.Service)) func(*rig) {
	return func(r *rig) {
		for _, change := range changes {
			change(r.svc)
		}
	}
}

// configured changes the configuration, unless the change is nil.
func configured(change func(*config.LoadBalancer)) func(*rig) {
	return func(r *rig) {
		if change != nil {
			change(&r.conf.LoadBalancer)
		}
	}
}

// managed makes the controller manage security groups.
func managed(r *rig) {
	r.conf.LoadBalancer.ManageSecurityGroups, r.conf.LoadBalancer.SecurityGroupMode = true, "per-service"
}

// knowing gives a rig this knowledge of the Service.
func knowing(entry state.Entry) func(*rig) {
	return func(r *rig) { r.store.Update(serviceUID, func(e *state.Entry) { *e = entry }) }
}

// failingAt makes the requests fail that begin with a word, or one request.
func failingAt(request string, err error) func(*rig) {
	return func(r *rig) { r.fails[request] = err }
}

// withPods gives the Service a pod on each node, with a port in the subnet of the nodes.
func withPods(r *rig) {
	slice := members.Slice{Family: v1.IPv4Protocol, Ports: []string{"p80"}, Numbers: []int{8080}, Pod: "web-0"}
	for i, node := range r.nodes {
		address := fmt.Sprintf("10.0.0.%d", 21+i)
		slice.Endpoints = append(slice.Endpoints, members.Endpoint{Node: node.Name, Address: netip.MustParseAddr(address), Ready: true, Serving: true})
		r.ports = append(r.ports, portAt("port-"+address, address))
	}
	r.endpoints, r.watch = members.Endpoints{slice}, settings.Watched
}

// balancer is a load balancer of the Service in Octavia. The first one is at 10.0.0.100, the next at 10.0.0.101.
func balancer(id string, changes ...func(*octavia.LoadBalancer)) func(*rig) {
	return func(r *rig) {
		lb := octavia.LoadBalancer{
			ID: id, Provider: "amphora", ProvisioningStatus: model.StatusActive, OperatingStatus: "ONLINE", AdminStateUp: true, UpdatedAt: octavia.Timestamp{Time: noon},
			VIPAddress: fmt.Sprintf("10.0.0.%d", 100+len(r.balancers)), VIPPortID: "vip-of-" + id, VIPSubnetID: "subnet", VIPNetworkID: "network",
		}
		identified(rigIdentity())(&lb)
		for _, change := range changes {
			change(&lb)
		}
		r.balancers = append(r.balancers, lb)
	}
}

// identified gives a load balancer an identity.
func identified(id ownership.Identity) func(*octavia.LoadBalancer) {
	return func(lb *octavia.LoadBalancer) {
		lb.Name, lb.Description, lb.Tags = id.Name(), id.Description(), id.Tags()
	}
}

// ofAnother gives a load balancer to another Service of the cluster.
func ofAnother(lb *octavia.LoadBalancer) { identified(anotherIdentity())(lb) }

// listenerOn is the listener of the Service on a load balancer, with a member for each node, or one of another client.
func listenerOn(lb string, own bool) func(*rig) {
	return func(r *rig) {
		id, listener, pool := rigIdentity(), octavia.ObjectID{ID: "listener-of-" + lb}, octavia.ObjectID{ID: "pool-of-" + lb}
		l := octavia.Listener{ID: listener.ID, Name: "another's", Protocol: "TCP", Port: 99, AdminStateUp: true, ProvisioningStatus: model.StatusActive, LoadBalancers: []octavia.ObjectID{{ID: lb}}}
		at := slices.IndexFunc(r.balancers, func(one octavia.LoadBalancer) bool { return one.ID == lb })
		r.balancers[at].Listeners = append(r.balancers[at].Listeners, octavia.Listener{ID: l.ID})
		if own {
			l.Name, l.Tags, l.Port, l.DefaultPoolID = id.ListenerName(0), id.Tags(), 80, pool.ID
			p := octavia.Pool{ID: pool.ID, Name: id.PoolName(0), Tags: id.Tags(), Protocol: "TCP", Algorithm: "ROUND_ROBIN", AdminStateUp: true, ProvisioningStatus: model.StatusActive, Listeners: []octavia.ObjectID{listener}}
			for _, node := range r.nodes {
				p.Members = append(p.Members, octavia.ObjectID{ID: "member-" + node.Name})
				r.members[pool.ID] = append(r.members[pool.ID], octavia.Member{
					ID: "member-" + node.Name, Name: node.Name, Address: node.Status.Addresses[0].Address, Port: 30080, SubnetID: "subnet", AdminStateUp: new(true), Weight: new(1), ProvisioningStatus: model.StatusActive,
				})
			}
			r.balancers[at].Pools, r.pools[lb] = append(r.balancers[at].Pools, octavia.Pool{ID: pool.ID}), append(r.pools[lb], p)
		}
		r.listeners = append(r.listeners, l)
	}
}

// floatingAt is a floating IP of the Service on a port, "" for none.
func floatingAt(id, address, port string, changes ...func(*floatingips.FloatingIP)) func(*rig) {
	return func(r *rig) {
		fip := floatingips.FloatingIP{ID: id, FloatingIP: address, FloatingNetworkID: "public", PortID: port, Description: rigIdentity().FloatingIPs().Description()}
		for _, change := range changes {
			change(&fip)
		}
		r.floatingIPs = append(r.floatingIPs, fip)
	}
}

// describedAs gives a floating IP another description.
func describedAs(text string) func(*floatingips.FloatingIP) {
	return func(fip *floatingips.FloatingIP) { fip.Description = text }
}

// vipAt is a VIP of the Service, to which a route leads from the first node.
func vipAt(address string, changes ...func(*neutron.VIPPort)) func(*rig) {
	return func(r *rig) {
		id := rigIdentity()
		port := neutron.VIPPort{
			ID: "port-" + address, Name: id.Name(), Description: id.ProvenDescription(), Tags: id.Tags(), NetworkID: "vip-net",
			FixedIPs: []neutron.FixedIP{{SubnetID: "vips", IPAddress: address}},
		}
		for _, change := range changes {
			change(&port)
		}
		r.vips = append(r.vips, port)
		r.routes = append(r.routes, neutron.ExtraRoute{Destination: address + "/32", NextHop: "10.0.0.1"})
	}
}

// forwardedAt is a floating IP with a port of the Service that is forwarded to a node.
func forwardedAt(id, address, node string) func(*rig) {
	return func(r *rig) {
		one := neutron.Forwarding{
			ID: "forwarding-" + id, Protocol: "tcp", ExternalPort: 80, InternalPort: 30080, InternalPortID: "port-" + node, InternalIPAddress: node,
			Description: rigIdentity().ProvenDescription(),
		}
		r.forwardings[id] = append(r.forwardings[id], one)
		one.Description = ""
		r.add(floatingAt(id, address, "", func(fip *floatingips.FloatingIP) {
			fip.RouterID = "r1"
			r.forwarded = append(r.forwarded, neutron.ForwardedIP{ID: id, Address: address, NetworkID: "public", Description: fip.Description, Forwardings: []neutron.Forwarding{one}})
		}))
	}
}
