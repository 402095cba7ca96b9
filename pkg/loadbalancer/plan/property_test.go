package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// pairs is how many random pairs of models each property is tried with.
const pairs = 1000

// property tries what must hold for any two models. A failure names the seed.
func property(t *testing.T, holds func(t *testing.T, m maker)) {
	t.Helper()
	for seed := range uint64(pairs) {
		holds(t, newMaker(seed))
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	printed, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}

func TestDiff_IsEmptyAfterCreation(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		desired, opts := m.desired(), m.options()
		c := &cloud{}
		if err := c.run(plan.Diff(desired, c.observed, opts).Steps); err != nil {
			t.Fatal(err)
		}
		again := plan.Diff(desired, c.observed, opts)
		if !again.Empty() || len(again.Notices)+len(again.Retained) > 0 {
			t.Errorf("a load balancer just made differs:\n%s%v", again, again.Notices)
		}
	})
}

func TestDiff_ConvergesInOnePlan(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		desired, opts := m.desired(), m.options()
		c := m.cloud(opts)
		todo := plan.Diff(desired, c.observed, opts)
		if todo.Blocked != "" {
			if len(todo.Steps) > 0 {
				t.Errorf("a blocked plan has steps:\n%s", todo)
			}
			return
		}
		if err := c.run(todo.Steps); err != nil {
			t.Fatalf("%v\n%s", err, todo)
		}
		if again := plan.Diff(desired, c.observed, opts); !again.Empty() {
			t.Errorf("after\n%sstill to do:\n%s", todo, again)
		}
		if unsound := c.observed.LoadBalancer.Unsound(); len(unsound) > 0 {
			t.Errorf("after\n%sstill unsound: %v", todo, unsound)
		}
	})
}

func TestDiff_ConvergesAfterCrashAtAnyStep(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		desired, opts := m.desired(), m.options()
		opts.Published = false
		c := m.cloud(opts)
		for range 3 {
			todo := plan.Diff(desired, c.observed, opts)
			if todo.Blocked != "" {
				return
			}
			if err := c.run(todo.Steps[:m.IntN(len(todo.Steps)+1)]); err != nil {
				t.Fatalf("%v\n%s", err, todo)
			}
		}
		if err := c.run(plan.Diff(desired, c.observed, opts).Steps); err != nil {
			t.Fatal(err)
		}
		if again := plan.Diff(desired, c.observed, opts); !again.Empty() {
			t.Errorf("after three crashes still to do:\n%s", again)
		}
	})
}

func TestDiff_IsFunctionOfItsInputs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(pairs) {
		inputs := func() (*model.LoadBalancer, model.Observed, plan.Options) {
			m := newMaker(seed)
			return m.desired(), m.observed(), m.options()
		}
		desired, observed, opts := inputs()
		before := text(t, desired) + text(t, observed)
		first := plan.Diff(desired, observed, opts)
		if after := text(t, desired) + text(t, observed); after != before {
			t.Fatalf("seed %d: Diff changes its inputs: %s to %s", seed, before, after)
		}
		if second := plan.Diff(desired, observed, opts); first.String() != second.String() {
			t.Fatalf("seed %d: the same call gives\n%sand then\n%s", seed, first, second)
		}
		if third := plan.Diff(inputs()); first.String() != third.String() {
			t.Fatalf("seed %d: equal inputs give\n%sand\n%s", seed, first, third)
		}
	}
}

func TestAdvance_LeavesDesiredModelUnchanged(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		desired, opts := m.desired(), m.options()
		c := m.cloud(opts)
		before := text(t, desired)
		todo := plan.Diff(desired, c.observed, opts)
		if err := c.run(todo.Steps); err != nil {
			t.Fatal(err)
		}
		if after := text(t, desired); after != before {
			t.Errorf("%safter it, the desired model is %s, was %s", todo, after, before)
		}
	})
}

func TestDelete_LeavesNothingOfOurs(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		opts := m.options()
		c := m.cloud(opts)
		if lb := c.observed.LoadBalancer; lb != nil && (len(lb.Foreign) > 0 || lb.Shared != nil) {
			lb.Status.Provisioning = "ACTIVE" // in ERROR, Octavia deletes no part of it
		}
		todo := plan.Delete(c.observed, opts)
		if err := c.run(todo.Steps); err != nil {
			t.Fatalf("%v\n%s", err, todo)
		}
		if left := leftovers(c.observed, opts); left != "" {
			t.Errorf("after\n%sleft: %s", todo, left)
		}
		if again := plan.Delete(c.observed, opts); !again.Empty() {
			t.Errorf("after\n%sstill to do:\n%s", todo, again)
		}
	})
}

// leftovers names something of ours that is left.
func leftovers(observed model.Observed, opts plan.Options) string {
	if len(observed.Duplicates) > 0 {
		return "load balancer " + observed.Duplicates[0].ID
	}
	for _, fip := range observed.UnattachedFloatingIPs {
		if fip.Owned && !opts.KeepFloatingIP {
			return "floating IP " + fip.Address
		}
	}
	switch lb := observed.LoadBalancer; {
	case lb == nil:
	case lb.Ends():
		return "load balancer " + lb.ID
	case len(lb.Listeners) > 0:
		return "listener " + lb.Listeners[0].Name
	case len(lb.Orphans) > 0:
		return "pool " + lb.Orphans[0].Name
	}
	return ""
}

func TestDelete_NeverTouchesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		observed := m.observed()
		others := map[string]bool{}
		if lb := observed.LoadBalancer; lb != nil {
			for _, foreign := range lb.Foreign {
				others[foreign.ID] = true
			}
			if !lb.Ends() {
				others[lb.ID] = true
			}
			if fip := lb.FloatingIP; fip != nil && (!fip.Owned || !lb.Ends()) {
				others[fip.ID] = true
			}
		}
		for _, step := range plan.Delete(observed, m.options()).Steps {
			if id := deletes(step); others[id] {
				t.Errorf("%q deletes %s, which is not ours alone", step, id)
			}
		}
	})
}

// deletes gives the ID of what a step deletes.
func deletes(step plan.Step) string {
	switch s := step.(type) {
	case plan.DeleteLoadBalancer:
		return s.ID
	case plan.DeleteListener:
		return s.ID
	case plan.DeletePool:
		return s.ID
	case plan.DeleteFloatingIP:
		return s.ID
	case plan.DisassociateFloatingIP:
		return s.ID
	}
	return ""
}
