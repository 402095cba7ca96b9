package e2e

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// dualStackSince returns the minor number of the first version of Octavia's API with which a provider has
// VIPs of both IP families.
func dualStackSince(provider string) int { return map[string]int{"amphora": 26, "ovn": 28}[provider] }

// dualStack serves a Service in both IP families, if the cloud supports that. Otherwise the Service is refused
// if it requires both, and served in the first one if it prefers both.
func dualStack(s *scene) {
	if s.Cloud.SubnetV6() == "" {
		s.Skip("this cloud has no subnet of IPv6")
	}
	minor, err := s.Cloud.API().LoadBalancerMinor(s.Context())
	s.must(err)
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
		svc.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}, "node-1", "node-2")
	if minor < dualStackSince(s.Provider) {
		s.servedInOne(web)
		return
	}
	addresses := web.addresses(2)
	if !strings.Contains(addresses[1], ":") || strings.Contains(addresses[0], ":") {
		s.Errorf("published addresses = %v, want IPv4 and IPv6", addresses)
	}
	if lb := web.loadBalancer(); len(lb.AdditionalVips) != 1 || lb.AdditionalVips[0].IPAddress != addresses[1] {
		s.Errorf("additional VIPs = %v, published %v", lb.AdditionalVips, addresses)
	}
	s.answeredBy(s.outside(), at(addresses[0], 8080), nodeNames()...)
	s.answeredBy(s.inside(), at(addresses[1], 8080), nodeNames()...)
	web.remove()
	s.nothingLeft()
}

// servedInOne expects that a Service that requires both IP families is refused before anything is created,
// and that it is served in the first one once it only prefers both.
func (s *scene) servedInOne(web *service) {
	s.Helper()
	s.eventually("refusal", func(context.Context) error {
		events := strings.Join(s.events("type="+corev1.EventTypeWarning), "\n")
		if !strings.Contains(events, "spec.ipFamilyPolicy") || !strings.Contains(events, "is not supported") {
			return fmt.Errorf("the events are %q", events)
		}
		return nil
	})
	balancers, err := s.Cloud.API().LoadBalancers(s.Context(), "_"+s.namespace+"_"+web.name)
	s.must(err)
	if len(balancers) > 0 {
		s.Errorf("%d load balancers of a Service that is refused", len(balancers))
	}
	web.change(func(svc *corev1.Service) { svc.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyPreferDualStack) })
	address := web.addresses(1)[0]
	if strings.Contains(address, ":") {
		s.Errorf("published address = %s, want one of IPv4", address)
	}
	s.answeredBy(s.outside(), at(address, 8080), nodeNames()...)
	web.remove()
	s.nothingLeft()
}

// addresses waits for so many published addresses.
func (s *service) addresses(n int) (addresses []string) {
	s.Helper()
	s.eventually("addresses of "+s.name, func(context.Context) error {
		addresses = nil
		for _, ingress := range s.get().Status.LoadBalancer.Ingress {
			addresses = append(addresses, ingress.IP)
		}
		if len(addresses) != n {
			return fmt.Errorf("published %v, want %d", addresses, n)
		}
		return nil
	})
	return addresses
}
