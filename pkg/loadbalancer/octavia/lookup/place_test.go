package lookup_test

import (
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// Who may not list flavors may still use one by its ID, but cannot name one.
func TestGather_TakesTheIDOfAFlavorThatItMayNotList(t *testing.T) {
	t.Parallel()
	const id = "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	flavor := func(asked string) func(*settings.Settings) {
		return func(s *settings.Settings) { s.LoadBalancer.FlavorID = asked }
	}
	for status, taken := range map[int]bool{http.StatusForbidden: true, http.StatusBadRequest: false} {
		env := newEnvironment(t, simulator.Topology{})
		env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/load-balancer/v2.0/lbaas/flavors", Status: status})
		gather := func(asked string) (desire.Facts, error) {
			return env.reader.Gather(t.Context(), env.internal(flavor(asked)), nil, driver.Of("amphora", model.Version{Major: 2, Minor: 30}), nil)
		}
		if known, err := gather(id); (err == nil) != taken || taken && known.FlavorID != id {
			t.Errorf("%d, by its ID: %+v, error %v", status, known, err)
		}
		if _, err := gather("large"); err == nil {
			t.Errorf("%d, by its name: no error", status)
		}
	}
}

// The subnets of external networks are shown to few.
func TestGather_FindsTheExternalNetworkWithoutSeeingItsSubnet(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	hidden := env.external(func(s *settings.Settings) { s.Floating.NetworkID, s.Floating.SubnetID = "", "hidden" })
	if known := env.must(hidden); known.FloatingNetworkID != env.Cloud.ExternalNetwork.ID {
		t.Errorf("facts %+v", known)
	}
	env.pass(2 * age)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/subnets/{id}", Status: http.StatusForbidden})
	if _, err := env.gather(hidden); !apierror.IsForbidden(err) {
		t.Errorf("error %v", err)
	}
}
