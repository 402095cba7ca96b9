package loadbalancer_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// A round for one node also checks the other members, once its own are written. Members that have
// failed meanwhile are repaired with it.
func TestMembers_ThatFailedBeforeANodeCameOrWentAreRepairedWithIt(t *testing.T) {
	t.Parallel()
	for provider, keys := range map[string]map[string]string{
		octavia.ProviderAmphora: {},
		octavia.ProviderOVN:     {"lb-provider": "ovn", "lb-method": "SOURCE_IP_PORT"},
	} {
		for change, after := range map[string]int{"a node comes": 6, "a node goes": 4} {
			for failed := range 3 {
				t.Run(provider+"/"+change+"/"+itoa(failed), func(t *testing.T) {
					t.Parallel()
					env := newEnvironment(t, environmentOptions{keys: keys,
						simulator: simulator.Options{Providers: []string{octavia.ProviderAmphora, octavia.ProviderOVN}}})
					nodes, svc := env.nodes(6), service("web", 2)
					env.ensure(svc, nodes[:5])
					if err := env.Cloud.Octavia.SetChildStatus(env.loadBalancer().Pools[1].Members[failed].ID, octavia.Error); err != nil {
						t.Fatal(err)
					}
					env.ensure(svc, nodes[:after])
					for _, pool := range env.loadBalancer().Pools {
						if len(pool.Members) != after {
							t.Errorf("%d members, want %d", len(pool.Members), after)
						}
						for _, m := range pool.Members {
							if m.ProvisioningStatus != octavia.Active {
								t.Errorf("member %s is %s", m.Address, m.ProvisioningStatus)
							}
						}
					}
					env.unchanged(svc, nodes[:after])
				})
			}
		}
	}
}
