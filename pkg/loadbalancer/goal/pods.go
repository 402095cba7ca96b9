package goal

import (
	"context"
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
// is a refusal if there are no pods, or one cannot be reached, or the Service requests a monitor that would take all of them
// out of service.
func (p *planner) placePods(ctx context.Context, in Inputs, s *settings.Settings, existing *model.LoadBalancer, want *Desired) (*settings.Settings, error) {
	if want.Followed.Placeless {
		return s, message.Invalid(field.ErrorList{field.Forbidden(annotation.Path(annotation.Members),
			"there are no pods: no endpoint of the Service has a node or one of its ports, as of a gateway that answers on every node: set it to "+annotation.MembersNodes)})
	}
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
	want.Facts.MemberSubnetID, want.Facts.MemberSubnets, want.Facts.OtherSubnetID = "", reach.Subnets, ""
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
		Addresses: ports.Addresses(), VIP: vip, Driver: drv, Nodes: in.serving(ports, in.Settings.Families()), Networks: p.config.LoadBalancer.PodPrefixes(),
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

// usePresentMode sets nodes as members in the settings of a refused Service if these are the members of
// the load balancer, or pods: the mode may be the refused change. Nodes are chosen as in the last state that was
// completely applied, or by the default if that is unknown.
func (k *Kept) usePresentMode(ctx context.Context, lb *model.LoadBalancer) error {
	pods, known := k.planner.hasPods(k.in, lb)
	if !known || pods == k.in.Settings.ByPods() {
		return nil
	}
	mode := annotation.MembersPods
	if !pods {
		mode = k.nodesMode
	}
	present := k.in.Settings.WithMembers(mode)
	selected, err := k.choose(ctx, present)
	if err != nil {
		return err
	}
	k.in.Settings, k.in.Members = present, selected
	return nil
}

// hasPods reports whether pods are the members of a load balancer, as they were in the last state that was
// applied or, if that is unknown, by the members: those of the first port that has some, if a change of the
// mode was interrupted. It is not known of pools without members.
func (p *planner) hasPods(in Inputs, lb *model.LoadBalancer) (pods, known bool) {
	if pods, known := p.appliedPods(in, lb); known {
		return pods, true
	}
	for _, port := range in.Settings.Traffic.Ports {
		has := in.membersAt(lb, port)
		if has.nodes || has.pods {
			return !has.nodes, true
		}
		known = known || has.others
	}
	return false, known
}

// leavesPods reports whether pods are members of any pool, or were in the last state that was applied.
func (p *planner) leavesPods(in Inputs, lb *model.LoadBalancer) bool {
	if pods, known := p.appliedPods(in, lb); known {
		return pods
	}
	return slices.ContainsFunc(in.Settings.Traffic.Ports, func(port v1.ServicePort) bool { return in.membersAt(lb, port).pods })
}

// appliedPods reports whether pods were the members in the last state that was applied to a load balancer.
func (p *planner) appliedPods(in Inputs, lb *model.LoadBalancer) (pods, known bool) {
	applied := p.memory.Store.Get(in.Owner.UID).Applied
	if applied == nil || applied.LoadBalancer.ID != lb.ID {
		return false, false
	}
	return applied.LoadBalancer.Pods, true
}

// presentMembers are the kinds of members that a pool has. Others are nodes at another port than the
// NodePort, or former pods of the nodes' network.
type presentMembers struct{ nodes, pods, others bool }

// membersAt returns the members of a port by their names, addresses and ports.
func (in Inputs) membersAt(lb *model.LoadBalancer, port v1.ServicePort) (has presentMembers) {
	l := lb.Listener(model.ListenerKey{Transport: model.Protocol(port.Protocol), Port: int(port.Port)})
	if l == nil {
		return has
	}
	nodes := map[string][]string{} // addresses by name
	for _, node := range in.Nodes {
		nodes[node.Name] = addressesOf(node)
	}
	for _, m := range l.Pool.Members.All() {
		addresses, is := nodes[m.Name]
		switch {
		case port.NodePort != 0 && m.Port == int(port.NodePort):
			has.nodes = true
		case is && !slices.Contains(addresses, m.Address), !is && m.Name == m.Address, in.Endpoints.Targets(in.Settings.Family, port.Name, m.Port):
			has.pods = true
		default:
			has.others = true
		}
	}
	return has
}
