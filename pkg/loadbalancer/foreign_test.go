package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// theirAddress is a private address that exists in two networks of the project.
const theirAddress = "127.100.5.5"

// theirNetwork adds a network with the same range as that of the nodes, as for another cluster from
// the same template.
func (env *environment) theirNetwork() neutron.Subnet {
	env.T.Helper()
	network := env.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{ProjectID: env.Cloud.Account.ProjectID, Name: "theirs"})
	subnet, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{ProjectID: env.Cloud.Account.ProjectID, NetworkID: network.ID, CIDR: env.Cloud.Subnet.CIDR})
	if err != nil {
		env.T.Fatal(err)
	}
	return subnet
}

// internalByPeer creates the internal load balancer of default/web as cloud-provider-openstack
// does, at theirAddress in a subnet.
func (env *environment) internalByPeer(subnetID, member string) (id string) {
	env.T.Helper()
	const name = "kube_service_kubernetes_default_web"
	made, err := octaviaAsSomebodyElse(env.T, env).Octavia().CreateLoadBalancer(env.ctx, octaviaapi.LoadBalancer{
		Name: name, Description: "Kubernetes internal service default/web from cluster kubernetes", Tags: []string{name},
		VIPSubnetID: subnetID, VIPAddress: theirAddress,
		Listeners: []octaviaapi.Listener{{Name: "listener_0_" + name, Protocol: "TCP", Port: 80, Tags: []string{name}, DefaultPool: &octaviaapi.NewPool{
			Pool:    octaviaapi.Pool{Name: "pool_0_" + name, Protocol: "TCP", Algorithm: "ROUND_ROBIN"},
			Members: []octaviaapi.Member{{Name: "theirs", Address: member, Port: 30080, SubnetID: subnetID}},
		}}},
	})
	if err != nil {
		env.T.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	return made.ID
}

// find returns a load balancer by its ID, or false if it is gone.
func (env *environment) find(id string) (octavia.LoadBalancer, bool) {
	all := env.Cloud.Octavia.Snapshot()
	if i := slices.IndexFunc(all, func(lb octavia.LoadBalancer) bool { return lb.ID == id }); i >= 0 {
		return all[i], true
	}
	return octavia.LoadBalancer{}, false
}

// untouched fails if a load balancer was changed or deleted, or has lost its floating IP.
func (env *environment) untouched(before octavia.LoadBalancer) {
	env.T.Helper()
	after, there := env.find(before.ID)
	if !there {
		env.T.Fatalf("load balancer %s is gone:\n%s", before.Name, printed(env.Cloud.RequestLog.Requests(requestlog.Writes())))
	}
	if !after.UpdatedAt.Equal(before.UpdatedAt) || !slices.Equal(ports(after), ports(before)) {
		env.T.Errorf("load balancer %s was changed: %v, was %v", before.Name, ports(after), ports(before))
	}
}

// deletion marks a Service as deleted.
func deletion(svc *v1.Service) *v1.Service {
	svc = svc.DeepCopy()
	now := nowTime()
	svc.DeletionTimestamp = &now
	return svc
}

// Two clusters from one template share a project: the same name, the same range of addresses, the
// same manifest. The other one still runs cloud-provider-openstack.
//
//proves:63
func TestOwnership_IsNotProvenBySamePrivateAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what    string
		named   bool // the Service names the load balancer that is gone
		deleted bool
	}{
		{"ours is gone", false, false},
		{"ours is gone, and the Service names it", true, false},
		{"ours is gone, and the Service is deleted", false, true},
		{"ours is gone, and the Service that names it is deleted", true, true},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			svc.Annotations[annotation.Internal] = "true"
			svc.Spec.LoadBalancerIP = theirAddress
			env.ensure(svc, nodes)
			ours := env.loadBalancer().ID
			theirs, _ := env.find(env.internalByPeer(env.theirNetwork().ID, "127.100.77.77"))
			if err := env.Cloud.Octavia.Remove(ours); err != nil {
				t.Fatal(err)
			}
			if test.named {
				svc.Annotations[annotation.LoadBalancerID] = ours
			}
			svc.Spec.LoadBalancerIP = ""
			env.restart()
			env.Cloud.RequestLog.Reset()
			switch {
			case test.deleted:
				env.delete(deletion(svc))
				env.writes(0)
				if emitted := env.emitted(); strings.Contains(emitted, "does not prove it") == test.named {
					t.Errorf("emitted %q", emitted)
				}
			case test.named:
				env.ensure(svc, nodes)
				env.loadBalancers(2)
			default:
				env.refused(svc, nodes, "name it in the annotation loadbalancer.openstack.org/load-balancer-id")
				env.writes(0)
			}
			env.untouched(theirs)
		})
	}
}

// The load balancer in our network is ours. The older one at the same address in another network is
// not.
//
//proves:63,120
func TestAdoption_ByPrivateAddressTakesLoadBalancerInOwnNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	theirs, _ := env.find(env.internalByPeer(env.theirNetwork().ID, "127.100.77.77"))
	ours := env.internalByPeer(env.Cloud.Subnet.ID, nodes[0].Status.Addresses[0].Address)
	svc.Annotations[annotation.Internal] = "true"
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: theirAddress}}
	svc.Spec.Ports[0].NodePort = 32123
	env.ensure(svc, nodes)
	env.untouched(theirs)
	if lb, _ := env.find(ours); lb.Pools[0].Members[0].ProtocolPort != 32123 {
		t.Errorf("ours has the members %v", lb.Pools[0].Members)
	}
	env.delete(svc)
	env.untouched(theirs)
	env.loadBalancers(1)
}

// The Service requests a network of the other cluster, and an address that the other cluster's load
// balancer has as well.
func TestOwnership_IsNotProvenByNetworkThatServiceNames(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, theirs := env.nodes(2), service("web", 1)
	theirNetwork := env.theirNetwork()
	before, _ := env.find(env.internalByPeer(theirNetwork.ID, "127.100.77.77"))
	theirs.UID = "uid-of-another"
	theirs.Annotations[annotation.Internal] = "true"
	theirs.Annotations[annotation.SubnetID] = theirNetwork.ID
	theirs.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: theirAddress}}
	env.refused(theirs, nodes, "does not prove it")
	env.delete(deletion(theirs))
	env.untouched(before)
}

// A tenant cannot take over or delete another cluster's load balancer, which
// cloud-provider-openstack created for a Service of the same name, by the contents of a Service: a
// host name that begins with its address, the annotations of the controller, or its ID.
//
//proves:63
func TestOwnership_IsNotProvenByWhatTenantWrites(t *testing.T) {
	t.Parallel()
	forge := map[string]func(env *environment, svc *v1.Service, victim octavia.LoadBalancer){
		"a host name": func(*environment, *v1.Service, octavia.LoadBalancer) {},
		"what is recorded": func(env *environment, svc *v1.Service, victim octavia.LoadBalancer) {
			env.records.Set(svc.UID, victim.ID+" 2026-01-01T00:00:00Z x "+string(svc.UID))
		},
		"its ID": func(_ *environment, svc *v1.Service, victim octavia.LoadBalancer) {
			svc.Annotations[annotation.LoadBalancerID] = victim.ID
		},
	}
	for what, forge := range forge {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", what, restart), func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{})
				nodes, theirs := env.nodes(2), service("web", 1)
				victim := env.inherit(peers("production", theirs), theirs, nodes)
				ours := service("web", 1)
				ours.UID = "uid-of-attacker"
				ours.Annotations[annotation.Internal] = "true"
				ours.Annotations[annotation.Hostname] = theirs.Status.LoadBalancer.Ingress[0].IP + ".x.example.com"
				env.ensure(ours, nodes)
				forge(env, ours, victim)
				if restart {
					env.restart()
				}
				ours.Spec.Ports[0].NodePort = 31999
				_, err := env.engine.Ensure(env.ctx, ours, nodes)
				if refused := err != nil; refused != (what == "its ID") {
					t.Errorf("Ensure: %v", err)
				}
				env.untouched(victim)
				if _, exists, err := env.engine.Get(env.ctx, deletion(ours)); err != nil || !exists {
					t.Errorf("Get: exists %v, error %v", exists, err)
				}
				env.delete(deletion(ours))
				env.untouched(victim)
				env.loadBalancers(1) // the Service's own one is gone, whatever the Service names
				env.floatingIPs(1)
			})
		}
	}
}

// A host name that begins with the address of another load balancer is no address: it gives a
// Service no access to the load balancer of another namespace.
//
//proves:61
func TestSharing_NeedsConsentDespiteHostname(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, victim := env.nodes(2), service("shop", 1)
	victim.Namespace = "bank"
	address := env.ensure(victim, nodes).Ingress[0].IP
	before := env.loadBalancer()
	intruder := service("intruder", 0)
	intruder.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443)}
	intruder.Annotations[annotation.Internal] = "true"
	intruder.Annotations[annotation.Hostname] = address + ".x.example.com"
	env.ensure(intruder, nodes)
	intruder.Annotations[annotation.LoadBalancerID] = before.ID
	env.refused(intruder, nodes, "does not allow default to share it")
	env.restart()
	env.refused(intruder, nodes, "does not allow default to share it")
	env.untouched(before)
}

// A published address gives no access either: another Service may have published it before.
//
//proves:61
func TestSharing_NeedsConsentDespitePublishedAddress(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, victim := env.nodes(2), service("shop", 1)
	victim.Namespace = "bank"
	address := env.ensure(victim, nodes).Ingress[0].IP
	before := env.loadBalancer()
	intruder := onto("intruder", before, 443)
	intruder.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
	env.refused(intruder, nodes, "does not allow default to share it")
	env.untouched(before)
}

// The record has the names of another cluster: the same Service of a cluster of the same name has
// parts of the same names.
func TestRecord_LeadsToNoLoadBalancerOfOthers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ sameName, gone bool }{{false, false}, {true, false}, {true, true}} {
		env := newEnvironment(t, environmentOptions{})
		nodes, theirs, ours := env.nodes(3), service("web", 1), service("web", 1)
		if !test.sameName {
			theirs.Namespace = "bank"
		}
		theirs.UID = "uid-of-the-victim"
		theirs.Annotations[annotation.Internal] = "true"
		other, _ := env.controller(otherCluster)
		if _, err := other.Ensure(env.ctx, theirs, nodes); err != nil {
			t.Fatal(err)
		}
		victim := env.loadBalancer()
		ours.Annotations[annotation.Internal] = "true"
		ours.Annotations[annotation.Hostname] = "a.example.com"
		env.ensure(ours, nodes)
		env.writeDown(ours)
		words := strings.Fields(env.records.texts[ours.UID])
		words[0], words[1] = victim.ID, victim.UpdatedAt.UTC().Format(time.RFC3339Nano)
		forged := strings.Join(words, " ")
		if test.gone {
			if err := env.Cloud.Octavia.Remove(ours.Annotations[annotation.LoadBalancerID]); err != nil {
				t.Fatal(err)
			}
		}
		for _, nodes := range [][]*v1.Node{nodes, nodes[1:], nil} {
			delete(ours.Annotations, annotation.LoadBalancerID)
			env.records.Set(ours.UID, forged)
			env.restart()
			env.Cloud.RequestLog.Reset()
			if nodes == nil {
				env.delete(deletion(ours))
			} else {
				env.ensure(ours, nodes)
			}
			env.untouched(victim)
		}
		env.loadBalancers(1)
	}
}

// The load balancer of a Service was never published, and the Service names that of another cluster
// now. Its deletion removes its own load balancer.
func TestDelete_FindsOwnLoadBalancerWhenNamedOneIsRefused(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	theirs := env.inherit(peers("elsewhere", service("web", 1)), service("web", 1), nodes)
	env.ensure(svc, nodes)
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{}
	env.restart()
	svc.Annotations[annotation.LoadBalancerID] = theirs.ID
	env.refused(svc, nodes, "in a cluster of another name")
	svc = deletion(svc)
	if _, exists, err := env.engine.Get(env.ctx, svc); err != nil || !exists {
		t.Errorf("Get: exists %v, error %v", exists, err)
	}
	env.delete(svc)
	env.untouched(theirs)
	env.loadBalancers(1)
	env.floatingIPs(1)
	if _, exists, err := env.engine.Get(env.ctx, svc); err != nil || exists {
		t.Errorf("Get afterwards: exists %v, error %v", exists, err)
	}
}

// A Service of cloud-provider-openstack that publishes only a host name with its address, without
// any other proof, gets no second load balancer.
func TestAdoption_AsksForIDWhenOnlyHostnameIsPublished(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	before := env.inherit(peers("kubernetes", svc), svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: address + ".nip.io"}}
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "name it in the annotation loadbalancer.openstack.org/load-balancer-id")
	env.writes(0)
	svc.Annotations[annotation.LoadBalancerID] = before.ID
	if got := env.ensure(svc, nodes).Ingress[0].IP; got != address {
		t.Errorf("published %s, was %s", got, address)
	}
	env.untouched(before)
}

// A load balancer that this process has identified as the Service's needs no further proof.
func TestAdoption_NeedsNoFurtherProofWhenFloatingIPIsLost(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	before := env.inherit(peers("production", svc), svc, nodes)
	env.ensure(svc, nodes)
	if err := octaviaAsSomebodyElse(t, env).Neutron().DeleteFloatingIP(env.ctx, env.Cloud.Neutron.FloatingIPs()[0].ID); err != nil {
		t.Fatal(err)
	}
	env.Cloud.RequestLog.Reset()
	env.repair(svc, nodes)
	if left := env.loadBalancer(); left.ID != before.ID {
		t.Errorf("left is %s", left.Name)
	}
	if n := len(env.Cloud.RequestLog.Requests(func(r requestlog.Request) bool { return r.Method == http.MethodPost })); n != 1 {
		t.Errorf("%d creations, want that of a floating IP", n)
	}
	env.unchanged(svc, nodes)
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// A floating IP that one namespace keeps is not given to another one, unless the first namespace or
// cloud.conf permits it.
//
//proves:21
func TestFloatingIP_KeptByNamespaceIsForOthersByConsentOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, scope, allows, namespace string
		refused                        bool
	}{
		{"another namespace", "namespace", "", "evil", true},
		{"another namespace that it allows", "namespace", "evil", "evil", false},
		{"another namespace, and cloud.conf allows it", "cluster", "", "evil", false},
		{"its own namespace", "namespace", "", "bank", false},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"shared-lb-scope": test.scope, "deny-annotations": ""}})
			env.sharing = map[string]string{"bank": test.allows}
			nodes, bank := env.nodes(1), service("shop", 1)
			bank.Namespace = "bank"
			bank.Annotations[annotation.KeepFloatingIP] = "true"
			address := env.ensure(bank, nodes).Ingress[0].IP
			env.delete(bank)
			kept := env.Cloud.Neutron.FloatingIPs()[0]
			for i, ask := range []func(*v1.Service){
				func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address },
				func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPID] = kept.ID },
			} {
				taker := service(fmt.Sprintf("taker-%d", i), 1)
				taker.Namespace = test.namespace
				ask(taker)
				env.Cloud.RequestLog.Reset()
				if test.refused {
					env.refused(taker, nodes, "is another namespace's, which keeps it")
					env.writes(0)
					continue
				}
				if got := env.ensure(taker, nodes).Ingress[0].IP; got != address {
					t.Errorf("published %s, want %s", got, address)
				}
				env.unchanged(taker, nodes)
				env.delete(taker)
			}
			env.floatingIPs(1)
		})
	}
}

// A user who may write Services may know the ID of the API server's load balancer.
//
//proves:62
func TestSharing_OfManualLoadBalancerIsAllowedUnlessCloudConfForbids(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	lb := env.byHand("api", "")
	before, after := onto("before", lb, 80), onto("after", lb, 443)
	env.ensure(before, nodes)
	env.Conf.LoadBalancer.SharedLBUnmanaged = false
	env.restart()
	env.refused(after, nodes, "shared-lb-unmanaged=false")
	env.unchanged(before, nodes) // a Service that is on it stays
	env.delete(after)
	env.delete(before)
	env.loadBalancers(1)
}

// A process ends after it created the new floating IP and before it dissociated the old one, and
// the Service reverts its request.
func TestFloatingIP_LeftByRevertedChangeIsDeleted(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	address := env.ensure(svc, nodes).Ingress[0].IP
	env.writeDown(svc)
	env.floatingIP("", env.Cloud.Neutron.FloatingIPs()[0].Description)
	env.restart()
	if got := env.ensure(svc, nodes).Ingress[0].IP; got != address {
		t.Errorf("published %s, was %s", got, address)
	}
	env.floatingIPs(1)
	env.unchanged(svc, nodes)
}

func TestFloatingIP_OfVanishedLoadBalancerGoesWhenServiceBecomesInternal(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	if err := env.Cloud.Octavia.Remove(env.loadBalancer().ID); err != nil {
		t.Fatal(err)
	}
	svc.Annotations[annotation.Internal] = "true"
	env.repair(svc, nodes)
	env.floatingIPs(0)
	env.unchanged(svc, nodes)
}

// A published address is not released because of a typing error.
//
//proves:21
func TestFloatingIP_IsKeptWhenKeepAnnotationIsMalformed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	svc.Annotations[annotation.KeepFloatingIP] = "ture"
	env.delete(deletion(svc))
	env.loadBalancers(0)
	env.floatingIPs(1)
}

// A move that leaves objects at the former load balancer is not reported as success.
func TestSharing_FailsWhenMoveCannotRemoveFormerLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	former := env.loadBalancer().ID
	svc.Annotations[annotation.LoadBalancerID] = env.byHand("mine", "").ID
	svc.Spec.Ports[0] = port(v1.ProtocolTCP, 443)
	remove := env.Cloud.Faults.Add(faultOn(http.MethodDelete, lbRoute+"/{id}", http.StatusForbidden))
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Error("no error though the former load balancer is still there")
	}
	remove()
	env.ensure(svc, nodes)
	if _, there := env.find(former); there {
		t.Error("the former load balancer is left behind")
	}
	env.unchanged(svc, nodes)
}

// The watch reports a second load balancer, but not one that is left unchanged.
//
//proves:71
func TestDrift_ReportsSecondLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{})
		nodes, svc := env.nodes(1), service("web", 1)
		env.ensure(svc, nodes)
		second, left := env.second(), 1
		if foreign {
			foreignListener(t, env, second, 9000)
			left = 2
		}
		env.repair(svc, nodes)
		env.loadBalancers(left)
		if emitted := env.emitted(); !foreign && !strings.Contains(emitted, "a second load balancer was made") {
			t.Errorf("emitted %q", emitted)
		}
		env.Cloud.RequestLog.Reset()
		env.look()
		env.ensure(svc, nodes)
		if reads := env.Cloud.RequestLog.Requests(func(r requestlog.Request) bool { return strings.Contains(r.Path, "tags=") }); len(reads) > 0 {
			t.Errorf("read again:\n%s", printed(reads))
		}
	}
}
