package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// membersAre fails unless every pool has the addresses of these nodes.
func (env *environment) membersAre(nodes []*v1.Node) {
	env.T.Helper()
	for _, pool := range env.loadBalancer().Pools {
		env.poolIs(pool, nodes)
	}
}

// poolIs fails unless a pool has the addresses of these nodes.
func (env *environment) poolIs(pool *octavia.Pool, nodes []*v1.Node) {
	env.T.Helper()
	has := map[string]bool{}
	for _, m := range pool.Members {
		has[m.Address] = true
	}
	for _, node := range nodes {
		if !has[node.Status.Addresses[0].Address] {
			env.T.Errorf("%s is no member", node.Name)
		}
	}
	if len(has) != len(nodes) {
		env.T.Errorf("%d members, want %d: clients are sent to nodes that are gone", len(has), len(nodes))
	}
}

// The load balancer of a refused Service keeps serving: an autoscaler replaces nodes during any
// typing error in an annotation.
func TestRefusal_FollowsNodes(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*v1.Service){
		"a value that is none":       func(svc *v1.Service) { svc.Annotations[annotation.MaxMembers] = "many" },
		"a selector that is none":    func(svc *v1.Service) { svc.Annotations[annotation.NodeSelector] = "a in (" },
		"source ranges of IPv6":      func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"2001:db8::/32"} },
		"a class that is not there":  func(svc *v1.Service) { svc.Annotations[annotation.Class] = "gone" },
		"a flavor that is not there": func(svc *v1.Service) { svc.Annotations[annotation.FlavorID] = "no-such-flavor" },
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{})
				nodes, svc := env.nodes(3), service("web", 2)
				env.ensure(svc, nodes)
				address := svc.Status.LoadBalancer.Ingress[0].IP
				refuse(svc)
				if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
					t.Fatal("it is not refused")
				}
				if restart {
					env.restart()
				}
				replaced := append(nodes[:2:2], env.node(3))
				if strings.Contains(name, "selector") && restart {
					replaced = nodes[:2] // the other selected nodes cannot be known
				}
				if _, err := env.engine.Repair(env.ctx, svc, replaced, there); err != nil {
					t.Errorf("the change of nodes: %v", err)
				}
				env.membersAre(replaced)
				_, err := env.engine.Ensure(env.ctx, svc, replaced[:1])
				if err == nil || !strings.Contains(err.Error(), "follows its nodes or pods") {
					t.Errorf("got %v, want the refusal, and that the nodes are followed", err)
				}
				env.membersAre(replaced[:1])
				if got := env.Cloud.Neutron.FloatingIPs(); len(got) != 1 || got[0].Address != address {
					t.Errorf("floating IPs %v, want %s", got, address)
				}
			})
		}
	}
}

// A refused Service without a load balancer causes no requests.
func TestRefusal_CostsNoRequestWithoutLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	svc := service("web", 1)
	svc.Annotations[annotation.MaxMembers] = "many"
	env.Cloud.RequestLog.Reset()
	env.refused(svc, env.nodes(1), "many")
	if asked := env.Cloud.RequestLog.Requests(); len(asked) > 0 {
		t.Errorf("requests:\n%s", printed(asked))
	}
}

// The update of a refused Service's load balancer can fail, too: the caller then retries.
func TestRefusal_ReportsThatNodesCannotBeFollowedNow(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes[:2])
	svc.Annotations[annotation.MaxMembers] = "many"
	env.refused(svc, nodes[:2], "many")
	env.Cloud.Faults.Add(faultOn("", "/load-balancer/v2.0/lbaas/pools/**", http.StatusInternalServerError))
	if err := env.engine.Update(env.ctx, svc, nodes); err == nil {
		t.Error("Update has succeeded, and no member was added")
	}
	env.Cloud.Faults.Clear()
	if err := env.engine.Update(env.ctx, svc, nodes); err != nil {
		t.Error(err)
	}
	env.membersAre(nodes)
}
