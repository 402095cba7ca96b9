package wait

import (
	"context"
	"maps"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// fields are the attributes that a token is made of.
func fields() []string {
	return []string{"id", "provisioning_status", "operating_status", "updated_at"}
}

// ask reads the load balancers of all waiters: with one request for one of them, and
// with a few lists for many, however many.
func (w *Watcher) ask(due []*waiter) (map[string]Token, error) {
	pending := map[string]string{}
	for _, p := range due {
		pending[p.id] = p.pending
	}
	switch {
	case len(pending) == 1, len(pending) <= few && w.whole >= many:
		return w.askForEach(pending)
	case w.filters(pending):
		return w.askByStatus(pending)
	}
	return w.askForAll(pending)
}

const (
	// few load balancers are read one by one in place of a list of all.
	few = 3
	// many are too many to list all of them each time.
	many = 100
)

// filters tells whether lists by status are the smaller answers: of many load
// balancers, few are waited for, in a status that is known. A list of those that are
// still PENDING costs Octavia milliseconds; one of a thousand in all costs a second.
func (w *Watcher) filters(pending map[string]string) bool {
	const part = 4
	for _, status := range pending {
		if status == "" {
			return false
		}
	}
	return w.whole >= many && len(pending) < w.whole/part
}

// askByStatus lists what is still PENDING, by status, and then reads what is not.
func (w *Watcher) askByStatus(pending map[string]string) (map[string]Token, error) {
	tokens := map[string]Token{}
	for _, status := range slices.Sorted(maps.Keys(inverted(pending))) {
		still, err := w.octavia.LoadBalancers(w.ctx, openstack.LoadBalancerFilter{Fields: fields(), ProvisioningStatus: status})
		if err != nil {
			return nil, err
		}
		for _, lb := range still {
			if _, waited := pending[lb.ID]; waited {
				tokens[lb.ID] = tokenOf(&lb)
			}
		}
	}
	rest := maps.Clone(pending)
	maps.DeleteFunc(rest, func(id, _ string) bool { _, known := tokens[id]; return known })
	read := w.askForAll
	if len(rest) <= few {
		read = w.askForEach
	}
	ended, err := read(rest)
	maps.Copy(tokens, ended)
	return tokens, err
}

func inverted(pending map[string]string) map[string]bool {
	statuses := map[string]bool{}
	for _, status := range pending {
		statuses[status] = true
	}
	return statuses
}

// askForAll reads load balancers with one list of all that there are.
func (w *Watcher) askForAll(ids map[string]string) (map[string]Token, error) {
	all, err := w.octavia.LoadBalancers(w.ctx, openstack.LoadBalancerFilter{Fields: fields()})
	if err != nil {
		return nil, err
	}
	w.whole = len(all)
	tokens, missing := map[string]Token{}, maps.Clone(ids)
	for _, lb := range all {
		if _, waited := ids[lb.ID]; waited {
			tokens[lb.ID] = tokenOf(&lb)
			delete(missing, lb.ID)
		}
	}
	// A list can miss what is there: only a 404 says that it is gone.
	rest, err := w.askForEach(missing)
	maps.Copy(tokens, rest)
	return tokens, err
}

// askForEach reads load balancers one by one.
func (w *Watcher) askForEach(ids map[string]string) (map[string]Token, error) {
	tokens := map[string]Token{}
	for id := range ids {
		token, err := Read(w.ctx, w.octavia, id)
		if err != nil {
			return tokens, err
		}
		tokens[id] = token
	}
	return tokens, nil
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

func tokenOf(lb *openstack.LoadBalancer) Token {
	return Token{
		Gone:      lb.ProvisioningStatus == openstack.StatusDeleted,
		Status:    model.Status{Provisioning: lb.ProvisioningStatus, Operating: lb.OperatingStatus},
		UpdatedAt: lb.UpdatedAt,
	}
}
