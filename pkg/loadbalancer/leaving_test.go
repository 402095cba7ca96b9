package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// leave deletes a Service as the service controller does. It returns the reads, without those of
// the watcher.
func (env *environment) leave(svc *v1.Service) []requestlog.Request {
	env.T.Helper()
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	env.Cloud.RequestLog.Reset()
	_, exists, err := env.engine.Get(env.ctx, leaving)
	if !exists || err != nil {
		env.T.Fatalf("Get: exists %v, error %v", exists, err)
	}
	env.delete(leaving)
	return env.Cloud.RequestLog.Requests(requestlog.Reads(), func(r requestlog.Request) bool {
		// Security groups are listed once for all Services.
		return !strings.Contains(r.Path, "fields=provisioning_status&fields=operating") && !strings.Contains(r.Path, "/security-groups?fields=")
	})
}

func TestDelete_ReadsAtMostTwoListsWhenWarm(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(3), service("web", 3)
	env.ensure(svc, nodes)
	reads := env.leave(svc)
	env.writes(2)
	if len(reads) > 2 { // load balancers by tag, floating IPs by description
		t.Errorf("read\n%swant two lists", printed(reads))
	}
	env.loadBalancers(0)
	env.floatingIPs(0)
}

func TestDelete_ReadsNoMembersAfterRestart(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(3), service("web", 3)
	env.ensure(svc, nodes)
	env.restart()
	reads := env.leave(svc)
	env.writes(2)
	for _, r := range reads {
		if strings.Contains(r.Path, "/members") || strings.Contains(r.Path, "/pools") || strings.Contains(r.Path, "/healthmonitors") {
			t.Errorf("read %s", r.Path)
		}
	}
	env.loadBalancers(0)
	env.floatingIPs(0)
}

func TestDelete_LeavesForeignListenerWhateverIsRemembered(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{})
		nodes, svc := env.nodes(3), service("web", 2)
		env.ensure(svc, nodes)
		foreignListener(t, env, env.loadBalancer().ID, 9000)
		if restart {
			env.restart()
		}
		env.leave(svc)
		lb := env.loadBalancer()
		if len(lb.Listeners) != 1 || lb.Listeners[0].ProtocolPort != 9000 || len(lb.Pools) != 0 {
			t.Errorf("left are %d listeners and %d pools", len(lb.Listeners), len(lb.Pools))
		}
	}
}

// second creates another load balancer for a Service, as a creation with a late answer does.
func (env *environment) second() (id string) {
	env.T.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		env.T.Fatal(err)
	}
	defer session.Close()
	first := env.loadBalancer()
	made, err := session.Octavia().CreateLoadBalancer(env.ctx, octavia.LoadBalancer{
		Name: first.Name, Tags: first.Tags, VIPSubnetID: first.VIP.SubnetID,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	return made.ID
}

func TestDuplicate_IsDeletedUnlessItHasForeignListener(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{})
		nodes, svc := env.nodes(3), service("web", 2)
		env.ensure(svc, nodes)
		second, left := env.second(), 1
		if foreign {
			foreignListener(t, env, second, 9000)
			left = 2
		}
		env.restart()
		env.ensure(svc, nodes)
		env.loadBalancers(left)
		if emitted := strings.Contains(env.emitted(), "is left alone, as it holds listener "); emitted != foreign {
			t.Errorf("emitted that it is left alone: %v, want %v", emitted, foreign)
		}
		env.leave(svc)
		env.loadBalancers(left - 1)
		env.floatingIPs(0)
	}
}
