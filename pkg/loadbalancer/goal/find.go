package goal

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Find returns the load balancers of a Service like a round that knows only the records. Named is
// the one that the Service names, "" for none. It only reads, takes no lock and does not wait; it
// uses only Config, Cluster, Lookup, Store, Records and the Observer of the engine. Found.As is
// always set. Errors are those of observe.Observer.Find.
func (e *Engine) Find(ctx context.Context, svc *v1.Service, named string) (observe.Found, error) {
	version, err := e.Lookup.Version(ctx)
	if err != nil {
		return observe.Found{}, err
	}
	id := e.Identity(settings.OwnerOf(svc), version)
	found, err := e.Cloud.Observer.Find(ctx, id, e.hints(svc, named))
	if len(found.LoadBalancers) == 0 {
		found.As = id
	}
	return found, err
}

// RecordedOn returns the load balancer in the record of a Service, "" for none.
func (e *Engine) RecordedOn(owner types.UID) string {
	written, ok := e.record(owner)
	if !ok {
		return ""
	}
	return written.LoadBalancerID
}

// Validate refuses settings that the provider cannot serve on the existing load balancer, nil for
// none. It reads nothing; the error is a *message.InvalidError.
func (e *Engine) Validate(asked *settings.Settings, id ownership.Identity, version model.Version, existing *model.LoadBalancer) error {
	can := e.driver(Inputs{Settings: asked, ID: id, Version: version}, existing)
	asked = asked.On(existing)
	if existing != nil {
		asked = asked.OnExisting(can)
	}
	return message.Invalid(asked.Validate(can))
}

// Unused returns the settings that the provider of the existing load balancer, nil for none, does
// not use. It reads nothing.
func (e *Engine) Unused(asked *settings.Settings, id ownership.Identity, version model.Version, existing *model.LoadBalancer) []annotation.Notice {
	can := e.driver(Inputs{Settings: asked, ID: id, Version: version}, existing)
	return asked.On(existing).Unused(can)
}
