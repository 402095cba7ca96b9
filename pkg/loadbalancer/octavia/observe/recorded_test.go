package observe_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// recorded answers what a real OpenStack answered after cloud-provider-openstack
// had served four Services (see testdata/README.md).
type recorded struct {
	AllLoadBalancers []octavia.LoadBalancer      `json:"loadbalancers"`
	AllListeners     []octavia.Listener          `json:"listeners"`
	AllPools         []octavia.Pool              `json:"pools"`
	AllMonitors      []octavia.HealthMonitor     `json:"healthmonitors"`
	MembersByPool    map[string][]octavia.Member `json:"members"`
	AllFloatingIPs   []floatingips.FloatingIP    `json:"floatingips"`
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func only[T any](all []T, keep func(T) bool) (kept []T) {
	for _, v := range all {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

func containsAll(tags, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(tags, tag) })
}

// LoadBalancers implements observe.Octavia.
func (r *recorded) LoadBalancers(_ context.Context, f octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return only(r.AllLoadBalancers, func(lb octavia.LoadBalancer) bool {
		return (f.VIPPortID == "" || f.VIPPortID == lb.VIPPortID) && (f.VIPAddress == "" || f.VIPAddress == lb.VIPAddress) &&
			(f.Description == "" || f.Description == lb.Description) && containsAll(lb.Tags, f.Tags)
	}), nil
}

// LoadBalancer implements observe.Octavia.
func (r *recorded) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	for _, lb := range r.AllLoadBalancers {
		if lb.ID == id {
			return &lb, nil
		}
	}
	return nil, notFound()
}

func notFound() error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodGet, Actual: http.StatusNotFound, ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "read")
}

// Listeners implements observe.Octavia.
func (r *recorded) Listeners(_ context.Context, lbID string) ([]octavia.Listener, error) {
	return only(r.AllListeners, func(l octavia.Listener) bool { return l.LoadBalancers[0].ID == lbID }), nil
}

// ListenersTagged implements observe.Octavia.
func (r *recorded) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	return only(r.AllListeners, func(l octavia.Listener) bool { return carriesOne(l.Tags, tags) }), nil
}

// carriesOne reports whether one of the tags is there.
func carriesOne(there, tags []string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(there, tag) })
}

// PoolsTagged implements observe.Octavia.
func (r *recorded) PoolsTagged(_ context.Context, tags ...string) ([]octavia.Pool, error) {
	return only(r.AllPools, func(p octavia.Pool) bool { return carriesOne(p.Tags, tags) }), nil
}

// Pools implements observe.Octavia.
func (r *recorded) Pools(_ context.Context, lbID string) ([]octavia.Pool, error) {
	return only(r.AllPools, func(p octavia.Pool) bool { return p.LoadBalancers[0].ID == lbID }), nil
}

// Members implements observe.Octavia.
func (r *recorded) Members(_ context.Context, poolID string) ([]octavia.Member, error) {
	return r.MembersByPool[poolID], nil
}

// MembersWith implements observe.Octavia.
func (r *recorded) MembersWith(_ context.Context, poolID, setting, _ string) ([]octavia.Member, error) {
	return only(r.MembersByPool[poolID], func(m octavia.Member) bool {
		return setting == "weight" && *m.Weight == 0 || setting == "admin_state_up" && !*m.AdminStateUp || setting == "backup" && m.Backup
	}), nil
}

// FirstMember implements observe.Octavia.
func (r *recorded) FirstMember(_ context.Context, poolID, _ string) ([]octavia.Member, error) {
	return r.MembersByPool[poolID][:1], nil
}

// MemberAt implements observe.Octavia.
func (r *recorded) MemberAt(_ context.Context, poolID, address string, port int) ([]octavia.Member, error) {
	return only(r.MembersByPool[poolID], func(m octavia.Member) bool { return m.Address == address && m.Port == port }), nil
}

// Monitor implements observe.Octavia.
func (r *recorded) Monitor(_ context.Context, id string) (*octavia.HealthMonitor, error) {
	for _, m := range r.AllMonitors {
		if m.ID == id {
			return &m, nil
		}
	}
	return nil, notFound()
}

// MonitorsTagged implements observe.Octavia.
func (r *recorded) MonitorsTagged(_ context.Context, tags ...string) ([]octavia.HealthMonitor, error) {
	return only(r.AllMonitors, func(m octavia.HealthMonitor) bool { return carriesOne(m.Tags, tags) }), nil
}

// StatusTree implements observe.Octavia.
func (r *recorded) StatusTree(ctx context.Context, lbID string) (*octavia.StatusTree, error) {
	lb, err := r.LoadBalancer(ctx, lbID)
	if err != nil {
		return nil, err
	}
	tree := &octavia.StatusTree{NodeStatus: node(lb.ID, lb.Name, lb.ProvisioningStatus, lb.OperatingStatus)}
	of, _ := r.Listeners(ctx, lbID)
	for _, l := range of {
		listener := octavia.ListenerStatus{NodeStatus: node(l.ID, l.Name, l.ProvisioningStatus, l.OperatingStatus)}
		for _, p := range r.AllPools {
			if p.ID == l.DefaultPoolID {
				listener.Pools = append(listener.Pools, r.poolStatus(p))
			}
		}
		tree.Listeners = append(tree.Listeners, listener)
	}
	return tree, nil
}

func (r *recorded) poolStatus(p octavia.Pool) octavia.PoolStatus {
	status := octavia.PoolStatus{NodeStatus: node(p.ID, p.Name, p.ProvisioningStatus, p.OperatingStatus)}
	for _, m := range r.AllMonitors {
		if m.ID == p.MonitorID {
			status.Monitor = octavia.MonitorStatus{NodeStatus: node(m.ID, m.Name, m.ProvisioningStatus, m.OperatingStatus), Type: m.Type}
		}
	}
	for _, m := range r.MembersByPool[p.ID] {
		status.Members = append(status.Members, octavia.MemberStatus{
			NodeStatus: node(m.ID, m.Name, m.ProvisioningStatus, m.OperatingStatus), Address: m.Address, Port: m.Port,
		})
	}
	return status
}

func node(id, name, provisioning, operating string) octavia.NodeStatus {
	return octavia.NodeStatus{ID: id, Name: name, ProvisioningStatus: provisioning, OperatingStatus: operating}
}

// FloatingIPs implements observe.Neutron.
func (r *recorded) FloatingIPs(_ context.Context, f neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return only(r.AllFloatingIPs, func(fip floatingips.FloatingIP) bool {
		return (f.PortID == "" || f.PortID == fip.PortID) && (f.Address == "" || f.Address == fip.FloatingIP) &&
			(f.Description == "" || f.Description == fip.Description)
	}), nil
}
