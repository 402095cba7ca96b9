package cloudprovider

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// octaviaPeriod is how often the catalog is asked for a load balancer service that
	// it lacks.
	octaviaPeriod = time.Minute
	// octaviaReminder is how often it is told that there is none.
	octaviaReminder = time.Hour
	// noOctavia is the reason of the event on Services that wait for it.
	noOctavia = "LoadBalancerServiceMissing"
)

// StartServices starts upstream's service controller by calling start, as soon as the
// cloud has a load balancer service (Octavia): at once as a rule, else when the service
// catalog comes to have it. Until then Services get an event that says so, and are
// left as they are: no finalizer of upstream's keeps one that another controller
// serves. Nodes are served all along. enabled is what start gave, or true while it is
// yet to be called.
func (p *Provider) StartServices(start func() (bool, error)) (enabled bool, err error) {
	if p.options.NewLoadBalancers == nil || p.options.FindOctavia == nil {
		return start()
	}
	missing := p.options.FindOctavia(p.calls.process)
	if missing == nil {
		return start()
	}
	ctx, end, err := p.calls.begin(p.calls.process)
	if err != nil {
		return false, err
	}
	go func() {
		defer end()
		if !p.awaitOctavia(ctx, missing) {
			return
		}
		klog.FromContext(ctx).Info("The cloud has a load balancer service now: Services of type LoadBalancer are served")
		if _, err := start(); err != nil {
			p.options.Stop(fmt.Errorf("start the service controller: %w", err))
		}
	}()
	return true, nil
}

// awaitOctavia asks until there is a load balancer service; false when the process
// ends before.
func (p *Provider) awaitOctavia(ctx context.Context, missing error) bool {
	const advice = "Should the cloud have it, look at [Global] region and os-endpoint-type in cloud.conf; should it not, set [LoadBalancer] enabled=false"
	var logged time.Time
	told := map[types.UID]time.Time{}
	for {
		if now := p.options.Clock.Now(); !now.Before(logged.Add(octaviaReminder)) {
			klog.FromContext(ctx).Error(missing, "Services of type LoadBalancer wait for the cloud's load balancer service (Octavia). "+advice)
			logged = now
		}
		told = p.tellWaiting(ctx, told, fmt.Sprintf("Waiting for the cloud's load balancer service (Octavia): %v. %s", missing, advice))
		select {
		case <-ctx.Done():
			return false
		case <-p.options.Clock.After(octaviaPeriod):
		}
		if missing = p.options.FindOctavia(ctx); missing == nil {
			return ctx.Err() == nil
		}
	}
}

// tellWaiting gives an event to each Service that waits for a load balancer, or for
// the end of one. It gives when it did.
func (p *Provider) tellWaiting(ctx context.Context, told map[types.UID]time.Time, message string) map[types.UID]time.Time {
	p.mu.Lock()
	factory, lister := p.informers, p.services
	p.mu.Unlock()
	if factory == nil || !cache.WaitForCacheSync(ctx.Done(), factory.Core().V1().Services().Informer().HasSynced) {
		return told
	}
	all, err := lister.List(labels.Everything())
	if err != nil {
		return told // a lister of an informer has no errors
	}
	now, still := p.options.Clock.Now(), map[types.UID]time.Time{}
	for _, service := range all {
		if service.Spec.Type != v1.ServiceTypeLoadBalancer || service.Spec.LoadBalancerClass != nil ||
			service.DeletionTimestamp == nil && len(service.Status.LoadBalancer.Ingress) > 0 {
			continue
		}
		still[service.UID] = told[service.UID]
		if !now.Before(told[service.UID].Add(octaviaReminder)) {
			p.options.Recorder.Event(service, v1.EventTypeWarning, noOctavia, message)
			still[service.UID] = now
		}
	}
	return still
}
