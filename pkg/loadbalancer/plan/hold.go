package plan

import (
	"cmp"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Hold returns the desired load balancer with the members of its held pools:
//
//	existing members            members
//	some are among the wanted   those, with the wanted port
//	none is                     all existing ones: no pool is emptied by mistake
//	there is no such pool       none
//
// They keep their weights, unless these are switched off: Options.Weighed without Options.Drains. A replacement takes
// over the members of the load balancer that it replaces. Of other pools, members that leave are left out unless they exist.
func Hold(desired *model.LoadBalancer, observed model.Observed, opts Options) *model.LoadBalancer {
	if !slices.ContainsFunc(desired.Listeners, func(l model.Listener) bool { return l.Pool.Held || anyKind(l.Pool.Members, leaves) }) {
		return desired
	}
	there := cmp.Or(observed.Outgoing, observed.LoadBalancer)
	held := *desired
	held.Listeners = slices.Clone(desired.Listeners)
	for i := range held.Listeners {
		l := &held.Listeners[i]
		var have model.Members
		if there != nil {
			if existing := there.Listener(l.Key()); existing != nil {
				have = existing.Pool.Members
			}
		}
		if !l.Pool.Held {
			l.Pool.Members = withoutNew(l.Pool.Members, opts.same(l.Pool.Members, have))
			continue
		}
		l.Pool.Held = false
		if opts.Weighed && !opts.Drains {
			have = have.Map(func(_ int, m model.Member) model.Member {
				m.Weight, m.Drained = 0, false
				return m
			})
		}
		l.Pool.Members = heldMembers(l.Pool.Members, have)
	}
	return &held
}

// leaves reports whether a member must not be added.
func leaves(m model.Member) bool { return m.Leaving }

// withoutNew returns the wanted members without those that leave and continue none: their index in at is -1.
func withoutNew(wanted model.Members, at []int) model.Members {
	if !anyKind(wanted, leaves) {
		return wanted
	}
	return wanted.Filter(func(i int) bool { return at[i] >= 0 || !wanted.Kind(i).Leaving }).Map(func(_ int, m model.Member) model.Member {
		m.Leaving = false
		return m
	})
}

func heldMembers(wanted, have model.Members) model.Members {
	at := byAddress(wanted, have)
	weighed := wanted.Map(func(i int, m model.Member) model.Member {
		if at[i] >= 0 {
			m.Weight, m.Drained = have.Kind(at[i]).Weight, have.Kind(at[i]).Drained
		}
		return m
	})
	if stay := weighed.Filter(func(i int) bool { return at[i] >= 0 }); stay.Len() > 0 {
		return stay
	}
	return have.Map(func(_ int, m model.Member) model.Member {
		m.ID, m.Status, m.SubnetUnknown = "", model.Status{}, false
		return m
	})
}
