package plan_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// A duplicate with objects of another client is kept and reported; one without is deleted.
func TestDiff_RetainsDuplicatesWithForeignParts(t *testing.T) {
	t.Parallel()
	c := &cloud{}
	if err := c.run(plan.Diff(web(), c.observed, plan.Options{}).Steps); err != nil {
		t.Fatal(err)
	}
	c.observed.Duplicates = []model.LoadBalancer{
		{ID: "theirs-too", Name: "web", Foreign: []model.Foreign{{Kind: "pool", ID: "p-9", Name: "somebody's"}}},
		{ID: "ours", Name: "web"},
	}
	todo := plan.Diff(web(), c.observed, plan.Options{})
	if len(todo.Steps) != 1 || todo.Steps[0].(plan.DeleteLoadBalancer).ID != "ours" {
		t.Errorf("steps:\n%swant the deletion of the one that is ours alone", todo)
	}
	if len(todo.Retained) != 1 || !strings.Contains(todo.Retained[0], "theirs-too") || !strings.Contains(todo.Retained[0], "p-9") {
		t.Errorf("retained %v, want one of what stays, and why", todo.Retained)
	}
}
