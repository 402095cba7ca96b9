package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// theirAddress is a private address that two networks of the project have.
const theirAddress = "127.100.5.5"

// theirNetwork makes a network with the range of the nodes' one, as another cluster of the
// same template has it.
func (w *world) theirNetwork() neutron.Subnet {
	w.t.Helper()
	network := w.cloud.Neutron.AddNetwork(neutron.NetworkSpec{ProjectID: w.cloud.Account.ProjectID, Name: "theirs"})
	subnet, err := w.cloud.Neutron.AddSubnet(neutron.SubnetSpec{ProjectID: w.cloud.Account.ProjectID, NetworkID: network.ID, CIDR: w.cloud.Subnet.CIDR})
	if err != nil {
		w.t.Fatal(err)
	}
	return subnet
}

// internalByPeer makes the internal load balancer of default/web as
// cloud-provider-openstack does, at theirAddress in a subnet.
func (w *world) internalByPeer(subnetID, member string) (id string) {
	w.t.Helper()
	const name = "kube_service_kubernetes_default_web"
	made, err := octaviaAsSomebodyElse(w.t, w).Octavia().CreateLoadBalancer(w.ctx, loadbalancers.CreateOpts{
		Name: name, Description: "Kubernetes internal service default/web from cluster kubernetes", Tags: []string{name},
		VipSubnetID: subnetID, VipAddress: theirAddress,
		Listeners: []listeners.CreateOpts{{Name: "listener_0_" + name, Protocol: "TCP", ProtocolPort: 80, Tags: []string{name}, DefaultPool: &pools.CreateOpts{
			Name: "pool_0_" + name, Protocol: "TCP", LBMethod: "ROUND_ROBIN",
			Members: []pools.CreateMemberOpts{{Name: "theirs", Address: member, ProtocolPort: 30080, SubnetID: subnetID}},
		}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cloud.WaitSettled(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	return made.ID
}

// find gives a load balancer by its ID; false where it is gone.
func (w *world) find(id string) (octavia.LoadBalancer, bool) {
	all := w.cloud.Octavia.Snapshot()
	if i := slices.IndexFunc(all, func(lb octavia.LoadBalancer) bool { return lb.ID == id }); i >= 0 {
		return all[i], true
	}
	return octavia.LoadBalancer{}, false
}

// untouched fails if somebody changed or deleted a load balancer, or took its floating
// IP.
func (w *world) untouched(before octavia.LoadBalancer) {
	w.t.Helper()
	after, there := w.find(before.ID)
	if !there {
		w.t.Fatalf("load balancer %s is gone:\n%s", before.Name, printed(w.cloud.Books.Requests(books.Writes())))
	}
	if !after.UpdatedAt.Equal(before.UpdatedAt) || !slices.Equal(ports(after), ports(before)) {
		w.t.Errorf("load balancer %s was changed: %v, was %v", before.Name, ports(after), ports(before))
	}
}

// deletion marks a Service as one that is being deleted.
func deletion(svc *v1.Service) *v1.Service {
	svc = svc.DeepCopy()
	now := nowTime()
	svc.DeletionTimestamp = &now
	return svc
}

// Two clusters of one template in one project: the same name, the same range of
// addresses, the same manifest. The other one is still cloud-provider-openstack's.
//
//proves:63
func TestAnotherClustersLoadBalancerAtTheSamePrivateAddressIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what    string
		named   bool // the Service names the one that is gone
		deleted bool
	}{
		{"ours is gone", false, false},
		{"ours is gone, and the Service names it", true, false},
		{"ours is gone, and the Service is deleted", false, true},
		{"ours is gone, and the Service that names it is deleted", true, true},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			nodes, svc := w.nodes(2), service("web", 1)
			svc.Annotations[annotation.Internal] = "true"
			svc.Spec.LoadBalancerIP = theirAddress
			w.ensure(svc, nodes)
			ours := w.loadBalancer().ID
			theirs, _ := w.find(w.internalByPeer(w.theirNetwork().ID, "127.100.77.77"))
			if err := w.cloud.Octavia.Remove(ours); err != nil {
				t.Fatal(err)
			}
			if test.named {
				svc.Annotations[annotation.LoadBalancerID] = ours
			}
			svc.Spec.LoadBalancerIP = ""
			w.restart()
			w.cloud.Books.Reset()
			switch {
			case test.deleted:
				w.delete(deletion(svc))
				w.writes(0)
				if told := w.told(); strings.Contains(told, "does not prove it") == test.named {
					t.Errorf("told %q", told)
				}
			case test.named:
				w.ensure(svc, nodes)
				w.loadBalancers(2)
			default:
				w.refused(svc, nodes, "name it in the annotation loadbalancer.openstack.org/load-balancer-id")
				w.writes(0)
			}
			w.untouched(theirs)
		})
	}
}

// The one in our network is ours, the older one at the same address in another is not.
//
//proves:63,120
func TestATakeoverByAPrivateAddressTakesTheOneInOurNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	theirs, _ := w.find(w.internalByPeer(w.theirNetwork().ID, "127.100.77.77"))
	ours := w.internalByPeer(w.cloud.Subnet.ID, nodes[0].Status.Addresses[0].Address)
	svc.Annotations[annotation.Internal] = "true"
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: theirAddress}}
	svc.Spec.Ports[0].NodePort = 32123
	w.ensure(svc, nodes)
	w.untouched(theirs)
	if lb, _ := w.find(ours); lb.Pools[0].Members[0].ProtocolPort != 32123 {
		t.Errorf("ours has the members %v", lb.Pools[0].Members)
	}
	w.delete(svc)
	w.untouched(theirs)
	w.loadBalancers(1)
}

// The Service asks for a network of the other cluster, and for an address that the other
// cluster's load balancer has too.
func TestTheNetworkThatAServiceAsksForProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, theirs := w.nodes(2), service("web", 1)
	theirNetwork := w.theirNetwork()
	before, _ := w.find(w.internalByPeer(theirNetwork.ID, "127.100.77.77"))
	theirs.UID = "uid-of-another"
	theirs.Annotations[annotation.Internal] = "true"
	theirs.Annotations[annotation.SubnetID] = theirNetwork.ID
	theirs.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: theirAddress}}
	w.refused(theirs, nodes, "does not prove it")
	w.delete(deletion(theirs))
	w.untouched(before)
}

// Another cluster's load balancer, made by cloud-provider-openstack for a Service of the
// same name, cannot be had or deleted by what a tenant writes into his Service: a host
// name that begins with its address, what the controller writes down, or its ID.
//
//proves:63
func TestWhatATenantWritesProvesNothing(t *testing.T) {
	t.Parallel()
	forge := map[string]func(svc *v1.Service, victim octavia.LoadBalancer){
		"a host name": func(*v1.Service, octavia.LoadBalancer) {},
		"what is written down": func(svc *v1.Service, victim octavia.LoadBalancer) {
			svc.Annotations[annotation.Fingerprint] = victim.ID + " 2026-01-01T00:00:00Z x " + string(svc.UID)
		},
		"its ID": func(svc *v1.Service, victim octavia.LoadBalancer) {
			svc.Annotations[annotation.LoadBalancerID] = victim.ID
		},
	}
	for what, forge := range forge {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", what, restart), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{})
				nodes, theirs := w.nodes(2), service("web", 1)
				victim := w.inherit(peers("production", theirs), theirs, nodes)
				ours := service("web", 1)
				ours.UID = "uid-of-attacker"
				ours.Annotations[annotation.Internal] = "true"
				ours.Annotations[annotation.Hostname] = theirs.Status.LoadBalancer.Ingress[0].IP + ".x.example.com"
				w.ensure(ours, nodes)
				forge(ours, victim)
				if restart {
					w.restart()
				}
				ours.Spec.Ports[0].NodePort = 31999
				_, err := w.engine.Ensure(w.ctx, ours, nodes)
				if refused := err != nil; refused != (what == "its ID") {
					t.Errorf("Ensure: %v", err)
				}
				w.untouched(victim)
				if _, exists, err := w.engine.Get(w.ctx, deletion(ours)); err != nil || !exists {
					t.Errorf("Get: exists %v, error %v", exists, err)
				}
				w.delete(deletion(ours))
				w.untouched(victim)
				w.loadBalancers(1) // its own is gone, whatever it names
				w.floatingIPs(1)
			})
		}
	}
}

// A host name that begins with another's address is not an address: it does not let a
// Service onto another namespace's load balancer.
//
//proves:61
func TestAHostNameDoesNotReplaceTheConsentToSharing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, victim := w.nodes(2), service("shop", 1)
	victim.Namespace = "bank"
	address := w.ensure(victim, nodes).Ingress[0].IP
	before := w.loadBalancer()
	intruder := service("intruder", 0)
	intruder.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443)}
	intruder.Annotations[annotation.Internal] = "true"
	intruder.Annotations[annotation.Hostname] = address + ".x.example.com"
	w.ensure(intruder, nodes)
	intruder.Annotations[annotation.LoadBalancerID] = before.ID
	w.refused(intruder, nodes, "does not allow default to share it")
	w.restart()
	w.refused(intruder, nodes, "does not allow default to share it")
	w.untouched(before)
}

// Nor does an address that is really published: it may have been another's before.
//
//proves:61
func TestAPublishedAddressDoesNotReplaceTheConsentToSharing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, victim := w.nodes(2), service("shop", 1)
	victim.Namespace = "bank"
	address := w.ensure(victim, nodes).Ingress[0].IP
	before := w.loadBalancer()
	intruder := onto("intruder", before, 443)
	intruder.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
	w.refused(intruder, nodes, "does not allow default to share it")
	w.untouched(before)
}

// What was written down in another cluster's words: the same Service of a cluster of the
// same name has parts of the same names.
func TestWhatWasWrittenDownLeadsToNobodyElsesLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ sameName, gone bool }{{false, false}, {true, false}, {true, true}} {
		w := newWorld(t, worldOptions{})
		nodes, theirs, ours := w.nodes(3), service("web", 1), service("web", 1)
		if !test.sameName {
			theirs.Namespace = "bank"
		}
		theirs.UID = "uid-of-the-victim"
		theirs.Annotations[annotation.Internal] = "true"
		other, _ := w.controller(otherCluster)
		if _, err := other.Ensure(w.ctx, theirs, nodes); err != nil {
			t.Fatal(err)
		}
		victim := w.loadBalancer()
		ours.Annotations[annotation.Internal] = "true"
		ours.Annotations[annotation.Hostname] = "a.example.com"
		w.ensure(ours, nodes)
		w.writeDown(ours)
		words := strings.Fields(ours.Annotations[annotation.Fingerprint])
		words[0], words[1] = victim.ID, victim.UpdatedAt.UTC().Format(time.RFC3339Nano)
		forged := strings.Join(words, " ")
		if test.gone {
			if err := w.cloud.Octavia.Remove(ours.Annotations[annotation.LoadBalancerID]); err != nil {
				t.Fatal(err)
			}
		}
		for _, nodes := range [][]*v1.Node{nodes, nodes[1:], nil} {
			delete(ours.Annotations, annotation.LoadBalancerID)
			ours.Annotations[annotation.Fingerprint] = forged
			w.restart()
			w.cloud.Books.Reset()
			if nodes == nil {
				w.delete(deletion(ours))
			} else {
				w.ensure(ours, nodes)
			}
			w.untouched(victim)
		}
		w.loadBalancers(1)
	}
}

// A Service whose own load balancer was never published, and that names another
// cluster's by now, loses its own one with its deletion.
func TestDeletionFindsTheOwnLoadBalancerBehindANameThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	theirs := w.inherit(peers("elsewhere", service("web", 1)), service("web", 1), nodes)
	w.ensure(svc, nodes)
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{}
	w.restart()
	svc.Annotations[annotation.LoadBalancerID] = theirs.ID
	w.refused(svc, nodes, "in a cluster of another name")
	svc = deletion(svc)
	if _, exists, err := w.engine.Get(w.ctx, svc); err != nil || !exists {
		t.Errorf("Get: exists %v, error %v", exists, err)
	}
	w.delete(svc)
	w.untouched(theirs)
	w.loadBalancers(1)
	w.floatingIPs(1)
	if _, exists, err := w.engine.Get(w.ctx, svc); err != nil || exists {
		t.Errorf("Get afterwards: exists %v, error %v", exists, err)
	}
}

// A Service of cloud-provider-openstack that publishes a name of its address and is not
// told apart by anything else gets no second load balancer.
func TestAHostNameAloneAsksForTheID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	before := w.inherit(peers("kubernetes", svc), svc, nodes)
	address := svc.Status.LoadBalancer.Ingress[0].IP
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: address + ".nip.io"}}
	w.cloud.Books.Reset()
	w.refused(svc, nodes, "name it in the annotation loadbalancer.openstack.org/load-balancer-id")
	w.writes(0)
	svc.Annotations[annotation.LoadBalancerID] = before.ID
	if got := w.ensure(svc, nodes).Ingress[0].IP; got != address {
		t.Errorf("published %s, was %s", got, address)
	}
	w.untouched(before)
}

// What this process has found to be the Service's needs no further proof.
func TestAnAdoptedLoadBalancerIsKnownWithoutItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	before := w.inherit(peers("production", svc), svc, nodes)
	w.ensure(svc, nodes)
	if err := octaviaAsSomebodyElse(t, w).Neutron().DeleteFloatingIP(w.ctx, w.cloud.Neutron.FloatingIPs()[0].ID); err != nil {
		t.Fatal(err)
	}
	w.cloud.Books.Reset()
	w.repair(svc, nodes)
	if left := w.loadBalancer(); left.ID != before.ID {
		t.Errorf("left is %s", left.Name)
	}
	if n := len(w.cloud.Books.Requests(func(r books.Request) bool { return r.Method == http.MethodPost })); n != 1 {
		t.Errorf("%d creations, want that of a floating IP", n)
	}
	w.unchanged(svc, nodes)
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

// A floating IP that one namespace keeps is not for another one, unless the one or
// cloud.conf lets it.
//
//proves:21
func TestAFloatingIPThatANamespaceKeepsIsItsOwn(t *testing.T) {
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
			w := newWorld(t, worldOptions{keys: map[string]string{"shared-lb-scope": test.scope, "deny-annotations": ""}})
			w.sharing = map[string]string{"bank": test.allows}
			nodes, bank := w.nodes(1), service("shop", 1)
			bank.Namespace = "bank"
			bank.Annotations[annotation.KeepFloatingIP] = "true"
			address := w.ensure(bank, nodes).Ingress[0].IP
			w.delete(bank)
			kept := w.cloud.Neutron.FloatingIPs()[0]
			for i, ask := range []func(*v1.Service){
				func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address },
				func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPID] = kept.ID },
			} {
				taker := service(fmt.Sprintf("taker-%d", i), 1)
				taker.Namespace = test.namespace
				ask(taker)
				w.cloud.Books.Reset()
				if test.refused {
					w.refused(taker, nodes, "is another namespace's, which keeps it")
					w.writes(0)
					continue
				}
				if got := w.ensure(taker, nodes).Ingress[0].IP; got != address {
					t.Errorf("published %s, want %s", got, address)
				}
				w.unchanged(taker, nodes)
				w.delete(taker)
			}
			w.floatingIPs(1)
		})
	}
}

// Who may write Services knows perhaps the ID of the API server's load balancer.
//
//proves:62
func TestALoadBalancerMadeByHandIsSharedUnlessCloudConfForbidsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(1)
	lb := w.byHand("api", "")
	before, after := onto("before", lb, 80), onto("after", lb, 443)
	w.ensure(before, nodes)
	w.conf.LoadBalancer.SharedLBUnmanaged = false
	w.restart()
	w.refused(after, nodes, "shared-lb-unmanaged=false")
	w.unchanged(before, nodes) // who is on it stays
	w.delete(after)
	w.delete(before)
	w.loadBalancers(1)
}

// A process ends between making the floating IP that is to come and taking off the one
// that is there, and the Service takes its wish back.
func TestASpareFloatingIPOfAChangeThatIsTakenBackIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	address := w.ensure(svc, nodes).Ingress[0].IP
	w.writeDown(svc)
	w.floatingIP("", w.cloud.Neutron.FloatingIPs()[0].Description)
	w.restart()
	if got := w.ensure(svc, nodes).Ingress[0].IP; got != address {
		t.Errorf("published %s, was %s", got, address)
	}
	w.floatingIPs(1)
	w.unchanged(svc, nodes)
}

// An address that users know is not given back for a typing error.
//
//proves:21
func TestAFloatingIPIsKeptWhereTheServiceSaysSoWrongly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	svc.Annotations[annotation.KeepFloatingIP] = "ture"
	w.delete(deletion(svc))
	w.loadBalancers(0)
	w.floatingIPs(1)
}

// What is left behind at the former load balancer is not told as success.
func TestAMoveThatCannotLeaveTheFormerLoadBalancerIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	former := w.loadBalancer().ID
	svc.Annotations[annotation.LoadBalancerID] = w.byHand("mine", "").ID
	svc.Spec.Ports[0] = port(v1.ProtocolTCP, 443)
	remove := w.cloud.Faults.Add(faultOn(http.MethodDelete, lbRoute+"/{id}", http.StatusForbidden))
	if _, err := w.engine.Ensure(w.ctx, svc, nodes); err == nil {
		t.Error("no error though the former load balancer is still there")
	}
	remove()
	w.ensure(svc, nodes)
	if _, there := w.find(former); there {
		t.Error("the former load balancer is left behind")
	}
	w.unchanged(svc, nodes)
}

// The watch notices a second load balancer, and is silent about one that is left alone.
//
//proves:71
func TestTheWatchTellsOfASecondLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{false, true} {
		w := newWorld(t, worldOptions{})
		nodes, svc := w.nodes(1), service("web", 1)
		w.ensure(svc, nodes)
		second, left := w.second(), 1
		if foreign {
			foreignListener(t, w, second, 9000)
			left = 2
		}
		w.repair(svc, nodes)
		w.loadBalancers(left)
		if told := w.told(); !foreign && !strings.Contains(told, "a second load balancer was made") {
			t.Errorf("told %q", told)
		}
		w.cloud.Books.Reset()
		w.look()
		w.ensure(svc, nodes)
		if reads := w.cloud.Books.Requests(func(r books.Request) bool { return strings.Contains(r.Path, "tags=") }); len(reads) > 0 {
			t.Errorf("read again:\n%s", printed(reads))
		}
	}
}
