package watcher

import (
	"context"
	"maps"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// ask reads the load balancers of these waiters: with one request for one of them, and with a few
// lists for many. It returns an answer for each of them, and for the load balancers of other
// waiters in the lists.
func (w *Watcher) ask(due []*waiter) map[string]answer {
	pending := make(map[string]string, len(due))
	for _, p := range due {
		pending[p.id] = p.pending
	}
	switch {
	case len(pending) == 1, len(pending) <= few && w.total >= many:
		return w.askForEach(pending, map[string]answer{})
	case w.filters(pending):
		return w.askByStatus(pending)
	}
	return w.askForAll(pending, make(map[string]answer, len(pending)))
}

const (
	// up to few load balancers are read one by one instead of by a list.
	few = 3
	// many is the number of load balancers from which a list of all is too expensive.
	many = 100
)

// filters reports whether lists by status are smaller: there are many load balancers, of which few
// are waited for, in known statuses. A list of the PENDING ones costs Octavia milliseconds; one of
// a thousand in all costs a second.
func (w *Watcher) filters(pending map[string]string) bool {
	const part = 4
	for _, status := range pending {
		if status == "" {
			return false
		}
	}
	return w.total >= many && len(pending) < w.total/part
}

// askByStatus lists the load balancers that are still PENDING, by status, and then reads the
// others.
func (w *Watcher) askByStatus(pending map[string]string) map[string]answer {
	answers := make(map[string]answer, len(pending))
	for _, status := range slices.Sorted(maps.Keys(statusesOf(pending))) {
		still, err := w.octavia.LoadBalancerStates(w.ctx, status)
		if err != nil {
			return failed(pending, answers, err)
		}
		w.addAnswers(answers, still, pending)
	}
	if rest := without(pending, answers); len(rest) > few {
		return w.askForAll(rest, answers)
	}
	return w.askForEach(pending, answers)
}

// addAnswers adds the load balancers of a list that are requested or have a waiter.
func (w *Watcher) addAnswers(answers map[string]answer, listed []octavia.LoadBalancerState, asked map[string]string) {
	w.mu.Lock()
	others := make(map[string]bool, len(w.parked))
	for p := range w.parked {
		if _, is := asked[p.id]; !is {
			others[p.id] = true
		}
	}
	w.mu.Unlock()
	for _, lb := range listed {
		if _, is := asked[lb.ID]; is || others[lb.ID] {
			answers[lb.ID] = answer{token: tokenOf(lb)}
		}
	}
}

// without returns the load balancers without an answer.
func without(ids map[string]string, answers map[string]answer) map[string]string {
	rest := map[string]string{}
	for id, status := range ids {
		if _, known := answers[id]; !known {
			rest[id] = status
		}
	}
	return rest
}

// failed returns an error as the answer for load balancers.
func failed(ids map[string]string, answers map[string]answer, err error) map[string]answer {
	for id := range without(ids, answers) {
		answers[id] = answer{err: err}
	}
	return answers
}

// statusesOf returns the statuses that occur.
func statusesOf(pending map[string]string) map[string]bool {
	statuses := map[string]bool{}
	for _, status := range pending {
		statuses[status] = true
	}
	return statuses
}

// askForAll reads load balancers with one list of all.
func (w *Watcher) askForAll(ids map[string]string, answers map[string]answer) map[string]answer {
	listed, err := w.octavia.LoadBalancerStates(w.ctx, "")
	if err != nil {
		return failed(ids, answers, err)
	}
	w.total = len(listed)
	w.addAnswers(answers, listed, ids)
	// A list may miss existing load balancers: only a 404 proves that one is gone.
	return w.askForEach(ids, answers)
}

// askForEach reads the load balancers without an answer one by one. An error of one of them does
// not affect the others; a temporary error is used for the rest as well, because the next request
// would fail too.
func (w *Watcher) askForEach(ids map[string]string, answers map[string]answer) map[string]answer {
	for id := range without(ids, answers) {
		token, err := Read(w.ctx, w.octavia, id)
		if err != nil && !final(err) {
			return failed(ids, answers, err)
		}
		answers[id] = answer{token: token, err: err}
	}
	return answers
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
