package securitygroup

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Open executes the steps that must precede any traffic of the load balancer. After an error the
// cloud is read again.
func (g *Groups) Open(ctx context.Context, t *Task) error {
	steps := t.Plan.Open
	if g.mode == Shared && t.desired != nil && len(steps) > 0 {
		release, err := change{g.common, t}.holdShared(ctx)
		if err != nil {
			return err
		}
		defer release()
		t.Plan.Open = Diff(t.desired, *t.state).Open // another client may have done a part of it
	}
	err := g.run(ctx, t, t.Plan.Open)
	t.Plan.Open = nil
	return err
}

// Close executes the steps that must wait until the load balancer sends no more traffic there, and
// then records the state.
func (g *Groups) Close(ctx context.Context, t *Task) error {
	if err := g.run(ctx, t, t.Plan.Close); err != nil {
		return err
	}
	t.Plan.Close = nil
	g.entries.keep(t.id.ServiceUID, *t.state, true)
	return nil
}

// Remove removes all objects of a Service, first from the ports.
func (g *Groups) Remove(ctx context.Context, id ownership.Identity) error {
	s, err := g.remains(ctx, id)
	if err != nil {
		return err
	}
	err = g.run(ctx, &Task{id: id, state: s}, Diff(nil, *s).Close)
	g.entries.forget(id.ServiceUID)
	return err
}

// Removal returns the steps of Remove. It writes nothing.
func (g *Groups) Removal(ctx context.Context, id ownership.Identity) ([]Step, error) {
	s, err := g.remains(ctx, id)
	if err != nil {
		return nil, err
	}
	return Diff(nil, *s).Close, nil
}

func (g *Groups) run(ctx context.Context, t *Task, steps []Step) error {
	if len(steps) == 0 {
		return nil
	}
	g.entries.forget(t.id.ServiceUID) // until all of it is done
	for _, step := range steps {
		if err := (change{g.common, t}).send(ctx, step); err != nil {
			if g.mode == Shared {
				g.shared.unset()
			}
			return err
		}
	}
	g.entries.keep(t.id.ServiceUID, *t.state, false)
	return nil
}
