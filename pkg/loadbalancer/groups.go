package loadbalancer

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/providerid"
)

// A pass has the security groups of the nodes beside the load balancer: they are
// planned when the load balancer is, opened before it changes, and closed when it is
// done.

// wish gives what the load balancer needs of the nodes' security groups; nil when
// they are not ours to manage.
func (p *pass) wish(desired *model.LoadBalancer) *securitygroup.Wish {
	if p.settings.Access.SecurityGroupMode == "" {
		return nil
	}
	options := securitygroup.Options{
		Mode:       p.settings.Access.SecurityGroupMode,
		Direct:     p.known.Driver.Quirks.PreservesClientIP,
		Clients:    p.settings.Access.SourceRanges,
		IPv6:       p.settings.Family == v1.IPv6Protocol,
		HealthPort: int(p.svc.Spec.HealthCheckNodePort),
	}
	for _, b := range p.backends {
		options.Members = append(options.Members, securitygroup.Node{
			Name: b.Node.Name, Server: providerid.Server(b.Node.Spec.ProviderID), Addresses: []string{b.Address},
		})
	}
	if options.Mode == securitygroup.Shared {
		for _, node := range p.all {
			options.Others = append(options.Others, securitygroup.Node{
				Name: node.Name, Server: providerid.Server(node.Spec.ProviderID), Addresses: addressesOf(node),
			})
		}
	}
	slices.SortFunc(options.Others, func(a, b securitygroup.Node) int { return strings.Compare(a.Name, b.Name) })
	return securitygroup.Read(desired, options)
}

// digest condenses what the Service asks for.
func (p *pass) digest(desired *model.LoadBalancer) string {
	return digestOf(desired, p.settings, p.wish(desired))
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

// groupsKept tells whether the security groups of a Service that asks for what was
// written down of it are as it needs them. All such Services share the requests.
func (p *pass) groupsKept(ctx context.Context, vipSubnet string) (bool, error) {
	wish := p.wish(p.wanted)
	if wish == nil {
		return true, nil
	}
	task, err := p.Reconciler.groups.Plan(ctx, securitygroup.Request{ID: p.id, Wish: wish, VIPSubnet: vipSubnet, Before: true})
	if err != nil || !task.Empty() {
		return false, err
	}
	return true, p.Reconciler.groups.Close(ctx, task)
}

// wishThere is the wish for members in the subnets that they stay in, whatever the
// Service says of new ones; also in those, where another load balancer may come.
func (p *pass) wishThere() *securitygroup.Wish {
	wish, lb := p.wish(p.wanted), p.observed.LoadBalancer
	if wish == nil || lb == nil {
		return wish
	}
	stay := p.wish(plan.KeepMembers(p.wanted, lb, p.planOptions(p.svc, p.settings, p.driver(p.observed))))
	if p.settings.LoadBalancer.AllowReplace || p.observed.Retiring != nil {
		stay.Subnets = append(stay.Subnets, wish.Subnets...)
		slices.Sort(stay.Subnets)
		stay.Subnets = slices.Compact(stay.Subnets)
	}
	return stay
}

// planGroups plans the security groups for the load balancer that was planned last.
func (p *pass) planGroups(ctx context.Context) error {
	wish := p.wishThere()
	published := len(p.svc.Status.LoadBalancer.Ingress) > 0
	p.vipSubnet = p.wanted.VIP.SubnetID
	if lb := p.observed.LoadBalancer; lb != nil {
		p.vipSubnet = lb.VIP.SubnetID
	}
	var err error
	p.groups, err = p.Reconciler.groups.Plan(ctx, securitygroup.Request{
		ID: p.id, Wish: wish, VIPSubnet: p.vipSubnet, Before: published && (wish != nil || p.cold),
		Kept: p.follows != nil, Unread: p.follows != nil && p.follows.unread.Ranges,
	})
	return err
}

// closeNodes ends what planGroups began, now that the load balancer is done.
func (p *pass) closeNodes(ctx context.Context) error {
	if p.vipSubnet != p.observed.LoadBalancer.VIP.SubnetID { // the cloud has chosen it
		if err := p.planGroups(ctx); err != nil {
			return err
		}
		if err := p.Reconciler.groups.Open(ctx, p.groups); err != nil {
			return err
		}
	}
	return p.Reconciler.groups.Close(ctx, p.groups)
}

// emitGroups emits what is going to change in the security groups, and which nodes they
// do not open.
func (p *pass) emitGroups() {
	p.events.PortsNotFound(p.svc, p.groups.Unfound, p.backends)
	summary := events.Summary(p.groups.Steps())
	if p.report.All() {
		p.events.DriftReported(p.svc, p.change(), summary)
		return
	}
	p.events.DriftReverted(p.svc, p.change(), summary)
	p.events.Changing(p.svc, summary)
}
