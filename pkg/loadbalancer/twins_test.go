package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// nothingListed makes the next list of load balancers empty, as a replica that lags behind does, or
// a list before a creation under way is committed.
func (env *environment) nothingListed(count int) {
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbRoute, Count: count, Status: http.StatusOK, Body: `{"loadbalancers": []}`})
}

// twins lets two creations of a Service overlap: a process ends during its creation, and the next
// one does not see that and creates another load balancer. The older one never serves.
func (env *environment) twins(svc *v1.Service, nodes []*v1.Node) (older, serving octavia.LoadBalancer) {
	env.T.Helper()
	id := ownership.Identity{ClusterName: env.clusterName, ClusterID: env.clusterUID, ServiceUID: string(svc.UID), Namespace: svc.Namespace, Service: svc.Name}
	older = env.byHand(id.Name(), id.Description(), id.Tags()...)
	env.nothingListed(1)
	env.ensure(svc, nodes)
	env.Cloud.Faults.Clear()
	for _, lb := range env.loadBalancers(2) {
		if lb.ID != older.ID {
			serving = lb
		}
	}
	env.restart()
	env.Cloud.RequestLog.Reset()
	return older, serving
}

// keeps ensures the Service, and checks that this load balancer is left and that the address stays.
func (env *environment) keeps(svc *v1.Service, nodes []*v1.Node, id string) {
	env.T.Helper()
	address := svc.Status.LoadBalancer.Ingress[0].IP
	env.ensure(svc, nodes)
	if left := env.loadBalancer(); left.ID != id {
		env.T.Errorf("load balancer %s is left, want %s:\n%s", left.ID, id, printed(env.Cloud.RequestLog.Requests(requestlog.Writes())))
	}
	if now := svc.Status.LoadBalancer.Ingress[0].IP; now != address {
		env.T.Errorf("the published address %s became %s", address, now)
	}
	env.unchanged(svc, nodes)
}

func TestDuplicate_YieldsToLoadBalancerThatServes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	_, serving := env.twins(svc, nodes)
	env.keeps(svc, nodes, serving.ID)
	env.floatingIPs(1)
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

func TestDuplicate_YieldsToLoadBalancerThatServesAndIsNamed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	_, serving := env.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = serving.ID
	env.keeps(svc, nodes, serving.ID)
	env.floatingIPs(1)
}

// Users know the address, so that it moves along.
func TestDuplicate_LosesPublishedAddressToNamedLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	older, _ := env.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = older.ID
	env.keeps(svc, nodes, older.ID)
	env.floatingIPs(1)
}

// The same with a floating IP that the Service requests, and that is not ours.
func TestDuplicate_LosesAddressAskedForToNamedLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Spec.LoadBalancerIP = env.floatingIP("", "reserved").Address
	older, _ := env.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = older.ID
	env.keeps(svc, nodes, older.ID)
	env.floatingIPs(1)
}

// An address that cannot be moved stays, until the Service has published another one.
func TestDuplicate_StaysWhileItHasPublishedAddress(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	older, serving := env.twins(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = older.ID
	env.ensure(svc, nodes)
	for _, lb := range env.loadBalancers(2) {
		if lb.ID == serving.ID && len(lb.Listeners) != len(serving.Listeners) {
			t.Errorf("the one that served has %d listeners left", len(lb.Listeners))
		}
	}
	if emitted := env.emitted(); !strings.Contains(emitted, "it is left alone, as it has the address that the Service has published") {
		t.Errorf("no event reports it:\n%s", emitted)
	}
	env.restart()
	env.keeps(svc, nodes, older.ID)
}

func TestDuplicate_InErrorDoesNotBlockLoadBalancerThatServes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	older, serving := env.twins(svc, nodes)
	if err := env.Cloud.Octavia.SetProvisioningStatus(older.ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.keeps(svc, nodes[:2], serving.ID)
	if members := env.loadBalancer().Pools[0].Members; len(members) != 2 {
		t.Errorf("%d members, want 2", len(members))
	}
}

// A duplicate is deleted last, together with its floating IP.
func TestDuplicate_IsDeletedLastWithItsFloatingIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	older, serving := env.twins(svc, nodes)
	fip := env.floatingIP("", env.Cloud.Neutron.FloatingIPs()[0].Description)
	if _, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, older.VIP.PortID, ""); err != nil {
		t.Fatal(err)
	}
	address := svc.Status.LoadBalancer.Ingress[0].IP
	env.ensure(svc, nodes[:2])
	writes := env.Cloud.RequestLog.Requests(requestlog.Writes())
	if n := len(writes); n != 3 || !strings.Contains(writes[0].Path, "/members/") || writes[1].Method != http.MethodDelete || !strings.HasSuffix(writes[2].Path, fip.ID) {
		t.Errorf("writes, want a member, the load balancer, its floating IP:\n%s", printed(writes))
	}
	env.floatingIPs(1)
	if left := env.loadBalancer(); left.ID != serving.ID || env.Cloud.Neutron.FloatingIPs()[0].Address != address {
		t.Errorf("left is %s", left.ID)
	}
}

// The deletion removes both, with all objects on them. A floating IP that the Service keeps stays.
func TestDelete_RemovesDuplicates(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{})
		nodes, svc := env.nodes(1), service("web", 1)
		older, _ := env.twins(svc, nodes)
		fip := env.floatingIP("", env.Cloud.Neutron.FloatingIPs()[0].Description)
		if _, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, older.VIP.PortID, ""); err != nil {
			t.Fatal(err)
		}
		left := 0
		if keep {
			svc.Annotations[annotation.KeepFloatingIP], left = "true", 2
		}
		env.delete(svc)
		env.loadBalancers(0)
		env.floatingIPs(left)
	}
}

// The ID in the answer to the creation finds a load balancer that a list that lags behind lacks.
func TestDuplicate_IsNotMadeWhenListLagsBehind(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	remove := env.Cloud.Faults.Add(faultOn(http.MethodPost, fipRoute, http.StatusForbidden))
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("no error without a floating IP")
	}
	made := env.loadBalancer().ID
	remove()
	env.nothingListed(1)
	env.ensure(svc, nodes)
	if left := env.loadBalancer(); left.ID != made {
		t.Errorf("left is %s, was %s", left.ID, made)
	}
	env.unchanged(svc, nodes)
}
