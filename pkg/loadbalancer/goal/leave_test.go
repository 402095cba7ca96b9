package goal

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// A search for remains on other load balancers is left out only if there are certainly none.
func TestSettledOn_NeedsProofThatNothingIsLeftElsewhere(t *testing.T) {
	t.Parallel()
	own := &model.LoadBalancer{ID: "lb", VIP: model.VIP{Address: "10.0.0.5"}, FloatingIP: &model.FloatingIP{Address: "203.0.113.7"}}
	shared := own.Clone()
	shared.Shared = &model.Shared{}
	for name, test := range map[string]struct {
		lb                *model.LoadBalancer
		previous, entered []string
		published         []string
		settled           bool
	}{
		"none, and nothing known":             {settled: true},
		"none, and one before":                {previous: []string{"lb"}},
		"none, and a published address":       {published: []string{"203.0.113.7"}},
		"none, and one entered":               {entered: []string{"lb"}},
		"its own, and nothing known":          {lb: own, settled: true},
		"another's, and nothing known":        {lb: shared},
		"the previous one":                    {lb: own, previous: []string{"lb", "lb"}, settled: true},
		"another's, the previous one":         {lb: shared, previous: []string{"lb"}, settled: true},
		"one of two":                          {lb: own, previous: []string{"lb", "old"}},
		"another one":                         {lb: own, previous: []string{"old"}, published: []string{"203.0.113.7"}},
		"with the published floating IP":      {lb: own, published: []string{"198.51.100.1", "203.0.113.7"}, settled: true},
		"another's, with the published VIP":   {lb: shared, published: []string{"10.0.0.5"}, settled: true},
		"with another address than published": {lb: own, published: []string{"198.51.100.1"}},
		"entered":                             {lb: own, entered: []string{"lb"}, settled: true},
		"entered after another":               {lb: own, previous: []string{"lb"}, entered: []string{"lb", "old"}},
		"entered while being created":         {lb: own, entered: []string{""}},
	} {
		in := Inputs{Previous: test.previous, Entered: test.entered, Published: published(test.published...)}
		if got := settledOn(test.lb, in); got != test.settled {
			t.Errorf("%s: settled: %v", name, got)
		}
	}
}

// After its load balancer is gone, a floating IP of a Service that needs none is not found again.
func TestFloatingIPsFirst_MovesOnlyTheirDeletions(t *testing.T) {
	t.Parallel()
	steps := []plan.Step{
		plan.DeleteListener{ID: "l"}, plan.DeleteFloatingIP{ID: "a"}, plan.DeleteLoadBalancer{ID: "lb"}, plan.DisassociateFloatingIP{ID: "c"}, plan.DeleteFloatingIP{ID: "b"},
	}
	todo := plan.Plan{Steps: slices.Clone(steps), Retained: []string{"other"}}
	got := floatingIPsFirst(todo)
	want := []plan.Step{steps[1], steps[4], steps[0], steps[2], steps[3]}
	if diff := cmp.Diff(want, got.Steps) + cmp.Diff(steps, todo.Steps); diff != "" || len(got.Retained) != 1 {
		t.Errorf("%s, retained %v", diff, got.Retained)
	}
}
