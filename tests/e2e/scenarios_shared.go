package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	corev1 "k8s.io/api/core/v1"
)

// shared puts two Services on one load balancer. It goes with the last of them.
func shared(s *scene) {
	owner := s.create("owner", nil, "node-1")
	address, lb := owner.address(), owner.loadBalancer()
	guest := s.create("guest", func(svc *corev1.Service) {
		svc.Annotations[prefix+"load-balancer-id"] = lb.ID
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 9090)}
	}, "node-2")
	if have := guest.address(); have != address {
		s.Errorf("published address of the guest = %s, want the owner's %s", have, address)
	}
	s.answeredBy(s.outside(), at(address, 8080), nodeNames()...)
	s.answeredBy(s.outside(), at(address, 9090), nodeNames()...)
	owner.remove()
	s.eventually("listener of the guest alone", func(ctx context.Context) error {
		all, err := s.Cloud.API().Listeners(ctx, lb.ID)
		if err == nil && (len(all) != 1 || all[0].ProtocolPort != 9090) {
			err = fmt.Errorf("there are %d listeners", len(all))
		}
		return err
	})
	s.answeredBy(s.outside(), at(address, 9090), nodeNames()...)
	guest.remove()
	s.nothingLeft()
}

// broughtAlong uses a load balancer that was made by hand, and leaves it as it
// was.
func broughtAlong(s *scene) {
	api := s.Cloud.API()
	model := s.create("model", nil, "node-1")
	model.address()
	lb, err := loadbalancers.Create(s.Context(), api.LoadBalancer, loadbalancers.CreateOpts{
		Name: s.namespace, VipSubnetID: model.loadBalancer().VipSubnetID, Provider: s.Provider,
	}).Extract()
	s.must(err)
	defer func() {
		s.must(loadbalancers.Delete(context.WithoutCancel(s.Context()), api.LoadBalancer, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr())
	}()
	model.remove()
	web := s.create("web", func(svc *corev1.Service) {
		svc.Annotations[prefix+"load-balancer-id"] = lb.ID
		svc.Annotations[internalAnnotation] = "true"
	}, "node-1")
	if have := web.address(); have != lb.VipAddress {
		s.Errorf("published address = %s, want the VIP %s", have, lb.VipAddress)
	}
	s.answeredBy(s.inside(), at(lb.VipAddress, 8080), nodeNames()...)
	web.remove()
	s.eventually("load balancer without listeners, at rest", func(ctx context.Context) error {
		now, err := loadbalancers.Get(ctx, api.LoadBalancer, lb.ID).Extract()
		if err == nil && (now.ProvisioningStatus != "ACTIVE" || len(now.Listeners)+len(now.Pools) > 0) {
			err = fmt.Errorf("it is %s with %d listeners", now.ProvisioningStatus, len(now.Listeners))
		}
		return err
	})
	s.nothingLeft()
}

// otherAddress moves a Service to a floating IP of the user's, and back to one of
// its own.
func otherAddress(s *scene) {
	api := s.Cloud.API()
	web := s.create("web", nil, "node-1")
	first := web.address()
	mine, err := api.FloatingIPs(s.Context(), " "+s.namespace+"/")
	s.must(err)
	other, err := floatingips.Create(s.Context(), api.Network, floatingips.CreateOpts{
		FloatingNetworkID: mine[0].FloatingNetworkID, Description: s.namespace + " made by hand",
	}).Extract()
	s.must(err)
	defer func() { s.must(api.DeleteFloatingIP(context.WithoutCancel(s.Context()), other.ID)) }()
	web.annotate(prefix+"floating-ip-id", other.ID)
	s.eventually("other address", func(context.Context) error {
		if have := web.address(); have != other.FloatingIP {
			return fmt.Errorf("%s is published", have)
		}
		return nil
	})
	s.answeredBy(s.outside(), at(other.FloatingIP, 8080), nodeNames()...)
	all, err := api.FloatingIPs(s.Context(), "")
	s.must(err)
	if slices.ContainsFunc(all, func(ip floatingips.FloatingIP) bool { return ip.FloatingIP == first }) {
		s.Errorf("the first address, %s, is still in the project", first)
	}
	web.remove()
	s.eventually("address free again", func(ctx context.Context) error {
		now, err := floatingips.Get(ctx, api.Network, other.ID).Extract()
		if err == nil && now.PortID != "" {
			err = errors.New("it is on port " + now.PortID)
		}
		return err
	})
	s.nothingLeft()
}
