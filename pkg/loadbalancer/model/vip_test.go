package model_test

import (
	"encoding/json"
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
