package observe_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// floatingIPs reads the floating IPs of our Service.
func (env *environment) floatingIPs(lb *model.LoadBalancer, address string) *model.Observed {
	env.T.Helper()
	observed := &model.Observed{LoadBalancer: lb}
	env.Cloud.RequestLog.Reset()
	if err := env.observer.FloatingIPs(env.T.Context(), us(), observed, observe.FloatingIPHints{Asked: model.FloatingIP{Address: address}, AskedBy: "spec.loadBalancerIP"}); err != nil {
		env.T.Fatal(err)
	}
	return observed
}

func TestFloatingIPs_AreOursOnVIPOnlyWithProof(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, description string
		legacy, owned     bool
	}{
		{"ours", us().FloatingIPs().Description(), false, true},
		{"cloud-provider-openstack's, asked for", us().FloatingIPs().LegacyDescription(), false, false},
		{"cloud-provider-openstack's, on its load balancer", us().FloatingIPs().LegacyDescription(), true, true},
		{"another cluster's", another().FloatingIPs().Description(), false, false},
		{"another cluster's, on cloud-provider-openstack's load balancer", another().FloatingIPs().Description(), true, false},
		{"a person's", "reserved for the web", false, false},
		{"nobody's", "", false, false},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, "")
			made := env.ours
			if test.legacy {
				made = func(id ownership.Identity, _ ...func(*octavia.LoadBalancer)) *octavia.LoadBalancer {
					return env.legacy(id)
				}
			}
			lb := env.contents(made(us()).ID)
			fip := env.floatingIP(test.description, lb.VIP.PortID)
			env.floatingIP(us().FloatingIPs().Description(), "") // an unattached one is not asked for
			observed := env.floatingIPs(lb, "")
			want := &model.FloatingIP{
				ID: fip.ID, NetworkID: env.Cloud.ExternalNetwork.ID, Address: fip.FloatingIP, Description: test.description,
				PortID: lb.VIP.PortID, Owned: test.owned,
			}
			if diff := cmp.Diff(want, observed.LoadBalancer.FloatingIP, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(model.FloatingIP{}, "Revision")); diff != "" || len(observed.UnattachedFloatingIPs) > 0 {
				t.Errorf("unattached %v; attached: %s", observed.UnattachedFloatingIPs, diff)
			}
			if got := env.reads(); got["/network/v2.0/floatingips"] != 1 {
				t.Errorf("requests %v", got)
			}
		})
	}
}

func TestFloatingIPs_ListOurUnattachedOnes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	lb := env.contents(env.ours(us()).ID)
	elsewhere := env.ours(another())
	left := env.floatingIP(us().FloatingIPs().Description(), "")
	env.floatingIP(us().FloatingIPs().LegacyDescription(), "") // proves nothing without a load balancer
	env.floatingIP(another().FloatingIPs().Description(), "")
	env.floatingIP(us().FloatingIPs().Description(), elsewhere.VIPPortID) // by another client
	for _, observed := range []*model.Observed{env.floatingIPs(lb, ""), env.floatingIPs(nil, "")} {
		if len(observed.UnattachedFloatingIPs) != 1 || observed.UnattachedFloatingIPs[0].ID != left.ID || !observed.UnattachedFloatingIPs[0].Owned {
			t.Errorf("unattached: %+v, want %s", observed.UnattachedFloatingIPs, left.ID)
		}
	}
}

func TestFloatingIPs_FindRequestedAddress(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	lb := env.contents(env.ours(us()).ID)
	own := env.floatingIP(us().FloatingIPs().Description(), "")
	reserved := env.floatingIP("reserved for the web", "")
	attached := env.floatingIP(us().FloatingIPs().Description(), lb.VIP.PortID)

	if observed := env.floatingIPs(lb, attached.FloatingIP); len(observed.UnattachedFloatingIPs) > 0 || observed.LoadBalancer.FloatingIP.ID != attached.ID {
		t.Errorf("it is there already: %+v", observed)
	}
	observed := env.floatingIPs(lb, reserved.FloatingIP)
	if len(observed.UnattachedFloatingIPs) != 2 || observed.UnattachedFloatingIPs[1].ID != reserved.ID || observed.UnattachedFloatingIPs[1].Owned {
		t.Errorf("it is reserved: unattached %+v", observed.UnattachedFloatingIPs)
	}
	if observed := env.floatingIPs(lb, own.FloatingIP); len(observed.UnattachedFloatingIPs) != 1 || observed.UnattachedFloatingIPs[0].ID != own.ID {
		t.Errorf("it is an unattached one of ours: %+v", observed.UnattachedFloatingIPs)
	}
	if observed := env.floatingIPs(nil, "127.200.9.9"); len(observed.UnattachedFloatingIPs) != 1 {
		t.Errorf("it is free: unattached %+v", observed.UnattachedFloatingIPs)
	}
}

func TestFloatingIPs_RefuseRequestedAddressInUse(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	lb := env.contents(env.ours(us()).ID)
	theirs := env.ours(another())
	taken := env.floatingIP("theirs", theirs.VIPPortID)
	for _, observed := range []*model.Observed{{LoadBalancer: lb}, {}} {
		err := env.observer.FloatingIPs(t.Context(), us(), observed, observe.FloatingIPHints{Asked: model.FloatingIP{Address: taken.FloatingIP}, AskedBy: "spec.loadBalancerIP"})
		var inUse *observe.FloatingIPError
		if !errors.As(err, &inUse) || !strings.Contains(err.Error(), " is in use: choose another") || strings.Contains(err.Error(), theirs.VIPPortID) {
			t.Errorf("error %v", err)
		}
	}
}

func TestFloatingIPs_ReturnErrorsOfNeutron(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	lb := env.contents(env.ours(us()).ID)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/floatingips", Status: http.StatusForbidden})
	for _, observed := range []*model.Observed{{LoadBalancer: lb}, {}} {
		if err := env.observer.FloatingIPs(t.Context(), us(), observed, observe.FloatingIPHints{}); !apierror.IsForbidden(err) {
			t.Errorf("error %v", err)
		}
	}
}
