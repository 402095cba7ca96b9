package apply

import (
	"context"
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// Rehearsal is an Applier that applies plans to the model only: it sends no write. It is for one
// round.
type Rehearsal struct {
	*Applier
	// Note is called with the steps of each plan, the minimum number of writing requests of each, and the state before
	// the first of them.
	Note func(steps []plan.Step, writes []int, before model.Observed)

	made    int
	deleted map[string]bool
}

// Continue returns the predicted state of the cloud after a plan. New objects get IDs with the
// prefix "new-"; addresses that the cloud chooses are empty. For a load balancer that an earlier
// plan has deleted, it does nothing: the cloud still has it.
//
// It reads the ports of the next hops of a VIP: only these show how many lack an address pair.
func (r *Rehearsal) Continue(ctx context.Context, run *Run) (model.Observed, error) {
	observed, steps := run.observed.Clone(), run.steps
	if lb := observed.LoadBalancer; lb != nil && r.deleted[lb.ID] {
		return observed, nil
	}
	var writes []int
	for _, step := range steps {
		n, err := r.writes(ctx, step, observed)
		if err != nil {
			return observed, err
		}
		writes = append(writes, n)
		switch s := step.(type) {
		case plan.CreateLoadBalancer:
			s.LoadBalancer = shrinkLoadBalancer(s.LoadBalancer, driver.QuirksOf(s.LoadBalancer.Provider))
			step = s
		case plan.DeleteLoadBalancer:
			if r.deleted == nil {
				r.deleted = map[string]bool{}
			}
			r.deleted[s.ID] = true
		}
		plan.Advance(&observed, step)
		r.identify(&observed)
	}
	if len(steps) > 0 {
		r.Note(steps, writes, run.observed)
	}
	return observed, nil
}

// writes returns the minimum number of writing requests of a step, given the state before it.
func (r *Rehearsal) writes(ctx context.Context, step plan.Step, before model.Observed) (int, error) {
	lead, is := step.(plan.LeadVIP)
	if !is || len(lead.To) == 0 {
		return plan.Writes(step), nil
	}
	vip, err := vipAt(before, lead.Address)
	if err != nil {
		return 0, err
	}
	barred, err := r.VIPs.Barred(ctx, model.LoadBalancer{VIP: vip, NextHops: lead.To})
	return plan.Writes(step) + len(barred), err
}

// identify adds the missing IDs.
func (r *Rehearsal) identify(observed *model.Observed) {
	for i := range observed.UnattachedFloatingIPs {
		r.fill(&observed.UnattachedFloatingIPs[i].ID)
	}
	lb := observed.LoadBalancer
	if lb == nil {
		return
	}
	r.fill(&lb.ID)
	r.fill(&lb.VIP.PortID)
	if lb.FloatingIP != nil {
		r.fill(&lb.FloatingIP.ID)
	}
	for i := range lb.Listeners {
		r.fill(&lb.Listeners[i].ID)
		if lb.Listeners[i].Pool.Name != "" {
			r.identifyPool(&lb.Listeners[i].Pool)
		}
	}
	for i := range lb.Orphans {
		r.identifyPool(&lb.Orphans[i])
	}
}

func (r *Rehearsal) identifyPool(pool *model.Pool) {
	r.fill(&pool.ID)
	if pool.Monitor != nil {
		r.fill(&pool.Monitor.ID)
	}
	pool.Members = pool.Members.Map(func(_ int, m model.Member) model.Member {
		r.fill(&m.ID)
		return m
	})
}

func (r *Rehearsal) fill(id *string) {
	if *id == "" {
		r.made++
		*id = fmt.Sprintf("new-%d", r.made)
	}
}
