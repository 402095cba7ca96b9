package loadbalancer

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/providerid"
)

// hints are what is known of a Service's load balancer before the cloud is asked, given
// the one that the Service names.
func (r *Reconciler) hints(svc *v1.Service, named string) observe.Hints {
	hints := observe.Hints{
		LoadBalancerID: named,
		Remembered:     r.store.Get(svc.UID).Made.LoadBalancerID,
		Addresses:      publishedAddresses(svc),
		NamedAddresses: namedAddresses(svc),
		Place:          r.place,
	}
	if written, ok := writtenFor(svc); ok {
		hints.Written = written.LoadBalancerID
	}
	return hints
}

// place gives where load balancers of this cluster can be.
func (r *Reconciler) place(ctx context.Context) (ownership.Place, error) {
	conf := r.options.Config
	place := ownership.Place{Subnets: []string{conf.LoadBalancer.SubnetID}, Networks: []string{conf.LoadBalancer.NetworkID}}
	for _, class := range conf.LoadBalancerClass {
		place.Subnets, place.Networks = append(place.Subnets, class.SubnetID), append(place.Networks, class.NetworkID)
	}
	if r.options.Nodes == nil {
		return place, nil
	}
	nodes, err := r.options.Nodes(ctx)
	if err != nil {
		return place, fmt.Errorf("list nodes: %w", err)
	}
	var servers []string
	for _, node := range nodes {
		if server := providerid.Server(node.Spec.ProviderID); server != "" {
			servers = append(servers, server)
		}
	}
	subnets, err := r.facts.NodeSubnets(ctx, servers)
	place.Subnets = append(place.Subnets, subnets...)
	return place, err
}

// provenOwn tells whether a load balancer of a look is surely the Service's own: by its
// tags or, where cloud-provider-openstack made it, by its name and the annotation.
func (p *pass) provenOwn(lb snapshot.LoadBalancer) bool {
	switch p.id.Claim(lb.Tags, "") {
	case ownership.Ours:
		return true
	case ownership.Unclaimed:
		return lb.ID == p.settings.LoadBalancer.ID && slices.Contains(p.id.Names(), lb.Name)
	default:
		return false
	}
}
