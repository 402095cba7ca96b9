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

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

const (
	// octaviaPollInterval is how often the catalog is read while it lacks a load balancer service.
	octaviaPollInterval = time.Minute
	// octaviaReminder is how often the lack of one is reported.
	octaviaReminder = time.Hour
)

// StartServices calls start, which starts the service controller, as soon as the catalog has a load
// balancer service (Octavia), or at once if Services need none. Until then an event on each Service reports
// that Octavia is missing, and Services are left unchanged: without the finalizer of the service
// controller, another implementation can serve them. Nodes are served all the time. enabled is the
// result of start, or true before it is called.
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

// awaitOctavia returns true when there is a load balancer service, and false if the process ends
// first.
func (p *Provider) awaitOctavia(ctx context.Context, missing error) bool {
	const advice = "Should the cloud have it, look at [Global] region and os-endpoint-type in cloud.conf; should it not, set [LoadBalancer] enabled=false, or lb-provider=router or port-forwarding"
	var logged time.Time
	notified := map[types.UID]time.Time{}
	p.options.Metrics.octaviaMissing(true)
	defer p.options.Metrics.octaviaMissing(false)
	for {
		if now := p.options.Clock.Now(); !now.Before(logged.Add(octaviaReminder)) {
			klog.FromContext(ctx).Error(missing, "Services of type LoadBalancer wait for the cloud's load balancer service (Octavia). "+advice)
			logged = now
		}
		notified = p.notifyWaiting(ctx, notified, fmt.Sprintf("Waiting for the cloud's load balancer service (Octavia): %v. %s", missing, advice))
		select {
		case <-ctx.Done():
			return false
		case <-p.options.Clock.After(octaviaPollInterval):
		}
		if missing = p.options.FindOctavia(ctx); missing == nil {
			return ctx.Err() == nil
		}
	}
}

// notifyWaiting emits an event on each Service that waits for a load balancer or for the deletion
// of one, unless a recent event reported that. It returns the time of the last event of each
// Service.
func (p *Provider) notifyWaiting(ctx context.Context, last map[types.UID]time.Time, message string) map[types.UID]time.Time {
	p.mu.Lock()
	factory := p.informers
	p.mu.Unlock()
	if factory == nil || !cache.WaitForCacheSync(ctx.Done(), factory.Core().V1().Services().Informer().HasSynced) {
		return last
	}
	services, err := factory.Core().V1().Services().Lister().List(labels.Everything())
	if err != nil {
		return last // a lister of an informer has no errors
	}
	now, notified := p.options.Clock.Now(), map[types.UID]time.Time{}
	for _, service := range services {
		if !waitsForOctavia(service) {
			continue
		}
		notified[service.UID] = last[service.UID]
		if !now.Before(last[service.UID].Add(octaviaReminder)) {
			reason.OctaviaNotFound.Emit(p.options.Recorder, service, message)
			notified[service.UID] = now
		}
	}
	return notified
}

// waitsForOctavia reports whether a load balancer must be created or deleted for a Service.
func waitsForOctavia(service *v1.Service) bool {
	return cluster.IsOurs(service) && (service.DeletionTimestamp != nil || len(service.Status.LoadBalancer.Ingress) == 0)
}
