package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/reload"
)

// follow returns the function for Options.Follow. The session gets changes of [Global], apply gets
// the others.
func (c Connection) follow(session *openstack.Session) func(context.Context, func(*config.Config) error) {
	if c.Reread == nil {
		return nil
	}
	return func(ctx context.Context, apply func(*config.Config) error) {
		reload.New(reload.Options{
			Read: c.Reread, Config: c.Config, Files: session.Secured(), Session: session,
			Apply: func(conf *config.Config) error {
				err := apply(conf)
				for _, warning := range UnusedSettings(conf, c.CloudRoutes) {
					klog.FromContext(ctx).Info(warning.Text)
				}
				return err
			},
			About:    operatorEvents(),
			Recorder: message.LimitEvents(c.Recorder), Metrics: c.Metrics.forReload(), Clock: c.Clock,
		}).Run(ctx)
	}
}

// reconfigure applies another configuration to load balancers and syncs all Services. A Service
// that the change does not affect costs no request. A configuration with which Services would be
// refused is an error, and is not applied.
func (p *Provider) reconfigure(conf *config.Config) error {
	if err := wrongSettings(conf); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loadBalancers != nil {
		if err := p.loadBalancers.engine.Reconfigure(conf); err != nil {
			return err
		}
		if controller := p.loadBalancers.resync.Load(); controller != nil {
			controller.EnqueueAll()
		}
	}
	p.settings = conf
	return nil
}

// wrongSettings returns the settings that would prevent work on load balancers.
func wrongSettings(conf *config.Config) error {
	wrong := slices.Clone(conf.Refused.LoadBalancers)
	for _, name := range slices.Sorted(maps.Keys(conf.Refused.Classes)) {
		wrong = append(wrong, conf.Refused.Classes[name]...)
	}
	if _, err := annotation.Denied(conf.LoadBalancer.DenyAnnotations); err != nil {
		wrong = append(wrong, fmt.Errorf("[LoadBalancer] deny-annotations: %w", err))
	}
	return errors.Join(wrong...)
}
