package goal

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Published is what a Service shows of its load balancer: in its status, which only a controller
// writes, and in the annotations that this controller writes.
type Published struct {
	Status v1.LoadBalancerStatus
	// LoadBalancerID and Address are annotations that a user can write too.
	LoadBalancerID, Address string
	// Place is the load balancer that this controller has written for this very Service, "" for
	// none. Share is the name by which the Service shared it then.
	Place, Share string
	// Created is the time of creation of the Service, zero if unknown.
	Created time.Time
	// NodePorts are those of the Service: port forwardings to them may be its own.
	NodePorts []int
}

// PublishedOf returns what a Service shows of its load balancer.
func PublishedOf(svc *v1.Service) Published {
	place, share := annotation.WrittenPlace(svc)
	var nodePorts []int
	for _, port := range svc.Spec.Ports {
		if port.NodePort != 0 {
			nodePorts = append(nodePorts, int(port.NodePort))
		}
	}
	return Published{
		Status: svc.Status.LoadBalancer, LoadBalancerID: svc.Annotations[annotation.LoadBalancerID],
		Address: svc.Annotations[annotation.LoadBalancerAddress], Place: place, Share: share, Created: svc.CreationTimestamp.Time,
		NodePorts: nodePorts,
	}
}

// ObjectOf returns a Service as the object of events.
func ObjectOf(svc *v1.Service) events.Object { return PublishedOf(svc).object(settings.OwnerOf(svc)) }

func (p Published) object(owner model.Owner) events.Object {
	object := events.Object{Owner: owner, LoadBalancerID: p.Place}
	if p.hasStatus() {
		object.Address = cmp.Or(p.Status.Ingress[0].IP, p.Status.Ingress[0].Hostname)
	}
	return object
}

// hasStatus reports whether the Service has a status.
func (p Published) hasStatus() bool { return len(p.Status.Ingress) > 0 }

// Unserved returns the time of creation of a Service without a status, zero if it has one.
func (p Published) Unserved() time.Time {
	if p.hasStatus() {
		return time.Time{}
	}
	return p.Created
}

// addresses returns the addresses in the status.
func (p Published) addresses() []string {
	var addresses []string
	for _, ingress := range p.Status.Ingress {
		if ingress.IP != "" {
			addresses = append(addresses, ingress.IP)
		}
	}
	return addresses
}

// named returns the addresses in host names of the status, such as 203.0.113.7.nip.io. They prove
// nothing: the annotation hostname can request any name.
func (p Published) named() []string {
	var addresses []string
	for _, ingress := range p.Status.Ingress {
		if address, ok := addressIn(ingress.Hostname); ok {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// first returns the first address in the status, also from a host name; "" if there is none.
func (p Published) first() string {
	for _, address := range append(p.addresses(), p.named()...) {
		return address
	}
	return ""
}

// servedAt returns the address that clients use: of the status, else of the annotation; "" if
// unknown.
func (p Published) servedAt() string { return cmp.Or(p.first(), p.Address) }

// served returns the address that clients use, and the further ones in the status.
func (p Published) served() []string {
	addresses := []string{p.servedAt()}
	for _, address := range p.addresses() {
		if !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// shows reports whether the status has the address of a VIP of provider router, or of a floating IP with port
// forwardings: then the Service has completed its change from another provider.
func (p Published) shows(lb *model.LoadBalancer) bool {
	address := lb.VIP.Address
	if lb.Provider == driver.PortForwarding {
		address = lb.FloatingIP.Address
	}
	return slices.Contains(p.addresses(), address)
}

// written reports whether the annotations have this load balancer, the name by which it is shared,
// and this address.
func (p Published) written(loadBalancerID, share, address string) bool {
	return (p.LoadBalancerID == loadBalancerID || share != "") && p.Place == loadBalancerID && p.Share == share && p.Address == address
}
