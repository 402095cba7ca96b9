package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// contentReads returns the reads of parts of load balancers, including the status tree.
func (env *environment) contentReads() []requestlog.Request {
	return env.Cloud.RequestLog.Requests(requestlog.Reads(), func(r requestlog.Request) bool {
		// Without those of the watcher, and the one that all Services share after a restart.
		return strings.Contains(r.Path, "/lbaas/") && !strings.Contains(r.Path, "fields=")
	})
}

func TestRestart_ReadsOnlyStatusTreeWhenNodesChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		provider string
		monitors bool
		nodes    [2]int // first and last
	}{
		{"one more", octavia.ProviderAmphora, false, [2]int{0, 5}},
		{"one less", octavia.ProviderAmphora, true, [2]int{1, 4}},
		{"others", octavia.ProviderOVN, false, [2]int{2, 7}},
		{"others with monitors", octavia.ProviderOVN, true, [2]int{2, 7}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			keys := map[string]string{"lb-provider": test.provider}
			if test.provider == octavia.ProviderOVN {
				keys["lb-method"] = "SOURCE_IP_PORT"
			}
			if test.monitors {
				keys["create-monitor"] = "true"
			}
			env := newEnvironment(t, environmentOptions{keys: keys})
			nodes, svc := env.nodes(7), service("web", 3)
			env.ensure(svc, nodes[:4])
			env.writeDown(svc)
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[test.nodes[0]:test.nodes[1]])
			env.writes(3)
			trees := env.contentReads()
			times := 2 // before the change, and its result
			if test.provider == octavia.ProviderOVN {
				times = 4 // for each of the three batches, which may not overlap
			}
			if len(trees) != times {
				t.Errorf("read\n%swant the status tree %d times", printed(trees), times)
			}
			want := test.nodes[1] - test.nodes[0]
			for _, pool := range env.loadBalancer().Pools {
				if len(pool.Members) != want {
					t.Errorf("pool %s has %d members, want %d", pool.Name, len(pool.Members), want)
				}
			}
			env.unchanged(svc, nodes[test.nodes[0]:test.nodes[1]])
		})
	}
}

func TestRestart_ReadsInFullWhenMoreThanNodesChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*environment, *v1.Service){
		"a NodePort":    func(_ *environment, svc *v1.Service) { svc.Spec.Ports[0].NodePort++ },
		"the clients":   func(_ *environment, svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} },
		"an old record": func(env *environment, svc *v1.Service) { env.shorten(svc, 3) },
		"no record":     func(env *environment, svc *v1.Service) { env.shorten(svc, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(4), service("web", 2)
			env.ensure(svc, nodes[:3])
			env.writeDown(svc)
			env.restart()
			change(env, svc)
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			if reads := env.contentReads(); len(reads) < 4 {
				t.Errorf("read only\n%s", printed(reads))
			}
			env.unchanged(svc, nodes)
		})
	}
}

// shorten keeps only the first words of the record of a Service.
func (env *environment) shorten(svc *v1.Service, words int) {
	all := strings.Fields(env.records.texts[svc.UID])
	env.records.Set(svc.UID, strings.Join(all[:words], " "))
}

// TestRecord_OmitsNodesWhenPartsHaveNamesOfOtherPorts has a Service with renumbered ports: existing
// parts keep their original names.
func TestRecord_OmitsNodesWhenPartsHaveNamesOfOtherPorts(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(4), service("web", 3)
	env.ensure(svc, nodes[:3])
	svc.Spec.Ports = svc.Spec.Ports[1:]
	env.ensure(svc, nodes[:3])
	env.writeDown(svc)
	if words := strings.Fields(env.records.texts[svc.UID]); len(words) != 7 || words[5] != "-" {
		t.Errorf("the record is %q, want none for nodes", words)
	}
	env.restart()
	env.ensure(svc, nodes)
	for _, pool := range env.loadBalancer().Pools {
		if len(pool.Members) != 4 {
			t.Errorf("pool %s has %d members", pool.Name, len(pool.Members))
		}
	}
	env.unchanged(svc, nodes)
}

// cloud-provider-openstack describes a floating IP alike in every cluster. Its owner depends on the
// creator of the load balancer, which the record does not contain.
func TestRestart_DeletesPeerFloatingIPOnlyIfMadeWithLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(*environment, *v1.Service, []*v1.Node)
		stay bool
	}{
		"kept, on a load balancer of ours": {func(env *environment, svc *v1.Service, nodes []*v1.Node) {
			svc.Spec.LoadBalancerIP = env.floatingIP("", legacyDescription).Address
			env.ensure(svc, nodes)
		}, true},
		"made with the load balancer": {func(env *environment, svc *v1.Service, nodes []*v1.Node) {
			env.inherit(peers("kubernetes", svc), svc, nodes)
			env.ensure(svc, nodes)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(4), service("web", 1)
			test.make(env, svc, nodes[:3])
			env.writeDown(svc)
			env.restart()
			env.ensure(svc, nodes)
			svc.Annotations[annotation.Internal] = "true"
			svc.Spec.LoadBalancerIP = ""
			env.ensure(svc, nodes)
			if all := env.addresses(); len(all) > 0 != test.stay {
				t.Errorf("floating IPs %v, should be there: %v", all, test.stay)
			}
		})
	}
}
