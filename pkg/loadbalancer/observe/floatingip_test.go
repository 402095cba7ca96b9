package observe_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// floatingIPs reads the floating IPs of our Service.
func (w *world) floatingIPs(lb *model.LoadBalancer, address string) *model.Observed {
	w.t.Helper()
	observed := &model.Observed{LoadBalancer: lb}
	w.cloud.Books.Reset()
	if err := w.observer.FloatingIPs(w.t.Context(), us(), observed, observe.FloatingIPHints{Asked: model.FloatingIP{Address: address}, AskedBy: "spec.loadBalancerIP"}); err != nil {
		w.t.Fatal(err)
	}
	return observed
}

func TestTheFloatingIPOnTheVIP(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, description string
		legacy, owned     bool
	}{
		{"ours", us().FloatingIPDescription(), false, true},
		{"cloud-provider-openstack's, asked for", us().LegacyFloatingIPDescription(), false, false},
		{"cloud-provider-openstack's, on its load balancer", us().LegacyFloatingIPDescription(), true, true},
		{"another cluster's", another().FloatingIPDescription(), false, false},
		{"another cluster's, on cloud-provider-openstack's load balancer", another().FloatingIPDescription(), true, false},
		{"a person's", "reserved for the web", false, false},
		{"nobody's", "", false, false},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			made := w.ours
			if test.legacy {
				made = func(id ownership.Identity, _ ...func(*loadbalancers.CreateOpts)) *octavia.LoadBalancer {
					return w.legacy(id)
				}
			}
			lb := w.contents(made(us()).ID)
			fip := w.floatingIP(test.description, lb.VIP.PortID)
			w.floatingIP(us().FloatingIPDescription(), "") // a spare one is not asked for
			observed := w.floatingIPs(lb, "")
			want := &model.FloatingIP{
				ID: fip.ID, NetworkID: w.cloud.ExternalNetwork.ID, Address: fip.FloatingIP, Description: test.description,
				PortID: lb.VIP.PortID, Owned: test.owned,
			}
			if diff := cmp.Diff(want, observed.LoadBalancer.FloatingIP, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(model.FloatingIP{}, "Revision")); diff != "" || len(observed.UnattachedFloatingIPs) > 0 {
				t.Errorf("spare %v; attached: %s", observed.UnattachedFloatingIPs, diff)
			}
			if got := w.reads(); got["/network/v2.0/floatingips"] != 1 {
				t.Errorf("requests %v", got)
			}
		})
	}
}

func TestSpareFloatingIPs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	lb := w.contents(w.ours(us()).ID)
	elsewhere := w.ours(another())
	left := w.floatingIP(us().FloatingIPDescription(), "")
	w.floatingIP(us().LegacyFloatingIPDescription(), "") // proves nothing without a load balancer
	w.floatingIP(another().FloatingIPDescription(), "")
	w.floatingIP(us().FloatingIPDescription(), elsewhere.VipPortID) // somebody has put it there
	for _, observed := range []*model.Observed{w.floatingIPs(lb, ""), w.floatingIPs(nil, "")} {
		if len(observed.UnattachedFloatingIPs) != 1 || observed.UnattachedFloatingIPs[0].ID != left.ID || !observed.UnattachedFloatingIPs[0].Owned {
			t.Errorf("spare: %+v, want %s", observed.UnattachedFloatingIPs, left.ID)
		}
	}
}

func TestTheAddressAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	lb := w.contents(w.ours(us()).ID)
	own := w.floatingIP(us().FloatingIPDescription(), "")
	reserved := w.floatingIP("reserved for the web", "")
	attached := w.floatingIP(us().FloatingIPDescription(), lb.VIP.PortID)

	if observed := w.floatingIPs(lb, attached.FloatingIP); len(observed.UnattachedFloatingIPs) > 0 || observed.LoadBalancer.FloatingIP.ID != attached.ID {
		t.Errorf("it is there already: %+v", observed)
	}
	observed := w.floatingIPs(lb, reserved.FloatingIP)
	if len(observed.UnattachedFloatingIPs) != 2 || observed.UnattachedFloatingIPs[1].ID != reserved.ID || observed.UnattachedFloatingIPs[1].Owned {
		t.Errorf("it is reserved: spare %+v", observed.UnattachedFloatingIPs)
	}
	if observed := w.floatingIPs(lb, own.FloatingIP); len(observed.UnattachedFloatingIPs) != 1 || observed.UnattachedFloatingIPs[0].ID != own.ID {
		t.Errorf("it is a spare one of ours: %+v", observed.UnattachedFloatingIPs)
	}
	if observed := w.floatingIPs(nil, "127.200.9.9"); len(observed.UnattachedFloatingIPs) != 1 {
		t.Errorf("it is free: spare %+v", observed.UnattachedFloatingIPs)
	}
}

func TestTheAddressAskedForIsInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	lb := w.contents(w.ours(us()).ID)
	theirs := w.ours(another())
	taken := w.floatingIP("theirs", theirs.VipPortID)
	for _, observed := range []*model.Observed{{LoadBalancer: lb}, {}} {
		err := w.observer.FloatingIPs(t.Context(), us(), observed, observe.FloatingIPHints{Asked: model.FloatingIP{Address: taken.FloatingIP}, AskedBy: "spec.loadBalancerIP"})
		var inUse *observe.FloatingIPError
		if !errors.As(err, &inUse) || !strings.Contains(err.Error(), " is in use: choose another") || strings.Contains(err.Error(), theirs.VipPortID) {
			t.Errorf("error %v", err)
		}
	}
}

func TestFloatingIPsThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	lb := w.contents(w.ours(us()).ID)
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/floatingips", Status: http.StatusForbidden})
	for _, observed := range []*model.Observed{{LoadBalancer: lb}, {}} {
		if err := w.observer.FloatingIPs(t.Context(), us(), observed, observe.FloatingIPHints{}); !apierror.IsForbidden(err) {
			t.Errorf("error %v", err)
		}
	}
}
