package status

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
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

// isRouted reports whether a Service has a VIP of provider router, or requests one.
func (rd *round) isRouted(svc *v1.Service) bool {
	return len(rd.routed[svc.UID]) > 0 || rd.parser.Routed(svc)
}

// needsOctavia reports whether a Service has another provider than router.
func (rd *round) needsOctavia() bool {
	for i := range rd.cluster.services {
		if !rd.isRouted(&rd.cluster.services[i]) {
			return true
		}
	}
	return len(rd.cluster.services) == 0
}

// serviceOnRouter completes the status of a Service with provider router. It sends no request to Octavia.
func (rd *round) serviceOnRouter(ctx context.Context, svc *v1.Service, asked *settings.Settings, ignored []annotation.Notice, errs field.ErrorList, read *Service) error {
	have := held{found: observe.Found{As: rd.finder.Cluster.Identity(settings.OwnerOf(svc), driver.VersionTags)}}
	vips := rd.routed[svc.UID]
	if at := router.Published(vips, read.Addresses); at >= 0 {
		floating, err := rd.options.Session.Neutron().FloatingIPs(ctx, neutron.FloatingIPFilter{PortID: vips[at].VIP.PortID})
		if err != nil {
			return err
		}
		have.balancer = loadBalancerOf(&vips[at], time.Time{}, floating)
		for _, hop := range vips[at].NextHops {
			have.balancer.NextHops = append(have.balancer.NextHops, NextHop{Node: rd.cluster.names[hop], Address: hop})
		}
	}
	if rd.detailed {
		var err error
		if read.SecurityGroups, err = rd.securityGroups(ctx, have); err != nil {
			return err
		}
	}
	can := rd.drivers.For(driver.Router, driver.VersionTags)
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
		service: svc, refused: refused, ignored: ignored, balancer: have.balancer, further: max(len(vips)-1, 0),
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
	if len(e.balancer.NextHops) == 0 {
		found.add(Failed, nil, "no route leads to the VIP")
	}
	for _, hop := range e.balancer.NextHops {
		if hop.Node == "" {
			found.add(Degraded, nil, "the route to the VIP leads to %s, which is not known as a node", hop.Address)
		}
	}
}
