package apply_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// A run that goes by few members knows in the end what the cloud has of all, and finds what another
// client does to the others at the same time: with a status tree, and, of many members, with their IDs.
func TestRun_OfFewMembersKnowsWhatBecameOfAll(t *testing.T) {
	t.Parallel()
	removes := func(e *environment, pool model.Pool) error {
		return e.applier.Octavia.RemoveMember(e.ctx, pool.ID, pool.Members[2].ID)
	}
	adds := func(e *environment, pool model.Pool) error {
		opts := apply.MembersOpts([]model.Member{{Address: "127.100.9.9", Port: pool.Members[0].Port}})
		_, err := e.applier.Octavia.AddMember(e.ctx, pool.ID, opts[0])
		return err
	}
	for _, n := range []int{5, 700} {
		for name, test := range map[string]struct {
			meanwhile func(e *environment, pool model.Pool) error
			changed   bool
		}{
			"nothing else happens":            {func(*environment, model.Pool) error { return nil }, false},
			"another client removes a member": {removes, true},
			"another client adds a member":    {adds, true},
			"another client puts one in another's place": {func(e *environment, pool model.Pool) error {
				return errors.Join(removes(e, pool), e.Cloud.WaitSettled(e.ctx), adds(e, pool))
			}, true},
		} {
			for _, comes := range []bool{true, false} {
				t.Run(fmt.Sprint(n, "/", name, "/", comes), func(t *testing.T) {
					t.Parallel()
					e := newEnvironment(t, simulator.Options{})
					desired := e.web(80)
					desired.Listeners[0].Pool.Members = members(n, 80)
					observed := e.reach(desired)
					pool := observed.LoadBalancer.Listeners[0].Pool
					step := plan.Step(plan.RemoveMember{Pool: plan.PoolRef{ID: pool.ID}, Member: pool.Members[1]})
					shown := []int{0, 1}
					if comes {
						another := pool.Members[0]
						another.ID, another.Name, another.Address = "", "another", "127.100.8.8"
						step, shown = plan.AddMember{Pool: plan.PoolRef{ID: pool.ID}, Member: another}, []int{0}
					}
					nodes, ok := model.Pack(observed.LoadBalancer, nil).Nodes()
					if !ok {
						t.Fatal("members on the same nodes are not seen to be")
					}
					if err := test.meanwhile(e, pool); err != nil {
						t.Fatal(err)
					}
					observed.LoadBalancer, observed.Rest = nodes.Excerpt(shown, "")
					after, err := e.run(observed, plan.Plan{Steps: []plan.Step{step}})
					var changed *apply.ChangedError
					if errors.As(err, &changed) != test.changed || err != nil && !test.changed {
						t.Fatalf("%v, want that another client has changed something: %v", err, test.changed)
					}
					if test.changed {
						return
					}
					if after.Rest == nil {
						t.Error("all members are there in the end, which takes their memory")
					}
					if diff := cmp.Diff(e.observe(), after.Whole(), ignoring()); diff != "" {
						t.Errorf("the applier knows something else than the cloud has: %s", diff)
					}
				})
			}
		}
	}
}
