package loadbalancer_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// everyKill tries every moment of lastRequest, in both modes.
func everyKill(t *testing.T, try func(t *testing.T, mode string, n int, afterWork bool) bool) {
	for _, mode := range []string{"per-service", "shared"} {
		for _, afterWork := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after work %v", mode, afterWork), func(t *testing.T) {
				t.Parallel()
				for n := 1; try(t, mode, n, afterWork); n++ {
					if n > 100 {
						t.Fatal("it takes more than 100 requests")
					}
				}
			})
		}
	}
}

//proves:87
func TestCrash_DuringCreationOfSecurityGroupLeavesOne(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, mode string, n int, afterWork bool) bool {
		t.Helper()
		env := newEnvironment(t, environmentOptions{keys: managed(mode)})
		nodes, svc := env.nodes(2), service("web", 1)
		env.restart()
		killed := env.lastRequest(n, afterWork, env.ensuring(svc, nodes))
		env.ensure(svc, nodes)
		g := env.group()
		env.rules(g, nodePort(env, "tcp", 30080))
		env.uses(g.ID, nodes...)
		env.unchanged(svc, nodes)
		env.delete(svc)
		env.goneWithGroups(svc)
		return killed
	})
}

//proves:84,85
func TestCrash_DuringDeletionOfSecurityGroupLeavesNothing(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, mode string, n int, afterWork bool) bool {
		t.Helper()
		env := newEnvironment(t, environmentOptions{keys: managed(mode)})
		nodes, svc := env.nodes(2), service("web", 1)
		env.ensure(svc, nodes)
		leaving := svc.DeepCopy()
		now := nowTime()
		leaving.DeletionTimestamp = &now
		killed := env.lastRequest(n, afterWork, func(ctx context.Context) error { return env.engine.Delete(ctx, leaving) })
		for tries := 0; ; tries++ { // as the service controller does
			_, exists, err := env.engine.Get(env.ctx, leaving)
			if err != nil || tries > 5 {
				t.Fatalf("Get: exists %v, error %v", exists, err)
			}
			if !exists {
				break
			}
			env.delete(leaving)
		}
		env.loadBalancers(0)
		env.floatingIPs(0)
		env.uses("")
		env.goneWithGroups(leaving)
		return killed
	})
}

//proves:85,87
func TestCrash_DuringRemovalOfNodeAndSecurityGroupsIsFinished(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, mode string, n int, afterWork bool) bool {
		t.Helper()
		env := newEnvironment(t, environmentOptions{keys: managed(mode)})
		nodes, svc := env.nodes(3), service("web", 1)
		env.ensure(svc, nodes)
		g := env.group()
		killed := env.lastRequest(n, afterWork, env.ensuring(svc, nodes[1:]))
		env.ensure(svc, nodes[1:])
		env.uses(g.ID, nodes[1:]...)
		env.unchanged(svc, nodes[1:])
		env.Conf.LoadBalancer.ManageSecurityGroups = false
		env.restart()
		again := env.lastRequest(n, afterWork, env.ensuring(svc, nodes[1:]))
		env.ensure(svc, nodes[1:])
		env.uses(g.ID)
		if left := env.groups(); len(left) > 0 {
			t.Errorf("request %d: security groups are left: %v", n, left)
		}
		return killed || again
	})
}

//proves:84
func TestDelete_RemovesSecurityGroupWhenLoadBalancerVanished(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 1)
			svc.Annotations[annotation.Internal] = "true"
			env.ensure(svc, nodes)
			if err := env.Cloud.Octavia.Remove(env.loadBalancer().ID); err != nil {
				t.Fatal(err)
			}
			env.restart()
			leaving := svc.DeepCopy()
			leaving.Spec.Type = v1.ServiceTypeClusterIP
			if _, exists, err := env.engine.Get(env.ctx, leaving); !exists || err != nil {
				t.Fatalf("Get: exists %v, error %v, but a security group is left", exists, err)
			}
			env.delete(leaving)
			env.goneWithGroups(leaving)
		})
	}
}

//proves:86
func TestSecurityGroups_LeaveGroupsOfOthersOnPorts(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, first, second := env.nodes(2), service("web", 1), service("dns", 1)
			second.Spec.Ports[0] = port(v1.ProtocolUDP, 53)
			env.ensure(first, nodes)
			theirs, err := env.Cloud.Neutron.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: env.Cloud.Account.ProjectID, Name: "theirs"})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range env.Cloud.Neutron.Ports() {
				if strings.HasPrefix(p.DeviceOwner, "compute") {
					groups := append(p.SecurityGroups, theirs.ID)
					if _, err := env.Cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{SecurityGroups: &groups}); err != nil {
						t.Fatal(err)
					}
				}
			}
			env.ensure(second, nodes) // from the remembered ports
			env.uses(theirs.ID, nodes...)
			env.ensure(first, nodes[1:])
			env.uses(theirs.ID, nodes...)
			env.delete(first)
			env.delete(second)
			env.uses(theirs.ID, nodes...)
			if left := env.groups(); len(left) != 1 || left[0].ID != theirs.ID {
				t.Errorf("groups that are left: %v", left)
			}
		})
	}
}

//proves:87
func TestSecurityGroups_FollowSwitchOffOrToOtherMode(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"per-service", "shared"} {
		for _, after := range []string{"off", "per-service", "shared"} {
			t.Run(before+" to "+after, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: managed(before)})
				nodes, first, second := env.nodes(2), service("web", 1), service("dns", 1)
				second.Spec.Ports[0] = port(v1.ProtocolUDP, 53)
				for _, svc := range []*v1.Service{first, second} {
					env.ensure(svc, nodes)
				}
				env.Conf.LoadBalancer.ManageSecurityGroups = after != "off"
				if after != "off" {
					env.Conf.LoadBalancer.SecurityGroupMode = after
				}
				env.restart()
				for _, svc := range []*v1.Service{first, second} {
					env.ensure(svc, nodes)
				}
				want := map[string]int{"off": 0, "per-service": 2, "shared": 1}[after]
				if got := env.groups(); len(got) != want {
					t.Errorf("%d groups, want %d: %v", len(got), want, got)
				}
				for _, g := range env.groups() {
					env.uses(g.ID, nodes...)
				}
				for _, svc := range []*v1.Service{first, second} {
					env.unchanged(svc, nodes)
					env.delete(svc)
				}
				env.goneWithGroups(first)
				env.goneWithGroups(second)
			})
		}
	}
}

//proves:84
func TestDelete_LeavesNoSecurityGroupAfterSwitchOff(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			env.Conf.LoadBalancer.ManageSecurityGroups = false
			env.restart()
			env.delete(svc)
			env.goneWithGroups(svc)
		})
	}
}

//proves:87
func TestQuota_OfSecurityGroupsPreventsLoadBalancerWhenUsedUp(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
	nodes, svc := env.nodes(1), service("web", 1)
	project := env.Cloud.Account.ProjectID
	env.Cloud.Neutron.SetQuota(project, "security_group", 1) // the default one
	env.refused(svc, nodes, "security-group-mode=shared")
	env.loadBalancers(0)
	env.Cloud.Neutron.SetQuota(project, "security_group", 2)
	env.Cloud.Neutron.SetQuota(project, "security_group_rule", 4+2) // those that a new group has
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443), port(v1.ProtocolTCP, 444))
	env.refused(svc, nodes, "quota of security group rules")
	env.loadBalancers(0)
	env.Cloud.Neutron.SetQuota(project, "security_group_rule", 100)
	env.ensure(svc, nodes)
	env.unchanged(svc, nodes)
}

//proves:87
func TestSecurityGroups_AreCreatedOnceWhenAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 1)
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: groupsRoute, Status: http.StatusGatewayTimeout, Count: 1, AfterWork: true})
			for range 3 {
				if status, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
					svc.Status.LoadBalancer = *status
				}
			}
			env.rules(env.group(), nodePort(env, "tcp", 30080))
			env.unchanged(svc, nodes)
		})
	}
}

//proves:86
func TestSecurityGroups_CostNothingWhenWarm(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(3), service("web", 3)
			env.ensure(svc, nodes)
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			if err := env.engine.Update(env.ctx, svc, nodes); err != nil {
				t.Fatal(err)
			}
			if all := env.Cloud.RequestLog.Requests(); len(all) > 0 {
				t.Errorf("requests:\n%swant none", printed(all))
			}
		})
	}
}

//proves:86
func TestSecurityGroups_MoveNodePortBetweenServicesInSharedMode(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("shared")})
	nodes, first, second := env.nodes(1), service("web", 1), service("api", 1)
	env.ensure(first, nodes)
	first.Spec.Ports[0].NodePort = 31000 // not synced yet
	second.Spec.Ports[0].NodePort = 30080
	env.ensure(second, nodes)
	env.ensure(first, nodes)
	env.rules(env.group(), nodePort(env, "tcp", 30080), nodePort(env, "tcp", 31000))
	env.unchanged(second, nodes)
	env.delete(first)
	env.rules(env.group(), nodePort(env, "tcp", 30080))
	env.unchanged(second, nodes)
}

//proves:87
func TestSecurityGroups_AreNotTakenByClusterRestoredFromBackup(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
	nodes := env.nodes(2)
	mine, theirs := service("web", 1), service("web", 1)
	env.ensure(mine, nodes[:1])
	group := env.group()
	other, _ := env.controller(otherCluster)
	if _, err := other.Ensure(env.ctx, theirs, nodes[1:]); err != nil {
		t.Fatal(err)
	}
	env.uses(group.ID, nodes[0])
	if err := other.Delete(env.ctx, theirs); err != nil {
		t.Fatal(err)
	}
	if left := env.group(); left.ID != group.ID {
		t.Errorf("group %s is left, want %s", left.ID, group.ID)
	}
	env.uses(group.ID, nodes[0])
	env.unchanged(mine, nodes[:1])
}

//proves:66
func TestSecurityGroups_CarryIdentityInTags(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{
		"per-service": {"kube_cluster_id_" + clusterID, "kube_svc_uid_uid-of-web"},
		"shared":      {"kube_cluster_id_" + clusterID},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			env.ensure(service("web", 1), env.nodes(1))
			if got := env.group().Tags; !slices.Equal(got, want) {
				t.Errorf("tags %v, want %v", got, want)
			}
		})
	}
}

//proves:78,86
func TestSecurityGroups_ComeAndGoWithManyServicesAtOnce(t *testing.T) {
	t.Parallel()
	const services, nodeCount = 12, 4
	for mode, want := range map[string]struct{ groups, changes int }{
		"per-service": {services, services * nodeCount}, "shared": {1, nodeCount},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, "security_group", -1)
			nodes := env.nodes(nodeCount)
			var all []*v1.Service
			for i := range services {
				svc := service(fmt.Sprintf("web-%d", i), 1)
				svc.Spec.Ports[0] = port(v1.ProtocolTCP, 100+i)
				all = append(all, svc)
			}
			together := func(call func(*v1.Service) error) {
				var group errgroup.Group
				for _, svc := range all {
					group.Go(func() error { return call(svc) })
				}
				if err := group.Wait(); err != nil {
					t.Fatal(err)
				}
			}
			together(func(svc *v1.Service) error {
				_, err := env.engine.Ensure(env.ctx, svc, nodes)
				return err
			})
			if n := env.Cloud.RequestLog.Count(http.MethodPut, portRoute); n != want.changes {
				t.Errorf("%d changes of ports, want %d", n, want.changes)
			}
			if got := env.groups(); len(got) != want.groups {
				t.Errorf("%d groups, want %d", len(got), want.groups)
			}
			for _, g := range env.groups() {
				env.uses(g.ID, nodes...)
				if len(g.Rules)*want.groups != services {
					t.Errorf("%d rules in %s", len(g.Rules), g.Name)
				}
			}
			together(func(svc *v1.Service) error { return env.engine.Delete(env.ctx, svc) })
			env.uses("")
			env.goneWithGroups(all[0])
		})
	}
}

//proves:86,87
func TestSecurityGroups_RemoveSecondGroupThatAppearedLate(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			first := env.group()
			_, err := env.Cloud.Neutron.CreateSecurityGroup(neutron.SecurityGroupSpec{
				ProjectID: env.Cloud.Account.ProjectID, Name: first.Name, Description: first.Description,
			})
			if err != nil {
				t.Fatal(err)
			}
			env.restart()
			svc.Spec.Ports[0].NodePort = 31000
			env.ensure(svc, nodes)
			g := env.group()
			if g.ID != first.ID {
				t.Errorf("group %s is left, want %s", g.ID, first.ID)
			}
			env.rules(g, nodePort(env, "tcp", 31000))
			env.uses(g.ID, nodes...)
		})
	}
}
