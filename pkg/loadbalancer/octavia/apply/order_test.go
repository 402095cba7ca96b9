package apply_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// A load balancer serves until all parts of its replacement are well.
func TestRun_KeepsOldLoadBalancerUntilItsReplacementIsSound(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Quirks: simoctavia.Quirks{ChildrenStayPending: true}})
	old := e.web(80)
	old.Listeners = nil
	observed := e.reach(old)
	next := e.web(80)
	next.Tags = append(next.Tags, "kube_lb_replaces_"+observed.LoadBalancer.ID+"_wish")
	_, err := e.run(observed, plan.Plan{Steps: []plan.Step{
		plan.CreateLoadBalancer{LoadBalancer: next, Replaces: observed.LoadBalancer.ID},
		plan.DeleteLoadBalancer{ID: observed.LoadBalancer.ID, Name: old.Name, Cascade: true, Replaced: true},
	}})
	var broken *apply.ChildrenError
	if !errors.As(err, &broken) {
		t.Errorf("error %v, want the parts that are not well", err)
	}
	if n := e.writes(http.MethodDelete, lbaas+"loadbalancers/{id}"); n > 0 || len(e.Cloud.Octavia.Snapshot()) != 2 {
		t.Errorf("the old one was deleted, and its replacement has parts that are not well")
	}
}

// creations records the state of the cloud at each creation of a load balancer.
type creations struct {
	apply.Octavia
	there func() int
	seen  []int
}

func (c *creations) CreateLoadBalancer(ctx context.Context, opts octavia.LoadBalancer) (*octavia.LoadBalancer, error) {
	c.seen = append(c.seen, c.there())
	return c.Octavia.CreateLoadBalancer(ctx, opts)
}

// The replacement of a failed load balancer is created after its deletion: both need the same
// address, and the quota may permit only one.
func TestRun_CreatesAfterTheFailedLoadBalancerIsGone(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Delays: map[string]simoctavia.Delays{simoctavia.ProviderAmphora: {Delete: 200 * time.Millisecond}}})
	observed := e.reach(e.web(80))
	if err := e.Cloud.Octavia.SetProvisioningStatus(observed.LoadBalancer.ID, simoctavia.Error); err != nil {
		t.Fatal(err)
	}
	seen := &creations{Octavia: e.applier.Octavia, there: func() int { return len(e.Cloud.Octavia.Snapshot()) }}
	e.applier.Octavia = seen
	e.reach(e.web(80))
	if len(seen.seen) != 1 || seen.seen[0] != 0 {
		t.Errorf("at the creations there were %v load balancers, want one creation, and none there", seen.seen)
	}
}

// asked is a request for a floating IP.
type asked struct {
	apply.Neutron
	opts []floatingips.CreateOpts
}

func (a *asked) CreateFloatingIP(ctx context.Context, opts floatingips.CreateOpts) (*floatingips.FloatingIP, error) {
	a.opts = append(a.opts, opts)
	return a.Neutron.CreateFloatingIP(ctx, opts)
}

// An address determines its subnet: Neutron refuses it together with another.
func TestRun_SendsNoSubnetWithAnAddress(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	network := &asked{Neutron: e.applier.Neutron}
	e.applier.Neutron = network
	desired := e.web(80)
	desired.FloatingIP.Address, desired.FloatingIP.SubnetIDs = "127.200.0.77", []string{e.Cloud.Subnet.ID}
	observed := model.Observed{}
	_, _ = e.run(observed, plan.Diff(desired, observed, plan.Options{})) // not every tenant may request one
	if len(network.opts) != 1 || network.opts[0].SubnetID != "" || network.opts[0].FloatingIP != "127.200.0.77" {
		t.Errorf("asked for %+v", network.opts)
	}
}
