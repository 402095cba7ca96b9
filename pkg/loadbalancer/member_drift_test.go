package loadbalancer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// If another client changes a setting of a member that no Service sets, the change is detected and
// reverted, for any member and on any release: SovereignCloudStack/k8s-cluster-api-provider#411,
// CPO#1749.
//
//proves:89
func TestDrift_RestoresSettingsOfMembersChangedByOthers(t *testing.T) {
	t.Parallel()
	const port, address = 9999, "127.100.9.9"
	for name, change := range map[string]octavia.Changes{
		"weight":                  {"weight": 7},
		"monitor_port":            {"monitor_port": port},
		"monitor_address":         {"monitor_address": address},
		"backup":                  {"backup": true},
		"weight 0 and backup":     {"weight": 0, "backup": true},
		"monitor_port and weight": {"monitor_port": port, "weight": 7},
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
						env.emitted()
						env.Cloud.RequestLog.Reset()
						if by == "the watch" {
							env.repair(svc, nodes)
						} else {
							env.restart()
							env.ensure(svc, nodes)
						}
						env.writes(1)
						if change["weight"] == 0 {
							before.Weight = 0 // the member is drained, and stays drained
						}
						after := *env.memberOf(before.Name)
						if after.Weight != before.Weight || after.Backup || after.MonitorPort != before.MonitorPort || after.MonitorAddress != before.MonitorAddress {
							t.Errorf("the member is\n%+v, was\n%+v", after, before)
						}
						if emitted := env.emitted(); by == "the watch" && !strings.Contains(emitted, "LoadBalancerDrifted") {
							t.Errorf("events:\n%s", emitted)
						}
						env.unchanged(svc, nodes)
					})
				}
			}
		}
	}
}
