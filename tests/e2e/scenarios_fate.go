package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

// many makes Services at once, and each gets a load balancer of its own.
func many(s *scene) {
	count := s.Cloud.Crowd()
	room, err := s.Cloud.API().room(s.Context())
	s.must(err)
	if room < count {
		s.Skipf("there is room for %d load balancers only", room)
	}
	services := make([]*service, count)
	creating, ctx := errgroup.WithContext(s.Context())
	for i := range services {
		creating.Go(func() (err error) {
			services[i], err = s.add(ctx, crowdName(i), nil, "node-1")
			return err
		})
	}
	s.must(creating.Wait())
	addresses := map[string]bool{}
	s.eventually("addresses", func(ctx context.Context) error { // an Octavia on a small machine makes one at a time
		for ; len(services) > 0; services = services[1:] {
			address, err := cluster.ExternalIP(ctx, s.Client(), s.namespace, services[0].name)
			if err != nil {
				return fmt.Errorf("%d of %d Services have none: %w", len(services), count, err)
			}
			addresses[address] = true
		}
		return nil
	})
	if len(addresses) != count {
		s.Errorf("%d addresses for %d Services", len(addresses), count)
	}
	for i := range count {
		s.must(s.Client().CoreV1().Services(s.namespace).Delete(s.Context(), crowdName(i), metav1.DeleteOptions{}))
	}
	s.nothingLeft()
}

// crowdName is the name of one of many Services.
func crowdName(number int) string { return fmt.Sprintf("web-%d-x", number) }

// hundredNodes takes a hundred Nodes in by one batch for each port, and lets them go by
// another. No member is removed that is being removed already, however slow the cloud is.
func hundredNodes(s *scene) {
	twice, err := s.Cloud.RemovedTwice()
	s.must(err)
	web := s.create("web", nil, "node-1")
	web.address()
	const count = 100
	nodes := s.countNodes()
	for i := range count {
		s.addForeignNode(i)
	}
	web.has(map[string]int{"TCP/8080": nodes + count})
	for i := range count {
		s.removeForeignNode(i)
	}
	web.has(map[string]int{"TCP/8080": nodes})
	web.remove()
	s.nothingLeft()
	if now, err := s.Cloud.RemovedTwice(); err != nil || now > twice {
		s.Errorf("%d members were removed twice: %v", now-twice, err)
	}
}

// addForeignNode makes a Node that another cloud answers for.
func (s *scene) addForeignNode(number int) {
	s.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", s.namespace, number), Labels: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec:       corev1.NodeSpec{ProviderID: fmt.Sprintf("other://%d", number)},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: s.Cloud.Unused(number)}}},
	}
	_, err := s.Client().CoreV1().Nodes().Create(s.Context(), node, metav1.CreateOptions{})
	s.must(err)
}

func (s *scene) removeForeignNode(number int) {
	s.Helper()
	s.must(s.Client().CoreV1().Nodes().Delete(s.Context(), fmt.Sprintf("%s-%d", s.namespace, number), metav1.DeleteOptions{}))
}

func (s *scene) countNodes() int {
	s.Helper()
	nodes, err := s.Client().CoreV1().Nodes().List(s.Context(), metav1.ListOptions{})
	s.must(err)
	return len(nodes.Items)
}

// deletedBehind brings back a load balancer that another client deletes, with the
// same address.
func deletedBehind(s *scene) {
	web := s.create("web", nil, "node-1")
	address, lb := web.address(), web.loadBalancer()
	s.must(loadbalancers.Delete(s.Context(), s.Cloud.API().LoadBalancer, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr())
	s.eventually("another load balancer", func(context.Context) error {
		if web.loadBalancer().ID == lb.ID {
			return errors.New("it is the old one")
		}
		return nil
	})
	if have := web.address(); have != address {
		s.Errorf("published address = %s, want %s as before", have, address)
	}
	s.answeredBy(s.outside(), at(address, 8080), nodeNames()...)
	web.remove()
	s.nothingLeft()
}

// editedBehind repairs what another client changes.
func editedBehind(s *scene) {
	web := s.create("web", nil, "node-1", "node-2", "node-3")
	web.address()
	api := s.Cloud.API()
	all, err := api.Pools(s.Context(), web.loadBalancer().ID)
	s.must(err)
	members, err := api.Members(s.Context(), all[0].ID)
	s.must(err)
	before := len(members)
	s.must(pools.DeleteMember(s.Context(), api.LoadBalancer, all[0].ID, members[0].ID).ExtractErr())
	s.eventually("member gone", func(ctx context.Context) error {
		members, err := api.Members(ctx, all[0].ID)
		if err == nil && len(members) == before {
			err = errors.New("it is there")
		}
		return err
	})
	web.has(map[string]int{"TCP/8080": before})
	web.tells("TCP/8080")
	web.remove()
	s.nothingLeft()
}

// failed checks that a load balancer in ERROR, which may still serve, stays and is reported, and
// that its Service can be deleted.
func failed(s *scene) {
	nature := s.nature()
	web := s.create("web", nil, "node-1")
	web.address()
	s.must(nature.Fail(s.Context(), web.loadBalancer().ID))
	web.annotate("e2e.test/touched", "yes")
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, 9090)) })
	web.tells("ERROR")
	web.remove()
	s.nothingLeft()
}

// killed kills the controller at random moments of creations and deletions: in the
// end there is one of everything, and then nothing.
func killed(s *scene) {
	for round := range 4 {
		web := s.create("web", nil, "node-1")
		s.killSoon()
		web.address()
		if ips, err := s.Cloud.API().FloatingIPs(s.Context(), " "+s.namespace+"/"); err != nil || len(ips) != 1 {
			s.Errorf("round %d: %d floating IPs, want one: %v", round, len(ips), err)
		}
		web.loadBalancer()
		s.must(s.Client().CoreV1().Services(s.namespace).Delete(s.Context(), web.name, metav1.DeleteOptions{}))
		s.killSoon()
		s.eventually("end of the Service", func(ctx context.Context) error {
			_, err := s.Client().CoreV1().Services(s.namespace).Get(ctx, web.name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there: %v", err)
		})
		s.nothingLeft()
	}
}

// killSoon kills the controller within a second and starts another.
func (s *scene) killSoon() {
	s.Helper()
	time.Sleep(rand.N(time.Second))
	s.CCM.Kill()
	s.must(s.StartCCM(s.Context()))
}

// quota checks that an exhausted quota is reported, and that the Service is served when there is
// room: after minutes, or at once after a change of the Service.
func quota(s *scene) {
	lift, err := s.nature().LimitLoadBalancers(s.Context(), 0)
	s.must(err)
	defer func() { s.must(lift(context.WithoutCancel(s.Context()))) }()
	web := s.create("web", nil, "node-1")
	web.tells("uota")
	s.must(lift(s.Context()))
	web.annotate("e2e/there-is-room", "true")
	web.address()
	web.remove()
	s.nothingLeft()
}

// octaviaStopped goes on where it was when Octavia comes back.
func octaviaStopped(s *scene) {
	web := s.create("web", nil, "node-1")
	web.address()
	start, err := s.nature().StopOctavia(s.Context())
	s.must(err)
	defer func() { s.must(start(context.WithoutCancel(s.Context()))) }() // also when this fails
	other := s.create("other", nil, "node-1")
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, 9090)) })
	other.tells("rror")
	s.must(start(s.Context()))
	other.address()
	web.has(map[string]int{"TCP/8080": s.countNodes(), "TCP/9090": s.countNodes()})
	web.remove()
	other.remove()
	s.nothingLeft()
}

// tokenRevoked signs in anew when the token is worth nothing any more, and no
// Service gets to hear of it.
func tokenRevoked(s *scene) {
	web := s.create("web", nil, "node-1")
	web.address()
	s.must(s.nature().RevokeTokens(s.Context()))
	web.change(func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(corev1.ProtocolTCP, 9090)) })
	other := s.create("other", nil, "node-1")
	other.address()
	web.has(map[string]int{"TCP/8080": s.countNodes(), "TCP/9090": s.countNodes()})
	for _, event := range s.warnings() {
		s.Error(event)
	}
	if !s.CCM.Running() {
		s.Error("the controller has ended")
	}
	web.remove()
	other.remove()
	s.nothingLeft()
}

// nodeDies takes a node in, which then loses its power: its monitors find out, and
// from then on no request may fail, also not when its server is deleted and its Node
// goes.
func nodeDies(s *scene) {
	web := s.create("web", func(svc *corev1.Service) { svc.Annotations[prefix+"enable-health-monitor"] = "true" }, "node-1", "node-2")
	web.address()
	vip := at(web.loadBalancer().VipAddress, 8080) // see localPolicy
	before := web.members()["TCP/8080"]
	s.must(s.AddNode(s.Context(), "node-9"))
	web.has(map[string]int{"TCP/8080": before + 1})
	s.answeredBy(s.inside(), vip, append(nodeNames(), "node-9")...)
	s.must(s.StopNode("node-9"))
	s.answeredBy(s.inside(), vip, nodeNames()...)
	web.foundOut("node-9")
	stop := s.unharmed(s.inside(), vip)
	s.must(s.Cloud.RemoveMachine(s.Context(), "node-9"))
	s.nodeGone("node-9")
	web.has(map[string]int{"TCP/8080": before})
	stop()
	web.remove()
	s.nothingLeft()
}

// foundOut waits until the monitors have found out that a node does not answer. Requests do not show that: haproxy sends
// those that a member refuses to another one.
func (s *service) foundOut(node string) {
	s.Helper()
	if !s.carries(corev1.ProtocolTCP) {
		return
	}
	s.eventually("member "+node+" in ERROR", func(ctx context.Context) error {
		for _, member := range s.allMembers(ctx) {
			if member.Name == node && member.OperatingStatus != "ERROR" {
				return fmt.Errorf("it is %s", member.OperatingStatus)
			}
		}
		return nil
	})
}

// nodeGone waits until the Node of a deleted server is deleted.
func (s *scene) nodeGone(name string) {
	s.Helper()
	s.eventually("Node gone", func(ctx context.Context) error {
		_, err := s.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}

// nature skips the scenario if the actions of the cloud's owner are not available.
func (s *scene) nature() Nature {
	s.Helper()
	if s.Cloud.Nature() == nil {
		s.Skip("this needs power over the cloud")
	}
	return s.Cloud.Nature()
}
