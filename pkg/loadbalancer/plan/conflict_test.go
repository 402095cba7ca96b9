package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

func TestDiff_FinishesAReplacementUnlessItsRestrictionsConflict(t *testing.T) {
	t.Parallel()
	replacing := func(lb *model.LoadBalancer) model.Observed {
		observed := made(t, lb)
		observed.Outgoing = &model.LoadBalancer{ID: "old", Name: "kube_service_rig_default_web", Status: model.Status{Provisioning: "ACTIVE"}}
		return observed
	}
	todo := plan.Diff(web(), replacing(web()), plan.Options{})
	deletes := false
	for _, step := range todo.Steps {
		removed, ok := step.(plan.DeleteLoadBalancer)
		deletes = deletes || ok && removed.ID == "old"
	}
	if todo.Blocked != "" || !deletes {
		t.Errorf("the old one stays: blocked %q\n%s", todo.Blocked, todo)
	}
	todo = plan.Diff(web(clients("10.0.0.0/8")), replacing(web(onVIP("", "sg"))), plan.Options{})
	if !strings.Contains(todo.Blocked, "has security groups on its VIP") || len(todo.Steps) > 0 {
		t.Errorf("source ranges beside security groups of the VIP: blocked %q\n%s", todo.Blocked, todo)
	}
}

func TestDiff_NoticesAQoSPolicyThatASharedLoadBalancerDoesNotGet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		have, want string
		notice     bool
	}{
		"none asked for":    {"gold", "", false},
		"the same":          {"gold", "gold", false},
		"another":           {"gold", "silver", true},
		"one more":          {"", "silver", true},
		"none, and none is": {"", "", false},
	} {
		observed := made(t, web(onVIP(test.have)))
		observed.LoadBalancer.Shared = &model.Shared{Owner: "somebody"}
		noticed := slices.ContainsFunc(plan.Diff(web(onVIP(test.want)), observed, plan.Options{}).Notices, func(text string) bool {
			return strings.HasPrefix(text, "the QoS policy of the VIP stays")
		})
		if noticed != test.notice {
			t.Errorf("%s: a notice: %v", name, noticed)
		}
	}
}
