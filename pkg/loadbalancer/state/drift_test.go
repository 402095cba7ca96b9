package state_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// The differences between a snapshot of the project and the last read.
//
//proves:89
func TestApplied_ReportsWhatASnapshotShowsChanged(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	before, after := began.Add(-time.Minute), began.Add(time.Minute)
	seen := state.Seen{UpdatedAt: before, Since: before}
	external := state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", FloatingIPID: "fip"}, Seen: seen}
	internal := state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb"}, Seen: seen}
	changedSince := external
	changedSince.Seen.Since = after
	there := project.LoadBalancer{ID: "lb", Status: model.StatusActive, VIPPortID: "vip", UpdatedAt: before}
	lb := func(change func(*project.LoadBalancer)) []project.LoadBalancer {
		changed := there
		change(&changed)
		return []project.LoadBalancer{changed}
	}
	as := func(*project.LoadBalancer) {}
	onVIP := []project.FloatingIP{{ID: "other", PortID: "elsewhere"}, {ID: "fip", Address: "203.0.113.7", PortID: "vip"}}
	for name, c := range map[string]struct {
		applied       state.Applied
		loadBalancers []project.LoadBalancer
		floatingIPs   []project.FloatingIP
		want          string
	}{
		"nothing":                                  {external, lb(as), onVIP, ""},
		"nothing, without a floating IP":           {internal, lb(as), onVIP[:1], ""},
		"the snapshot began before our own change": {changedSince, nil, nil, ""},
		"the load balancer is gone":                {external, nil, onVIP, "the load balancer is gone"},
		"it is in ERROR":                           {external, lb(func(lb *project.LoadBalancer) { lb.Status = model.StatusError }), onVIP, "the load balancer is in ERROR"},
		"another client works on it":               {external, lb(func(lb *project.LoadBalancer) { lb.Status, lb.UpdatedAt = "PENDING_UPDATE", began }), nil, ""},
		"it was changed":                           {external, lb(func(lb *project.LoadBalancer) { lb.UpdatedAt = began }), onVIP, "the load balancer was changed"},
		"the floating IP is gone":                  {external, lb(as), onVIP[:1], "the floating IP is gone"},
		"the floating IP is on no port":            {external, lb(as), []project.FloatingIP{{ID: "fip"}}, "the floating IP was taken off the load balancer"},
		"the floating IP is on another port":       {external, lb(as), []project.FloatingIP{{ID: "fip", PortID: "elsewhere"}}, "the floating IP was taken off the load balancer"},
		"somebody put a floating IP on the VIP":    {internal, lb(as), onVIP, "the floating IP 203.0.113.7 was put on the load balancer"},
		"a VIP without a port has no floating IPs": {internal, lb(func(lb *project.LoadBalancer) { lb.VIPPortID = "" }), []project.FloatingIP{{ID: "free"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.applied.DriftIn(project.Of(began, c.loadBalancers, c.floatingIPs)); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}

// A snapshot confirms what it shows unchanged, once the second of updated_at is over.
func TestApplied_IsConfirmableByASnapshotOfTheSameStateAtRest(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	unconfirmed := state.Applied{
		LoadBalancer: state.LoadBalancer{ID: "lb"}, Seen: state.Seen{UpdatedAt: since, Since: since},
		Contents: &model.LoadBalancer{ID: "lb"},
	}
	confirmed, restored := unconfirmed, unconfirmed
	confirmed.Confirmed, restored.Depth, restored.Contents = true, model.Listed, nil
	recorded := restored
	recorded.Parts = "parts"
	lb := project.LoadBalancer{ID: "lb", Status: model.StatusActive, UpdatedAt: since}
	pending, changed := lb, lb
	pending.Status, changed.UpdatedAt = "PENDING_UPDATE", since.Add(time.Second)
	for name, c := range map[string]struct {
		applied state.Applied
		after   time.Duration
		lb      project.LoadBalancer
		want    bool
	}{
		"at rest":               {unconfirmed, state.ConfirmAfter, lb, true},
		"within the second":     {unconfirmed, state.ConfirmAfter - 1, lb, false},
		"confirmed already":     {confirmed, time.Minute, lb, false},
		"recorded before":       {recorded, time.Minute, lb, true},
		"without its contents":  {restored, time.Minute, lb, true},
		"it is being changed":   {unconfirmed, time.Minute, pending, false},
		"it has changed":        {unconfirmed, time.Minute, changed, false},
		"another load balancer": {unconfirmed, time.Minute, project.LoadBalancer{ID: "other"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snap := project.Of(since.Add(c.after), []project.LoadBalancer{c.lb}, nil)
			if got := c.applied.ConfirmableBy(snap); got != c.want {
				t.Errorf("confirmable: %v, want %v", got, c.want)
			}
		})
	}
}
