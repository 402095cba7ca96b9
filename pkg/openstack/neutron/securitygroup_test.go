package neutron_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

func cloudAndNetwork(t *testing.T) (*simulator.Cloud, *neutron.Client) {
	t.Helper()
	cloud, conf := simulated.Cloud(t, simulator.Options{})
	return cloud, simulated.SignIn(t, conf, openstack.SessionOptions{}).Neutron()
}

func TestSetPortGroups_ChangesOnlyRevisionThatWasRead(t *testing.T) {
	t.Parallel()
	cloud, client := cloudAndNetwork(t)
	server, err := cloud.AddServer("node-1", "")
	if err != nil {
		t.Fatal(err)
	}
	group, err := client.CreateSecurityGroup(t.Context(), "web", "for the web")
	if err != nil {
		t.Fatal(err)
	}
	if len(group.Rules) != 2 || group.Name != "web" {
		t.Errorf("made %+v, want it with the two rules that Neutron adds", group)
	}
	found, err := client.PortsOfDevices(t.Context(), []string{server.ID})
	if err != nil || len(found) != 1 || found[0].Revision == nil {
		t.Fatalf("ports %+v, error %v", found, err)
	}
	wanted := append(slices.Clone(found[0].SecurityGroups), group.ID)
	changed, err := client.SetPortGroups(t.Context(), found[0], wanted)
	if err != nil || changed.ID != found[0].ID || !changed.UsesGroup(group.ID) || *changed.Revision <= *found[0].Revision {
		t.Fatalf("changed to %+v, error %v", changed, err)
	}
	if _, err := client.SetPortGroups(t.Context(), found[0], nil); !apierror.IsStale(err) {
		t.Errorf("an old revision: error %v", err)
	}
	if err := client.DeleteSecurityGroup(t.Context(), group.ID); !apierror.IsInUse(err) {
		t.Errorf("deleted while a port uses it: error %v", err)
	}
	using, err := client.PortsInGroup(t.Context(), group.ID)
	if err != nil || len(using) != 1 || using[0].ID != changed.ID {
		t.Errorf("ports in the group %+v, error %v", using, err)
	}
}

func TestCreateSecurityGroupRules_AddsRulesTogether(t *testing.T) {
	t.Parallel()
	_, client := cloudAndNetwork(t)
	group, err := client.CreateSecurityGroup(t.Context(), "web", "")
	if err != nil {
		t.Fatal(err)
	}
	rule := func(port int, description string) rules.CreateOpts {
		return rules.CreateOpts{
			Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP,
			PortRangeMin: port, PortRangeMax: port, RemoteIPPrefix: "10.0.0.0/8", Description: description,
		}
	}
	made, err := client.CreateSecurityGroupRules(t.Context(), group.ID, []rules.CreateOpts{rule(80, "a"), rule(81, "b")})
	if err != nil || len(made) != 2 || *made[0].PortRangeMin != 80 || made[0].ID == "" {
		t.Fatalf("made %+v, error %v", made, err)
	}
	if _, err := client.CreateSecurityGroupRules(t.Context(), group.ID, []rules.CreateOpts{rule(82, "c"), rule(81, "d")}); !apierror.IsRuleThere(err) {
		t.Errorf("one of them is there: error %v", err)
	}
	of, err := client.SecurityGroupRules(t.Context(), group.ID, "b", "c")
	if err != nil || len(of) != 1 || of[0].ID != made[1].ID {
		t.Errorf("rules described as b or c: %+v, error %v", of, err)
	}
	some, err := client.SomeSecurityGroupRules(t.Context(), group.ID, 1)
	if err != nil || len(some) != 1 || some[0].Description == "" {
		t.Errorf("the first rule: %+v, error %v", some, err)
	}
	if err := client.DeleteSecurityGroupRule(t.Context(), made[0].ID); err != nil {
		t.Error(err)
	}
	if err := client.DeleteSecurityGroupRule(t.Context(), made[0].ID); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestPortsInGroup_WorksWithoutFilterOfNeutron(t *testing.T) {
	t.Parallel()
	cloud, client := cloudAndNetwork(t)
	server, err := cloud.AddServer("node-1", "")
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.PortsOfDevices(t.Context(), []string{server.ID})
	if err != nil || len(found) != 1 {
		t.Fatalf("ports %+v, error %v", found, err)
	}
	cloud.Faults.Add(faults.Rule{
		Method: http.MethodGet, Route: "/network/v2.0/ports", Count: 1, Status: http.StatusBadRequest,
		Body: `{"NeutronError":{"type":"HTTPBadRequest","message":"['security_groups'] is invalid attribute for filtering","detail":""}}`,
	})
	using, err := client.PortsInGroup(t.Context(), found[0].SecurityGroups[0])
	if err != nil || len(using) != 1 || using[0].ID != found[0].ID {
		t.Errorf("ports in the group %+v, error %v", using, err)
	}
}

// An API server that lags behind answers 404 for an object of another one.
func TestDelete_BelievesNotFoundOnlyWhereReadingAgrees(t *testing.T) {
	t.Parallel()
	cloud, client := cloudAndNetwork(t)
	group, err := client.CreateSecurityGroup(t.Context(), "web", "for the web")
	if err != nil {
		t.Fatal(err)
	}
	fip, err := client.CreateFloatingIP(t.Context(), floatingips.CreateOpts{FloatingNetworkID: cloud.ExternalNetwork.ID})
	if err != nil {
		t.Fatal(err)
	}
	for what, remove := range map[string]func() error{
		"group":       func() error { return client.DeleteSecurityGroup(t.Context(), group.ID) },
		"floating IP": func() error { return client.DeleteFloatingIP(t.Context(), fip.ID) },
	} {
		lies := cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Status: http.StatusNotFound, Worded: true})
		if err := remove(); err == nil || apierror.IsNotFound(err) {
			t.Errorf("%s: not deleted, error %v", what, err)
		}
		lies()
		for range 2 {
			if err := remove(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
