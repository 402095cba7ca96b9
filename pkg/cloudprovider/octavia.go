package cloudprovider

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

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
	informed := func() informers.SharedInformerFactory {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.informers
	}
	wait := octaviaWait{find: p.options.FindOctavia, informers: informed, metrics: p.options.Metrics, recorder: p.options.Recorder, clock: p.options.Clock}
	go func() {
		defer end()
		if !wait.until(ctx, missing) {
			return
		}
		klog.FromContext(ctx).Info("The cloud has a load balancer service now: Services of type LoadBalancer are served")
		if _, err := start(); err != nil {
			p.options.Stop(fmt.Errorf("start the service controller: %w", err))
		}
	}()
	return true, nil
}

// octaviaWait waits for a load balancer service, and reports that on the Services that wait.
type octaviaWait struct {
	find func(context.Context) error // Options.FindOctavia
	// informers returns those of the process, nil before SetInformers.
	informers func() informers.SharedInformerFactory
	metrics   *Metrics
	recorder  record.EventRecorder
	clock     clock.Clock
	// notified has the time of the last event of each Service that waits.
	notified map[types.UID]time.Time
}

// until returns true when there is a load balancer service, and false if the context ends first.
func (w *octaviaWait) until(ctx context.Context, missing error) bool {
	const advice = "Should the cloud have it, look at [Global] region and os-endpoint-type in cloud.conf; should it not, set [LoadBalancer] enabled=false, or lb-provider=router or port-forwarding"
	var logged time.Time
	w.metrics.octaviaMissing(true)
	defer w.metrics.octaviaMissing(false)
	for {
		if now := w.clock.Now(); !now.Before(logged.Add(octaviaReminder)) {
			klog.FromContext(ctx).Error(missing, "Services of type LoadBalancer wait for the cloud's load balancer service (Octavia). "+advice)
			logged = now
		}
		w.notify(ctx, fmt.Sprintf("Waiting for the cloud's load balancer service (Octavia): %v. %s", missing, advice))
		select {
		case <-ctx.Done():
			return false
		case <-w.clock.After(octaviaPollInterval):
		}
		if missing = w.find(ctx); missing == nil {
			return ctx.Err() == nil
		}
	}
}

// notify emits an event on each Service that waits for a load balancer or for the deletion
// of one, unless a recent event reported that.
func (w *octaviaWait) notify(ctx context.Context, message string) {
	factory := w.informers()
	if factory == nil || !cache.WaitForCacheSync(ctx.Done(), factory.Core().V1().Services().Informer().HasSynced) {
		return
	}
	services, err := factory.Core().V1().Services().Lister().List(labels.Everything())
	if err != nil {
		return // a lister of an informer has no errors
	}
	now, notified := w.clock.Now(), map[types.UID]time.Time{}
	for _, service := range services {
		if !waitsForOctavia(service) {
			continue
		}
		notified[service.UID] = w.notified[service.UID]
		if !now.Before(w.notified[service.UID].Add(octaviaReminder)) {
			reason.OctaviaNotFound.Emit(w.recorder, service, message)
			notified[service.UID] = now
		}
	}
	w.notified = notified
}

// waitsForOctavia reports whether a load balancer must be created or deleted for a Service.
func waitsForOctavia(service *v1.Service) bool {
	return cluster.IsOurs(service) && (service.DeletionTimestamp != nil || len(service.Status.LoadBalancer.Ingress) == 0)
}
