package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

// forwarded sends the client's address to nodes, first in a header, then with both versions of the
// PROXY protocol.
func forwarded(s *scene) {
	if s.Provider == "ovn" {
		s.Skip("ovn knows TCP, UDP and SCTP only")
	}
	web := s.create("web", func(svc *corev1.Service) { svc.Annotations[prefix+"x-forwarded-for"] = "true" }, "node-1")
	address := at(web.address(), 8080)
	s.listens(web, "HTTP", "")
	s.nodesSee(s.outside(), address, "X-Forwarded-For: ")
	web.annotate(prefix+"x-forwarded-for", "")
	s.listens(web, "TCP", "TCP")
	s.answeredBy(s.outside(), address, nodeNames()...)
	for _, proxy := range []struct{ version, pool string }{{"v1", "PROXY"}, {"v2", "PROXYV2"}} {
		web.annotate(prefix+"proxy-protocol", proxy.version)
		s.listens(web, "TCP", proxy.pool)
		s.nodesSee(s.outside(), address, " by PROXY "+proxy.version)
	}
	web.annotate(prefix+"proxy-protocol", "")
	s.listens(web, "TCP", "TCP")
	s.answeredBy(s.outside(), address, nodeNames()...)
	web.remove()
	s.nothingLeft()
}

// nodesSee waits until a node that answers at an address has seen a text in the request or before it. If
// the cloud carries no traffic, it checks nothing.
func (s *scene) nodesSee(client cluster.Client, address, text string) {
	s.Helper()
	if !s.carries(corev1.ProtocolTCP) {
		return
	}
	s.eventually(fmt.Sprintf("%q in a request", text), func(ctx context.Context) error {
		_, body, err := client.HTTP(ctx, address)
		if err == nil && !strings.Contains(body, text) {
			err = fmt.Errorf("the node saw %q", body)
		}
		return err
	})
}

// listens waits until the only listener and its pool have these protocols; an empty
// one may be any.
func (s *scene) listens(web *service, listener, pool string) {
	s.Helper()
	s.eventually(fmt.Sprintf("listener of %s, pool of %s", listener, pool), func(ctx context.Context) error {
		lb := web.loadBalancer()
		all, err := s.Cloud.API().Listeners(ctx, lb.ID)
		if err != nil {
			return err
		}
		pools, err := s.Cloud.API().Pools(ctx, lb.ID)
		if err != nil {
			return err
		}
		if len(all) != 1 || len(pools) != 1 {
			return fmt.Errorf("there are %d listeners and %d pools", len(all), len(pools))
		}
		if all[0].Protocol != listener || pool != "" && pools[0].Protocol != pool {
			return fmt.Errorf("the listener is of %s, the pool of %s", all[0].Protocol, pools[0].Protocol)
		}
		return nil
	})
}

// patientListener gives a listener times and a limit, and takes them away.
func patientListener(s *scene) {
	if s.Provider == "ovn" {
		s.Skip("listeners of ovn have no times")
	}
	web := s.create("web", func(svc *corev1.Service) {
		svc.Annotations[prefix+"timeout-client-data"] = "60000"
		svc.Annotations[prefix+"connection-limit"] = "100"
	}, "node-1")
	web.address()
	is := func(timeout, limit int) {
		s.Helper()
		s.eventually(fmt.Sprintf("timeout %d, limit %d", timeout, limit), func(ctx context.Context) error {
			all, err := s.Cloud.API().Listeners(ctx, web.loadBalancer().ID)
			if err == nil && (all[0].TimeoutClientData != timeout || all[0].ConnLimit != limit) {
				err = fmt.Errorf("they are %d and %d", all[0].TimeoutClientData, all[0].ConnLimit)
			}
			return err
		})
	}
	is(60000, 100)
	web.annotate(prefix+"timeout-client-data", "70000")
	is(70000, 100)
	web.annotate(prefix+"timeout-client-data", "")
	web.annotate(prefix+"connection-limit", "")
	is(50000, -1)
	web.remove()
	s.nothingLeft()
}

// manyProtocols serves one port under several of them.
func manyProtocols(s *scene) {
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8053), port(corev1.ProtocolUDP, 8053), port(corev1.ProtocolSCTP, 8053)}
	}, "node-1")
	if net.ParseIP(web.address()) == nil {
		s.Errorf("published address = %s", web.address())
	}
	web.has(map[string]int{"TCP/8053": 3, "UDP/8053": 3, "SCTP/8053": 3})
	s.answeredBy(s.outside(), at(web.address(), 8053), nodeNames()...)
	web.remove()
	s.nothingLeft()
}

// datagrams sends them to two members, and then to one of the two.
func datagrams(s *scene) {
	if !s.carries(corev1.ProtocolUDP) {
		s.Skip("load balancers of this cloud carry no UDP")
	}
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolUDP, 8080)}
		svc.Annotations[prefix+"node-selector"] = "kubernetes.io/hostname in (node-1,node-2)"
	}, nodeNames()...)
	address := at(web.address(), 8080)
	web.has(map[string]int{"UDP/8080": 2})
	s.datagramsReach(address, "node-1", "node-2")
	web.annotate(prefix+"node-selector", "kubernetes.io/hostname=node-2")
	web.has(map[string]int{"UDP/8080": 1})
	s.datagramsReach(address, "node-2")
	web.remove()
	s.nothingLeft()
}

// datagramsReach waits until all datagrams to an address are answered, by exactly these nodes. Each has a source port
// of its own.
func (s *scene) datagramsReach(address string, nodes ...string) {
	s.Helper()
	s.eventually(fmt.Sprintf("answers to datagrams at %s of %v alone", address, nodes), func(ctx context.Context) error {
		answers := map[string]int{}
		for range 20 {
			name, err := s.outside().UDP(ctx, address)
			if err != nil {
				return err
			}
			answers[name]++
		}
		if have := slices.Sorted(maps.Keys(answers)); !slices.Equal(have, nodes) {
			return fmt.Errorf("%v answered", answers)
		}
		return nil
	})
}
