package goal

import (
	"context"
	"errors"
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Endpoints returns the endpoints of a Service, and whether they are watched. Pending is set if they
// will be known soon: then the other results are not valid.
type Endpoints func(svc *v1.Service) (endpoints members.Endpoints, watch settings.Watch, pending bool)

// errUnread is the error of a preview without endpoints: without them, other members would be shown.
var errUnread = errors.New("the EndpointSlices of the Service cannot be read")

// endpointsPoll is the interval between two looks at endpoints that are pending.
const endpointsPoll = 500 * time.Millisecond

// endpoints returns the endpoints of a Service if its members may follow them, and sets in its
// settings whether they are watched.
func (e *Engine) endpoints(ctx context.Context, svc *v1.Service, s *settings.Settings) (members.Endpoints, error) {
	if !s.MayFollowEndpoints() {
		return nil, nil
	}
	return e.watched(ctx, svc, s)
}

// watched is endpoints for any settings.
func (e *Engine) watched(ctx context.Context, svc *v1.Service, s *settings.Settings) (members.Endpoints, error) {
	if e.Endpoints == nil {
		return nil, nil
	}
	for {
		endpoints, watch, pending := e.Endpoints(svc)
		switch {
		case pending:
		case watch == settings.Unreadable:
			return nil, errUnread
		default:
			s.Members.Watch = watch
			return endpoints, nil
		}
		if err := async.Sleep(ctx, e.Cloud.Clock, telemetry.Queue, "endpoints", endpointsPoll); err != nil {
			return nil, err
		}
	}
}

// locate sets in the settings of a Service the range of the members' addresses. An unknown subnet has
// none.
func (e *Engine) locate(ctx context.Context, s *settings.Settings) error {
	if !s.Members.BySubnet || s.Members.SubnetID == "" {
		return nil
	}
	cidr, err := e.Cloud.Lookup.SubnetCIDR(ctx, s.Members.SubnetID)
	if err != nil || cidr == "" {
		return err
	}
	s.Members.Within, err = netip.ParsePrefix(cidr)
	return err
}

// Outdated reports whether the endpoints of a Service, or the state of their watch, have changed so that
// others may become members than with the inputs of its round.
func (e *Engine) Outdated(svc *v1.Service, in Inputs) bool {
	if e.Endpoints == nil || !in.Settings.MayFollowEndpoints() {
		return false
	}
	now, watch, pending := e.Endpoints(svc)
	change, pods := members.ChangeOf(in.Endpoints, now)
	if in.Settings.ByPods() {
		change = pods
	}
	return !pending && (watch != in.Settings.Members.Watch || change.Members)
}

// members returns the members of each port, for settings on a load balancer with a driver.
func (in Inputs) members(s *settings.Settings, drv driver.Driver) members.Followed {
	if s.ByPods() {
		return in.Members.Pods(s, in.Endpoints, drv.Quirks.CutsRemoved)
	}
	if !s.FollowsEndpoints(drv) {
		return members.Followed{Ports: in.Members.InAll(s), Forbidden: s.LacksEndpoints(drv)}
	}
	return in.Members.Follow(s, in.Endpoints, drv.Quirks.CutsRemoved)
}
