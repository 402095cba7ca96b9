package status

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// NextHop is a node to which the router sends the packets for a VIP of provider router.
type NextHop struct {
	// Node is the one with the address, "" for none.
	Node    string `json:"node,omitempty"`
	Address string `json:"address"`
}

// readVIPs reads the VIPs of provider router, of all Services. A failure becomes a note.
func (rd *round) readVIPs(ctx context.Context) {
	id := rd.cluster.id
	if rd.options.Config.LoadBalancer.RouterVIPNetworkID == "" || id == "" {
		return
	}
	rd.options.Progress("Reading VIPs of provider router")
	all, err := rd.vips.All(ctx, ownership.ClusterTag(id))
	if err != nil {
		rd.notes = append(rd.notes, "the VIPs of provider router are not known: "+err.Error())
	}
	rd.routed = all
}

// listForwarded returns the floating IPs with port forwardings of the project. They are read once, at the first call. A failure
// becomes a note.
func (rd *round) listForwarded(ctx context.Context) []neutron.ForwardedIP {
	if rd.forwardedRead {
		return rd.forwarded
	}
	rd.options.Progress("Reading port forwardings")
	rd.forwardedRead = true
	var err error
	if rd.forwarded, err = rd.options.Session.Neutron().ForwardedIPs(ctx); err != nil {
		rd.notes = append(rd.notes, "the port forwardings are not known: "+err.Error())
	}
	return rd.forwarded
}

// isRouted reports whether a Service has a VIP of provider router, or requests the provider router or port-forwarding.
func (rd *round) isRouted(svc *v1.Service) bool {
	return len(rd.routed[svc.UID]) > 0 || rd.parser.Routed(svc)
}

// needsOctavia reports whether a Service has another provider than router and port-forwarding.
func (rd *round) needsOctavia() bool {
	for i := range rd.cluster.services {
		if !rd.isRouted(&rd.cluster.services[i]) {
			return true
		}
	}
	return len(rd.cluster.services) == 0
}

// balancers returns the load balancers of a Service without Octavia, the one that serves it first, and the requests for
// its floating IP. Which one that is depends on the published address: a refused Service keeps that of another provider.
// Port forwardings are read only for a Service that requests them, or has a published address and no VIP.
func (rd *round) balancers(ctx context.Context, svc *v1.Service, published []string) ([]model.LoadBalancer, neutron.FloatingIPFilter, error) {
	vips := rd.routed[svc.UID]
	at, asks := router.Published(vips, published), rd.parser.Forwarded(svc)
	if asks || at < 0 && len(published) > 0 {
		lb, err := rd.forwardedBalancer(ctx, svc, published)
		if err != nil {
			return nil, neutron.FloatingIPFilter{}, err
		}
		if lb != nil && (asks || len(lb.Forwardings) > 0) {
			return []model.LoadBalancer{*lb}, neutron.FloatingIPFilter{IDs: []string{lb.ID}}, nil
		}
	}
	if at < 0 {
		return nil, neutron.FloatingIPFilter{}, nil
	}
	vips[0], vips[at] = vips[at], vips[0]
	return vips, neutron.FloatingIPFilter{PortID: vips[0].VIP.PortID}, nil
}

// forwardedBalancer returns the published floating IP with port forwardings, else one of the Service; nil for none. It
// reads which port forwardings are the Service's: there may be none.
func (rd *round) forwardedBalancer(ctx context.Context, svc *v1.Service, published []string) (*model.LoadBalancer, error) {
	id, all := rd.identity(svc), rd.listForwarded(ctx)
	at := slices.IndexFunc(all, func(fip neutron.ForwardedIP) bool { return slices.Contains(published, fip.Address) })
	if at < 0 {
		at = slices.IndexFunc(all, func(fip neutron.ForwardedIP) bool { return id.FloatingIPs().Own(fip.Description) })
	}
	if at < 0 {
		return nil, nil
	}
	has, err := rd.forwardings.Of(ctx, id, all[at].ID)
	return &model.LoadBalancer{
		ID: all[at].ID, Name: all[at].Address, Provider: driver.PortForwarding, NextHops: model.Targets(has), Forwardings: has,
		Status: model.Status{Provisioning: model.StatusActive},
	}, err
}

// identity returns the identity of a Service for a provider without Octavia.
func (rd *round) identity(svc *v1.Service) ownership.Identity {
	return rd.finder.Cluster.Identity(settings.OwnerOf(svc), driver.VersionTags)
}

// heldWithoutOctavia finds a Service's load balancer without Octavia. It sends no request to Octavia.
func (rd *round) heldWithoutOctavia(ctx context.Context, svc *v1.Service, published []string) (held, error) {
	have := held{found: observe.Found{As: rd.identity(svc)}}
	all, filter, err := rd.balancers(ctx, svc, published)
	if err != nil || len(all) == 0 {
		return have, err
	}
	floating, err := rd.options.Session.Neutron().FloatingIPs(ctx, filter)
	if err != nil {
		return have, err
	}
	have.balancer, have.further = loadBalancerOf(&all[0], time.Time{}, floating), len(all)-1
	for _, hop := range all[0].NextHops {
		have.balancer.NextHops = append(have.balancer.NextHops, NextHop{Node: rd.cluster.names[hop], Address: hop})
	}
	return have, nil
}

// judgeRoutes is about the routes to a VIP of provider router.
func (e evidence) judgeRoutes(found *verdicts) {
	if e.balancer.Provider == driver.PortForwarding {
		e.judgeForwardings(found)
		return
	}
	if len(e.balancer.NextHops) == 0 {
		found.add(Failed, nil, "no route leads to the VIP")
	}
	for _, hop := range e.balancer.NextHops {
		if hop.Node == "" {
			found.add(Degraded, nil, "the route to the VIP leads to %s, which is not known as a node", hop.Address)
		}
	}
}

// judgeForwardings is about the port forwardings of a floating IP.
func (e evidence) judgeForwardings(found *verdicts) {
	for _, port := range e.service.Spec.Ports {
		if key := fmt.Sprintf("%s/%d", port.Protocol, port.Port); !slices.Contains(e.balancer.ForwardedPorts, key) {
			found.add(Failed, nil, "port %s is not forwarded", key)
		}
	}
	for _, hop := range e.balancer.NextHops {
		if hop.Node == "" {
			found.add(Degraded, nil, "ports are forwarded to %s, which is not known as a node", hop.Address)
		}
	}
}
