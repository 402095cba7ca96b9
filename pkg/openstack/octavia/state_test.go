package octavia_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
)

// To wait for a thousand load balancers, they are listed again and again. The answer has only the
// fields that the wait needs.
func TestLoadBalancerStates_AskForFourAttributesOnly(t *testing.T) {
	t.Parallel()
	const one = `{"id": "lb", "provisioning_status": "PENDING_UPDATE", "operating_status": "ONLINE", "updated_at": "2026-01-01T00:00:07"}`
	want := octavia.LoadBalancerState{
		ID: "lb", ProvisioningStatus: "PENDING_UPDATE", OperatingStatus: "ONLINE", UpdatedAt: time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC),
	}
	cloud := fakecloud.New(t)
	cloud.Services = func(w http.ResponseWriter, r *http.Request) {
		fields := r.URL.Query()["fields"]
		if slices.Sort(fields); !slices.Equal(fields, []string{"id", "operating_status", "provisioning_status", "updated_at"}) {
			t.Errorf("%s asks for %s", r.URL, fields)
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/lb"):
			_, _ = io.WriteString(w, `{"loadbalancer": `+one+`}`)
		case r.URL.Query().Get("provisioning_status") == "PENDING_UPDATE":
			_, _ = io.WriteString(w, `{"loadbalancers": [`+one+`]}`)
		default:
			_, _ = io.WriteString(w, `{"loadbalancers": [`+one+`, {"id": "new", "updated_at": null}]}`)
		}
	}
	client := simulated.SignIn(t, &config.Config{Global: cloud.Config()}, openstack.SessionOptions{}).Octavia()
	if got, err := client.LoadBalancerState(t.Context(), "lb"); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := client.LoadBalancerStates(t.Context(), "PENDING_UPDATE"); err != nil || !slices.Equal(got, []octavia.LoadBalancerState{want}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := client.LoadBalancerStates(t.Context(), ""); err != nil || !slices.Equal(got, []octavia.LoadBalancerState{want, {ID: "new"}}) {
		t.Errorf("%v, %v", got, err)
	}
}
