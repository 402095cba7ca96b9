package attach

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestTranslate_ConvertsPoliciesAndRules(t *testing.T) {
	t.Parallel()
	leaving := active("leaving")
	leaving.ProvisioningStatus = octavia.PendingDelete
	lb := full()
	lb.Listeners[0].Policies = []*octavia.L7Policy{
		{
			Meta: active("policy"), Action: "REDIRECT_TO_POOL", RedirectPoolID: "pool", RedirectURL: "http://a",
			RedirectPrefix: "http://b", RedirectHTTPCode: 308, Position: 3,
			Rules: []*octavia.L7Rule{
				{Meta: active("rule"), Type: "HEADER", CompareType: "CONTAINS", Key: "X-A", Value: "b", Invert: true},
				{Meta: leaving},
			},
		},
		{Meta: leaving},
	}
	want := []datapath.Policy{{
		ID: "policy", Action: datapath.ActionRedirectToPool, Position: 3, AdminUp: true,
		RedirectPoolID: "pool", RedirectURL: "http://a", RedirectPrefix: "http://b", RedirectCode: 308,
		Rules: []datapath.Rule{{
			Type: datapath.RuleHeader, Compare: datapath.CompareContains, Key: "X-A", Value: "b", Invert: true, AdminUp: true,
		}},
	}}
	got := (&services{balancers: []octavia.LoadBalancer{lb}}).read()[0].Listeners[0].Policies
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("translated (-want +got):\n%s", diff)
	}
}
