package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// manyNodes returns so many nodes that a load balancer with three ports is a large one.
func manyNodes(env *environment, n int) []*v1.Node {
	env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, "port", -1)
	var nodes []*v1.Node
	for i := range n {
		nodes = append(nodes, env.nodeAt(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.%d.%d", 1+i/200, 10+i%200)))
	}
	return nodes
}

// If a node is added or removed, the status tree is read once.
func TestEnsure_ReadsALargeLoadBalancerOnceWhereANodeComesOrGoes(t *testing.T) {
	t.Parallel()
	for _, monitored := range []string{"false", "true"} {
		t.Run("monitored: "+monitored, func(t *testing.T) {
			t.Parallel()
			readsOnceWhereANodeComesOrGoes(t, newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": monitored}}))
		})
	}
}

func readsOnceWhereANodeComesOrGoes(t *testing.T, env *environment) {
	t.Helper()
	const ports, size, most = 3, 450, 185
	nodes, svc := manyNodes(env, size+2), service("web", ports)
	env.ensure(svc, nodes[:size])
	for _, change := range []struct {
		what string
		to   []*v1.Node
	}{
		{"a node comes", nodes[:size+1]},
		{"it goes", nodes[:size]},
		{"one takes the place of another", append(nodes[1:size:size], nodes[size])},
		{"and goes, and no answer had its ID", nodes[1:size]},
	} {
		env.Cloud.RequestLog.Reset()
		env.ensure(svc, change.to)
		received, trees := 0, 0
		for _, request := range env.Cloud.RequestLog.Requests() {
			received += request.Bytes
			if strings.HasSuffix(request.Route, "/status") {
				trees++
			}
		}
		if trees != 1 {
			t.Errorf("%s: the status tree is read %d times, want once", change.what, trees)
		}
		if each := received / (ports * size); each > most {
			t.Errorf("%s: %d bytes are received for each member, want %d at most", change.what, each, most)
		}
		for _, pool := range env.loadBalancer().Pools {
			if len(pool.Members) != len(change.to) {
				t.Errorf("%s: %d members, want %d", change.what, len(pool.Members), len(change.to))
			}
		}
		env.Cloud.RequestLog.Reset()
		env.ensure(svc, change.to)
		env.writes(0)
	}
}

// A written member can fail although the load balancer is ACTIVE. That is detected and repaired,
// also with few reads.
func TestEnsure_RepairsAMemberOfALargeLoadBalancerThatWasNotMade(t *testing.T) {
	t.Parallel()
	const size = 700
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := manyNodes(env, size+1), service("web", 1)
	env.ensure(svc, nodes[:size])
	env.Cloud.Octavia.FailNext(octavia.OperationUpdate, 1)
	env.ensure(svc, nodes)
	for _, member := range env.loadBalancer().Pools[0].Members {
		if member.ProvisioningStatus != "ACTIVE" {
			t.Errorf("member %s is %s", member.Address, member.ProvisioningStatus)
		}
	}
	if n := len(env.loadBalancer().Pools[0].Members); n != size+1 {
		t.Errorf("%d members", n)
	}
}

// Another client changes members at the same time as we do. The remembered state is not taken for
// the observed one, also with few reads.
func TestEnsure_NoticesAnotherClientOnALargeLoadBalancer(t *testing.T) {
	t.Parallel()
	const size = 700
	for name, change := range map[string]func(*environment, *openstack.Session, octavia.LoadBalancer) error{
		"a member is removed": func(env *environment, s *openstack.Session, lb octavia.LoadBalancer) error {
			return s.Octavia().RemoveMember(env.ctx, lb.Pools[0].ID, lb.Pools[0].Members[0].ID)
		},
		"a member is added": func(env *environment, s *openstack.Session, lb octavia.LoadBalancer) error {
			_, err := s.Octavia().AddMember(env.ctx, lb.Pools[0].ID, octaviaapi.Member{Address: "10.9.9.9", Port: 9})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := manyNodes(env, size+1), service("web", 1)
			env.ensure(svc, nodes[:size])
			env.slow()
			env.ensureMeanwhile(svc, nodes, func(s *openstack.Session, lb octavia.LoadBalancer) error { return change(env, s, lb) })
			if n := len(env.loadBalancer().Pools[0].Members); n != size+1 {
				t.Errorf("%d members, want %d", n, size+1)
			}
			if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") {
				t.Errorf("events %q, want one of drift", emitted)
			}
		})
	}
}
