package observe

import (
	"context"
	"errors"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// trace is a load balancer on which a Service may have objects, or its ID, and whether the Service
// is known to have used it.
type trace struct {
	id    string
	lb    *octavia.LoadBalancer
	known bool
}

// traces returns the load balancers with the Service's identity, with listeners of it, where it was
// before, and at its published addresses.
func (s search) traces(ctx context.Context) ([]trace, []octavia.LoadBalancer, error) {
	own, err := s.Claimed(ctx, s.id)
	if err != nil {
		return nil, nil, err
	}
	var found []trace
	add := func(all []octavia.LoadBalancer) {
		for i := range all {
			found = append(found, trace{id: all[i].ID, lb: &all[i]})
		}
	}
	add(own)
	if !s.id.Untagged {
		tagged, err := s.Octavia.ListenersTagged(ctx, s.id.ServiceTag())
		if err != nil {
			return nil, nil, err
		}
		for _, l := range tagged {
			for _, of := range l.LoadBalancers {
				found = append(found, trace{id: of.ID, known: true})
			}
		}
	}
	for _, before := range s.hints.Before {
		found = append(found, trace{id: before, known: before == s.hints.Remembered})
	}
	for _, address := range s.hints.Addresses {
		at, _, err := s.at(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		add(at)
	}
	return found, own, nil
}

// Elsewhere returns the remains of a moved Service outside the load balancer of an ID: its own load
// balancers, and those with a listener of it.
func (o *Observer) Elsewhere(ctx context.Context, id ownership.Identity, hints Hints, except string) ([]Found, error) {
	s := search{o, id, hints}
	traces, own, err := s.traces(ctx)
	if err != nil {
		return nil, err
	}
	s.hints.Addresses = others(hints.Addresses, own)
	seen := map[string]bool{except: true, "": true}
	var elsewhere []Found
	for _, t := range traces {
		if seen[t.id] {
			continue
		}
		seen[t.id] = true
		if t.lb == nil {
			if t.lb, err = s.known(ctx, t.id); isGone(err) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		as, err := s.relate(ctx, *t.lb, proof{known: t.known})
		var notOurs *NotOursError
		switch {
		case errors.As(err, &notOurs):
		case err != nil:
			return nil, err
		default:
			elsewhere = append(elsewhere, Found{LoadBalancers: []octavia.LoadBalancer{*t.lb}, As: as})
		}
	}
	return elsewhere, nil
}
