package apply

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// once sends the request of a step, and updates the model after its acceptance. It returns the ID of a created object.
func (r *Run) once(ctx context.Context, step plan.Step) (created string, err error) {
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		if err := r.creation.apply(ctx, s); err != nil {
			return "", err
		}
		r.operations.working = watcher.Creating
		return "", nil
	case plan.DeleteLoadBalancer:
		if err := r.Octavia.DeleteLoadBalancer(ctx, s.ID, s.Cascade); err != nil {
			return "", err
		}
		r.operations.deleted(s.ID)
		plan.Advance(&r.observed, step)
		return "", nil
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.MoveFloatingIP, plan.DisassociateFloatingIP, plan.ClaimFloatingIP, plan.DeleteFloatingIP:
		return "", r.floatingIPs.apply(ctx, step)
	case plan.CreateVIP, plan.LeadVIP, plan.DeleteVIP:
		return r.vips.apply(ctx, step)
	case plan.SetForwardings:
		return "", r.floatingIPs.forward(ctx, s)
	}
	return r.parts.apply(ctx, step)
}

// parts applies the steps that change a load balancer or one of its parts.
type parts struct {
	*cloud
	operations *operations
}

// answer has the results of a change that only the cloud knows.
type answer struct {
	// created is the ID of a created object; "" for none.
	created string
	// listener is a created or changed listener; nil for none.
	listener *octavia.Listener
}

// apply applies a step. It returns the ID of a created object.
func (p *parts) apply(ctx context.Context, step plan.Step) (created string, err error) {
	answer, err := p.send(ctx, step)
	if err != nil {
		return "", err
	}
	p.operations.accepted(step)
	plan.Advance(&p.observed, step)
	record(p.observed.LoadBalancer, step, answer)
	return answer.created, nil
}

// send sends the request of a step.
func (p *parts) send(ctx context.Context, step plan.Step) (answer, error) {
	switch s := step.(type) {
	case plan.UpdateLoadBalancer:
		return answer{}, p.Octavia.UpdateLoadBalancer(ctx, s.ID, vipUpdate(s))
	case plan.FailOver:
		return answer{}, p.Octavia.FailOver(ctx, s.ID)
	case plan.CreateListener:
		return p.createListener(ctx, s)
	case plan.UpdateListener:
		return p.updateListener(ctx, s)
	case plan.DeleteListener:
		return answer{}, p.Octavia.DeleteListener(ctx, s.ID)
	case plan.CreatePool:
		opts := poolOpts(s.Pool)
		opts.LoadBalancerID, opts.Monitor = p.observed.LoadBalancer.ID, nil
		pool, err := p.Octavia.CreatePool(ctx, opts)
		if err != nil {
			return answer{}, err
		}
		return answer{created: pool.ID}, nil
	case plan.DeletePool:
		return answer{}, p.Octavia.DeletePool(ctx, s.ID)
	}
	created, err := p.inPool(ctx, step)
	return answer{created: created}, err
}

func (p *parts) createListener(ctx context.Context, s plan.CreateListener) (answer, error) {
	lb := p.observed.LoadBalancer
	opts := listenerOpts(s.Listener)
	opts.LoadBalancerID = lb.ID
	if s.Listener.Protocol.HasPool() {
		pool := s.Pool().Find(lb)
		if pool == nil {
			return answer{}, errNoPool(s.Listener.Pool.Name)
		}
		opts.DefaultPoolID = pool.ID
	}
	listener, err := p.Octavia.CreateListener(ctx, opts)
	if err != nil {
		return answer{}, err
	}
	return answer{listener.ID, listener}, nil
}

func (p *parts) updateListener(ctx context.Context, s plan.UpdateListener) (answer, error) {
	changes := listenerUpdate(s)
	if s.SwitchesPool() {
		pool := s.NewPool().Find(p.observed.LoadBalancer)
		if pool == nil {
			return answer{}, errNoPool(s.To.Pool.Name)
		}
		changes["default_pool_id"] = pool.ID
	}
	listener, err := p.Octavia.UpdateListener(ctx, s.ID, changes)
	return answer{listener: listener}, err
}

// setMembers sends a batch of members.
func (p *parts) setMembers(ctx context.Context, poolID string, s plan.SetMembers) error {
	release, err := p.batches.Take(ctx)
	if err != nil {
		return err
	}
	defer release()
	return p.Octavia.SetMembers(ctx, poolID, shrinkMembers(s, p.observed.LoadBalancer), s.Additive)
}

// inPool changes a pool, its members or its monitor. It returns the ID of a created object.
func (p *parts) inPool(ctx context.Context, step plan.Step) (created string, err error) {
	lb, ref := p.observed.LoadBalancer, poolOf(step)
	pool := ref.Find(lb)
	if pool == nil {
		return "", errNoPool(ref.String())
	}
	switch s := step.(type) {
	case plan.SetMembers:
		return "", p.setMembers(ctx, pool.ID, s)
	case plan.AddMember:
		return p.Octavia.AddMember(ctx, pool.ID, memberOpts(s.Member))
	case plan.UpdateMember:
		return "", p.Octavia.UpdateMember(ctx, pool.ID, s.From.ID, memberUpdate(s.From, s.To))
	case plan.RemoveMember:
		return "", p.Octavia.RemoveMember(ctx, pool.ID, s.Member.ID)
	case plan.UpdatePool:
		changes := poolUpdate(s.From, s.To)
		if driver.QuirksOf(lb.Provider).NeedsAdminStateUp {
			changes["admin_state_up"] = true
		}
		return "", p.Octavia.UpdatePool(ctx, pool.ID, changes)
	case plan.CreateMonitor:
		opts := monitorOpts(s.Monitor)
		opts.PoolID = pool.ID
		monitor, err := p.Octavia.CreateMonitor(ctx, opts)
		if err != nil {
			return "", err
		}
		return monitor.ID, nil
	case plan.UpdateMonitor:
		return "", p.Octavia.UpdateMonitor(ctx, s.From.ID, monitorUpdate(s.From, s.To))
	case plan.DeleteMonitor:
		return "", p.Octavia.DeleteMonitor(ctx, s.Monitor.ID)
	}
	return "", errUnsupportedStep(step)
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
func record(lb *model.LoadBalancer, step plan.Step, has answer) {
	switch s := step.(type) {
	case plan.CreateListener:
		listener := lb.Listener(s.Listener.Key())
		listener.ID = has.created
		observe.LimitValues(&listener.Limits, has.listener)
	case plan.UpdateListener:
		observe.LimitValues(&lb.Listener(s.Key).Limits, has.listener)
	case plan.CreatePool:
		plan.PoolRef{Name: s.Pool.Name, Protocol: s.Pool.Protocol}.Find(lb).ID = has.created
	case plan.CreateMonitor:
		s.Pool.Find(lb).Monitor.ID = has.created
	case plan.AddMember:
		pool := s.Pool.Find(lb)
		if i, ok := pool.Members.Find(s.Member.Key()); ok {
			made := pool.Members.At(i)
			made.ID = has.created
			pool.Members = pool.Members.With(model.MembersOf(made))
		}
	}
}
