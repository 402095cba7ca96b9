package loadbalancer_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// A typing error in cloud.conf, seen at the next restart, must not cost the Services that
// are there their nodes, nor make anything that nobody has asked for.
func TestAWrongCloudConfKeepsLoadBalancersAlive(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"lb-method", "node-selector", "manage-security-groups"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: map[string]string{"manage-security-groups": "true"}})
			nodes, svc := w.nodes(3), service("web", 1)
			w.ensure(svc, nodes)
			w.conf.LoadBalancer.ManageSecurityGroups = key != "manage-security-groups"
			w.conf.Refused.LoadBalancers = []error{&config.ValueError{Place: "cloud.conf [LoadBalancer] " + key, Value: "wrong", Allowed: "another"}}
			w.restart()

			replaced := append(nodes[:2:2], w.node(3))
			if key == "node-selector" {
				replaced = nodes[:2] // who else is selected cannot be known
			}
			if _, err := w.engine.Repair(w.ctx, svc, replaced, there); err != nil {
				t.Errorf("the change of nodes: %v", err)
			}
			w.membersAre(replaced)
			if key == "manage-security-groups" {
				w.uses(w.group().ID, nodes...) // nothing is taken away
			} else {
				w.uses(w.group().ID, replaced...)
			}
			for _, refused := range []string{"web", "new"} {
				asked := service(refused, 1)
				if refused == "web" {
					asked = svc
				}
				_, err := w.engine.Ensure(w.ctx, asked, replaced)
				if err == nil || !strings.Contains(err.Error(), `cloud.conf [LoadBalancer] `+key+`: Invalid value: "wrong": allowed is another: ask the cluster's operator`) {
					t.Errorf("%s: got %v, want the refusal", refused, err)
				}
			}
			w.loadBalancer() // fails unless there is one
			if err := w.engine.Delete(w.ctx, svc); err != nil {
				t.Error(err)
			}
			w.loadBalancers(0)
			w.floatingIPs(0)
		})
	}
}

// Octavia takes the provider that its operator has chosen.
func TestAnEmptyProviderIsOctaviasOwnDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"lb-provider": ""}})
	nodes, svc := w.nodes(2), service("web", 2)
	w.ensure(svc, nodes)
	if got := w.loadBalancer(); got.Provider != "amphora" {
		t.Errorf("the provider is %q", got.Provider)
	}
	w.restart()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.writes(0)
}
