package neutron_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// sameShape compares an answer with a recorded one: the same keys with values
// of the same kind. Null stands for any kind, an empty list for any list.
func sameShape(t *testing.T, path string, recorded, answered any) {
	t.Helper()
	switch want := recorded.(type) {
	case map[string]any:
		got, ok := answered.(map[string]any)
		if !ok {
			t.Errorf("%s is a %T, recorded as an object", path, answered)
			return
		}
		for key := range got {
			if _, ok := want[key]; !ok {
				t.Errorf("%s.%s was never recorded", path, key)
			}
		}
		for key, value := range want {
			if _, ok := got[key]; !ok {
				t.Errorf("%s.%s is missing", path, key)
				continue
			}
			sameShape(t, path+"."+key, value, got[key])
		}
	case []any:
		got, ok := answered.([]any)
		if !ok {
			t.Errorf("%s is a %T, recorded as a list", path, answered)
			return
		}
		if len(want) > 0 && len(got) > 0 {
			sameShape(t, path+"[]", want[0], got[0])
		}
	default:
		if recorded != nil && answered != nil && fmt.Sprintf("%T", recorded) != fmt.Sprintf("%T", answered) {
			t.Errorf("%s is %v, recorded as %v", path, answered, recorded)
		}
	}
}

func TestAnswers_HaveFieldsOfRealNeutron(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	port := env.port(neutron.PortSpec{SubnetID: env.subnet.ID, DeviceID: "server", DeviceOwner: "compute:nova", DNSName: "node-3", AddressPairs: []neutron.AddressPair{{Address: "10.6.0.200"}}})
	fip, err := env.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: project, NetworkID: env.external.ID, PortID: port.ID})
	must(t, err)
	group := env.group("web")
	rules, err := env.AddSecurityGroupRules(group.ID, neutron.SecurityGroupRule{
		Direction: "ingress", Protocol: "tcp", PortRangeMin: 1, PortRangeMax: 2, RemoteIPPrefix: "10.6.0.0/16",
	})
	must(t, err)

	text, err := os.ReadFile("testdata/recorded.json")
	must(t, err)
	recorded := map[string]any{}
	must(t, json.Unmarshal(text, &recorded))
	for name, where := range map[string][2]string{
		"network":             {"/v2.0/networks/" + env.inside.ID, "network"},
		"external_network":    {"/v2.0/networks/" + env.external.ID, "network"},
		"subnet":              {"/v2.0/subnets/" + env.subnet.ID, "subnet"},
		"subnet_ipv6":         {"/v2.0/subnets/" + env.subnetIPv6.ID, "subnet"},
		"port":                {"/v2.0/ports/" + port.ID, "port"},
		"floatingip":          {"/v2.0/floatingips/" + fip.ID, "floatingip"},
		"security_group":      {"/v2.0/security-groups/" + group.ID, "security_group"},
		"security_group_rule": {"/v2.0/security-group-rules/" + rules[0].ID, "security_group_rule"},
	} {
		status, answer := env.call(http.MethodGet, where[0], nil)
		if status != http.StatusOK {
			t.Errorf("GET %s answered %d %v", where[0], status, answer)
			continue
		}
		sameShape(t, name, recorded[name], answer[where[1]])
	}
}

func TestAnswers_ShowTimesInWholeSecondsOfUTC(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	_, answer := env.call(http.MethodGet, "/v2.0/networks/"+env.inside.ID, nil)
	network := answer["network"].(map[string]any)
	for _, key := range []string{"created_at", "updated_at"} {
		if text := fmt.Sprint(network[key]); text != "2026-11-20T18:00:00Z" {
			t.Errorf("%s is %s", key, text)
		}
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(fmt.Sprint(network["id"])) {
		t.Errorf("ID is %v", network["id"])
	}
}
