package watcher

import (
	"context"
	"maps"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// poll asks once for the load balancers of several waiters.
type poll struct {
	octavia Octavia
	// total is the length of the last list of all load balancers.
	total int
	// asked has the last known statuses of the load balancers to ask for, others are those of waiters that
	// are not due.
	asked  map[string]string
	others map[string]bool
	// answers has one for each that is asked for, and for others that were in a list.
	answers map[string]answer
}

func newPoll(octaviaAPI Octavia, total int, due, others []*waiter) *poll {
	p := &poll{octaviaAPI, total, make(map[string]string, len(due)), make(map[string]bool, len(others)), make(map[string]answer, len(due))}
	for _, waits := range due {
		p.asked[waits.id] = waits.pending
	}
	for _, waits := range others {
		p.others[waits.id] = true
	}
	return p
}

// ask reads the load balancers: with one request for one of them, and with a few lists for many.
func (p *poll) ask(ctx context.Context) {
	switch {
	case len(p.asked) == 1, len(p.asked) <= few && p.total >= many:
		p.askForEach(ctx)
	case filters(p.total, p.asked):
		p.askByStatus(ctx)
	default:
		p.askForAll(ctx)
	}
}

const (
	// up to few load balancers are read one by one instead of by a list.
	few = 3
	// many is the number of load balancers from which a list of all is too expensive.
	many = 100
)

// filters reports whether lists by status are smaller: there are many load balancers, of which few
// are asked for, in known statuses. A list of the PENDING ones costs Octavia milliseconds; one of
// a thousand in all costs a second.
func filters(total int, asked map[string]string) bool {
	const part = 4
	for _, status := range asked {
		if status == "" {
			return false
		}
	}
	return total >= many && len(asked) < total/part
}

// askByStatus lists the load balancers that are still PENDING, by status, and then reads the
// others.
func (p *poll) askByStatus(ctx context.Context) {
	for _, status := range slices.Compact(slices.Sorted(maps.Values(p.asked))) {
		still, err := p.octavia.LoadBalancerStates(ctx, status)
		if err != nil {
			p.fail(err)
			return
		}
		p.add(still)
	}
	if len(p.unanswered()) > few {
		p.askForAll(ctx)
	} else {
		p.askForEach(ctx)
	}
}

// askForAll reads load balancers with one list of all.
func (p *poll) askForAll(ctx context.Context) {
	listed, err := p.octavia.LoadBalancerStates(ctx, "")
	if err != nil {
		p.fail(err)
		return
	}
	p.total = len(listed)
	p.add(listed)
	// A list may miss existing load balancers: only a 404 proves that one is gone.
	p.askForEach(ctx)
}

// askForEach reads the load balancers without an answer one by one. An error of one of them does
// not affect the others; a temporary error is used for the rest as well, because the next request
// would fail too.
func (p *poll) askForEach(ctx context.Context) {
	for _, id := range p.unanswered() {
		token, err := Read(ctx, p.octavia, id)
		if err != nil && !final(err) {
			p.fail(err)
			return
		}
		p.answers[id] = answer{token: token, err: err}
	}
}

// add adds the load balancers of a list that have a waiter.
func (p *poll) add(listed []octavia.LoadBalancerState) {
	for _, lb := range listed {
		if _, is := p.asked[lb.ID]; is || p.others[lb.ID] {
			p.answers[lb.ID] = answer{token: tokenOf(lb)}
		}
	}
}

// fail makes an error the answer for all that have none.
func (p *poll) fail(err error) {
	for _, id := range p.unanswered() {
		p.answers[id] = answer{err: err}
	}
}

// unanswered returns the load balancers to ask for that have no answer.
func (p *poll) unanswered() (ids []string) {
	for id := range p.asked {
		if _, known := p.answers[id]; !known {
			ids = append(ids, id)
		}
	}
	return ids
}

// Read reads the state of one load balancer.
func Read(ctx context.Context, octaviaAPI Octavia, id string) (Token, error) {
	lb, err := octaviaAPI.LoadBalancerState(ctx, id)
	switch {
	case apierror.IsNotFound(err):
		return Token{Gone: true}, nil
	case err != nil:
		return Token{}, err
	}
	return tokenOf(lb), nil
}

func tokenOf(lb octavia.LoadBalancerState) Token {
	return Token{
		Gone:      lb.ProvisioningStatus == model.StatusDeleted,
		Status:    model.Status{Provisioning: lb.ProvisioningStatus, Operating: lb.OperatingStatus},
		UpdatedAt: lb.UpdatedAt,
	}
}
