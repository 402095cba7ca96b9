package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// inheritance is a load balancer as cloud-provider-openstack, or what was before it,
// has made it for a Service.
type inheritance struct {
	name, description string
	tags              []string
	// listener and pool are the formats of their names, for a number and the name.
	listener, pool string
	protocol       listeners.Protocol
}

// peers is what cloud-provider-openstack makes in a cluster of a name.
func peers(cluster string, svc *v1.Service) inheritance {
	name := fmt.Sprintf("kube_service_%s_%s_%s", cluster, svc.Namespace, svc.Name)
	name = cut(name)
	return inheritance{
		name: name, description: cut(fmt.Sprintf("Kubernetes external service %s/%s from cluster %s", svc.Namespace, svc.Name, cluster)),
		tags: []string{name}, listener: "listener_%d_%s", pool: "pool_%d_%s", protocol: listeners.ProtocolTCP,
	}
}

func cut(s string) string { return s[:min(255, len(s))] }

// untagged is what it made when Octavia had no tags yet.
func (i inheritance) untagged() inheritance {
	i.tags = nil
	return i
}

// inherit makes it, with a listener for each port of the Service and a floating IP, and
// lets the Service publish that.
func (w *world) inherit(i inheritance, svc *v1.Service, nodes []*v1.Node) simoctavia.LoadBalancer {
	w.t.Helper()
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer session.Close()
	opts := loadbalancers.CreateOpts{Name: i.name, Description: i.description, Tags: i.tags, VipSubnetID: w.cloud.Subnet.ID}
	for n, p := range svc.Spec.Ports {
		pool := &pools.CreateOpts{Name: cut(fmt.Sprintf(i.pool, n, i.name)), Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin}
		if i.protocol == listeners.ProtocolHTTP {
			pool.Protocol = pools.ProtocolHTTP
		}
		for _, node := range nodes {
			pool.Members = append(pool.Members, pools.CreateMemberOpts{
				Name: node.Name, Address: node.Status.Addresses[0].Address, ProtocolPort: int(p.NodePort), SubnetID: w.cloud.Subnet.ID,
			})
		}
		opts.Listeners = append(opts.Listeners, listeners.CreateOpts{
			Name: cut(fmt.Sprintf(i.listener, n, i.name)), Protocol: i.protocol, ProtocolPort: int(p.Port), Tags: i.tags, DefaultPool: pool,
		})
	}
	made, err := session.Octavia().CreateLoadBalancer(w.ctx, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cloud.WaitSettled(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	fip := w.floatingIP("", cut("Floating IP for "+i.description))
	if _, err := w.cloud.Neutron.AssociateFloatingIP(fip.ID, made.VipPortID, ""); err != nil {
		w.t.Fatal(err)
	}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: fip.Address}}
	for _, lb := range w.cloud.Octavia.Snapshot() {
		if lb.ID == made.ID {
			return lb
		}
	}
	w.t.Fatal("it is gone")
	return simoctavia.LoadBalancer{}
}

// Two clusters keep the default name, and have Services of one name. One of them is
// still cloud-provider-openstack's.
//
//proves:63
func TestAnotherClustersLoadBalancerOfOurNameIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for what, tags := range map[string]bool{"tagged": true, "without tags": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			nodes := w.nodes(2)
			theirs, ours := service("web", 1), service("web", 1)
			left := peers("kubernetes", theirs)
			if !tags {
				left = left.untagged()
			}
			before := w.inherit(left, theirs, nodes[:1])
			w.ensure(ours, nodes[1:])
			w.loadBalancers(2)
			w.floatingIPs(2)
			w.unchanged(ours, nodes[1:])
			w.delete(ours)
			after := w.loadBalancer()
			if after.ID != before.ID || !after.UpdatedAt.Equal(before.UpdatedAt) || len(after.Pools[0].Members) != 1 {
				t.Errorf("their load balancer was touched: %v", ports(after))
			}
			w.floatingIPs(1)
		})
	}
}

// A Service names a load balancer that cloud-provider-openstack made for another
// Service, when there were no tags.
//
//proves:58,63
func TestAServiceThatNamesAnothersLoadBalancerWithoutTagsCannotDeleteIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"shared-lb-scope": "project"}})
	nodes := w.nodes(1)
	victim := service("victim", 1)
	before := w.inherit(peers("kubernetes", victim).untagged(), victim, nodes)
	for _, number := range []int{80, 443} {
		intruder := onto(fmt.Sprintf("intruder-%d", number), before, number)
		if number == 80 {
			w.refused(intruder, nodes, " of default/victim: choose another port")
		} else {
			w.ensure(intruder, nodes)
		}
		w.delete(intruder)
		if after := w.loadBalancer(); after.ID != before.ID || !slices.Equal(ports(after), ports(before)) {
			t.Errorf("left: %v, was %v", ports(after), ports(before))
		}
		w.floatingIPs(1)
	}
	w.ensure(victim, nodes)
	w.unchanged(victim, nodes)
	w.delete(victim)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

// A listener of HTTP holds the port of TCP: a Service of another namespace cannot take
// it over by asking for the one or the other.
//
//proves:58,61
func TestAListenerOfAnotherProtocolOnThePortIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(1)
	victim := service("victim", 1)
	left := peers("kubernetes", victim)
	left.protocol = listeners.ProtocolHTTP
	before := w.inherit(left, victim, nodes)
	for _, scope := range []string{"namespace", "cluster"} {
		w.conf.LoadBalancer.SharedLBScope = scope
		w.restart()
		intruder := onto("intruder-"+scope, before, 80)
		intruder.Namespace = "shop"
		w.cloud.Books.Reset()
		if _, err := w.engine.Ensure(w.ctx, intruder, nodes); err == nil {
			t.Errorf("scope %s: not refused", scope)
		}
		w.delete(intruder)
		w.writes(0)
	}
	after := w.loadBalancer()
	if !slices.Equal(after.Tags, before.Tags) || !slices.Equal(after.Listeners[0].Tags, before.Listeners[0].Tags) {
		t.Errorf("tags %v and %v, were %v and %v", after.Tags, after.Listeners[0].Tags, before.Tags, before.Listeners[0].Tags)
	}
}

// Two clusters of different names share one load balancer. Neither renames it, or what
// the other has on it.
//
//proves:67
func TestALoadBalancerOfAClusterOfAnotherNameIsNeverRenamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"shared-lb-scope": "project"}})
	nodes := w.nodes(1)
	theirs := service("web", 1)
	before := w.inherit(peers("other", theirs), theirs, nodes)
	same := onto("web", before, 443) // a Service of the same name as theirs
	w.cloud.Books.Reset()
	w.refused(same, nodes, "for a Service of the same name in a cluster of another name")
	w.delete(same)
	w.writes(0)
	ours := onto("ours", before, 443)
	w.ensure(ours, nodes)
	w.unchanged(ours, nodes)
	after := w.loadBalancer()
	if after.Name != before.Name || !slices.Equal(after.Tags, before.Tags) || after.Description != before.Description {
		t.Errorf("the load balancer became %s %v", after.Name, after.Tags)
	}
	if got := ports(after); !slices.Contains(got, "TCP/80 listener_0_kube_service_other_default_web") || len(got) != 2 {
		t.Errorf("listeners %v", got)
	}
	w.delete(ours)
	if got := ports(w.loadBalancer()); !slices.Equal(got, ports(before)) {
		t.Errorf("left %v, was %v", got, ports(before))
	}
}

// What others before us made for the Service is taken over without a write, under
// whatever name it was made, and deleted with the Service.
//
//proves:63,64,67,120
func TestLoadBalancersOfAllAgesAreTakenOver(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-", 50)
	for name, test := range map[string]struct {
		cluster string
		left    func(svc *v1.Service) inheritance
	}{
		"today's":                           {"kubernetes", func(svc *v1.Service) inheritance { return peers("kubernetes", svc) }},
		"without tags":                      {"kubernetes", func(svc *v1.Service) inheritance { return peers("kubernetes", svc).untagged() }},
		"under another name of the cluster": {"renamed", func(svc *v1.Service) inheritance { return peers("kubernetes", svc) }},
		"with a name that was cut":          {long, func(svc *v1.Service) inheritance { return peers(long, svc) }},
		"by the provider inside of Kubernetes": {"kubernetes", func(svc *v1.Service) inheritance {
			return inheritance{
				name: "a" + strings.ReplaceAll(string(svc.UID), "-", "")[:31], listener: "listener_%[2]s_%[1]d", pool: "pool_%[2]s_%[1]d",
				description: "Kubernetes external service default/web from cluster kubernetes", protocol: listeners.ProtocolTCP,
			}
		}},
	} {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, named by the Service %v", name, named), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{simulator: simulator.Options{Release: "zed"}})
				w.clusterName = test.cluster
				w.restart()
				nodes, svc := w.nodes(2), service("web", 2)
				svc.UID = "83edf9cb-240e-4ea1-8c14-28551499e9bf"
				lb := w.inherit(test.left(svc), svc, nodes)
				address := svc.Status.LoadBalancer.Ingress[0].IP
				if named {
					svc.Annotations[annotation.LoadBalancerID] = lb.ID
				}
				w.cloud.Books.Reset()
				if got := w.ensure(svc, nodes).Ingress[0].IP; got != address {
					t.Errorf("published %s, was %s", got, address)
				}
				w.writes(0)
				w.unchanged(svc, nodes)
				svc.Spec.Ports[0] = port(v1.ProtocolTCP, 8080)
				w.ensure(svc, nodes[:1])
				w.unchanged(svc, nodes[:1])
				if after := w.loadBalancer(); after.Name != lb.Name || !slices.Equal(after.Tags, lb.Tags) || len(after.Listeners) != 2 {
					t.Errorf("it became %s %v with %v", after.Name, after.Tags, ports(after))
				}
				w.delete(svc)
				w.loadBalancers(0)
				w.floatingIPs(0)
			})
		}
	}
}

// What we made is known by its tags: the cluster may be given any name.
//
//proves:67
func TestAnotherClusterNameChangesNothingOfWhatIsOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := w.nodes(2), service("web", 2)
	w.ensure(svc, nodes)
	guest := onto("guest", w.loadBalancer(), 443)
	w.ensure(guest, nodes)
	before := w.loadBalancer()
	w.clusterName = "renamed"
	w.restart()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.ensure(guest, nodes)
	w.writes(0)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9000))
	w.ensure(svc, nodes)
	guest.Spec.Ports[0].NodePort = 32323
	w.ensure(guest, nodes)
	w.unchanged(svc, nodes)
	w.unchanged(guest, nodes)
	if after := w.loadBalancer(); after.Name != before.Name || !slices.Equal(after.Tags, before.Tags) || len(after.Listeners) != 4 {
		t.Errorf("it became %s %v with %v", after.Name, after.Tags, ports(after))
	}
	w.delete(guest)
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

// Two Services whose names are too long for Octavia.
//
//proves:64
func TestServicesWithLongNamesKeepApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	w.clusterName = strings.Repeat("c", 200)
	w.restart()
	nodes := w.nodes(1)
	a, b := service(strings.Repeat("s", 60)+"-a", 1), service(strings.Repeat("s", 60)+"-b", 1)
	w.ensure(a, nodes)
	w.ensure(b, nodes)
	two := w.loadBalancers(2)
	if two[0].Name == two[1].Name || len(two[0].Name) > 255 {
		t.Errorf("names %s and %s", two[0].Name, two[1].Name)
	}
	w.unchanged(a, nodes)
	w.delete(a)
	w.unchanged(b, nodes)
	w.delete(b)
	w.loadBalancers(0)
}

// Octavia marks what can be marked: whose is what can be seen of every single object.
//
//proves:66
func TestEveryObjectSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443)) // made one by one
	w.ensure(svc, nodes)
	lb := w.loadBalancer()
	want := []string{"kube_cluster_id_" + clusterID, "kube_service_kubernetes_default_web", "kube_svc_uid_uid-of-web"}
	marked := func(kind string, tags []string) {
		t.Helper()
		if got := slices.Sorted(slices.Values(tags)); !slices.Equal(got, want) {
			t.Errorf("%s is tagged %v, want %v", kind, got, want)
		}
	}
	marked("load balancer", lb.Tags)
	for i := range lb.Listeners {
		marked("listener", lb.Listeners[i].Tags)
		marked("pool", lb.Pools[i].Tags)
		marked("monitor", lb.Pools[i].Monitor.Tags)
	}
	fip := w.cloud.Neutron.FloatingIPs()[0]
	if !strings.Contains(fip.Description, "(uid uid-of-web in "+clusterID+")") {
		t.Errorf("floating IP: %s", fip.Description)
	}
}
