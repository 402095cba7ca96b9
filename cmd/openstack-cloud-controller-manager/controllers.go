package main

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// controllers returns those of k8s.io/cloud-provider. The service controller starts when the cloud
// has a load balancer service, for which it would only look once. It gets no events of nodes and of
// our own writes, and emits no events for a Service that waits.
func (p *process) controllers() map[string]app.ControllerInitFuncConstructor {
	all := maps.Clone(app.DefaultInitFuncConstructors)
	services := all[names.ServiceLBController]
	construct := services.Constructor
	services.Constructor = func(initial app.ControllerInitContext, completed *appconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
		start := construct(initial, p.forServices(completed), cloud)
		return func(ctx context.Context, shared controllermanager.ControllerContext) (controller.Interface, bool, error) {
			enabled, err := p.provider.Load().StartServices(func() (bool, error) { //nolint:contextcheck // it ends with the process, as all calls of the provider
				_, enabled, err := start(ctx, shared) // it has no health check of its own
				return enabled, err
			})
			return nil, enabled, err
		}
	}
	all[names.ServiceLBController] = services
	return all
}

func (p *process) forServices(completed *appconfig.CompletedConfig) *appconfig.CompletedConfig {
	changed := *completed.Config
	p.serviceCalls.written = func(before, now *v1.Service) bool { return p.provider.Load().IsWritten(before, now) }
	changed.SharedInformers = serviceInformers{changed.SharedInformers, &p.serviceCalls}
	changed.ClientBuilder = eventBuilder{
		ControllerClientBuilder: changed.ClientBuilder,
		events:                  &serviceEvents{untouched: func(service types.UID) bool { return p.provider.Load().Untouched(service) }},
		sink:                    p.events,
	}
	return changed.Complete()
}
