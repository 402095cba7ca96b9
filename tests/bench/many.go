package bench

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
)

// idleTime is the duration without changes.
const idleTime = time.Hour

// mostCold is the maximum number of Services with a case of a change after a restart, which reads
// each of them.
const mostCold = 100

// crowd has many Services of one controller.
type crowd struct {
	*environment
	scale    scale
	services []*v1.Service
	nodes    []*v1.Node
	rows     []Row
}

// liveMany creates Services all at once, waits for an hour, and changes a node.
func liveMany(ctx context.Context, s scale) (rows []Row, err error) {
	if s.workers == 0 {
		s.workers = cloudprovider.DefaultServiceWorkers
	}
	env, err := newEnvironment(ctx, s, s.nodes+2)
	if err != nil {
		return nil, err
	}
	defer env.close()
	c := &crowd{environment: env, scale: s, services: newServices(s.services, s.ports), nodes: env.nodes[:s.nodes]}
	ensure := func(ctx context.Context, svc *v1.Service) error { return c.controller.ensure(ctx, svc, c.nodes) }
	c.each(ctx, caseCreateMany, ensure)
	c.each(ctx, caseNoop, ensure)
	c.changeNodes(ctx, caseNodeAddMany, env.nodes[:s.nodes+1])
	if err := env.rest(ctx); err != nil {
		return nil, err
	}
	c.restart(ctx, ensure)
	c.idle(ctx)
	if s.services <= mostCold {
		c.changeNodes(ctx, caseNodeAddManyCold, env.nodes[:s.nodes+2])
	}
	c.each(ctx, caseDeleteMany, func(ctx context.Context, svc *v1.Service) error {
		return c.controller.delete(ctx, svc)
	})
	return c.rows, nil
}

// changeNodes repairs all Services with these nodes concurrently, as the program does.
func (c *crowd) changeNodes(ctx context.Context, name string, nodes []*v1.Node) {
	c.nodes = nodes
	workers := c.scale.workers
	c.scale.workers = len(c.services)
	c.each(ctx, name, func(ctx context.Context, svc *v1.Service) error { return c.controller.repair(ctx, svc, nodes) })
	c.scale.workers = workers
}

func (c *crowd) each(ctx context.Context, name string, work func(context.Context, *v1.Service) error) {
	q := &queue{workers: c.scale.workers, calls: &c.controller.calls}
	row := c.measure(ctx, name, c.scale, func(ctx context.Context) error { return q.each(ctx, c.services, work) })
	row.Retries = int(q.retries.Load())
	c.rows = append(c.rows, row)
}

// restart is a start with unchanged Services.
func (c *crowd) restart(ctx context.Context, ensure func(context.Context, *v1.Service) error) {
	q := &queue{workers: c.scale.workers, calls: &c.controller.calls}
	row := c.measure(ctx, caseRestart, c.scale, func(ctx context.Context) error {
		err := c.environment.restart(ctx)
		if err != nil {
			return err
		}
		q.calls = &c.controller.calls
		return c.controller.watching(ctx, func(ctx context.Context) error { return q.each(ctx, c.services, ensure) })
	})
	row.Retries = int(q.retries.Load())
	c.rows = append(c.rows, row)
}

// idle is an hour without changes.
func (c *crowd) idle(ctx context.Context) {
	c.rows = append(c.rows, c.measure(ctx, caseIdle, c.scale, func(ctx context.Context) error {
		return c.controller.watching(ctx, func(ctx context.Context) error {
			select {
			case <-time.After(idleTime):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}))
}
