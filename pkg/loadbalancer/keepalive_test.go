package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// membersAre fails unless every pool has the addresses of these nodes.
func (w *world) membersAre(nodes []*v1.Node) {
	w.t.Helper()
	for _, pool := range w.loadBalancer().Pools {
		w.poolIs(pool, nodes)
	}
}

// poolIs fails unless a pool has the addresses of these nodes.
func (w *world) poolIs(pool *octavia.Pool, nodes []*v1.Node) {
	w.t.Helper()
	has := map[string]bool{}
	for _, m := range pool.Members {
		has[m.Address] = true
	}
	for _, node := range nodes {
		if !has[node.Status.Addresses[0].Address] {
			w.t.Errorf("%s is no member", node.Name)
		}
	}
	if len(has) != len(nodes) {
		w.t.Errorf("%d members, want %d: clients are sent to nodes that are gone", len(has), len(nodes))
	}
}

// What a refused Service has goes on: an autoscaler replaces nodes whatever is typed
// into an annotation.
func TestARefusedServiceFollowsItsNodes(t *testing.T) {
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
				w := newWorld(t, worldOptions{})
				nodes, svc := w.nodes(3), service("web", 2)
				w.ensure(svc, nodes)
				address := svc.Status.LoadBalancer.Ingress[0].IP
				refuse(svc)
				if _, err := w.engine.Ensure(w.ctx, svc, nodes); err == nil {
					t.Fatal("it is not refused")
				}
				if restart {
					w.restart()
				}
				replaced := append(nodes[:2:2], w.node(3))
				if strings.Contains(name, "selector") && restart {
					replaced = nodes[:2] // who else is selected cannot be known
				}
				if _, err := w.engine.Repair(w.ctx, svc, replaced, there); err != nil {
					t.Errorf("the change of nodes: %v", err)
				}
				w.membersAre(replaced)
				_, err := w.engine.Ensure(w.ctx, svc, replaced[:1])
				if err == nil || !strings.Contains(err.Error(), "follows the nodes") {
					t.Errorf("got %v, want the refusal, and that the nodes are followed", err)
				}
				w.membersAre(replaced[:1])
				if got := w.cloud.Neutron.FloatingIPs(); len(got) != 1 || got[0].Address != address {
					t.Errorf("floating IPs %v, want %s", got, address)
				}
			})
		}
	}
}

// Before it has anything, a refused Service costs the cloud nothing.
func TestARefusedServiceWithoutALoadBalancerIsNotLookedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	svc := service("web", 1)
	svc.Annotations[annotation.MaxMembers] = "many"
	w.cloud.Books.Reset()
	w.refused(svc, w.nodes(1), "many")
	if asked := w.cloud.Books.Requests(); len(asked) > 0 {
		t.Errorf("requests:\n%s", printed(asked))
	}
}
