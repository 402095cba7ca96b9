package apply

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// once sends what one step needs and advances the model when it is accepted.
func (r *run) once(ctx context.Context, step plan.Step) error {
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		return r.createLoadBalancer(ctx, s)
	case plan.DeleteLoadBalancer:
		if err := r.Octavia.DeleteLoadBalancer(ctx, s.ID, s.Cascade); err != nil {
			return err
		}
		r.deleting = append(r.deleting, s.ID)
		plan.Advance(r.observed, step)
		return nil
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.MoveFloatingIP, plan.DisassociateFloatingIP, plan.DeleteFloatingIP:
		return r.floatingIP(ctx, step)
	}
	created, err := r.child(ctx, step)
	if err != nil {
		return err
	}
	plan.Advance(r.observed, step)
	r.working, r.made = updating, created
	r.remember(step, created)
	return nil
}

// child changes something in the load balancer. It gives the ID of what it made.
func (r *run) child(ctx context.Context, step plan.Step) (created string, err error) {
	lb := r.observed.LoadBalancer
	switch s := step.(type) {
	case plan.UpdateLoadBalancer:
		return "", r.Octavia.UpdateLoadBalancer(ctx, s.ID, vipUpdate(s))
	case plan.CreateListener:
		return r.createListener(ctx, s)
	case plan.UpdateListener:
		return "", r.updateListener(ctx, s)
	case plan.DeleteListener:
		return "", r.Octavia.DeleteListener(ctx, s.ID)
	case plan.CreatePool:
		opts := poolOpts(s.Pool)
		opts.LoadbalancerID, opts.Members, opts.Monitor = lb.ID, nil, nil
		pool, err := r.Octavia.CreatePool(ctx, opts)
		if err != nil {
			return "", err
		}
		return pool.ID, nil
	case plan.DeletePool:
		return "", r.Octavia.DeletePool(ctx, s.ID)
	default:
		return r.inPool(ctx, step)
	}
}

func (r *run) createListener(ctx context.Context, s plan.CreateListener) (string, error) {
	lb := r.observed.LoadBalancer
	pool := s.Pool().Find(lb)
	if pool == nil {
		return "", errNoPool(s.Listener.Pool.Name)
	}
	opts := listenerOpts(s.Listener)
	opts.LoadbalancerID, opts.DefaultPoolID = lb.ID, pool.ID
	listener, err := r.Octavia.CreateListener(ctx, opts)
	if err != nil {
		return "", err
	}
	r.answered = listener
	return listener.ID, nil
}

func (r *run) updateListener(ctx context.Context, s plan.UpdateListener) (err error) {
	opts := listenerUpdate(s)
	if s.SwitchesPool() {
		pool := s.NewPool().Find(r.observed.LoadBalancer)
		if pool == nil {
			return errNoPool(s.To.Pool.Name)
		}
		opts.DefaultPoolID = &pool.ID
	}
	r.answered, err = r.Octavia.UpdateListener(ctx, s.ID, opts)
	return err
}

// errNoPool says that somebody else has deleted the pool that a step needs.
func errNoPool(name string) error {
	return fmt.Errorf("pool %s is not there any more; what is missing is created in the next attempt", name)
}

// inPool changes a pool, its members or its monitor.
func (r *run) inPool(ctx context.Context, step plan.Step) (created string, err error) {
	pool := poolOf(step).Find(r.observed.LoadBalancer)
	if pool == nil {
		return "", errNoPool(poolOf(step).String())
	}
	switch s := step.(type) {
	case plan.UpdatePool:
		opts := poolUpdate(s.From, s.To)
		if driver.QuirksOf(r.observed.LoadBalancer.Provider).NeedsAdminStateUp {
			opts.AdminStateUp = &[]bool{true}[0]
		}
		return "", r.Octavia.UpdatePool(ctx, pool.ID, opts)
	case plan.SetMembers:
		return "", r.setMembers(ctx, pool.ID, s)
	case plan.AddMember:
		member, err := r.Octavia.AddMember(ctx, pool.ID, memberOpts(s.Member))
		if err != nil {
			return "", err
		}
		return member.ID, nil
	case plan.UpdateMember:
		return "", r.Octavia.UpdateMember(ctx, pool.ID, s.From.ID, memberUpdate{s.To})
	case plan.RemoveMember:
		return "", r.Octavia.RemoveMember(ctx, pool.ID, s.Member.ID)
	case plan.CreateMonitor:
		opts := monitorOpts(s.Monitor)
		opts.PoolID = pool.ID
		monitor, err := r.Octavia.CreateMonitor(ctx, opts)
		if err != nil {
			return "", err
		}
		return monitor.ID, nil
	case plan.UpdateMonitor:
		return "", r.Octavia.UpdateMonitor(ctx, s.From.ID, monitorUpdate{s.From, s.To})
	case plan.DeleteMonitor:
		return "", r.Octavia.DeleteMonitor(ctx, s.Monitor.ID)
	}
	return "", fmt.Errorf("there is no code for this step: this is a bug of the controller, ask the cluster's operator to report it")
}

// poolOf gives the pool that a step within a pool is for.
func poolOf(step plan.Step) plan.PoolRef {
	switch s := step.(type) {
	case plan.UpdatePool:
		return s.Pool
	case plan.SetMembers:
		return s.Pool
	case plan.AddMember:
		return s.Pool
	case plan.UpdateMember:
		return s.Pool
	case plan.RemoveMember:
		return s.Pool
	case plan.CreateMonitor:
		return s.Pool
	case plan.UpdateMonitor:
		return s.Pool
	case plan.DeleteMonitor:
		return s.Pool
	}
	return plan.PoolRef{}
}

// remember writes into the model what only the cloud knows of what a step made: its
// ID, and the limits that were left to the cloud.
func (r *run) remember(step plan.Step, created string) {
	lb := r.observed.LoadBalancer
	switch s := step.(type) {
	case plan.CreateListener:
		listener := lb.Listener(s.Listener.Key())
		listener.ID = created
		observe.LimitValues(&listener.Limits, r.answered)
	case plan.UpdateListener:
		observe.LimitValues(&lb.Listener(s.Key).Limits, r.answered)
	case plan.CreatePool:
		plan.PoolRef{Name: s.Pool.Name, Protocol: s.Pool.Protocol}.Find(lb).ID = created
	case plan.CreateMonitor:
		s.Pool.Find(lb).Monitor.ID = created
	case plan.AddMember:
		members := s.Pool.Find(lb).Members
		for i := range members {
			if members[i].Key() == s.Member.Key() {
				members[i].ID = created
			}
		}
	}
}

// bodyLimit is what a request to Octavia from 14.0 on may hold: oslo.middleware's
// default of 114,688 bytes, less what size does not count: the braces around it all.
const bodyLimit = 114_688 - 100

// setMembers sends all members in one batch. One that would be too big goes
// without what Octavia keeps or can do without; one that still is, is cut: new
// members are added in chunks, then those that are gone are removed one by one.
func (r *run) setMembers(ctx context.Context, poolID string, s plan.SetMembers) error {
	if all := r.smaller(s); size(all) <= bodyLimit {
		return r.Octavia.SetMembers(ctx, poolID, all, false)
	}
	for chunk := range chunks(nameless(membersOpts(append(append([]model.Member{}, s.Added...), s.Changed...)))) {
		if err := r.settle(ctx); err != nil {
			return err
		}
		if err := r.Octavia.SetMembers(ctx, poolID, chunk, true); err != nil {
			return err
		}
		r.working = updating
	}
	for _, m := range s.Removed {
		if err := r.settle(ctx); err != nil {
			return err
		}
		if err := r.Octavia.RemoveMember(ctx, poolID, m.ID); err != nil {
			return err
		}
		r.working = updating
	}
	return nil
}

// smaller gives all members of a batch, as small as the limit wants them: without
// names, which nothing needs; then without their subnets, where they stay, as Octavia
// keeps them, or are in the VIP's, unless the driver wants to be told it each time.
func (r *run) smaller(s plan.SetMembers) []pools.CreateMemberOpts {
	all := membersOpts(s.Members)
	if size(all) <= bodyLimit {
		return all
	}
	all = nameless(all)
	if size(all) <= bodyLimit || driver.QuirksOf(r.observed.LoadBalancer.Provider).AlwaysSendSubnet {
		return all
	}
	added := map[model.MemberKey]bool{}
	for _, m := range s.Added {
		added[m.Key()] = true
	}
	for i, m := range s.Members {
		if !added[m.Key()] || m.SubnetID == r.observed.LoadBalancer.VIP.SubnetID {
			all[i].SubnetID = ""
		}
	}
	return all
}

// nameless takes the names off members.
func nameless(members []pools.CreateMemberOpts) []pools.CreateMemberOpts {
	for i := range members {
		members[i].Name = ""
	}
	return members
}

// chunks cuts members into lists that fit a request.
func chunks(members []pools.CreateMemberOpts) func(func([]pools.CreateMemberOpts) bool) {
	return func(yield func([]pools.CreateMemberOpts) bool) {
		for len(members) > 0 {
			n := len(members)
			for size(members[:n]) > bodyLimit {
				n = (n + 1) / 2
			}
			if !yield(members[:n]) {
				return
			}
			members = members[n:]
		}
	}
}
