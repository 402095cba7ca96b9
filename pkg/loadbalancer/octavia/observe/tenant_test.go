package observe_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

var errBroken = errors.New("broken")

// tenant is a project in memory, which records its requests.
type tenant struct {
	recorded

	// forbidden are load balancers that may not be read, unlisted are missing in lists. Those that lag are not found by
	// so many reads.
	forbidden, unlisted map[string]bool
	lag                 map[string]int
	// broken is the number of the request that fails, 0 for none.
	broken int

	mu   sync.Mutex
	sent []string
}

func (c *tenant) send(words ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent = append(c.sent, strings.Join(words, " ")); len(c.sent) == c.broken {
		return errBroken
	}
	return nil
}

// requests returns the requests since the last call, sorted, because some are concurrent.
func (c *tenant) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := slices.Sorted(slices.Values(c.sent))
	c.sent = nil
	return sent
}

// observer returns an Observer of the project.
func (c *tenant) observer(version model.Version) *observe.Observer {
	return &observe.Observer{Octavia: c, Neutron: c, Version: func(context.Context) (model.Version, error) { return version, c.send("version") }}
}

func (c *tenant) LoadBalancers(_ context.Context, f octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	found := only(c.AllLoadBalancers, func(lb octavia.LoadBalancer) bool {
		return !c.unlisted[lb.ID] && (f.ID == "" || f.ID == lb.ID) && (f.VIPPortID == "" || f.VIPPortID == lb.VIPPortID) &&
			(f.VIPAddress == "" || f.VIPAddress == lb.VIPAddress) && (f.Description == "" || f.Description == lb.Description) && containsAll(lb.Tags, f.Tags)
	})
	return found, c.send("balancers", f.ID+f.VIPPortID+f.VIPAddress+f.Description+strings.Join(f.Tags, " "))
}

func (c *tenant) LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	if err := c.send("balancer", id); err != nil {
		return nil, err
	}
	switch {
	case c.forbidden[id]:
		return nil, apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{Method: http.MethodGet, Actual: http.StatusForbidden}, "read")
	case c.lag[id] > 0:
		c.lag[id]--
		return nil, notFound()
	}
	return c.recorded.LoadBalancer(ctx, id)
}

func (c *tenant) Listeners(ctx context.Context, lbID string) ([]octavia.Listener, error) {
	found, _ := c.recorded.Listeners(ctx, lbID)
	return found, c.send("listeners of", lbID)
}

func (c *tenant) ListenersTagged(ctx context.Context, tags ...string) ([]octavia.Listener, error) {
	found, _ := c.recorded.ListenersTagged(ctx, tags...)
	return found, c.send("listeners tagged", strings.Join(tags, " "))
}

func (c *tenant) Pools(ctx context.Context, lbID string) ([]octavia.Pool, error) {
	found, _ := c.recorded.Pools(ctx, lbID)
	return found, c.send("pools of", lbID)
}

func (c *tenant) Members(ctx context.Context, poolID string) ([]octavia.Member, error) {
	found, _ := c.recorded.Members(ctx, poolID)
	return found, c.send("members of", poolID)
}

func (c *tenant) MembersWith(ctx context.Context, poolID, setting, value string) ([]octavia.Member, error) {
	found, _ := c.recorded.MembersWith(ctx, poolID, setting, value)
	return found, c.send("members of", poolID, "with", setting, value)
}

func (c *tenant) MemberAt(ctx context.Context, poolID, address string, port int) ([]octavia.Member, error) {
	found, _ := c.recorded.MemberAt(ctx, poolID, address, port)
	return found, c.send("member of", poolID, "at", address)
}

// FirstMember sorts by one setting, as Octavia does.
func (c *tenant) FirstMember(_ context.Context, poolID, order string) ([]octavia.Member, error) {
	all := slices.Clone(c.MembersByPool[poolID])
	setting, direction, _ := strings.Cut(order, ":")
	slices.SortStableFunc(all, func(a, b octavia.Member) int {
		by := map[string]int{
			"weight": weightOf(a) - weightOf(b), "monitor_port": a.MonitorPort - b.MonitorPort, "monitor_address": strings.Compare(a.MonitorAddress, b.MonitorAddress),
		}[setting]
		if direction == "desc" {
			return -by
		}
		return by
	})
	return all[:min(1, len(all))], c.send("first member of", poolID, "by", order)
}

func weightOf(m octavia.Member) int {
	if m.Weight == nil {
		return 1
	}
	return *m.Weight
}

func (c *tenant) Monitor(ctx context.Context, id string) (*octavia.HealthMonitor, error) {
	if err := c.send("monitor", id); err != nil {
		return nil, err
	}
	return c.recorded.Monitor(ctx, id)
}

func (c *tenant) MonitorsTagged(ctx context.Context, tags ...string) ([]octavia.HealthMonitor, error) {
	found, _ := c.recorded.MonitorsTagged(ctx, tags...)
	return found, c.send("monitors tagged", strings.Join(tags, " "))
}

func (c *tenant) StatusTree(ctx context.Context, lbID string) (*octavia.StatusTree, error) {
	if err := c.send("tree of", lbID); err != nil {
		return nil, err
	}
	return c.recorded.StatusTree(ctx, lbID)
}

func (c *tenant) FloatingIPs(_ context.Context, f neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	found := only(c.AllFloatingIPs, func(fip floatingips.FloatingIP) bool {
		return (f.PortID == "" || f.PortID == fip.PortID) && (f.Address == "" || f.Address == fip.FloatingIP) && (f.Description == "" || f.Description == fip.Description) &&
			(f.Tag == "" || slices.Contains(fip.Tags, f.Tag)) && (len(f.IDs) == 0 || slices.Contains(f.IDs, fip.ID))
	})
	return found, c.send("floating IPs", f.PortID+f.Address+f.Description+f.Tag+strings.Join(f.IDs, " "))
}

// failsWithEach fails unless read fails with each of its requests: an object that was not read would be taken for missing.
func failsWithEach(t *testing.T, what string, project func() *tenant, read func(*tenant) error) {
	t.Helper()
	c := project()
	if err := read(c); err != nil {
		t.Errorf("%s: error %v", what, err)
	}
	all := len(c.sent)
	if all == 0 {
		t.Errorf("%s: no request", what)
	}
	for n := 1; n <= all; n++ {
		c := project()
		if c.broken = n; !errors.Is(read(c), errBroken) {
			t.Errorf("%s: it ignores the failure of %q", what, c.sent[n-1])
		}
	}
}

// The load balancers of the tests of searches, in the subnet of the cluster.
func oneOf(id, name, address string, tags ...string) octavia.LoadBalancer {
	return octavia.LoadBalancer{
		ID: id, Name: name, Tags: tags, VIPAddress: address, VIPPortID: "port-" + id, VIPSubnetID: "subnet", VIPNetworkID: "network",
	}
}

func oursIn() octavia.LoadBalancer {
	return oneOf("ours", us().Name(), "10.0.0.1", us().Tags()...)
}

func legacyIn() octavia.LoadBalancer {
	return oneOf("legacy", us().Name(), "10.0.0.2", us().Name())
}

// formerIn is of cloud-provider-openstack with another --cluster-name.
func formerIn() octavia.LoadBalancer {
	return oneOf("former", "kube_service_before_default_web", "10.0.0.3", "kube_service_before_default_web")
}

func theirsIn() octavia.LoadBalancer {
	return oneOf("theirs", another().Name(), "10.0.0.4", another().Tags()...)
}

func personsIn() octavia.LoadBalancer { return oneOf("persons", "mine", "10.0.0.5", "blue") }

// nextIn replaces a load balancer.
func nextIn(replaced string) octavia.LoadBalancer {
	return oneOf("next", us().Name(), "10.0.0.6", append(us().Tags(), ownership.ReplacesTag(replaced, "hash"))...)
}

// all is a project with one of each.
func all() *tenant {
	c := &tenant{forbidden: map[string]bool{}, unlisted: map[string]bool{}, lag: map[string]int{}}
	c.AllLoadBalancers = []octavia.LoadBalancer{legacyIn(), formerIn(), theirsIn(), personsIn()}
	return c
}

// with returns a project with one of each, and more.
func with(more ...octavia.LoadBalancer) *tenant {
	c := all()
	c.AllLoadBalancers = append(c.AllLoadBalancers, more...)
	return c
}

// floating returns a floating IP of the tests.
func floating(id, address, portID, description string, tags ...string) floatingips.FloatingIP {
	return floatingips.FloatingIP{ID: id, FloatingIP: address, PortID: portID, Description: description, Tags: tags, RevisionNumber: 7}
}
