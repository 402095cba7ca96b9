package testenv_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// The driver of ovn works for minutes on a batch of a large pool, and removes members last. Meanwhile it looks as if all of
// its work were done. No batch is sent again before that, by the process that has sent it or by the next one, and members
// that come back meanwhile are not lost.
//
//proves:55
func TestRollout_WaitsForLongQueueOfDriver(t *testing.T) {
	t.Parallel()
	const nodes, leave = 90, 20
	for _, c := range []struct {
		killed, back bool
		perMember    time.Duration
	}{{false, false, usualPerMember}, {false, true, usualPerMember}, {true, false, usualPerMember}, {true, true, usualPerMember}, {true, true, 2 * usualPerMember}} {
		t.Run(fmt.Sprintf("killed %t, nodes come back %t, %s for each member", c.killed, c.back, c.perMember), func(t *testing.T) {
			t.Parallel()
			slowQueue(t, nodes, c.perMember, func(r *rollout) {
				want, writes := nodes-leave, 1
				r.onFirst(want)
				time.Sleep(10 * time.Second)
				if c.killed {
					r.Kill()
				}
				if c.back {
					time.Sleep(5 * time.Second)
					want, writes = nodes, 2
					r.onFirst(want)
				}
				r.settled()
				r.assertServing(want)
				r.assertWrites(writes)
				r.assertCalm()
				if twice := r.Cloud.Octavia.RemovedTwice(); len(twice) > 0 {
					t.Errorf("%d members are removed twice", len(twice))
				}
			})
		})
	}
}

// usualPerMember is how long the driver takes for a member.
const usualPerMember = 2 * time.Second

// slowQueue runs a test with a Service of one port and endpoints on all nodes, on an ovn that takes so long for a
// member.
func slowQueue(t *testing.T, nodes int, perMember time.Duration, test func(r *rollout)) {
	t.Helper()
	one := octavia.Delays{Create: 5 * time.Second, Update: 400 * time.Millisecond, Delete: 2 * time.Second, Members: perMember / 3} // three steps
	options := testenv.Options{Keys: map[string]string{"lb-provider": "ovn"}, Simulator: simulator.Options{
		Release: "2025.1", Delays: map[string]octavia.Delays{octavia.ProviderOVN: one},
	}}
	live(t, options, func(t *testing.T, env *testenv.Env) {
		for i := 3; i <= nodes; i++ {
			if _, err := env.AddNode(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		r := &rollout{Env: env, t: t}
		r.onFirst(nodes)
		r.apply("web", 80)
		r.settled()
		r.Cloud.RequestLog.Reset()
		test(r)
	})
}

// onFirst sets endpoints of web on the first nodes.
func (r *rollout) onFirst(nodes int) {
	var all []int
	for i := range nodes {
		all = append(all, i+1)
	}
	r.on(all...)
}

// assertServing fails unless OVN has the first nodes in each pool, as Octavia has.
func (r *rollout) assertServing(nodes int) {
	r.t.Helper()
	var want []string
	for i := range nodes {
		want = append(want, fmt.Sprintf("127.100.1.%d", i+1))
	}
	for _, pool := range r.balancer().Pools {
		if err := pool.HasExactly(want); err != nil {
			r.t.Error(err)
		}
	}
}
