package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// What another client sets of a member that no Service asks for is noticed and reverted, whichever
// member that is and whatever the release: SovereignCloudStack/k8s-cluster-api-provider#411, CPO#1749.
//
//proves:89
func TestDrift_RestoresSettingsOfMembersChangedByOthers(t *testing.T) {
	t.Parallel()
	weight, zero, port, address, yes := 7, 0, 9999, "127.100.9.9", true
	for name, change := range map[string]pools.UpdateMemberOpts{
		"weight":                  {Weight: &weight},
		"monitor_port":            {MonitorPort: &port},
		"monitor_address":         {MonitorAddress: &address},
		"backup":                  {Backup: &yes},
		"weight 0 and backup":     {Weight: &zero, Backup: &yes},
		"monitor_port and weight": {MonitorPort: &port, Weight: &weight},
	} {
		for i, where := range []string{"first", "last"} {
			for _, release := range []string{"2024.2", "2026.1"} {
				for _, by := range []string{"the watch", "the next process"} {
					t.Run(fmt.Sprintf("%s of the %s on %s, by %s", name, where, release, by), func(t *testing.T) {
						t.Parallel()
						env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: release}, keys: map[string]string{"create-monitor": fmt.Sprint(i == 0)}})
						nodes, svc := env.nodes(3), service("web", 2)
						env.ensure(svc, nodes)
						env.writeDown(svc)
						before := *env.memberOf(fmt.Sprint("node-", 2*i))
						if err := octaviaAsSomebodyElse(t, env).Octavia().UpdateMember(env.ctx, env.loadBalancer().Pools[0].ID, before.ID, change); err != nil {
							t.Fatal(err)
						}
						env.loadBalancer()
						env.told()
						env.Cloud.RequestLog.Reset()
						if by == "the watch" {
							env.repair(svc, nodes)
						} else {
							env.restart()
							env.ensure(svc, nodes)
						}
						env.writes(1)
						if change.Weight == &zero {
							before.Weight = 0 // it is drained, and stays so
						}
						after := *env.memberOf(before.Name)
						if after.Weight != before.Weight || after.Backup || after.MonitorPort != before.MonitorPort || after.MonitorAddress != before.MonitorAddress {
							t.Errorf("the member is\n%+v, was\n%+v", after, before)
						}
						if told := env.told(); by == "the watch" && !strings.Contains(told, "LoadBalancerDrifted") {
							t.Errorf("events:\n%s", told)
						}
						env.unchanged(svc, nodes)
					})
				}
			}
		}
	}
}
