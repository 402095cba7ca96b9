package apply

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// once sends the request of a step, and updates the model after its acceptance.
func (r *Run) once(ctx context.Context, step plan.Step) error {
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		return r.createLoadBalancer(ctx, s)
	case plan.DeleteLoadBalancer:
		if err := r.Octavia.DeleteLoadBalancer(ctx, s.ID, s.Cascade); err != nil {
			return err
		}
		gone := &deletion{id: s.ID}
		if lb := r.known(s.ID); lb != nil {
			gone.provider = lb.Provider
		}
		r.deleting = append(r.deleting, gone)
		plan.Advance(&r.observed, step)
		return nil
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.MoveFloatingIP, plan.DisassociateFloatingIP, plan.ClaimFloatingIP, plan.DeleteFloatingIP:
		return r.floatingIP(ctx, step)
	case plan.CreateVIP, plan.LeadVIP, plan.DeleteVIP:
		return r.vip(ctx, step)
	case plan.SetForwardings:
		return r.setForwardings(ctx, s)
	case plan.SetMembers:
		return r.setMembers(ctx, s)
	}
	change := r.child
	switch step.(type) {
	case plan.AddMember, plan.UpdateMember, plan.RemoveMember:
		change = r.member
	}
	created, err := change(ctx, step)
	if err == nil {
		r.note(step)
		r.advance(step, created)
	}
	return err
}

// note records the members that an accepted step has written.
func (r *Run) note(step plan.Step) {
	var pool string
	if found, err := r.pool(step); err == nil {
		pool = found.ID
	}
	r.written.note(step, pool, r.Clock.Now())
}

// setMembers sends a batch of members.
func (r *Run) setMembers(ctx context.Context, s plan.SetMembers) error {
	pool, err := r.pool(s)
	if err != nil {
		return err
	}
	release, err := r.batches.Take(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := r.Octavia.SetMembers(ctx, pool.ID, r.shrinkMembers(s), s.Additive); err != nil {
		return err
	}
	r.written.note(s, pool.ID, r.Clock.Now())
	r.advance(s, "")
	return nil
}

// advance updates the model after an accepted step; created is the ID of its object.
func (r *Run) advance(step plan.Step, created string) {
	plan.Advance(&r.observed, step)
	r.record(r.observed.LoadBalancer, step, created)
	r.working, r.answer.created = watcher.Updating, created
	if _, rebuilds := step.(plan.FailOver); rebuilds {
		r.working = watcher.FailingOver
	}
}

// child changes the load balancer or one of its parts. It returns the ID of a created object.
func (r *Run) child(ctx context.Context, step plan.Step) (created string, err error) {
	lb := r.observed.LoadBalancer
	switch s := step.(type) {
	case plan.UpdateLoadBalancer:
		return "", r.Octavia.UpdateLoadBalancer(ctx, s.ID, vipUpdate(s))
	case plan.FailOver:
		return "", r.Octavia.FailOver(ctx, s.ID)
	case plan.CreateListener:
		return r.createListener(ctx, s)
	case plan.UpdateListener:
		return "", r.updateListener(ctx, s)
	case plan.DeleteListener:
		return "", r.Octavia.DeleteListener(ctx, s.ID)
	case plan.CreatePool:
		opts := poolOpts(s.Pool)
		opts.LoadBalancerID, opts.Monitor = lb.ID, nil
		pool, err := r.Octavia.CreatePool(ctx, opts)
		if err != nil {
			return "", err
		}
		return pool.ID, nil
	case plan.DeletePool:
		return "", r.deletePool(ctx, s)
	default:
		return r.inPool(ctx, step)
	}
}

func (r *Run) createListener(ctx context.Context, s plan.CreateListener) (string, error) {
	lb := r.observed.LoadBalancer
	opts := listenerOpts(s.Listener)
	opts.LoadBalancerID = lb.ID
	if s.Listener.Protocol.HasPool() {
		pool := s.Pool().Find(lb)
		if pool == nil {
			return "", errNoPool(s.Listener.Pool.Name)
		}
		opts.DefaultPoolID = pool.ID
	}
	listener, err := r.Octavia.CreateListener(ctx, opts)
	if err != nil {
		return "", err
	}
	r.answer.listener = listener
	return listener.ID, nil
}

func (r *Run) updateListener(ctx context.Context, s plan.UpdateListener) (err error) {
	changes := listenerUpdate(s)
	if s.SwitchesPool() {
		pool := s.NewPool().Find(r.observed.LoadBalancer)
		if pool == nil {
			return errNoPool(s.To.Pool.Name)
		}
		changes["default_pool_id"] = pool.ID
	}
	r.answer.listener, err = r.Octavia.UpdateListener(ctx, s.ID, changes)
	return err
}

// member changes one member of a pool.
func (r *Run) member(ctx context.Context, step plan.Step) (created string, err error) {
	pool, err := r.pool(step)
	if err != nil {
		return "", err
	}
	switch s := step.(type) {
	case plan.AddMember:
		return r.Octavia.AddMember(ctx, pool.ID, memberOpts(s.Member))
	case plan.UpdateMember:
		return "", r.Octavia.UpdateMember(ctx, pool.ID, s.From.ID, memberUpdate(s.From, s.To))
	case plan.RemoveMember:
		return "", r.Octavia.RemoveMember(ctx, pool.ID, s.Member.ID)
	}
	return "", errUnsupportedStep(step)
}

// inPool changes a pool or its monitor.
func (r *Run) inPool(ctx context.Context, step plan.Step) (created string, err error) {
	pool, err := r.pool(step)
	if err != nil {
		return "", err
	}
	switch s := step.(type) {
	case plan.UpdatePool:
		changes := poolUpdate(s.From, s.To)
		if driver.QuirksOf(r.observed.LoadBalancer.Provider).NeedsAdminStateUp {
			changes["admin_state_up"] = true
		}
		return "", r.Octavia.UpdatePool(ctx, pool.ID, changes)
	case plan.CreateMonitor:
		opts := monitorOpts(s.Monitor)
		opts.PoolID = pool.ID
		monitor, err := r.Octavia.CreateMonitor(ctx, opts)
		if err != nil {
			return "", err
		}
		return monitor.ID, nil
	case plan.UpdateMonitor:
		return "", r.Octavia.UpdateMonitor(ctx, s.From.ID, monitorUpdate(s.From, s.To))
	case plan.DeleteMonitor:
		return "", r.Octavia.DeleteMonitor(ctx, s.Monitor.ID)
	}
	return "", errUnsupportedStep(step)
}

// pool returns the pool of a step within a pool, which must not be changed, or an error if it does
// not exist.
func (r *Run) pool(step plan.Step) (*model.Pool, error) {
	ref := poolOf(step)
	if pool := ref.Find(r.observed.LoadBalancer); pool != nil {
		return pool, nil
	}
	return nil, errNoPool(ref.String())
}

// poolOf returns the plan's reference to the pool of a step.
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

// record adds to the model the results that only the cloud knows: IDs, and limits that it has
// chosen.
func (r *Run) record(lb *model.LoadBalancer, step plan.Step, created string) {
	switch s := step.(type) {
	case plan.CreateListener:
		listener := lb.Listener(s.Listener.Key())
		listener.ID = created
		observe.LimitValues(&listener.Limits, r.answer.listener)
	case plan.UpdateListener:
		observe.LimitValues(&lb.Listener(s.Key).Limits, r.answer.listener)
	case plan.CreatePool:
		plan.PoolRef{Name: s.Pool.Name, Protocol: s.Pool.Protocol}.Find(lb).ID = created
	case plan.CreateMonitor:
		s.Pool.Find(lb).Monitor.ID = created
	case plan.AddMember:
		pool := s.Pool.Find(lb)
		if i, ok := pool.Members.Find(s.Member.Key()); ok {
			made := pool.Members.At(i)
			made.ID = created
			pool.Members = pool.Members.With(model.MembersOf(made))
		}
	}
}
