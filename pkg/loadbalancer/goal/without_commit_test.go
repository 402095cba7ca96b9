package goal

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// The next round, and the next process, begin with the stored state.
func TestCommit_StoresTheStateAndPublishesTheAddresses(t *testing.T) {
	t.Parallel()
	made := state.Made{LoadBalancerID: "lb", Entered: []string{"lb"}, UnattachedFloatingIP: true, VIP: true, Touched: true}
	reported := plan.NewReport(plan.Applied{Same: true}, true)
	unattached := []model.FloatingIP{{ID: "left", Owned: true}}
	for name, test := range map[string]struct {
		svc        *v1.Service
		kept       bool
		report     plan.Report
		unattached []model.FloatingIP
		status     string // published, or as before
		routed     bool   // the state is stored
		left       bool   // a floating IP is left
		octavia    bool   // the load balancer in Octavia is still known
		access     bool
	}{
		"the first":                     {by(driver.Router), false, plan.Report{}, nil, "203.0.113.7 10.77.0.5", true, false, false, true},
		"the same":                      {by(driver.Router, routedAddresses), false, plan.Report{}, nil, "203.0.113.7 10.77.0.5", true, false, false, true},
		"from another address":          {by(driver.Router, at("10.0.0.100")), false, plan.Report{}, nil, "203.0.113.7 10.77.0.5", true, false, false, true},
		"a floating IP is left":         {by(driver.Router, routedAddresses), false, plan.Report{}, unattached, "203.0.113.7 10.77.0.5", true, true, false, true},
		"and shall be kept":             {by(driver.Router, routedAddresses, keepsFloatingIP), false, plan.Report{}, unattached, "203.0.113.7 10.77.0.5", true, false, false, true},
		"internal":                      {by(driver.Router, at("10.77.0.5"), internalOne), false, plan.Report{}, nil, "10.77.0.5", true, false, false, true},
		"forwarded":                     {by(driver.PortForwarding, at("203.0.113.7")), false, plan.Report{}, nil, "203.0.113.7", true, false, false, false},
		"only reported":                 {by(driver.Router, at("10.0.0.100")), false, reported, nil, "10.0.0.100", true, true, true, false},
		"refused":                       {by(driver.Router, routedAddresses), true, plan.Report{}, nil, "203.0.113.7 10.77.0.5", true, false, true, true},
		"refused, and served elsewhere": {by(driver.Router, at("10.0.0.100")), true, plan.Report{}, nil, "10.0.0.100", false, false, true, true},
	} {
		r := newRig(t, knowing(state.Entry{Made: made}), managed)
		provider := test.svc.Annotations[annotation.Provider]
		g := &withoutOctavia{Engine: r.Engine, in: r.of(test.svc).route().Inputs()}
		if test.kept {
			g.unread = new(settings.Unread)
		}
		r.events()
		lb := &model.LoadBalancer{ID: "port", Provider: driver.Router, VIP: model.VIP{PortID: "port", Address: "10.77.0.5"}, NextHops: []string{"10.0.0.1"}, FloatingIP: &model.FloatingIP{ID: "fip", Address: "203.0.113.7"}}
		if provider == driver.PortForwarding {
			forwarded := forwardedTo("fip", "10.0.0.2")
			forwarded.FloatingIP.Address, lb = "203.0.113.7", &forwarded
		}
		round := Round{Want: &Desired{digest: "digest"}, Have: Observation{Observed: &model.Observed{LoadBalancer: lb, UnattachedFloatingIPs: test.unattached}}, Groups: SecurityGroups{Task: r.task}, Report: test.report}
		step := plan.Plan{Steps: []plan.Step{plan.DeleteVIP{PortID: "port", Address: "10.77.0.9"}}}
		status, err := g.Commit(t.Context(), round, step, nil)
		var got []string
		for _, ingress := range status.Ingress {
			got = append(got, ingress.IP)
		}
		entry := r.store.Get(serviceUID)
		if err != nil || strings.Join(got, " ") != test.status || (entry.Routed != nil) != test.routed || entry.Made.UnattachedFloatingIP != test.left ||
			(entry.Made.LoadBalancerID != "") != test.octavia || (len(entry.Made.Entered) > 0) != test.octavia || (entry.Access != nil) != test.access {
			t.Errorf("%s: status %q, error %v, stored %+v with %+v", name, got, err, entry.Routed, entry.Made)
		}
		if stored := entry.Routed; stored != nil && (stored.LoadBalancer == lb || stored.LoadBalancer.ID != lb.ID || stored.Digest != "digest" || stored.Service.Name != "web" || !stored.Since.Equal(noon) || len(stored.Reported) != 1 ||
			stored.Server != map[string]string{driver.PortForwarding: serverAt("10.0.0.2")}[provider]) {
			t.Errorf("%s: stored %+v", name, stored)
		}
		if r.has("groups-close") == test.report.All() {
			t.Errorf("%s: sent %q", name, r.sent)
		}
		events, quiet := r.events(), test.kept || test.report.All()
		if strings.Contains(events, "LoadBalancerReady") != (name == "the first") || strings.Contains(events, "The address changed from 10.0.0.100 to 203.0.113.7") != (name == "from another address") || quiet && events != "" {
			t.Errorf("%s: events %s", name, events)
		}
	}
	r := newRig(t, withFloating, knowing(state.Entry{Made: made}), failingAt("groups-close", errFailed))
	g := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router)).route().Inputs()}
	vip := &model.LoadBalancer{Provider: driver.Router}
	if status, err := g.Commit(t.Context(), Round{Want: &Desired{}, Have: Observation{Observed: &model.Observed{LoadBalancer: vip}}}, plan.Plan{}, nil); status != nil || err != errFailed || r.store.Get(serviceUID).Routed != nil || r.store.Get(serviceUID).Made.LoadBalancerID == "" {
		t.Errorf("the security groups stay open: %+v, error %v, known %+v", status, err, r.store.Get(serviceUID))
	}
	gone := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router, at("10.77.0.5"))).route().Inputs()}
	if status, err := gone.Commit(t.Context(), Round{Want: &Desired{}, Have: nothing(rigIdentity()), Report: reported}, plan.Plan{}, nil); len(status.Ingress) != 1 || err != nil || r.store.Get(serviceUID).Routed != nil {
		t.Errorf("a VIP that another client has deleted: %+v, error %v, stored %+v", status, err, r.store.Get(serviceUID).Routed)
	}
}

// kube-proxy drops packets for the VIP unless its mode is VIP; a host name or a Proxy is for the users' address.
func TestStatusOf_HasTheUsersAddressAndThenTheVIP(t *testing.T) {
	t.Parallel()
	proxy := fixture.Annotated(annotation.IPMode, "Proxy")
	for name, test := range map[string]struct {
		svc  *v1.Service
		want string
	}{
		"a floating IP":              {by(driver.Router), "203.0.113.7/VIP 10.77.0.5/VIP"},
		"internal":                   {by(driver.Router, internalOne), "10.77.0.5/VIP"},
		"internal, another mode":     {by(driver.Router, internalOne, proxy), "10.77.0.5/VIP"},
		"a floating IP, with a mode": {by(driver.Router, proxy), "203.0.113.7/Proxy 10.77.0.5/VIP"},
		"a host name":                {by(driver.Router, fixture.Annotated(annotation.Hostname, "web.example.org")), "web.example.org 10.77.0.5/VIP"},
		"forwarded":                  {by(driver.PortForwarding), "203.0.113.7/VIP"},
	} {
		provider := test.svc.Annotations[annotation.Provider]
		lb := &model.LoadBalancer{Provider: provider, FloatingIP: &model.FloatingIP{Address: "203.0.113.7"}}
		if provider == driver.Router {
			lb.VIP.Address = "10.77.0.5"
		}
		var got []string
		for _, ingress := range statusOf(lb, fixture.Settings(t, test.svc, fixture.Config())).Ingress {
			text := ingress.Hostname + ingress.IP
			if ingress.IPMode != nil {
				text += "/" + string(*ingress.IPMode)
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
