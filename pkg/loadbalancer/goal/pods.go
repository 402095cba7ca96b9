package goal

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Pods as members. They are refused before the first write if one of them cannot be reached. Then the
// load balancer is kept: with its nodes if these were the members, else with the pods that can be reached.

// placePods sets the subnets of pods in the facts, and returns the settings that apply to them. The error
// is a refusal if one cannot be reached, or the Service requests a monitor that would take all of them
// out of service.
func (p *planner) placePods(ctx context.Context, in Inputs, s *settings.Settings, existing *model.LoadBalancer, want *Desired) (*settings.Settings, error) {
	vip := model.VIP{SubnetID: want.Facts.VIPSubnetID, NetworkID: want.Facts.VIPNetworkID}
	if existing != nil {
		vip = existing.VIP
	}
	reach, err := p.reach(ctx, in, vip, want.Facts.Driver, want.Followed.Ports)
	if err == nil {
		err = reach.Unreachable()
	}
	if err != nil {
		return s, err
	}
	want.Facts.MemberSubnetID, want.Facts.MemberSubnets = "", reach.Subnets
	if !reach.Routed || !want.Facts.Driver.Quirks.MonitorsNeedPorts || !s.Monitor.Enabled {
		return s, nil
	}
	why := "on provider " + want.Facts.Driver.Name + " a health monitor needs a Neutron port of the pod's address, and pods behind routes would get no traffic"
	if s.Monitor.Asked {
		return s, message.Invalid(field.ErrorList{field.Forbidden(annotation.Path(annotation.Monitor),
			why+": set "+annotation.Members+": "+annotation.MembersEndpointNodes+", or switch the monitor off")})
	}
	want.Facts.Ignored = append(want.Facts.Ignored, annotation.Notice{Annotation: annotation.Members, Message: "there are no health monitors, although create-monitor is set: " + why})
	return s.WithoutMonitors(), nil
}

func (p *planner) reach(ctx context.Context, in Inputs, vip model.VIP, drv driver.Driver, ports members.Ports) (lookup.Reach, error) {
	pods := lookup.Pods{
		Addresses: ports.Addresses(), VIP: vip, Driver: drv, Nodes: in.Members.Serving(ports), Networks: p.config.LoadBalancer.PodPrefixes(),
		OnNodes: managesGroups(in) && len(in.Settings.Access.SourceRanges) > 0 && !drv.Supports(driver.SourceRanges),
	}
	if len(pods.Addresses) == 0 {
		return lookup.Reach{}, nil
	}
	var err error
	if pods.NodeSubnets, err = p.lookup.MemberSubnets(ctx, pods.Nodes); err != nil {
		return lookup.Reach{}, err
	}
	return p.lookup.Reach(ctx, pods)
}

// keptPods returns the members of a refused Service that requests pods, and their subnets.
func (k *Kept) keptPods(ctx context.Context, lb *model.LoadBalancer, drv driver.Driver) (members.Ports, map[string]string, error) {
	if k.servesNodes() {
		subnets, err := k.lookup.MemberSubnets(ctx, k.in.Members.Backends)
		return k.in.Members.InAll(k.in.Settings), subnets, err
	}
	ports := k.in.members(k.in.Settings, drv).Ports
	reach, err := k.planner.reach(ctx, k.in, lb.VIP, drv, ports)
	return ports.Without(slices.Collect(maps.Keys(reach.Missing))), reach.Subnets, err
}

// servesNodes reports whether NodePorts of nodes are the members of the load balancer to keep.
func (k *Kept) servesNodes() bool {
	return slices.ContainsFunc(k.in.Settings.Traffic.Ports, func(port v1.ServicePort) bool {
		l := k.like.Listener(model.ListenerKey{Transport: model.Protocol(port.Protocol), Port: int(port.Port)})
		return port.NodePort != 0 && l != nil && slices.ContainsFunc(k.in.Members.Backends, func(b members.Backend) bool {
			_, is := l.Pool.Members.Find(model.MemberKey{Address: b.Address, Port: int(port.NodePort)})
			return is
		})
	})
}
