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

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// everyKill tries every request of a call as the last one, in both modes.
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
func TestKilledWhileASecurityGroupIsMadeLeavesOne(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, mode string, n int, afterWork bool) bool {
		t.Helper()
		w := newWorld(t, worldOptions{keys: managed(mode)})
		nodes, svc := w.nodes(2), service("web", 1)
		w.restart()
		killed := w.lastRequest(n, afterWork, w.ensuring(svc, nodes))
		w.ensure(svc, nodes)
		g := w.group()
		w.rules(g, nodePort(w, "tcp", 30080))
		w.uses(g.ID, nodes...)
		w.unchanged(svc, nodes)
		w.delete(svc)
		w.goneWithGroups(svc)
		return killed
	})
}

//proves:84,85
func TestKilledWhileASecurityGroupGoesLeavesNothing(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, mode string, n int, afterWork bool) bool {
		t.Helper()
		w := newWorld(t, worldOptions{keys: managed(mode)})
		nodes, svc := w.nodes(2), service("web", 1)
		w.ensure(svc, nodes)
		leaving := svc.DeepCopy()
		now := nowTime()
		leaving.DeletionTimestamp = &now
		killed := w.lastRequest(n, afterWork, func(ctx context.Context) error { return w.engine.Delete(ctx, leaving) })
		for tries := 0; ; tries++ { // as the service controller does
			_, exists, err := w.engine.Get(w.ctx, leaving)
			if err != nil || tries > 5 {
				t.Fatalf("Get: exists %v, error %v", exists, err)
			}
			if !exists {
				break
			}
			w.delete(leaving)
		}
		w.loadBalancers(0)
		w.floatingIPs(0)
		w.uses("")
		w.goneWithGroups(leaving)
		return killed
	})
}

//proves:85,87
func TestKilledWhileANodeAndSecurityGroupsGoGoesOn(t *testing.T) {
	t.Parallel()
	everyKill(t, func(t *testing.T, mode string, n int, afterWork bool) bool {
		t.Helper()
		w := newWorld(t, worldOptions{keys: managed(mode)})
		nodes, svc := w.nodes(3), service("web", 1)
		w.ensure(svc, nodes)
		g := w.group()
		killed := w.lastRequest(n, afterWork, w.ensuring(svc, nodes[1:]))
		w.ensure(svc, nodes[1:])
		w.uses(g.ID, nodes[1:]...)
		w.unchanged(svc, nodes[1:])
		w.conf.LoadBalancer.ManageSecurityGroups = false
		w.restart()
		again := w.lastRequest(n, afterWork, w.ensuring(svc, nodes[1:]))
		w.ensure(svc, nodes[1:])
		w.uses(g.ID)
		if left := w.groups(); len(left) > 0 {
			t.Errorf("request %d: security groups are left: %v", n, left)
		}
		return killed || again
	})
}

//proves:84
func TestServiceWhoseLoadBalancerVanishedLosesItsSecurityGroup(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(2), service("web", 1)
			svc.Annotations[annotation.Internal] = "true"
			w.ensure(svc, nodes)
			if err := w.cloud.Octavia.Remove(w.loadBalancer().ID); err != nil {
				t.Fatal(err)
			}
			w.restart()
			leaving := svc.DeepCopy()
			leaving.Spec.Type = v1.ServiceTypeClusterIP
			if _, exists, err := w.engine.Get(w.ctx, leaving); !exists || err != nil {
				t.Fatalf("Get: exists %v, error %v, but a security group is left", exists, err)
			}
			w.delete(leaving)
			w.goneWithGroups(leaving)
		})
	}
}

//proves:86
func TestGroupsThatOthersPutOnAPortStay(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, first, second := w.nodes(2), service("web", 1), service("dns", 1)
			second.Spec.Ports[0] = port(v1.ProtocolUDP, 53)
			w.ensure(first, nodes)
			theirs, err := w.cloud.Neutron.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: w.cloud.Account.ProjectID, Name: "theirs"})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range w.cloud.Neutron.Ports() {
				if strings.HasPrefix(p.DeviceOwner, "compute") {
					groups := append(p.SecurityGroups, theirs.ID)
					if _, err := w.cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{SecurityGroups: &groups}); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.ensure(second, nodes) // from what is remembered of the ports
			w.uses(theirs.ID, nodes...)
			w.ensure(first, nodes[1:])
			w.uses(theirs.ID, nodes...)
			w.delete(first)
			w.delete(second)
			w.uses(theirs.ID, nodes...)
			if left := w.groups(); len(left) != 1 || left[0].ID != theirs.ID {
				t.Errorf("groups that are left: %v", left)
			}
		})
	}
}

//proves:87
func TestSwitchingSecurityGroupsOffOrToTheOtherModeMovesServices(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"per-service", "shared"} {
		for _, after := range []string{"off", "per-service", "shared"} {
			t.Run(before+" to "+after, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{keys: managed(before)})
				nodes, first, second := w.nodes(2), service("web", 1), service("dns", 1)
				second.Spec.Ports[0] = port(v1.ProtocolUDP, 53)
				for _, svc := range []*v1.Service{first, second} {
					w.ensure(svc, nodes)
				}
				w.conf.LoadBalancer.ManageSecurityGroups = after != "off"
				if after != "off" {
					w.conf.LoadBalancer.SecurityGroupMode = after
				}
				w.restart()
				for _, svc := range []*v1.Service{first, second} {
					w.ensure(svc, nodes)
				}
				want := map[string]int{"off": 0, "per-service": 2, "shared": 1}[after]
				if got := w.groups(); len(got) != want {
					t.Errorf("%d groups, want %d: %v", len(got), want, got)
				}
				for _, g := range w.groups() {
					w.uses(g.ID, nodes...)
				}
				for _, svc := range []*v1.Service{first, second} {
					w.unchanged(svc, nodes)
					w.delete(svc)
				}
				w.goneWithGroups(first)
				w.goneWithGroups(second)
			})
		}
	}
}

//proves:84
func TestServiceThatGoesAfterSecurityGroupsWereSwitchedOffLeavesNone(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(2), service("web", 1)
			w.ensure(svc, nodes)
			w.conf.LoadBalancer.ManageSecurityGroups = false
			w.restart()
			w.delete(svc)
			w.goneWithGroups(svc)
		})
	}
}

//proves:87
func TestNothingIsMadeWhenTheQuotaOfSecurityGroupsIsUsedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service")})
	nodes, svc := w.nodes(1), service("web", 1)
	project := w.cloud.Account.ProjectID
	w.cloud.Neutron.SetQuota(project, "security_group", 1) // the default one
	w.refused(svc, nodes, "security-group-mode=shared")
	w.loadBalancers(0)
	w.cloud.Neutron.SetQuota(project, "security_group", 2)
	w.cloud.Neutron.SetQuota(project, "security_group_rule", 4+2) // that come with groups
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443), port(v1.ProtocolTCP, 444))
	w.refused(svc, nodes, "quota of security group rules")
	w.loadBalancers(0)
	w.cloud.Neutron.SetQuota(project, "security_group_rule", 100)
	w.ensure(svc, nodes)
	w.unchanged(svc, nodes)
}

//proves:87
func TestLostAnswerToTheCreationOfASecurityGroupMakesOne(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(2), service("web", 1)
			w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: groupsRoute, Status: http.StatusGatewayTimeout, Count: 1, AfterWork: true})
			for range 3 {
				if status, err := w.engine.Ensure(w.ctx, svc, nodes); err == nil {
					svc.Status.LoadBalancer = *status
				}
			}
			w.rules(w.group(), nodePort(w, "tcp", 30080))
			w.unchanged(svc, nodes)
		})
	}
}

//proves:86
func TestWarmServiceWithSecurityGroupsCostsNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(3), service("web", 3)
			w.ensure(svc, nodes)
			w.cloud.Books.Reset()
			w.ensure(svc, nodes)
			if err := w.engine.Update(w.ctx, svc, nodes); err != nil {
				t.Fatal(err)
			}
			if all := w.cloud.Books.Requests(); len(all) > 0 {
				t.Errorf("requests:\n%swant none", printed(all))
			}
		})
	}
}

//proves:86
func TestANodePortThatMovesToAnotherServiceMovesInTheSharedGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("shared")})
	nodes, first, second := w.nodes(1), service("web", 1), service("api", 1)
	w.ensure(first, nodes)
	first.Spec.Ports[0].NodePort = 31000 // not synced yet
	second.Spec.Ports[0].NodePort = 30080
	w.ensure(second, nodes)
	w.ensure(first, nodes)
	w.rules(w.group(), nodePort(w, "tcp", 30080), nodePort(w, "tcp", 31000))
	w.unchanged(second, nodes)
	w.delete(first)
	w.rules(w.group(), nodePort(w, "tcp", 30080))
	w.unchanged(second, nodes)
}

//proves:87
func TestSecurityGroupOfAClusterRestoredFromOurBackupIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service")})
	nodes := w.nodes(2)
	mine, theirs := service("web", 1), service("web", 1)
	w.ensure(mine, nodes[:1])
	group := w.group()
	other, _ := w.controller(otherCluster)
	if _, err := other.Ensure(w.ctx, theirs, nodes[1:]); err != nil {
		t.Fatal(err)
	}
	w.uses(group.ID, nodes[0])
	if err := other.Delete(w.ctx, theirs); err != nil {
		t.Fatal(err)
	}
	if left := w.group(); left.ID != group.ID {
		t.Errorf("group %s is left, want %s", left.ID, group.ID)
	}
	w.uses(group.ID, nodes[0])
	w.unchanged(mine, nodes[:1])
}

//proves:66
func TestSecurityGroupsCarryTheIdentityInTheirTags(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{
		"per-service": {"kube_cluster_id_" + clusterID, "kube_svc_uid_uid-of-web"},
		"shared":      {"kube_cluster_id_" + clusterID},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			w.ensure(service("web", 1), w.nodes(1))
			if got := w.group().Tags; !slices.Equal(got, want) {
				t.Errorf("tags %v, want %v", got, want)
			}
		})
	}
}

//proves:78,86
func TestManyServicesAtOnceComeAndGoWithTheirSecurityGroups(t *testing.T) {
	t.Parallel()
	const services, nodeCount = 12, 4
	for mode, want := range map[string]struct{ groups, changes int }{
		"per-service": {services, services * nodeCount}, "shared": {1, nodeCount},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			w.cloud.Neutron.SetQuota(w.cloud.Account.ProjectID, "security_group", -1)
			nodes := w.nodes(nodeCount)
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
				_, err := w.engine.Ensure(w.ctx, svc, nodes)
				return err
			})
			if n := w.cloud.Books.Count(http.MethodPut, portRoute); n != want.changes {
				t.Errorf("%d changes of ports, want %d", n, want.changes)
			}
			if got := w.groups(); len(got) != want.groups {
				t.Errorf("%d groups, want %d", len(got), want.groups)
			}
			for _, g := range w.groups() {
				w.uses(g.ID, nodes...)
				if len(g.Rules)*want.groups != services {
					t.Errorf("%d rules in %s", len(g.Rules), g.Name)
				}
			}
			together(func(svc *v1.Service) error { return w.engine.Delete(w.ctx, svc) })
			w.uses("")
			w.goneWithGroups(all[0])
		})
	}
}

//proves:86,87
func TestASecondGroupThatCameTrueLateIsRemoved(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(2), service("web", 1)
			w.ensure(svc, nodes)
			first := w.group()
			_, err := w.cloud.Neutron.CreateSecurityGroup(neutron.SecurityGroupSpec{
				ProjectID: w.cloud.Account.ProjectID, Name: first.Name, Description: first.Description,
			})
			if err != nil {
				t.Fatal(err)
			}
			w.restart()
			svc.Spec.Ports[0].NodePort = 31000
			w.ensure(svc, nodes)
			g := w.group()
			if g.ID != first.ID {
				t.Errorf("group %s is left, want %s", g.ID, first.ID)
			}
			w.rules(g, nodePort(w, "tcp", 31000))
			w.uses(g.ID, nodes...)
		})
	}
}
