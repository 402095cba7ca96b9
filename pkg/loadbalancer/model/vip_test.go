package model_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestVIPSettings_OverrideOnlyWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	there := model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"a"}}
	for _, test := range []struct{ asked, want model.VIPSettings }{
		{model.VIPSettings{}, there},
		{model.VIPSettings{QoSPolicyID: "other"}, model.VIPSettings{QoSPolicyID: "other", SecurityGroupIDs: []string{"a"}}},
		{model.VIPSettings{SecurityGroupIDs: []string{"b", "c"}}, model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"b", "c"}}},
		{model.VIPSettings{QoSPolicyID: model.None, SecurityGroupIDs: []string{model.None}}, model.VIPSettings{}},
	} {
		if got := test.asked.Over(there); !got.Equal(test.want) {
			t.Errorf("%+v over %+v is %+v, want %+v", test.asked, there, got, test.want)
		}
	}
}

// None is a request only: no load balancer has it.
func TestVIPSettings_AreSettledWithoutNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sent   model.VIPSettings
		policy string
		groups []string
	}{
		"nothing":             {model.VIPSettings{}, "", nil},
		"values":              {model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"a", "b"}}, "qos", []string{"a", "b"}},
		"no policy":           {model.VIPSettings{QoSPolicyID: model.None, SecurityGroupIDs: []string{"a"}}, "", []string{"a"}},
		"no groups":           {model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{model.None}}, "qos", nil},
		"an empty list":       {model.VIPSettings{SecurityGroupIDs: []string{}}, "", nil},
		"none beside a group": {model.VIPSettings{SecurityGroupIDs: []string{"a", model.None}}, "", []string{"a"}},
		"none before a group": {model.VIPSettings{SecurityGroupIDs: []string{model.None, "z"}}, "", []string{"z"}},
	} {
		before := slices.Clone(test.sent.SecurityGroupIDs)
		got := test.sent.Settled()
		if want := (model.VIPSettings{QoSPolicyID: test.policy, SecurityGroupIDs: test.groups}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if !slices.Equal(test.sent.SecurityGroupIDs, before) {
			t.Errorf("%s: the argument is changed to %v", name, test.sent.SecurityGroupIDs)
		}
		if again := got.Settled(); !again.Equal(got) {
			t.Errorf("%s: settled again, it is %+v", name, again)
		}
		if over := test.sent.Over(test.sent.Over(model.VIPSettings{QoSPolicyID: "old", SecurityGroupIDs: []string{"old"}})); !over.Equal(test.sent.Over(over)) {
			t.Errorf("%s: sent twice, it is %+v", name, over)
		}
	}
}

func TestVIPSettings_AreEqualWithSamePolicyAndGroups(t *testing.T) {
	t.Parallel()
	of := model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"a", "b"}}
	for name, test := range map[string]struct {
		other model.VIPSettings
		equal bool
	}{
		"the same":       {model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"a", "b"}}, true},
		"another policy": {model.VIPSettings{QoSPolicyID: "other", SecurityGroupIDs: []string{"a", "b"}}, false},
		"a group less":   {model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"a"}}, false},
		"another group":  {model.VIPSettings{QoSPolicyID: "qos", SecurityGroupIDs: []string{"a", "c"}}, false},
	} {
		if of.Equal(test.other) != test.equal || test.other.Equal(of) != test.equal {
			t.Errorf("%s: equal: %v", name, !test.equal)
		}
	}
	if empty := (model.VIPSettings{SecurityGroupIDs: []string{}}); !empty.Equal(model.VIPSettings{}) {
		t.Error("an empty list is another one than none")
	}
}

// TestVIP_MarshalsAsBeforeWithoutSettings: otherwise every load balancer would be read after an
// update of the controller.
func TestVIP_MarshalsAsBeforeWithoutSettings(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(model.VIP{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"NetworkID":"","SubnetID":"","PortID":"","Address":""}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}
