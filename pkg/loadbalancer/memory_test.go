package loadbalancer

import (
	"context"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// What a look at the cloud says against what is remembered.
//
//proves:89
func TestWhatALookFindsChanged(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	before, after := began.Add(-time.Minute), began.Add(time.Minute)
	external := remembered{loadBalancerID: "lb", updatedAt: before, floatingIPID: "fip", since: before}
	internal := remembered{loadBalancerID: "lb", updatedAt: before, since: before}
	changedSince := external
	changedSince.since = after
	there := snapshot.LoadBalancer{ID: "lb", Status: openstack.StatusActive, VIPPortID: "vip", UpdatedAt: before}
	lb := func(change func(*snapshot.LoadBalancer)) []snapshot.LoadBalancer {
		changed := there
		change(&changed)
		return []snapshot.LoadBalancer{changed}
	}
	as := func(*snapshot.LoadBalancer) {}
	onVIP := []snapshot.FloatingIP{{ID: "other", PortID: "elsewhere"}, {ID: "fip", Address: "203.0.113.7", PortID: "vip"}}
	for name, c := range map[string]struct {
		known         remembered
		loadBalancers []snapshot.LoadBalancer
		floatingIPs   []snapshot.FloatingIP
		want          string
	}{
		"nothing":                                  {external, lb(as), onVIP, ""},
		"nothing, without a floating IP":           {internal, lb(as), onVIP[:1], ""},
		"the look began before our own change":     {changedSince, nil, nil, ""},
		"the load balancer is gone":                {external, nil, onVIP, "the load balancer is gone"},
		"it is in ERROR":                           {external, lb(func(lb *snapshot.LoadBalancer) { lb.Status = openstack.StatusError }), onVIP, "the load balancer is in ERROR"},
		"somebody works on it":                     {external, lb(func(lb *snapshot.LoadBalancer) { lb.Status, lb.UpdatedAt = "PENDING_UPDATE", began }), nil, ""},
		"it was changed":                           {external, lb(func(lb *snapshot.LoadBalancer) { lb.UpdatedAt = began }), onVIP, "the load balancer was changed"},
		"the floating IP is gone":                  {external, lb(as), onVIP[:1], "the floating IP is gone"},
		"the floating IP is on no port":            {external, lb(as), []snapshot.FloatingIP{{ID: "fip"}}, "the floating IP was taken off the load balancer"},
		"the floating IP is on another port":       {external, lb(as), []snapshot.FloatingIP{{ID: "fip", PortID: "elsewhere"}}, "the floating IP was taken off the load balancer"},
		"somebody put a floating IP on the VIP":    {internal, lb(as), onVIP, "the floating IP 203.0.113.7 was put on the load balancer"},
		"a VIP without a port has no floating IPs": {internal, lb(func(lb *snapshot.LoadBalancer) { lb.VIPPortID = "" }), []snapshot.FloatingIP{{ID: "free"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.known.drifted(snapshot.NewLook(began, c.loadBalancers, c.floatingIPs)); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatIsWrittenDownIsReadBack(t *testing.T) {
	t.Parallel()
	updated := time.Date(2026, 11, 20, 18, 34, 24, 0, time.UTC)
	full := fingerprint{"lb", updated, "digest", "uid", "fip", "frame"}
	bare := fingerprint{"lb", updated, "digest", "uid", "", ""}
	unread := fingerprint{loadBalancerID: "lb", updatedAt: updated, service: "uid"}
	for text, want := range map[string]fingerprint{
		full.String():                                      full,
		bare.String():                                      bare,
		"lb 2026-11-20T18:34:24Z digest uid":               unread, // without the floating IP, by an earlier version
		"lb 2026-11-20T18:34:24Z digest uid frame":         unread,
		"lb 2026-11-20T18:34:24Z digest uid fip frame v99": unread,
	} {
		if got, ok := parseFingerprint(text); !ok || got != want {
			t.Errorf("%q is read as %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "lb", "lb yesterday digest uid frame", "lb 2026-11-20T18:34:24Z digest"} {
		if got, ok := parseFingerprint(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// project is a cloud that lists one load balancer and no floating IP.
type project struct{ lb openstack.LoadBalancer }

func (p project) LoadBalancers(context.Context, openstack.LoadBalancerFilter) ([]openstack.LoadBalancer, error) {
	return []openstack.LoadBalancer{p.lb}, nil
}

func (project) FloatingIPs(context.Context, openstack.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return nil, nil
}

// The look that is taken can be a later one than what was written down was compared
// with: the floating IP can have gone in between.
func TestNothingIsUnfoldedFromALaterLookWithoutTheFloatingIP(t *testing.T) {
	t.Parallel()
	there := project{openstack.LoadBalancer{LoadBalancer: loadbalancers.LoadBalancer{ID: "lb", VipPortID: "vip", ProvisioningStatus: openstack.StatusActive}}}
	member := model.Member{Name: "node", Address: "10.0.0.1", Port: 30080}
	p := &pass{
		Reconciler: &Reconciler{inventory: snapshot.New(there, there, clock.RealClock{})}, // without an Octavia to read a tree from
		wanted:     &model.LoadBalancer{Listeners: []model.Listener{{Pool: model.Pool{Members: []model.Member{member}}}}},
	}
	frame, ok := withoutNodes(p.wanted)
	if !ok {
		t.Fatal("the members are not alike")
	}
	known := &remembered{loadBalancerID: "lb", floatingIPID: "fip", frame: digestOf(frame, p.settings, nil)}
	if observed, err := p.unfold(t.Context(), known); observed != nil || err != nil {
		t.Errorf("unfolded %+v, error %v, want neither", observed, err)
	}
}
