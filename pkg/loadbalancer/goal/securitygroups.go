package goal

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// The security groups of the nodes are planned together with the load balancer, opened before it
// changes, and closed after it.

// groups has the stages for the security groups of nodes.
type groups struct {
	cloud   NodeGroups
	planner *planner
}

// specOf returns the specification of the nodes' security groups for a desired load balancer; nil if
// this controller does not manage them.
func specOf(in Inputs, want *Desired) *securitygroup.Spec {
	if !managesGroups(in) {
		return nil
	}
	return specOn(in, want.LoadBalancer, want)
}

// managesGroups reports whether this controller manages the nodes' security groups for a Service.
func managesGroups(in Inputs) bool { return in.Settings.ManagesGroups() }

// specOn is specOf for another load balancer with the desired members.
func specOn(in Inputs, lb *model.LoadBalancer, want *Desired) *securitygroup.Spec {
	s := want.Settings
	nodes := in.serving(want.Followed.Ports, s.Families())
	options := securitygroup.Options{
		Mode:       s.Access.SecurityGroupMode,
		Direct:     want.Facts.Driver.Quirks.PreservesClientIP,
		Clients:    s.Access.SourceRanges,
		IPv6:       s.Family == v1.IPv6Protocol,
		DualStack:  s.Second != "",
		HealthPort: s.Traffic.HealthCheckNodePort,
		Members:    make([]securitygroup.Node, 0, len(nodes)),
	}
	at := map[string]int{} // index of a node in options.Members
	for _, b := range nodes {
		if i, is := at[b.Node.Name]; is { // with its other address
			options.Members[i].Addresses = append(options.Members[i].Addresses, b.Address)
			continue
		}
		at[b.Node.Name] = len(options.Members)
		options.Members = append(options.Members, groupNode(b.Node, []string{b.Address}, b.Older))
	}
	if options.Mode == securitygroup.Shared {
		for _, node := range members.InLoadBalancers(in.Nodes) {
			options.Others = append(options.Others, groupNode(node, addressesOf(node), nil))
		}
	}
	slices.SortFunc(options.Others, func(a, b securitygroup.Node) int { return strings.Compare(a.Name, b.Name) })
	return securitygroup.SpecOf(lb, options)
}

// groupNode returns a node with its own addresses. Its system UUID is the ID of its server: a
// recreated node may still have the provider ID of the previous server. Older are nodes with its
// address.
func groupNode(node *v1.Node, addresses []string, older []*v1.Node) securitygroup.Node {
	n := securitygroup.Node{Name: node.Name, Server: cluster.ServerID(node.Spec.ProviderID), Addresses: addresses}
	may := func(server string) {
		if server != "" && server != n.Server {
			n.OtherServers = append(n.OtherServers, server)
		}
	}
	if n.Server != "" {
		may(cluster.ServerID(node.Status.NodeInfo.SystemUUID))
		for _, other := range older {
			may(cluster.ServerID(other.Spec.ProviderID))
		}
	}
	return n
}

func addressesOf(node *v1.Node) []string {
	var all []string
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP {
			all = append(all, a.Address)
		}
	}
	return all
}

// specWhereMembersAre is specOf for members that stay in their subnets, even if the Service requests
// others for new members. If another load balancer may replace the current one, it has the subnets
// of both.
func (g *groups) specWhereMembersAre(in Inputs, have Observation, want *Desired) *securitygroup.Spec {
	spec, lb := specOf(in, want), have.LoadBalancer
	if spec == nil || lb == nil {
		return spec
	}
	desired, options := want.LoadBalancer, g.planner.options(in, lb, nil)
	if in.Settings.ByPods() { // the ports of pods that stay, which no setting has
		desired = plan.Hold(desired, *have.Observed, options)
	}
	stay := specOn(in, plan.KeepMembers(desired, lb, options), want)
	if in.Settings.LoadBalancer.AllowReplace || have.Outgoing != nil {
		stay.Subnets = append(stay.Subnets, spec.Subnets...)
		slices.Sort(stay.Subnets)
		stay.Subnets = slices.Compact(stay.Subnets)
	}
	return stay
}

// vipSubnet returns the subnet of the VIP, "" if the cloud will choose it.
func vipSubnet(have Observation, want *Desired) string {
	if lb := have.LoadBalancer; lb != nil {
		return lb.VIP.SubnetID
	}
	return want.LoadBalancer.VIP.SubnetID
}

// vipsOf returns the VIPs besides the first.
func vipsOf(have Observation, want *Desired) []model.AdditionalVIP {
	if lb := have.LoadBalancer; lb != nil {
		return lb.VIP.Additional
	}
	return want.LoadBalancer.VIP.Additional
}

// withVIPs adds the subnets of further VIPs to those from which the load balancer reaches its members.
func withVIPs(spec *securitygroup.Spec, vips []model.AdditionalVIP) *securitygroup.Spec {
	if spec == nil || len(vips) == 0 {
		return spec
	}
	with := *spec
	with.Subnets = slices.Clone(spec.Subnets)
	for _, vip := range vips {
		if vip.SubnetID != "" {
			with.Subnets = append(with.Subnets, vip.SubnetID)
		}
	}
	slices.Sort(with.Subnets)
	with.Subnets = slices.Compact(with.Subnets)
	return &with
}

// plan plans the security groups for a desired load balancer. Unread are the invalid settings
// of a refused Service, nil if it is not refused: such a Service keeps its current clients.
func (g *groups) plan(ctx context.Context, in Inputs, r Round, unread *settings.Unread) (SecurityGroups, error) {
	spec := withVIPs(g.specWhereMembersAre(in, r.Have, r.Want), vipsOf(r.Have, r.Want))
	published := in.Published.hasStatus()
	subnet := vipSubnet(r.Have, r.Want)
	task, err := g.cloud.Plan(ctx, securitygroup.Request{
		ID: in.ID, Spec: spec, VIPSubnet: subnet, Before: published && (spec != nil || !r.Recalled),
		Kept: unread != nil, Unread: unread != nil && unread.Ranges, NodesCurrent: in.NodesCurrent,
	})
	return SecurityGroups{task, subnet, r.Want.Settings.Second != ""}, err
}

// close completes plan after the load balancer has its desired state. It plans again if the cloud has chosen
// the subnet of the VIP, or a replacement has VIPs of other IP families.
func (g *groups) close(ctx context.Context, in Inputs, r Round, unread *settings.Unread) error {
	if r.Groups.VIPSubnet != r.Have.LoadBalancer.VIP.SubnetID || r.Groups.DualStack != (r.Want.Settings.Second != "") {
		var err error
		if r.Groups, err = g.plan(ctx, in, r, unread); err != nil {
			return err
		}
		if err := g.cloud.Open(ctx, r.Groups.Task); err != nil {
			return err
		}
	}
	return g.cloud.Close(ctx, r.Groups.Task)
}
