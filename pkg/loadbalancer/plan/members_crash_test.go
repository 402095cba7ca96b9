package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// Where a driver works through a batch member by member, members change one by one or in batches. The process may end
// between any two requests, and the nodes be others for the next one: no pool lacks a member that it has before and
// after, none has fewer members than both, and none is emptied.
func TestDiff_KeepsMembersWhereverSingleChangesEnd(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		some := func(of []int, percent int) (all []int) {
			for _, n := range of {
				if random.IntN(100) < percent {
					all = append(all, n)
				}
			}
			return all
		}
		most := 1 + random.IntN(60)
		percent := 5 + random.IntN(95)
		have := append(some(numbers(2, most), percent), 1)
		c := &cloud{driver: driver.Driver{Quirks: driver.Quirks{MemberByMember: true}}}
		opts := plan.Options{Driver: c.driver, MoveMembers: random.IntN(4) == 0}
		if err := c.run(plan.Diff(web(nodes(have...)), c.observed, opts).Steps); err != nil {
			t.Fatal(err)
		}
		for range 6 {
			want := append(some(have, 80+random.IntN(20)), some(numbers(2, most), random.IntN(40))...)
			if len(want) == 0 {
				continue
			}
			desired := web(nodes(want...))
			if opts.MoveMembers && random.IntN(2) == 0 {
				onPools(func(pool *model.Pool) {
					pool.Members = pool.Members.Map(func(_ int, m model.Member) model.Member { m.SubnetID = "other"; return m })
				})(desired)
			}
			steps := plan.Diff(desired, c.observed, opts).Steps
			last := len(steps)
			if random.IntN(3) > 0 {
				last = random.IntN(len(steps) + 1)
			}
			before := c.observed.Clone()
			for i, step := range steps[:last] {
				if err := c.do(step); err != nil {
					t.Fatalf("seed %d: step %d of %d, %q: %v", seed, i+1, len(steps), step, err)
				}
				if lost := lostMember(before.LoadBalancer, desired, c.observed.LoadBalancer, opts.MoveMembers); lost != "" {
					t.Fatalf("seed %d: after step %d of %d, %q: %s", seed, i+1, len(steps), step, lost)
				}
			}
			if last == len(steps) {
				if again := plan.Diff(desired, c.observed, opts); !again.Empty() {
					t.Fatalf("seed %d: still to do:\n%s", seed, again)
				}
			}
			have = want
		}
	}
}

// lostMember returns what a load balancer lacks between two states. Members that move may be missing, but not all of
// them.
func lostMember(before, after, now *model.LoadBalancer, moves bool) string {
	for i := range now.Listeners {
		was, is, have := before.Listeners[i].Pool.Members, after.Listeners[i].Pool.Members, now.Listeners[i].Pool.Members
		if moves && (have.Len() > 0 || min(was.Len(), is.Len()) < 2) {
			continue
		}
		if have.Len() < min(was.Len(), is.Len()) {
			return fmt.Sprintf("pool %d has %d members, before %d, after %d", i, have.Len(), was.Len(), is.Len())
		}
		for j := range was.Len() {
			_, stays := is.Find(was.Key(j))
			if _, there := have.Find(was.Key(j)); stays && !there {
				return fmt.Sprintf("pool %d lacks %v", i, was.Key(j))
			}
		}
	}
	return ""
}
