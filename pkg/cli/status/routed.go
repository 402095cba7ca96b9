package status

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
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

// readForwardings reads the floating IPs with port forwardings if a Service requests them. A failure becomes a note.
func (rd *round) readForwardings(ctx context.Context) {
	if !slices.ContainsFunc(rd.cluster.services, func(svc v1.Service) bool { return rd.parser.Forwarded(&svc) }) {
		return
	}
	rd.options.Progress("Reading port forwardings")
	var err error
	if rd.forwarded, err = rd.options.Session.Neutron().ForwardedIPs(ctx); err != nil {
		rd.notes = append(rd.notes, "the port forwardings are not known: "+err.Error())
	}
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
// its floating IP. It reads which port forwardings are the Service's.
func (rd *round) balancers(ctx context.Context, svc *v1.Service, read *Service) ([]model.LoadBalancer, neutron.FloatingIPFilter, error) {
	if !rd.parser.Forwarded(svc) {
		vips := rd.routed[svc.UID]
		at := router.Published(vips, read.Addresses)
		if at < 0 {
			return nil, neutron.FloatingIPFilter{}, nil
		}
		vips[0], vips[at] = vips[at], vips[0]
		return vips, neutron.FloatingIPFilter{PortID: vips[0].VIP.PortID}, nil
	}
	id := rd.finder.Cluster.Identity(settings.OwnerOf(svc), driver.VersionTags)
	for _, fip := range rd.forwarded {
		if slices.Contains(read.Addresses, fip.Address) || len(read.Addresses) == 0 && id.OwnsFloatingIP(fip.Description) {
			has, err := rd.forwardings.Of(ctx, id, fip.ID)
			return []model.LoadBalancer{{
				ID: fip.ID, Name: fip.Address, Provider: driver.PortForwarding, NextHops: model.Targets(has), Forwardings: has,
				Status: model.Status{Provisioning: model.StatusActive},
			}}, neutron.FloatingIPFilter{IDs: []string{fip.ID}}, err
		}
	}
	return nil, neutron.FloatingIPFilter{}, nil
}

// serviceOnRouter completes the status of a Service with provider router or port-forwarding. It sends no request to Octavia.
func (rd *round) serviceOnRouter(ctx context.Context, svc *v1.Service, asked *settings.Settings, ignored []annotation.Notice, errs field.ErrorList, read *Service) error {
	have := held{found: observe.Found{As: rd.finder.Cluster.Identity(settings.OwnerOf(svc), driver.VersionTags)}}
	all, filter, err := rd.balancers(ctx, svc, read)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		floating, err := rd.options.Session.Neutron().FloatingIPs(ctx, filter)
		if err != nil {
			return err
		}
		have.balancer = loadBalancerOf(&all[0], time.Time{}, floating)
		for _, hop := range all[0].NextHops {
			have.balancer.NextHops = append(have.balancer.NextHops, NextHop{Node: rd.cluster.names[hop], Address: hop})
		}
	}
	if rd.detailed {
		if read.SecurityGroups, err = rd.securityGroups(ctx, have); err != nil {
			return err
		}
	}
	provider := driver.Router
	if rd.parser.Forwarded(svc) {
		provider = driver.PortForwarding
	}
	can := rd.drivers.For(provider, driver.VersionTags)
	invalid := message.Invalid(errs)
	if invalid == nil {
		invalid, ignored = message.Invalid(asked.Validate(can)), append(ignored, asked.Unused(can)...)
	}
	var refused []string
	if invalid != nil {
		refused = append(refused, invalid.Error())
	}
	read.LoadBalancer = have.balancer
	rd.judge(read, evidence{
		service: svc, refused: refused, ignored: ignored, balancer: have.balancer, further: max(len(all)-1, 0),
		conditions: read.Conditions, lastError: read.LastError,
	})
	return nil
}

// judge sets the problems and the state of a Service.
func (rd *round) judge(read *Service, by evidence) {
	read.Problems, read.State = by.judge(), Good
	if len(read.Problems) > 0 {
		read.State = read.Problems[0].State
	}
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
