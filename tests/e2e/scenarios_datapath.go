package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// behindAmphora skips the scenario if load balancers are not amphorae that carry traffic.
func (s *scene) behindAmphora() {
	s.Helper()
	if s.Provider == "ovn" || !s.carries(corev1.ProtocolTCP) {
		s.Skip("this needs amphorae that carry traffic")
	}
}

// monitorTypes gives a Service a monitor of each type that probes over TCP or ICMP. The nodes answer HTTP, and return all
// other bytes. haproxy takes its own hello of TLS for an answer, so that only the monitor of HTTPS, which needs a handshake,
// finds no healthy member.
func monitorTypes(s *scene) {
	s.behindAmphora()
	web := s.create("web", func(svc *corev1.Service) {
		svc.Annotations[prefix+"enable-health-monitor"] = "true"
		svc.Annotations[prefix+"health-monitor-delay"] = "3"
		svc.Annotations[prefix+"health-monitor-timeout"] = "2"
		svc.Annotations[prefix+"health-monitor-max-retries-down"] = "2"
	}, nodeNames()...)
	web.address()
	for _, probe := range []struct{ kind, want string }{
		{"TCP", "ONLINE"}, {"HTTPS", "ERROR"}, {"TLS-HELLO", "ONLINE"}, {"HTTP", "ONLINE"}, {"PING", "ONLINE"},
	} {
		web.annotate(prefix+"health-monitor-type", probe.kind)
		web.probedBy(probe.kind)
		web.operates(probe.want)
	}
	web.remove()
	s.nothingLeft()
}

// probedBy waits until all pools have a monitor of a type.
func (s *service) probedBy(kind string) {
	s.Helper()
	s.eventually("monitor of type "+kind, func(ctx context.Context) error {
		kinds, err := s.Cloud.API().MonitorTypes(ctx, s.loadBalancer().ID)
		if err == nil && !slices.Equal(kinds, []string{kind}) {
			err = fmt.Errorf("the monitors are %v", kinds)
		}
		return err
	})
}

// operates waits until all members have an operating status.
func (s *service) operates(status string) {
	s.Helper()
	s.eventually("members "+status, func(ctx context.Context) error {
		for _, member := range s.allMembers(ctx) {
			if member.OperatingStatus != status {
				return fmt.Errorf("%s is %s", member.Address, member.OperatingStatus)
			}
		}
		return nil
	})
}

// allMembers returns those of the first pool.
func (s *service) allMembers(ctx context.Context) []pools.Member {
	s.Helper()
	all, err := s.Cloud.API().Pools(ctx, s.loadBalancer().ID)
	s.must(err)
	members, err := s.Cloud.API().Members(ctx, all[0].ID)
	s.must(err)
	return members
}

// statistics reads the counters of a load balancer by Octavia's API.
func statistics(s *scene) {
	s.behindAmphora()
	web := s.create("web", nil, nodeNames()...)
	s.answeredBy(s.outside(), at(web.address(), 8080), nodeNames()...)
	s.eventually("statistics of the traffic", func(ctx context.Context) error {
		stats, err := loadbalancers.GetStats(ctx, s.Cloud.API().LoadBalancer, web.loadBalancer().ID).Extract()
		if err == nil && (stats.TotalConnections == 0 || stats.BytesIn == 0 || stats.BytesOut == 0) {
			err = fmt.Errorf("they are %+v", *stats)
		}
		return err
	})
	web.remove()
	s.nothingLeft()
}

// drained takes a member out of the balance by the weight 0, as another client would do, under
// connections that are open. They go on, new ones go elsewhere, and the controller leaves the weight.
func drained(s *scene) {
	s.behindAmphora()
	web := s.create("web", nil, nodeNames()...)
	address := at(web.address(), 8080)
	s.answeredBy(s.outside(), address, nodeNames()...)
	stop := s.talk(address, 2*len(nodeNames()))
	all, err := s.Cloud.API().Pools(s.Context(), web.loadBalancer().ID)
	s.must(err)
	of, err := s.Client().CoreV1().Nodes().Get(s.Context(), "node-1", metav1.GetOptions{})
	s.must(err)
	for _, member := range web.allMembers(s.Context()) {
		if member.Address == of.Status.Addresses[0].Address {
			_, err := pools.UpdateMember(s.Context(), s.Cloud.API().LoadBalancer, all[0].ID, member.ID, pools.UpdateMemberOpts{Weight: ptr.To(0)}).Extract()
			s.must(err)
		}
	}
	s.answeredBy(s.outside(), address, "node-2", "node-3")
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, 9090)) })
	web.has(map[string]int{"TCP/8080": 3, "TCP/9090": 3})
	s.answeredBy(s.outside(), address, "node-2", "node-3")
	stop()
	web.remove()
	s.nothingLeft()
}

// talk opens connections and expects an echo over each of them every second until stop is called: an
// amphora ends those that are idle for 50 seconds.
func (s *scene) talk(address string, count int) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var talking errgroup.Group
	for i := range count {
		connection, err := s.Cloud.Outside().DialContext(ctx, "tcp", address)
		s.must(err)
		talking.Go(func() error {
			defer connection.Close()
			if err := echo(ctx, connection); err != nil {
				return fmt.Errorf("open connection %d of %d: %w", i+1, count, err)
			}
			return nil
		})
	}
	return func() {
		s.Helper()
		cancel()
		if err := talking.Wait(); err != nil {
			s.Error(err)
		}
	}
}

// echo sends a byte every second and expects it back, until the context ends.
func echo(ctx context.Context, connection net.Conn) error {
	for ctx.Err() == nil {
		if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := io.WriteString(connection, "x"); err != nil {
			return err
		}
		if _, err := io.ReadFull(connection, make([]byte, 1)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// killedAmphora kills the amphora of a load balancer: Octavia replaces it, and the address stays. The
// controller has nothing to do with it.
func killedAmphora(s *scene) {
	s.behindAmphora()
	nature := s.nature()
	web := s.create("web", nil, nodeNames()...)
	address, before := at(web.address(), 8080), web.loadBalancer()
	s.answeredBy(s.outside(), address, nodeNames()...)
	killed, err := nature.KillAmphora(s.Context(), before.ID)
	s.must(err)
	if !killed {
		web.remove()
		s.nothingLeft()
		s.Skip("this cloud has no machines to kill")
	}
	began := time.Now()
	s.eventually("no answer", func(ctx context.Context) error {
		if _, _, err := s.outside().HTTP(ctx, address); err == nil {
			return errors.New("the amphora answers")
		}
		return nil
	})
	s.answeredBy(s.outside(), address, nodeNames()...)
	s.Logf("its successor answers %.0f s after its end", time.Since(began).Seconds())
	if after := web.loadBalancer(); after.ID != before.ID || after.VipAddress != before.VipAddress {
		s.Errorf("load balancer %s at %s, want %s at %s", after.ID, after.VipAddress, before.ID, before.VipAddress)
	}
	for _, event := range s.warnings() {
		s.Error(event)
	}
	web.remove()
	s.nothingLeft()
}
