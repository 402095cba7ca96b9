package wait

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// fields are the attributes that a token is made of.
func fields() []string {
	return []string{"id", "provisioning_status", "operating_status", "updated_at"}
}

// ask reads the load balancers of all waiters: with one request for one of them,
// and with one list for many.
func (w *Watcher) ask(due []*waiter) (map[string]Token, error) {
	ids := map[string]bool{}
	for _, p := range due {
		ids[p.id] = true
	}
	if len(ids) == 1 {
		return w.askFor(w.ctx, due[0].id)
	}
	all, err := w.octavia.LoadBalancers(w.ctx, openstack.LoadBalancerFilter{Fields: fields()})
	if err != nil {
		return nil, err
	}
	tokens := map[string]Token{}
	for _, lb := range all {
		if ids[lb.ID] {
			tokens[lb.ID] = tokenOf(&lb)
		}
	}
	for id := range ids {
		if _, listed := tokens[id]; listed {
			continue
		}
		// A list can miss what is there: only a 404 says that it is gone.
		one, err := w.askFor(w.ctx, id)
		if err != nil {
			return tokens, err
		}
		tokens[id] = one[id]
	}
	return tokens, nil
}

func (w *Watcher) askFor(ctx context.Context, id string) (map[string]Token, error) {
	token, err := Read(ctx, w.octavia, id)
	if err != nil {
		return nil, err
	}
	return map[string]Token{id: token}, nil
}

// Read asks for the state of one load balancer.
func Read(ctx context.Context, octavia Octavia, id string) (Token, error) {
	lb, err := octavia.LoadBalancer(ctx, id, fields()...)
	switch {
	case openstack.IsNotFound(err):
		return Token{Gone: true}, nil
	case err != nil:
		return Token{}, err
	}
	return tokenOf(lb), nil
}

func tokenOf(lb *loadbalancers.LoadBalancer) Token {
	return Token{
		Gone:      lb.ProvisioningStatus == openstack.StatusDeleted,
		Status:    model.Status{Provisioning: lb.ProvisioningStatus, Operating: lb.OperatingStatus},
		UpdatedAt: lb.UpdatedAt,
	}
}
