package testenv

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
)

// These functions call the engine for a Service as upstream's service controller and pkg/resync do:
// in the same order, and with the same delays after failures.

const (
	firstRetry, lastRetry = 5 * time.Second, 5 * time.Minute
	// nodesGathered is how long changes of nodes are collected, endpointsGathered those of endpoints that
	// leave a node.
	nodesGathered, endpointsGathered = 5 * time.Second, 100 * time.Millisecond
)

// followServices starts a pair of followers for each Service.
func (p *process) followServices(ctx context.Context) {
	followed := map[Key]*follower{}
	nodes := p.env.Cluster.nodesChanged()
	for {
		changed := p.env.Cluster.Changed()
		services := p.env.Cluster.Services()
		p.forget(followed, services)
		for _, svc := range services {
			key := KeyOf(svc)
			if known := followed[key]; known != nil && known.uid == string(svc.UID) {
				continue
			}
			f := &follower{process: p, key: key, uid: string(svc.UID), endpoints: p.env.Cluster.endpointChanges(key), repairs: make(chan time.Duration, 1), again: make(chan struct{}, 1)}
			followed[key] = f
			p.mu.Lock()
			if p.followers == nil {
				p.followers = map[Key]*follower{}
			}
			p.followers[key] = f
			p.mu.Unlock()
			p.work.Go(func() { f.ensure(ctx) })
			p.work.Go(func() { f.repair(ctx) })
		}
		if now := p.env.Cluster.nodesChanged(); now != nodes {
			nodes = now
			for _, f := range followed {
				f.repairIn(nodesGathered)
			}
		}
		for key, f := range followed {
			if now := p.env.Cluster.endpointChanges(key); now != f.endpoints {
				f.endpoints = now
				f.repairIn(endpointsGathered)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// forget drops the followers of Services that are gone.
func (p *process) forget(followed map[Key]*follower, services []*v1.Service) {
	there := map[Key]bool{}
	for _, svc := range services {
		there[KeyOf(svc)] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range followed {
		if !there[key] {
			delete(followed, key)
			delete(p.followers, key)
		}
	}
}

// repairSoon requests a repair of a Service.
func (p *process) repairSoon(key Key) {
	if f := p.follower(key); f != nil {
		f.repairIn(0)
	}
}

// follower returns the follower of a Service, nil for none.
func (p *process) follower(key Key) *follower {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.followers[key]
}

// callAgain makes the service controller call again for a Service.
func (p *process) callAgain(svc *v1.Service) {
	f := p.follower(KeyOf(svc))
	if f == nil {
		return
	}
	select {
	case f.again <- struct{}{}:
	default:
	}
}

// follower works on one Service until it is gone.
type follower struct {
	process *process
	key     Key
	uid     string
	// endpoints is the number of the last change of endpoints that it follows; only followServices uses it.
	endpoints int64
	repairs   chan time.Duration
	again     chan struct{} // a background round has ended
}

// repairIn requests a repair, unless one is pending.
func (f *follower) repairIn(d time.Duration) {
	if f.service() == nil {
		return
	}
	name := "repair of " + f.key.String()
	f.process.note(name, errAtWork) // before it can end
	select {
	case f.repairs <- d:
	default:
	}
	if f.service() == nil { // the Service is gone
		f.process.note(name, nil)
	}
}

// service returns the Service of the follower, nil if it is gone.
func (f *follower) service() *v1.Service {
	svc := f.process.env.Cluster.Service(f.key)
	if svc == nil || string(svc.UID) != f.uid {
		return nil
	}
	return svc
}

// backoff is that of a rate-limited queue.
type backoff struct{ failures int }

func (b *backoff) next(err error) time.Duration {
	var later *api.RetryError
	if errors.As(err, &later) {
		return later.RetryAfter()
	}
	delay := min(lastRetry, firstRetry<<min(b.failures, 10))
	b.failures++
	return delay
}

// ensure works as the service controller.
func (f *follower) ensure(ctx context.Context) {
	var served int64
	var failed backoff
	var retry <-chan time.Time
	for {
		changed := f.process.env.Cluster.Changed()
		svc := f.service()
		if svc == nil {
			f.process.note(f.key.String(), nil)
			return
		}
		if svc.Generation != served {
			served, retry = svc.Generation, nil
			f.process.note(f.key.String(), errAtWork)
			err := f.sync(ctx, svc)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil, errors.Is(err, loadbalancer.ErrInProgress): // callAgain is called at its end
				failed = backoff{}
			default:
				retry = time.After(failed.next(err))
			}
			f.process.note(f.key.String(), err)
			continue
		}
		select {
		case <-changed:
		case <-f.again:
			served = 0
		case <-retry:
			served = 0
		case <-ctx.Done():
			return
		}
	}
}

// sync syncs a Service as the service controller does.
func (f *follower) sync(ctx context.Context, svc *v1.Service) error {
	p := f.process
	if svc.DeletionTimestamp != nil || svc.Spec.Type != v1.ServiceTypeLoadBalancer {
		return p.cleanUp(ctx, svc)
	}
	p.env.Cluster.finalize(svc, true)
	if svc = f.service(); svc == nil {
		return nil
	}
	status, err := p.engine.Ensure(ctx, svc, p.env.Cluster.Nodes())
	if p.isDead() {
		return errDead
	}
	p.env.Cluster.publish(svc, status) // the provider publishes the status of a refused Service
	if err != nil {
		return fmt.Errorf("failed to ensure load balancer: %w", err)
	}
	return nil
}

// cleanUp works as the service controller for a Service that no longer needs its load balancer.
// Only the text of an error is kept.
func (p *process) cleanUp(ctx context.Context, svc *v1.Service) error {
	if !servicehelpers.HasLBFinalizer(svc) {
		return nil
	}
	_, exists, err := p.engine.Get(ctx, svc)
	if err != nil {
		return fmt.Errorf("failed to check if load balancer exists before cleanup: %v", err)
	}
	if exists {
		if err := p.engine.Delete(ctx, svc); err != nil {
			return fmt.Errorf("failed to delete load balancer: %v", err)
		}
	}
	if p.isDead() {
		return errDead
	}
	p.env.Cluster.publish(svc, &v1.LoadBalancerStatus{})
	p.env.Cluster.finalize(svc, false)
	return nil
}

// repair follows nodes and changes by other clients.
func (f *follower) repair(ctx context.Context) {
	var failed backoff
	var due <-chan time.Time
	name := "repair of " + f.key.String()
	for {
		changed := f.process.env.Cluster.Changed()
		if f.service() == nil {
			f.process.note(name, nil)
			return
		}
		select {
		case <-changed:
			continue
		case delay := <-f.repairs:
			due = time.After(delay)
			continue
		case <-ctx.Done():
			return
		case <-due:
			due = nil
		}
		err := f.mend(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failed = backoff{}
		} else {
			due = time.After(failed.next(err))
		}
		f.process.note(name, err)
	}
}

func (f *follower) mend(ctx context.Context) error {
	p, svc := f.process, f.service()
	managed := func(svc *v1.Service) bool {
		return svc != nil && svc.DeletionTimestamp == nil && svc.Spec.Type == v1.ServiceTypeLoadBalancer && servicehelpers.HasLBFinalizer(svc)
	}
	if !managed(svc) {
		return nil
	}
	alive := func(context.Context) (bool, error) {
		now := f.service()
		return managed(now) && len(now.Status.LoadBalancer.Ingress) > 0, nil
	}
	status, err := p.engine.Repair(ctx, svc, nil, alive)
	switch {
	case errors.Is(err, loadbalancer.ErrNoLoadBalancer):
		return nil
	case p.isDead():
		return errDead
	case status != nil && len(svc.Status.LoadBalancer.Ingress) > 0:
		p.env.Cluster.publish(svc, status)
	}
	return err
}
