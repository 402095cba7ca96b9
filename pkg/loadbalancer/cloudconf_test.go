package loadbalancer_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// A typing error in cloud.conf, detected at the next restart, must neither drain the existing
// Services nor create unwanted objects.
func TestCloudConf_KeepsLoadBalancersAliveWhenInvalid(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"lb-method", "node-selector", "manage-security-groups"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"manage-security-groups": "true"}})
			nodes, svc := env.nodes(3), service("web", 1)
			env.ensure(svc, nodes)
			env.Conf.LoadBalancer.ManageSecurityGroups = key != "manage-security-groups"
			env.Conf.Refused.LoadBalancers = []error{&config.ValueError{Place: "cloud.conf [LoadBalancer] " + key, Value: "wrong", Allowed: "another"}}
			env.restart()

			replaced := append(nodes[:2:2], env.node(3))
			if key == "node-selector" {
				replaced = nodes[:2] // the other selected nodes cannot be known
			}
			if _, err := env.engine.Repair(env.ctx, svc, replaced, there); err != nil {
				t.Errorf("the change of nodes: %v", err)
			}
			env.membersAre(replaced)
			if key == "manage-security-groups" {
				env.uses(env.group().ID, nodes...) // no node is removed
			} else {
				env.uses(env.group().ID, replaced...)
			}
			for _, refused := range []string{"web", "new"} {
				asked := service(refused, 1)
				if refused == "web" {
					asked = svc
				}
				_, err := env.engine.Ensure(env.ctx, asked, replaced)
				if err == nil || !strings.Contains(err.Error(), `cloud.conf [LoadBalancer] `+key+`: Invalid value: "wrong": allowed is another: ask the cluster's operator`) {
					t.Errorf("%s: got %v, want the refusal", refused, err)
				}
			}
			env.loadBalancer() // fails unless there is one
			if err := env.engine.Delete(env.ctx, svc); err != nil {
				t.Error(err)
			}
			env.loadBalancers(0)
			env.floatingIPs(0)
		})
	}
}

// Octavia uses the provider of its own configuration.
func TestProvider_IsOctaviasDefaultWhenEmpty(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": ""}})
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	if got := env.loadBalancer(); got.Provider != "amphora" {
		t.Errorf("the provider is %q", got.Provider)
	}
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(0)
}
