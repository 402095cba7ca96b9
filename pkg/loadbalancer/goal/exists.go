package goal

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Exists reports whether a load balancer, floating IP or security group of a Service is left. The
// status is its published status; it is empty if the Service wants a load balancer that does not
// exist.
func (g *Gone) Exists(ctx context.Context, wanted bool) (*v1.LoadBalancerStatus, bool, error) {
	finder := g.observer.Finder
	found, err := finder.find(ctx, g.in, g.in.Settings.LoadBalancer.ID)
	if observe.IsNotOurs(err) {
		found, err = finder.find(ctx, g.in, "") // its own one, even if it names another
	}
	if err != nil && !observe.IsNotOurs(err) {
		return nil, false, err
	}
	if len(found.LoadBalancers) > 0 {
		status, err := g.status(ctx, found)
		return status, err == nil, err
	}
	if wanted {
		return &v1.LoadBalancerStatus{}, true, nil
	}
	have := nothing(g.in.ID)
	if have.Elsewhere, err = finder.elsewhere(ctx, g.in, nil); err != nil {
		return nil, false, err
	}
	if err := g.observer.leavingFloatingIPs(ctx, g.in, have, g.asksFloatingIP); err != nil {
		return nil, false, err
	}
	left, err := g.Plan(ctx, Round{Have: have, Want: &Desired{}})
	if err != nil || len(have.Elsewhere) > 0 || !left.Empty() {
		return &v1.LoadBalancerStatus{}, err == nil, err
	}
	exists, err := g.groups.Exists(ctx, g.in.ID)
	return &v1.LoadBalancerStatus{}, exists, err
}

// status returns the published status of a found load balancer.
func (g *Gone) status(ctx context.Context, found observe.Found) (*v1.LoadBalancerStatus, error) {
	if g.in.Published.hasStatus() {
		return g.in.Published.Status.DeepCopy(), nil
	}
	observed := &model.Observed{LoadBalancer: observe.Parts{LoadBalancer: found.LoadBalancers[0]}.Model(found.As)}
	if err := g.observer.Reader.Observer.FloatingIPs(ctx, found.As, observed, observe.FloatingIPHints{}); err != nil {
		return nil, err
	}
	settings := &settings.Settings{Family: v1.IPv4Protocol}
	return publish(addressesOn(observed.LoadBalancer, settings), settings), nil
}
