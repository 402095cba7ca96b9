package neutron_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func (env *environment) group(name string) *groups.SecGroup {
	env.t.Helper()
	group, err := groups.Create(env.t.Context(), env.member(), groups.CreateOpts{Name: name, Description: "of a test"}).Extract()
	must(env.t, err)
	return group
}

func ingress(groupID string, port int, prefix string) rules.CreateOpts {
	return rules.CreateOpts{
		SecGroupID: groupID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP,
		PortRangeMin: port, PortRangeMax: port, RemoteIPPrefix: prefix,
	}
}

func TestSecurityGroups_LetEverythingOutWhenNew(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("web")
	types := []string{}
	for _, rule := range group.Rules {
		if rule.Direction != "egress" || rule.Protocol != "" || rule.RemoteIPPrefix != "" {
			t.Errorf("rule is %+v", rule)
		}
		types = append(types, rule.EtherType)
	}
	slices.Sort(types)
	if !slices.Equal(types, []string{"IPv4", "IPv6"}) || !group.Stateful || group.Description != "of a test" {
		t.Errorf("group is %+v", group)
	}
}

func TestSecurityGroups_HaveDefaultForEveryProject(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	for _, id := range []string{project, other} {
		pages, err := groups.List(env.client(id, "member"), groups.ListOpts{Name: "default"}).AllPages(t.Context())
		must(t, err)
		found, err := groups.ExtractGroups(pages)
		must(t, err)
		if len(found) != 1 || found[0].ProjectID != id || len(found[0].Rules) != 4 {
			t.Errorf("default groups of %s are %+v", id, found)
		}
	}
	env.refused(http.MethodPost, "/v2.0/security-groups", map[string]any{"security_group": map[string]any{"name": "default"}}, 409, "SecurityGroupDefaultAlreadyExists")
	for _, group := range env.SecurityGroups() {
		if group.ProjectID == project {
			env.refused(http.MethodDelete, "/v2.0/security-groups/"+group.ID, nil, 409, "SecurityGroupCannotRemoveDefault")
			env.refused(http.MethodPut, "/v2.0/security-groups/"+group.ID, map[string]any{"security_group": map[string]any{"name": "x"}}, 409, "SecurityGroupCannotUpdateDefault")
		}
	}
}

func TestSecurityGroups_CannotBeDeletedInUse(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("web")
	port := env.port(neutron.PortSpec{SecurityGroups: []string{group.ID}})
	message := env.refused(http.MethodDelete, "/v2.0/security-groups/"+group.ID, nil, 409, "SecurityGroupInUse")
	if message != "Security Group "+group.ID+" in use." {
		t.Errorf("message is %q", message)
	}
	must(t, env.DeletePort(port.ID))
	must(t, groups.Delete(t.Context(), env.member(), group.ID).ExtractErr())
	env.refused(http.MethodGet, "/v2.0/security-groups/"+group.ID, nil, 404, "SecurityGroupNotFound")
}

func TestSecurityGroups_RemoveRulesThatPointToDeletedOne(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	target, user := env.group("target"), env.group("user")
	if _, err := env.AddSecurityGroupRules(user.ID, neutron.SecurityGroupRule{Direction: "ingress", RemoteGroupID: target.ID}); err != nil {
		t.Fatal(err)
	}
	must(t, env.DeleteSecurityGroup(target.ID))
	for _, group := range env.SecurityGroups() {
		if group.ID == user.ID && len(group.Rules) != 2 {
			t.Errorf("rules are %+v", group.Rules)
		}
	}
}

func TestRules_AreAllOrNothingInBulk(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("web")
	created, err := rules.CreateBulk(t.Context(), env.member(), []rules.CreateOpts{
		ingress(group.ID, 80, "10.0.0.0/8"), ingress(group.ID, 443, "10.0.0.0/8"),
	}).Extract()
	must(t, err)
	if len(created) != 2 || created[1].PortRangeMin != 443 || created[1].RemoteIPPrefix != "10.0.0.0/8" {
		t.Fatalf("created %+v", created)
	}
	bulk := func(ports ...int) map[string]any {
		list := []any{}
		for _, port := range ports {
			list = append(list, map[string]any{
				"security_group_id": group.ID, "direction": "ingress", "protocol": "tcp",
				"port_range_min": port, "port_range_max": port, "remote_ip_prefix": "10.0.0.0/8",
			})
		}
		return map[string]any{"security_group_rules": list}
	}
	message := env.refused(http.MethodPost, "/v2.0/security-group-rules", bulk(8080, 443), 409, "SecurityGroupRuleExists")
	if !strings.HasSuffix(message, "Rule id is "+created[1].ID+".") {
		t.Errorf("message is %q", message)
	}
	env.refused(http.MethodPost, "/v2.0/security-group-rules", bulk(8080, 8080), 409, "DuplicateSecurityGroupRuleInPost")
	env.refused(http.MethodPost, "/v2.0/security-group-rules", bulk(8080, 0), 400, "SecurityGroupInvalidPortValue")
	env.SetQuota(project, "security_group_rule", 9)
	env.refused(http.MethodPost, "/v2.0/security-group-rules", bulk(8080, 8081), 409, "OverQuota")
	if got, err := groups.Get(t.Context(), env.member(), group.ID).Extract(); err != nil || len(got.Rules) != 4 {
		t.Errorf("group has rules %+v %v, want the two it had and two egress", got.Rules, err)
	}
	twoGroups := bulk(8080, 8081)
	twoGroups["security_group_rules"].([]any)[1].(map[string]any)["security_group_id"] = env.group("second").ID
	env.refused(http.MethodPost, "/v2.0/security-group-rules", twoGroups, 400, "SecurityGroupNotSingleGroupRules")
}

func TestRules_ConflictWhenTheyMeanTheSame(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]map[string]any{
		"another description":    {{"protocol": "tcp", "description": "a"}, {"protocol": "tcp", "description": "b"}},
		"protocol by number":     {{"protocol": "tcp"}, {"protocol": "6"}},
		"protocol in capitals":   {{"protocol": "tcp"}, {"protocol": "TCP"}},
		"all addresses":          {{"protocol": "udp"}, {"protocol": "udp", "remote_ip_prefix": "0.0.0.0/0"}},
		"all ports":              {{"protocol": "udp"}, {"protocol": "udp", "port_range_min": 1, "port_range_max": 65535}},
		"address without length": {{"remote_ip_prefix": "10.0.0.1"}, {"remote_ip_prefix": "10.0.0.1/32"}},
		"another spelling of IPv6": {
			{"ethertype": "IPv6", "remote_ip_prefix": "2001:db8::/32"}, {"ethertype": "ipv6", "remote_ip_prefix": "2001:DB8:0::/32"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, neutron.Options{})
			group := env.group("web")
			for _, attributes := range pair {
				attributes["security_group_id"], attributes["direction"] = group.ID, "ingress"
			}
			if status, answer := env.call(http.MethodPost, "/v2.0/security-group-rules", map[string]any{"security_group_rule": pair[0]}); status != http.StatusCreated {
				t.Fatalf("the first answered %d %v", status, answer)
			}
			env.refused(http.MethodPost, "/v2.0/security-group-rules", map[string]any{"security_group_rule": pair[1]}, 409, "SecurityGroupRuleExists")
		})
	}
}

func TestRules_ShowPrefixAsSentAndWithoutHostBits(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("web")
	_, answer := env.call(http.MethodPost, "/v2.0/security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": group.ID, "direction": "ingress", "remote_ip_prefix": "10.1.2.3/8",
	}})
	rule, _ := answer["security_group_rule"].(map[string]any)
	if rule["remote_ip_prefix"] != "10.1.2.3/8" || rule["normalized_cidr"] != "10.0.0.0/8" {
		t.Errorf("rule is %v", rule)
	}
}

func TestRules_AreRefusedWhenInvalid(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("web")
	for name, test := range map[string]struct {
		change map[string]any
		status int
		kind   string
	}{
		"no group":            {map[string]any{"security_group_id": nil}, 400, "HTTPBadRequest"},
		"unknown group":       {map[string]any{"security_group_id": nobody}, 404, "SecurityGroupNotFound"},
		"no direction":        {map[string]any{"direction": nil}, 400, "HTTPBadRequest"},
		"sideways":            {map[string]any{"direction": "sideways"}, 400, "HTTPBadRequest"},
		"unknown ethertype":   {map[string]any{"ethertype": "IPv5"}, 400, "SecurityGroupRuleInvalidEtherType"},
		"unknown protocol":    {map[string]any{"protocol": "xyz"}, 400, "SecurityGroupRuleInvalidProtocol"},
		"protocol too high":   {map[string]any{"protocol": 256}, 400, "SecurityGroupRuleInvalidProtocol"},
		"ports, no protocol":  {map[string]any{"protocol": nil, "port_range_min": 1, "port_range_max": 2}, 400, "SecurityGroupProtocolRequiredWithPorts"},
		"half a range":        {map[string]any{"port_range_min": 80}, 400, "SecurityGroupInvalidPortRange"},
		"range upside down":   {map[string]any{"port_range_min": 81, "port_range_max": 80}, 400, "SecurityGroupInvalidPortRange"},
		"port too high":       {map[string]any{"port_range_min": 80, "port_range_max": 65536}, 400, "SecurityGroupInvalidPortValue"},
		"no prefix":           {map[string]any{"remote_ip_prefix": "example.org"}, 400, "InvalidCIDR"},
		"IPv6 in an IPv4":     {map[string]any{"remote_ip_prefix": "2001:db8::/32"}, 400, "SecurityGroupRuleParameterConflict"},
		"group and prefix":    {map[string]any{"remote_ip_prefix": "10.0.0.0/8", "remote_group_id": group.ID}, 400, "SecurityGroupMultipleRemoteEntites"},
		"unknown remote":      {map[string]any{"remote_group_id": nobody}, 404, "SecurityGroupNotFound"},
		"unknown attribute":   {map[string]any{"colour": "red"}, 400, "HTTPBadRequest"},
		"read-only attribute": {map[string]any{"id": "mine"}, 400, "HTTPBadRequest"},
	} {
		t.Log(name)
		attributes := map[string]any{"security_group_id": group.ID, "direction": "ingress", "protocol": "tcp"}
		for key, value := range test.change {
			attributes[key] = value
		}
		env.refused(http.MethodPost, "/v2.0/security-group-rules", map[string]any{"security_group_rule": attributes}, test.status, test.kind)
	}
}

func TestRules_KeepICMPTypeOfZero(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("ping")
	_, answer := env.call(http.MethodPost, "/v2.0/security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": group.ID, "direction": "ingress", "protocol": "icmp", "port_range_min": 0, "port_range_max": 0,
	}})
	rule, _ := answer["security_group_rule"].(map[string]any)
	if rule["port_range_min"] != 0.0 {
		t.Errorf("rule is %v", rule)
	}
}

func TestRules_AreListedAndDeletedOneByOne(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("web")
	rule, err := rules.Create(t.Context(), env.member(), ingress(group.ID, 80, "10.0.0.0/8")).Extract()
	must(t, err)
	pages, err := rules.List(env.member(), rules.ListOpts{SecGroupID: group.ID, Direction: "ingress"}).AllPages(t.Context())
	must(t, err)
	found, err := rules.ExtractRules(pages)
	if err != nil || len(found) != 1 || found[0].ID != rule.ID {
		t.Errorf("found %+v %v", found, err)
	}
	must(t, rules.Delete(t.Context(), env.member(), rule.ID).ExtractErr())
	env.refused(http.MethodGet, "/v2.0/security-group-rules/"+rule.ID, nil, 404, "SecurityGroupRuleNotFound")
	env.refused(http.MethodDelete, "/v2.0/security-group-rules/"+rule.ID, nil, 404, "SecurityGroupRuleNotFound")
}

func TestSecurityGroups_CountDefaultForQuota(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	env.SetQuota(project, "security_group", 2)
	env.group("web")
	env.refused(http.MethodPost, "/v2.0/security-groups", map[string]any{"security_group": map[string]any{"name": "more"}}, 409, "OverQuota")
}

func TestSecurityGroups_GetNewRevisionWithNewRule(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	group := env.group("web")
	before := group.RevisionNumber
	if _, err := rules.Create(t.Context(), env.member(), ingress(group.ID, 80, "")).Extract(); err != nil {
		t.Fatal(err)
	}
	after, err := groups.Get(t.Context(), env.member(), group.ID).Extract()
	if err != nil || before != 1 || after.RevisionNumber != 2 {
		t.Errorf("revision went from %d to %d %v", before, after.RevisionNumber, err)
	}
}
