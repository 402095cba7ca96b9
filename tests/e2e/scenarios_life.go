package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

const (
	internalAnnotation = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	prefix             = "loadbalancer.openstack.org/"
)

// life is what every Service goes through: ports of TCP and UDP, traffic, changes
// beside traffic, its end.
func life(s *scene) {
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8080), port(corev1.ProtocolUDP, 8080)}
	}, "node-1", "node-2", "node-3")
	address := web.address()
	web.has(map[string]int{"TCP/8080": 3, "UDP/8080": 3})
	s.answeredBy(s.outside(), at(address, 8080), nodeNames()...)
	s.answersUDP(s.outside(), at(address, 8080))
	vip := web.loadBalancer().VipAddress
	s.answeredBy(s.inside(), at(vip, 8080), nodeNames()...)

	web.change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, 9090)) })
	web.pods("node-1", "node-2", "node-3")
	web.has(map[string]int{"TCP/8080": 3, "UDP/8080": 3, "TCP/9090": 3})
	s.answeredBy(s.outside(), at(address, 9090), nodeNames()...)
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[1:] })
	web.has(map[string]int{"UDP/8080": 3, "TCP/9090": 3})
	web.remove()
	s.nothingLeft()
}

// changes changes a Service in many ways while a client asks an unchanged port all
// the while: not one request may fail.
func changes(s *scene) {
	web := s.create("web", nil, "node-1", "node-2", "node-3")
	address := web.address()
	s.answeredBy(s.outside(), at(address, 8080), nodeNames()...)
	stop := s.unharmed(s.outside(), at(address, 8080))
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, 9090)) })
	web.has(map[string]int{"TCP/8080": 3, "TCP/9090": 3})
	web.annotate(prefix+"node-selector", "kubernetes.io/hostname=node-1")
	web.has(map[string]int{"TCP/8080": 1, "TCP/9090": 1})
	web.annotate(prefix+"node-selector", "")
	web.has(map[string]int{"TCP/8080": 3, "TCP/9090": 3})
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
	web.has(map[string]int{"TCP/8080": 3})
	stop()
	web.remove()
	s.nothingLeft()
}

// internal makes a Service internal, external and internal again.
func internal(s *scene) {
	web := s.create("web", func(svc *corev1.Service) { svc.Annotations[internalAnnotation] = "true" }, "node-1")
	vip := web.loadBalancer().VipAddress
	if address := web.address(); address != vip {
		s.Errorf("published address = %s, want the VIP %s", address, vip)
	}
	s.answeredBy(s.inside(), at(vip, 8080), nodeNames()...)
	web.annotate(internalAnnotation, "false")
	s.eventually("floating IP", func(context.Context) error {
		if web.address() == vip {
			return errors.New("the VIP is published")
		}
		return nil
	})
	s.answeredBy(s.outside(), at(web.address(), 8080), nodeNames()...)
	web.annotate(internalAnnotation, "true")
	s.eventually("no floating IP", func(ctx context.Context) error {
		ips, err := s.Cloud.API().FloatingIPs(ctx, " "+s.namespace+"/")
		if err == nil && (len(ips) > 0 || web.address() != vip) {
			err = fmt.Errorf("%d floating IPs, %s published", len(ips), web.address())
		}
		return err
	})
	web.remove()
	s.nothingLeft()
}

// keptAddress keeps the floating IP of a Service for the next one, and moves to
// another.
func keptAddress(s *scene) {
	keep := func(svc *corev1.Service) { svc.Annotations[prefix+"keep-floatingip"] = "true" }
	first := s.create("first", keep, "node-1")
	address := first.address()
	first.remove()
	second := s.create("second", func(svc *corev1.Service) { svc.Spec.LoadBalancerIP = address }, "node-1")
	if have := second.address(); have != address {
		s.Errorf("published address = %s, want the kept %s", have, address)
	}
	s.answeredBy(s.outside(), at(address, 8080), nodeNames()...)
	second.remove()
	ips, err := s.Cloud.API().FloatingIPs(s.Context(), " "+s.namespace+"/first ")
	s.must(err)
	if len(ips) != 1 {
		s.Fatalf("%d floating IPs of the first Service, want the kept one", len(ips))
	}
	s.must(s.Cloud.API().DeleteFloatingIP(s.Context(), ips[0].ID))
	s.nothingLeft()
}

// localPolicy sends traffic only to nodes with endpoints, which their health check node
// ports tell. It asks at the VIP: monitors of ovn of Zed are not for floating IPs.
func localPolicy(s *scene) {
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}, "node-2")
	address, vip := web.address(), web.loadBalancer().VipAddress
	web.healthy("node-2")
	s.answeredBy(s.inside(), at(vip, 8080), "node-2")
	web.pods("node-3")
	web.healthy("node-3")
	s.answeredBy(s.inside(), at(vip, 8080), "node-3")
	web.change(func(svc *corev1.Service) {
		svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	})
	web.pods("node-1", "node-2", "node-3")
	s.answeredBy(s.outside(), at(address, 8080), nodeNames()...)
	web.remove()
	s.nothingLeft()
}

// affinity keeps a client at one node, on the ports on which the provider does so. An event reports
// the others.
func affinity(s *scene) {
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8080), port(corev1.ProtocolUDP, 8080)}
		svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	}, "node-1", "node-2", "node-3")
	address := at(web.address(), 8080)
	web.persists("SOURCE_IP")
	tcp, udp := true, true
	if s.Provider == "ovn" {
		web.tells("ClientIP has no effect")
		tcp, udp = false, !strings.Contains(strings.Join(s.events(""), "\n"), "ClientIP has no effect: ")
	}
	if s.carries(corev1.ProtocolTCP) && tcp {
		s.eventually("answers of one node", func(ctx context.Context) error {
			answers, err := s.outside().Answers(ctx, address, 10)
			if err == nil && len(answers) != 1 {
				err = fmt.Errorf("%v answered", answers)
			}
			return err
		})
	}
	if s.carries(corev1.ProtocolUDP) && udp {
		s.eventually("datagrams from one node", func(ctx context.Context) error {
			first, err := s.outside().UDP(ctx, address)
			for i := 0; i < 10 && err == nil; i++ {
				var next string
				if next, err = s.outside().UDP(ctx, address); err == nil && next != first {
					err = fmt.Errorf("%q and %q answered", first, next)
				}
			}
			return err
		})
	}
	web.change(func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityNone })
	web.persists("")
	web.remove()
	s.nothingLeft()
}

// persists waits until all pools have a type of session persistence.
func (s *service) persists(want string) {
	s.Helper()
	s.eventually(fmt.Sprintf("session persistence %q", want), func(ctx context.Context) error {
		pools, err := s.Cloud.API().Pools(ctx, s.loadBalancer().ID)
		for _, pool := range pools {
			if pool.Persistence.Type != want {
				err = errors.Join(err, fmt.Errorf("that of the pool %s is %q", pool.Name, pool.Persistence.Type))
			}
		}
		return err
	})
}

// sourceRanges lets some clients in: at the listener, or not at all where the
// provider cannot.
func sourceRanges(s *scene) {
	closed := func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }
	web := s.create("web", closed, "node-1")
	if s.Provider == "ovn" {
		web.tells("loadBalancerSourceRanges")
		balancers, err := s.Cloud.API().LoadBalancers(s.Context(), "_"+s.namespace+"_")
		s.must(err)
		if len(balancers) > 0 {
			s.Error("there is a load balancer that lets everybody in")
		}
		web.remove()
		return
	}
	lb := web.loadBalancer()
	listeners, err := s.Cloud.API().Listeners(s.Context(), lb.ID)
	s.must(err)
	if have := strings.Join(listeners[0].AllowedCIDRs, ","); have != "192.0.2.0/24" {
		s.Errorf("allowed CIDRs = %s", have)
	}
	if s.carries(corev1.ProtocolTCP) {
		if _, _, err := s.outside().HTTP(s.Context(), at(web.address(), 8080)); err == nil {
			s.Error("a client was let in that must not")
		}
	}
	web.change(func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = nil })
	s.answeredBy(s.outside(), at(web.address(), 8080), nodeNames()...)
	web.remove()
	s.nothingLeft()
}

// ipv6 serves a Service of IPv6 on a VIP of its own.
func ipv6(s *scene) {
	subnet := s.Cloud.SubnetV6()
	if subnet == "" {
		s.Skip("this cloud has no subnet of IPv6")
	}
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
		svc.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
		svc.Annotations[prefix+"subnet-id"] = subnet
	}, "node-1", "node-2")
	address := web.address()
	if !strings.Contains(address, ":") {
		s.Errorf("published address = %s, want one of IPv6", address)
	}
	s.answeredBy(s.inside(), at(address, 8080), nodeNames()...)
	web.remove()
	s.nothingLeft()
}
