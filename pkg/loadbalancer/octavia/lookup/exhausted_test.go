package lookup_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

func octaviaQuota(resource string) error {
	return refusal(http.StatusForbidden, `{"faultstring": "Quota has been met for resources: `+resource+`"}`)
}

func neutronQuota(resources string) error {
	return refusal(http.StatusConflict, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: [`+resources+`].", "detail": ""}}`)
}

func TestExhausted_NamesResourceUseLimitAndRemedy(t *testing.T) {
	t.Parallel()
	const network = "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	for name, test := range map[string]struct {
		refused error
		want    string
	}{
		"load balancers":   {octaviaQuota("Load Balancer"), "the project's quota of load balancers is used up (10): ask the cloud's operator to raise it, or delete unused objects"},
		"health monitors":  {octaviaQuota("Health Monitor"), "quota of health monitors is used up (0)"},
		"rules":            {octaviaQuota("L7 Rule"), "quota of L7 Rules is used up:"},
		"policies":         {octaviaQuota("L7 Policy"), "quota of L7 policies is used up (7)"},
		"floating IPs":     {neutronQuota("'floatingip'"), "quota of floating IPs is used up (7 of 9)"},
		"two at once":      {neutronQuota("'security_group', 'security_group_rule'"), "quota of security groups is used up (3 of 3), and the project's quota of security group rules is used up: ask"},
		"no free address":  {refusal(http.StatusConflict, `{"NeutronError": {"type": "IpAddressGenerationFailure", "message": "No more IP addresses available on network `+network+`.", "detail": ""}}`), "network " + network + " has no free address"},
		"an unknown pool":  {refusal(http.StatusConflict, `{"NeutronError": {"type": "IpAddressGenerationFailure", "message": "none", "detail": ""}}`), "the network of the address has no free one"},
		"no answer at all": {nil, "the network of the address has no free one"},
	} {
		cloud := &tables{
			limits: map[string]int{"load_balancer": 10, "health_monitor": 0, "l7_policy": 7},
			quotas: map[string]neutron.Quota{"floatingip": {Limit: 9, Used: 5, Reserved: 2}, "security_group": {Limit: 3, Used: 3}},
		}
		reader, _ := cloud.reader()
		if got := reader.Quotas.Exhausted(t.Context(), test.refused); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Services that exceed the same quota share one read. A failed one only costs the numbers, and is repeated.
func TestExhausted_ReadsQuotasOncePerHalfMinute(t *testing.T) {
	t.Parallel()
	for method, refused := range map[string]error{"QuotaLimits": octaviaQuota("Listener"), "Quotas": neutronQuota("'floatingip'")} {
		cloud := &tables{
			limits: map[string]int{"listener": 5}, quotas: map[string]neutron.Quota{"floatingip": {Limit: 9, Used: 9}},
			fails: map[string]error{method: refusal(http.StatusForbidden, "")},
		}
		reader, clk := cloud.reader()
		for range 2 {
			if got := reader.Quotas.Exhausted(t.Context(), refused); !strings.Contains(got, "is used up: ask") {
				t.Errorf("%s: quotas cannot be read: %q", method, got)
			}
		}
		cloud.asked(t, "failed", method, 2)
		cloud.fails = nil
		for _, step := range []struct {
			after time.Duration
			reads int
		}{{0, 1}, {30 * time.Second, 0}, {time.Second, 1}} {
			clk.SetTime(clk.Now().Add(step.after))
			if got := reader.Quotas.Exhausted(t.Context(), refused); !strings.Contains(got, "is used up (") {
				t.Errorf("%s: %q", method, got)
			}
			cloud.asked(t, "after "+step.after.String(), method, step.reads)
		}
	}
}
