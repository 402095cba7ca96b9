package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// inheritance is a load balancer as cloud-provider-openstack, or its predecessor, created it for a
// Service.
type inheritance struct {
	name, description string
	tags              []string
	// listener and pool are formats of names, with a number and the name.
	listener, pool string
	protocol       string
	// monitored gives each pool a health monitor.
	monitored bool
}

// peers returns an inheritance of cloud-provider-openstack in a cluster of a name.
func peers(cluster string, svc *v1.Service) inheritance {
	name := fmt.Sprintf("kube_service_%s_%s_%s", cluster, svc.Namespace, svc.Name)
	name = cut(name)
	return inheritance{
		name: name, description: cut(fmt.Sprintf("Kubernetes external service %s/%s from cluster %s", svc.Namespace, svc.Name, cluster)),
		tags: []string{name}, listener: "listener_%d_%s", pool: "pool_%d_%s", protocol: "TCP",
	}
}

func cut(s string) string { return s[:min(255, len(s))] }

// untagged returns the inheritance of a time when Octavia had no tags.
func (i inheritance) untagged() inheritance {
	i.tags = nil
	return i
}

// inherit creates the load balancer, with a listener for each port of the Service and a floating
// IP, and publishes its address.
func (env *environment) inherit(i inheritance, svc *v1.Service, nodes []*v1.Node) simoctavia.LoadBalancer {
	env.T.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		env.T.Fatal(err)
	}
	defer session.Close()
	opts := octavia.LoadBalancer{Name: i.name, Description: i.description, Tags: i.tags, VIPSubnetID: env.Cloud.Subnet.ID, Provider: env.Conf.LoadBalancer.LBProvider}
	for n, p := range svc.Spec.Ports {
		pool := &octavia.NewPool{Pool: octavia.Pool{Name: cut(fmt.Sprintf(i.pool, n, i.name)), Protocol: "TCP", Algorithm: "ROUND_ROBIN", Monitor: i.monitor()}}
		if i.protocol == "HTTP" {
			pool.Protocol = "HTTP"
		}
		if opts.Provider == "ovn" {
			pool.Algorithm = "SOURCE_IP_PORT"
		}
		for _, node := range nodes {
			pool.Members = append(pool.Members, octavia.Member{
				Name: node.Name, Address: node.Status.Addresses[0].Address, Port: int(p.NodePort), SubnetID: env.Cloud.Subnet.ID,
			})
		}
		opts.Listeners = append(opts.Listeners, octavia.Listener{
			Name: cut(fmt.Sprintf(i.listener, n, i.name)), Protocol: i.protocol, Port: int(p.Port), Tags: i.tags, DefaultPool: pool,
		})
	}
	made, err := session.Octavia().CreateLoadBalancer(env.ctx, opts)
	if err != nil {
		env.T.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	fip := env.floatingIP("", cut("Floating IP for "+i.description))
	if _, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, made.VIPPortID, ""); err != nil {
		env.T.Fatal(err)
	}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: fip.Address}}
	for _, lb := range env.Cloud.Octavia.Snapshot() {
		if lb.ID == made.ID {
			return lb
		}
	}
	env.T.Fatal("it is gone")
	return simoctavia.LoadBalancer{}
}

// Two clusters have the default name, and Services of the same name. One of them still runs
// cloud-provider-openstack.
//
//proves:63
func TestAdoption_LeavesSameNamedLoadBalancerOfOtherCluster(t *testing.T) {
	t.Parallel()
	for what, tags := range map[string]bool{"tagged": true, "without tags": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes := env.nodes(2)
			theirs, ours := service("web", 1), service("web", 1)
			left := peers("kubernetes", theirs)
			if !tags {
				left = left.untagged()
			}
			before := env.inherit(left, theirs, nodes[:1])
			env.ensure(ours, nodes[1:])
			env.loadBalancers(2)
			env.floatingIPs(2)
			env.unchanged(ours, nodes[1:])
			env.delete(ours)
			after := env.loadBalancer()
			if after.ID != before.ID || !after.UpdatedAt.Equal(before.UpdatedAt) || len(after.Pools[0].Members) != 1 {
				t.Errorf("their load balancer was touched: %v", ports(after))
			}
			env.floatingIPs(1)
		})
	}
}

// A Service names a load balancer that cloud-provider-openstack created for another Service,
// without tags.
//
//proves:58,63
func TestDelete_LeavesUntaggedLoadBalancerOfOtherService(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"shared-lb-scope": "project"}})
	nodes := env.nodes(1)
	victim := service("victim", 1)
	before := env.inherit(peers("kubernetes", victim).untagged(), victim, nodes)
	for _, number := range []int{80, 443} {
		intruder := onto(fmt.Sprintf("intruder-%d", number), before, number)
		if number == 80 {
			env.refused(intruder, nodes, " of default/victim: choose another port")
		} else {
			env.ensure(intruder, nodes)
		}
		env.delete(intruder)
		if after := env.loadBalancer(); after.ID != before.ID || !slices.Equal(ports(after), ports(before)) {
			t.Errorf("left: %v, was %v", ports(after), ports(before))
		}
		env.floatingIPs(1)
	}
	env.ensure(victim, nodes)
	env.unchanged(victim, nodes)
	env.delete(victim)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// A listener of HTTP occupies the port of TCP: a Service of another namespace cannot take it over
// with either protocol.
//
//proves:58,61
func TestOwnership_LeavesListenerOfOtherProtocolOnPortAlone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	victim := service("victim", 1)
	left := peers("kubernetes", victim)
	left.protocol = "HTTP"
	before := env.inherit(left, victim, nodes)
	for _, scope := range []string{"namespace", "cluster"} {
		env.Conf.LoadBalancer.SharedLBScope = scope
		env.restart()
		intruder := onto("intruder-"+scope, before, 80)
		intruder.Namespace = "shop"
		env.Cloud.RequestLog.Reset()
		if _, err := env.engine.Ensure(env.ctx, intruder, nodes); err == nil {
			t.Errorf("scope %s: not refused", scope)
		}
		env.delete(intruder)
		env.writes(0)
	}
	after := env.loadBalancer()
	if !slices.Equal(after.Tags, before.Tags) || !slices.Equal(after.Listeners[0].Tags, before.Listeners[0].Tags) {
		t.Errorf("tags %v and %v, were %v and %v", after.Tags, after.Listeners[0].Tags, before.Tags, before.Listeners[0].Tags)
	}
}

// Two clusters of different names share one load balancer. Neither renames it or the objects of the
// other on it.
//
//proves:67
func TestSharing_NeverRenamesLoadBalancerOfClusterOfOtherName(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"shared-lb-scope": "project"}})
	nodes := env.nodes(1)
	theirs := service("web", 1)
	before := env.inherit(peers("other", theirs), theirs, nodes)
	same := onto("web", before, 443) // a Service of the same name as theirs
	env.Cloud.RequestLog.Reset()
	env.refused(same, nodes, "for a Service of the same name in a cluster of another name")
	env.delete(same)
	env.writes(0)
	ours := onto("ours", before, 443)
	env.ensure(ours, nodes)
	env.unchanged(ours, nodes)
	after := env.loadBalancer()
	if after.Name != before.Name || !slices.Equal(after.Tags, before.Tags) || after.Description != before.Description {
		t.Errorf("the load balancer became %s %v", after.Name, after.Tags)
	}
	if got := ports(after); !slices.Contains(got, "TCP/80 listener_0_kube_service_other_default_web") || len(got) != 2 {
		t.Errorf("listeners %v", got)
	}
	env.delete(ours)
	if got := ports(env.loadBalancer()); !slices.Equal(got, ports(before)) {
		t.Errorf("left %v, was %v", got, ports(before))
	}
}

// Objects that earlier controllers created for the Service are taken over without a write, whatever
// their names, and deleted with the Service.
//
//proves:63,64,67,120
func TestAdoption_TakesLoadBalancersOfAllAges(t *testing.T) {
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
				description: "Kubernetes external service default/web from cluster kubernetes", protocol: "TCP",
			}
		}},
	} {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, named by the Service %v", name, named), func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: "zed"}})
				env.clusterName = test.cluster
				env.restart()
				nodes, svc := env.nodes(2), service("web", 2)
				svc.UID = "83edf9cb-240e-4ea1-8c14-28551499e9bf"
				lb := env.inherit(test.left(svc), svc, nodes)
				address := svc.Status.LoadBalancer.Ingress[0].IP
				if named {
					svc.Annotations[annotation.LoadBalancerID] = lb.ID
				}
				env.Cloud.RequestLog.Reset()
				if got := env.ensure(svc, nodes).Ingress[0].IP; got != address {
					t.Errorf("published %s, was %s", got, address)
				}
				env.writes(0)
				env.unchanged(svc, nodes)
				svc.Spec.Ports[0] = port(v1.ProtocolTCP, 8080)
				env.ensure(svc, nodes[:1])
				env.unchanged(svc, nodes[:1])
				if after := env.loadBalancer(); after.Name != lb.Name || !slices.Equal(after.Tags, lb.Tags) || len(after.Listeners) != 2 {
					t.Errorf("it became %s %v with %v", after.Name, after.Tags, ports(after))
				}
				env.delete(svc)
				env.loadBalancers(0)
				env.floatingIPs(0)
			})
		}
	}
}

// Our own objects are identified by their tags: the cluster may be renamed.
//
//proves:67
func TestOwnership_SurvivesChangeOfClusterName(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	guest := onto("guest", env.loadBalancer(), 443)
	env.ensure(guest, nodes)
	before := env.loadBalancer()
	env.clusterName = "renamed"
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.ensure(guest, nodes)
	env.writes(0)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9000))
	env.ensure(svc, nodes)
	guest.Spec.Ports[0].NodePort = 32323
	env.ensure(guest, nodes)
	env.unchanged(svc, nodes)
	env.unchanged(guest, nodes)
	if after := env.loadBalancer(); after.Name != before.Name || !slices.Equal(after.Tags, before.Tags) || len(after.Listeners) != 4 {
		t.Errorf("it became %s %v with %v", after.Name, after.Tags, ports(after))
	}
	env.delete(guest)
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// The names of two Services are too long for Octavia.
//
//proves:64
func TestOwnership_SeparatesServicesWithLongNames(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.clusterName = strings.Repeat("c", 200)
	env.restart()
	nodes := env.nodes(1)
	a, b := service(strings.Repeat("s", 60)+"-a", 1), service(strings.Repeat("s", 60)+"-b", 1)
	env.ensure(a, nodes)
	env.ensure(b, nodes)
	two := env.loadBalancers(2)
	if two[0].Name == two[1].Name || len(two[0].Name) > 255 {
		t.Errorf("names %s and %s", two[0].Name, two[1].Name)
	}
	env.unchanged(a, nodes)
	env.delete(a)
	env.unchanged(b, nodes)
	env.delete(b)
	env.loadBalancers(0)
}

// Tags mark all objects that Octavia can tag: every object shows its owner.
//
//proves:66
func TestOwnership_IsMarkedOnEveryObject(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443)) // created one by one
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
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
	fip := env.Cloud.Neutron.FloatingIPs()[0]
	if !strings.Contains(fip.Description, "(uid uid-of-web in "+clusterID+")") {
		t.Errorf("floating IP: %s", fip.Description)
	}
}
