package goal

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
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

// Candidates has the inputs for the members of Services: nodes, and endpoints that members may follow.
type Candidates struct {
	read     Endpoints
	selector *members.Selector
	lookup   *lookup.Reader
	clock    clock.WithDelayedExecution
}

// endpoints returns the endpoints of a Service if its members may follow them, and sets in its
// settings whether they are watched.
func (c *Candidates) endpoints(ctx context.Context, svc *v1.Service, s *settings.Settings) (members.Endpoints, error) {
	if !s.MayFollowEndpoints() {
		return nil, nil
	}
	return c.watched(ctx, svc, s)
}

// watched is endpoints for any settings.
func (c *Candidates) watched(ctx context.Context, svc *v1.Service, s *settings.Settings) (members.Endpoints, error) {
	if c.read == nil {
		return nil, nil
	}
	for {
		endpoints, watch, pending := c.read(svc)
		switch {
		case pending:
		case watch == settings.Unreadable:
			return nil, errUnread
		default:
			s.Members.Watch = watch
			return endpoints, nil
		}
		if err := async.Sleep(ctx, c.clock, telemetry.Queue, "endpoints", endpointsPoll); err != nil {
			return nil, err
		}
	}
}

// choose returns the nodes that become members of a Service, and sets the range of their addresses in its
// settings. The error is that of the read of the range, or of members.Selector.
func (c *Candidates) choose(ctx context.Context, s *settings.Settings, nodes []*v1.Node) (*members.Set, error) {
	if err := c.locate(ctx, s); err != nil {
		return nil, err
	}
	return c.selector.Select(s, nodes)
}

// locate sets in the settings of a Service the ranges of the members' addresses. The error is that of lookup.Reader.Range.
func (c *Candidates) locate(ctx context.Context, s *settings.Settings) error {
	s.Members.Within = nil
	if !s.Members.BySubnet || s.Members.SubnetID == "" {
		return nil
	}
	within, askedBy := map[v1.IPFamily]netip.Prefix{}, s.Origins().Of(annotation.MemberSubnetID).Name
	for _, family := range []v1.IPFamily{s.Family, s.Dual.Second} {
		if family == "" {
			continue
		}
		var err error
		if within[family], err = c.lookup.Range(ctx, s.Members.SubnetID, family, askedBy); err != nil {
			return err
		}
	}
	s.Members.Within = within
	return nil
}

// Outdated reports whether the endpoints of a Service, or the state of their watch, have changed so that
// others may become members than with the inputs of its round.
func (c *Candidates) Outdated(svc *v1.Service, in Inputs) bool {
	if c.read == nil || !in.Settings.MayFollowEndpoints() {
		return false
	}
	now, watch, pending := c.read(svc)
	changes := members.ChangeOf(in.Endpoints, now)
	change := changes.Nodes
	switch {
	case in.Settings.ByPods():
		change = changes.Pods
	case in.Settings.Members.Counts():
		change = changes.Weighed
	}
	return !pending && (watch != in.Settings.Members.Watch || change.Members)
}

// members returns the members of each port, for settings on a load balancer with a driver.
func (in Inputs) members(s *settings.Settings, drv driver.Driver) members.Followed {
	first := in.membersOf(in.Members, s, drv)
	if s.Second == "" || in.Second == nil {
		return first
	}
	second := in.membersOf(in.Second, s.InSecond(), drv)
	return first.With(second, len(s.Traffic.Ports), func(i int) bool { return slices.Contains(drv.SameFamily, s.Traffic.Ports[i].Protocol) })
}

func (in Inputs) membersOf(all *members.Set, s *settings.Settings, drv driver.Driver) members.Followed {
	if s.ByPods() {
		return all.Pods(s, in.Endpoints, drv.Quirks.CutsRemoved)
	}
	if !s.For(drv).FollowsEndpoints() {
		return members.Followed{Ports: all.InAll(s), Forbidden: s.For(drv).LacksEndpoints()}
	}
	return all.Follow(s, in.Endpoints, drv.Quirks.CutsRemoved)
}

// serving returns the nodes of members in some IP families, each with its address of each family.
func (in Inputs) serving(ports members.Ports, families []v1.IPFamily) []members.Backend {
	first := in.Members.Serving(ports)
	if len(families) < 2 || in.Second == nil {
		return first
	}
	return slices.Concat(first, in.Second.Serving(ports))
}

// second selects the nodes with addresses of the second IP family that the Service requests; nil for none.
func (c *Candidates) second(s *settings.Settings, nodes []*v1.Node) *members.Set {
	if s.Dual.Second == "" {
		return nil
	}
	selected, err := c.selector.Select(s.InSecond(), nodes)
	if err != nil { // no node has such an address: the members are of the first family
		return new(members.Set)
	}
	return selected
}
