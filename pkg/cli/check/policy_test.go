package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// policies are the services with a policy file, and the user's rights by a rule. Barbican has
// another name for the project of a target.
func policies() map[string]func(rule string) string {
	ofProject := func(string) string { return "role:kubernetes-ccm and project_id:%(project_id)s" }
	return map[string]func(string) string{
		octaviaService: ofProject, neutronService: ofProject, novaService: ofProject,
		barbicanService: func(rule string) string {
			kind, _, _ := strings.Cut(rule, ":")
			return "role:kubernetes-ccm and project_id:%(target." + strings.TrimSuffix(kind, "_acls") + ".project_id)s"
		},
	}
}

// extras are optional rights of the controller, which check does not test.
func extras() []right {
	const api = "os_load-balancer_api:"
	return []right{
		{service: octaviaService, what: "list providers", setting: "plan and check, which say where a provider does not exist", rules: []string{api + "provider:get_all"}},
		{service: octaviaService, what: "list flavors", setting: "flavor-id by name", rules: []string{api + "flavor:get_all"}},
		{service: octaviaService, what: "list availability zones", setting: "availability-zone", rules: []string{api + "availability-zone:get_all"}},
		{service: octaviaService, what: "read quotas", setting: "metrics of quotas, and how much of one is left in errors", rules: []string{api + "quota:get_one"}},
		{service: octaviaService, what: "read traffic", setting: "status, which shows it", rules: []string{api + "loadbalancer:get_stats"}},
		{service: octaviaService, what: "fail load balancers over", setting: "load balancers in ERROR, which recover by it", rules: []string{api + "loadbalancer:put_failover"}},
		{service: neutronService, what: "read quotas", setting: "metrics of quotas, and how much of one is left in errors", rules: []string{"get_quota"}},
		{service: neutronService, what: "choose the address of a floating IP", setting: "loadBalancerIP with an address that no floating IP has yet", rules: []string{"create_floatingip:floating_ip_address"}},
		{service: neutronService, what: "read the router", setting: ifRouting + "; " + ifLeading, rules: []string{"get_router"}},
		{service: barbicanService, what: "let Octavia read certificates", setting: "listeners with TLS; Octavia does it with the controller's token",
			rules: []string{"secret_acls:get", "secret_acls:put_patch", "container_acls:get", "container_acls:put_patch"}},
		{service: neutronService, what: "read trunks", setting: "nodes with addresses on trunk subports", rules: []string{"get_trunk"}},
	}
}

// TestPolicyReference_GrantsRightsThatCheckAsksFor keeps docs/policy equal to the table of rights.
//
//proves:136
func TestPolicyReference_GrantsRightsThatCheckAsksFor(t *testing.T) {
	t.Parallel()
	rights := append(allRights(), extras()...)
	for _, r := range rights {
		if policies()[r.service] == nil {
			t.Errorf("%s: %s: there is no policy file of this service", r.service, r.what)
		}
		if (r.needed == nil) != (r.setting == "") && r.needed != nil {
			t.Errorf("%s: %s is not always needed, and nothing says when", r.service, r.what)
		}
	}
	for service, check := range policies() {
		text := policy(service, rights, check)
		var have map[string]string
		if err := yaml.UnmarshalStrict([]byte(text), &have); err != nil {
			t.Errorf("%s: %v", service, err)
		}
		for _, r := range rights {
			for _, rule := range r.rules {
				if r.service == service && !strings.Contains(have[rule], "role:kubernetes-ccm and project_id:") {
					t.Errorf("%s: %s is %q", service, rule, have[rule])
				}
			}
		}
		golden.File(t, "../../../docs/policy/"+strings.ToLower(service)+".yaml", text)
	}
}

func policy(service string, rights []right, check func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Rights of the role kubernetes-ccm in %s, as oslo.policy. Written by make generate from the table of
# rights in pkg/cli/check. Do not install it as it is: it would replace the rules of all other users.
# docs/security.md (Least rights in OpenStack) explains how to add it to them.
`, service)
	granted := map[string]bool{}
	for _, r := range rights {
		if r.service != service {
			continue
		}
		fmt.Fprintf(&b, "\n# %s\n", r.what)
		if r.setting != "" {
			fmt.Fprintf(&b, "# Needed for: %s\n", r.setting)
		}
		for _, rule := range slices.Compact(slices.Clone(r.rules)) {
			if !granted[rule] {
				fmt.Fprintf(&b, "%q: %q\n", rule, check(rule))
			}
			granted[rule] = true
		}
	}
	return b.String()
}
