package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
)

const (
	// graceTime is how long a pod serves at least after its deletion: enough for each kube-proxy to
	// learn of it.
	graceTime = 5 * time.Second
	// hasteTime is the time between two moves of a pod that follow each other at once.
	hasteTime = 2 * time.Second
	// clientsOfEndpoints is the number of clients of each Service, for each protocol.
	clientsOfEndpoints = 2
	// slack is the difference between what the test observes and what clients do.
	slack = time.Second
)

// endpoints moves pods from node to node, some times back at once, while clients connect through the floating IP,
// without health monitors. With trafficDistribution PreferSameNode, no new connection may fail, and none with
// externalTrafficPolicy Local if a preStop hook makes the pods serve for long enough. Without a hook, only those
// fail that begin after a pod has stopped and before its node has left the load balancer.
func endpoints(s *scene) {
	moves, least := 2, 50
	if s.bears(corev1.ProtocolTCP) && s.Cloud.KubeProxy() != "" {
		moves, least = 20, 10000
	}
	following := func(change func(*corev1.Service)) func(*corev1.Service) {
		return func(svc *corev1.Service) {
			svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8080), port(corev1.ProtocolUDP, 8080)}
			svc.Annotations[prefix+"members"] = "endpoint-nodes"
			svc.Annotations[prefix+"enable-health-monitor"] = "false"
			change(svc)
		}
	}
	onlyLocal := following(func(svc *corev1.Service) { svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal })
	defer s.maySeePods()()
	preStop := sufficient(s.withoutHook(moves, onlyLocal)).Round(time.Second)
	s.hooked("local", preStop)
	near := s.create("near", following(func(svc *corev1.Service) {
		svc.Spec.TrafficDistribution = ptr.To(corev1.ServiceTrafficDistributionPreferSameNode)
	}), "node-1")
	local := s.create("local", onlyLocal, "node-1")
	p := s.only(preStop, local, near)
	preferring := s.load("PreferSameNode", s.outside(), at(near.address(), 8080), clientsOfEndpoints)
	locally := s.load("Local with a preStop hook", s.outside(), p.address, clientsOfEndpoints)
	p.moves(moves)
	s.onlyCut("PreferSameNode", moves, preferring.stop(least))
	s.report("Local with a preStop hook of %s: %d of %d nodes left after their pod had stopped", preStop, len(p.left), moves)
	if len(p.left) > moves/2 { // some do on a busy machine
		s.Errorf("%d of %d nodes left after their pod had stopped", len(p.left), moves)
	}
	s.onlyCut("Local with a preStop hook", moves, outside(widened(p.left), locally.stop(least)))
	near.remove()
	local.remove()
	s.nothingLeft()
}

// onlyCut reports failures. With ovn, the removal of a member cuts the connections that are established at that
// moment, and loses the answers to datagrams that are on their way: at most one of each client.
func (s *scene) onlyCut(what string, moves int, failures []cluster.Failure) {
	s.Helper()
	most, cut := 0, 0
	if s.Provider == "ovn" {
		most = clientsOfEndpoints * moves
	}
	for _, failure := range failures {
		if !errors.Is(failure.Err, cluster.ErrEstablished) && (most == 0 || !errors.Is(failure.Err, cluster.ErrUnanswered)) {
			s.Errorf("%s: %v", what, failure)
			continue
		}
		if cut++; cut > most {
			s.Errorf("%s: %v, after %d others like it", what, failure, cut-1)
		}
	}
	if !s.bearsAny() {
		return
	}
	s.report("%s: %d removals cut %d established connections or flows", what, moves, cut)
}

// sufficient returns for how long a preStop hook sleeps so that another node is added while the pod serves, and the removal
// of its own node, which takes a known time on average, ends before the pod stops.
func sufficient(removal time.Duration) time.Duration { return 5*removal + 20*time.Second }

// withoutHook moves a pod that has no preStop hook, and returns how long the removal of its node takes.
func (s *scene) withoutHook(moves int, onlyLocal func(*corev1.Service)) (removal time.Duration) {
	s.Helper()
	brief := s.create("brief", onlyLocal, "node-1")
	p := s.only(graceTime, brief)
	load := s.load("Local without a preStop hook", s.outside(), p.address, 1)
	p.moves(min(moves, 4))
	s.report("Local without a preStop hook: %s from the end of a pod until its node has left, on average", length(p.left))
	for _, failure := range outside(widened(p.left), load.stop(0)) {
		s.Errorf("Local without a preStop hook, while a pod serves: %v", failure)
	}
	brief.remove()
	return length(p.left)
}

// maySeePods gives the controller the right to read pods, as the value rbac.readPods of the chart does, until the
// result is called.
func (s *scene) maySeePods() (never func()) {
	s.Helper()
	name, ctx, rbac := "e2e-pods", context.WithoutCancel(s.Context()), s.Client().RbacV1()
	_, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	s.must(err)
	_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: "cloud-controller-manager"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}, metav1.CreateOptions{})
	s.must(err)
	return func() {
		s.must(errors.Join(rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}), rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})))
	}
}

// hooked creates the objects of a Service's pods on all nodes, with a preStop hook that sleeps, or without one for 0.
func (s *scene) hooked(service string, sleeps time.Duration) {
	s.Helper()
	var hook *corev1.Lifecycle
	if sleeps > 0 {
		hook = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(sleeps.Seconds())}}}
	}
	for _, node := range nodeNames() {
		_, err := s.Client().CoreV1().Pods(s.namespace).Create(s.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: cluster.PodOn(service, node)},
			Spec: corev1.PodSpec{
				NodeName: node, TerminationGracePeriodSeconds: ptr.To(int64(2 * sleeps.Seconds())),
				Containers: []corev1.Container{{Name: "web", Image: "web", Lifecycle: hook}},
			},
		}, metav1.CreateOptions{})
		s.must(err)
	}
}

// pod is the only pod of some Services, of which the first one has externalTrafficPolicy Local.
type pod struct {
	*scene
	of      []*service
	on      string
	address string // of the first Service
	// serves is how long the pod serves after its deletion.
	serves time.Duration
	// left are the periods from the end of a pod until its node has left the first Service's load balancer,
	// if it had not left before.
	left []period
}

// only returns the pod of Services, on node-1, which serves for some time after its deletion.
func (s *scene) only(serves time.Duration, of ...*service) *pod {
	s.Helper()
	for _, one := range of {
		one.onNodes([]string{"node-1"})
		s.answeredBy(s.outside(), at(one.address(), 8080), "node-1")
		s.answersUDP(s.outside(), at(one.address(), 8080))
	}
	return &pod{scene: s, of: of, on: "node-1", address: at(of[0].address(), 8080), serves: serves}
}

// moves moves the pod so many times to the next node, a quarter of them back at once.
func (p *pod) moves(count int) {
	p.Helper()
	for i := range count {
		to := nodeNames()[(slices.Index(nodeNames(), p.on)+1)%len(nodeNames())]
		if i%4 == 3 || count < 4 && i > 0 {
			p.moveAndBack(to)
		} else {
			p.move(to)
		}
	}
}

// move replaces the pod by one on another node, as a rollout does.
func (p *pod) move(to string) {
	p.Helper()
	open := p.connect()
	p.set([]string{to}, p.on)
	grace := time.After(p.serves)
	for _, of := range p.of {
		if p.Provider == "ovn" { // it cuts the connections of members that leave
			of.onNodes([]string{p.on, to})
		} else {
			of.onNodes([]string{to})
		}
	}
	p.leave(to, grace, open)
}

// moveAndBack moves the pod to another node and, while it still serves on the first one, back. The other node may not have
// become a member meanwhile: it does not while its pod terminates.
func (p *pod) moveAndBack(to string) {
	p.Helper()
	p.set([]string{to}, p.on)
	time.Sleep(hasteTime)
	p.set([]string{p.on}, to)
	grace := time.After(p.serves)
	from := p.on
	p.on = to
	for _, of := range p.of {
		p.eventually("members of "+of.name+" on "+from, func(ctx context.Context) error {
			err := of.isOn(ctx, []string{from})
			if err != nil && p.Provider == "ovn" && of.isOn(ctx, []string{from, to}) == nil {
				return nil
			}
			return err
		})
	}
	p.leave(from, grace, nil)
}

// leave lets the pod on its node stop after its grace, and waits until only another node is a member.
func (p *pod) leave(to string, grace <-chan time.Time, open *held) {
	p.Helper()
	if err := open.failure(); err != nil {
		p.Errorf("connection to the pod on %s, which still serves: %v", p.on, err)
	}
	<-grace
	ended, hasLeft := time.Now(), p.of[0].isOn(p.Context(), []string{to})
	p.set([]string{to})
	for _, of := range p.of {
		of.onNodes([]string{to})
	}
	if hasLeft != nil {
		p.left = append(p.left, period{ended, time.Now()})
	}
	p.on = to
}

// widened returns periods that are longer by the difference between what the test observes and what clients do.
func widened(periods []period) []period {
	wide := make([]period, 0, len(periods))
	for _, p := range periods {
		wide = append(wide, period{p.from.Add(-slack), p.to.Add(slack)})
	}
	return wide
}

// set writes the EndpointSlices.
func (p *pod) set(ready []string, leaving ...string) {
	p.Helper()
	for _, of := range p.of {
		p.must(p.SetPods(p.Context(), of.get(), ready, leaving...))
	}
}

// held is an established connection to a pod; nil if there is none to hold.
type held struct{ connection net.Conn }

// connect opens a connection to the pod.
func (p *pod) connect() *held {
	p.Helper()
	if !p.bears(corev1.ProtocolTCP) {
		return nil
	}
	connection, err := p.outside().From.DialContext(p.Context(), "tcp", p.address)
	p.must(err)
	p.Cleanup(func() { connection.Close() })
	open := &held{connection}
	p.must(open.failure())
	return open
}

// failure sends a byte, and returns an error unless it comes back.
func (h *held) failure() error {
	if h == nil {
		return nil
	}
	err := h.connection.SetDeadline(time.Now().Add(podPatience))
	if err == nil {
		_, err = io.WriteString(h.connection, ".")
	}
	if err == nil {
		_, err = io.ReadFull(h.connection, make([]byte, 1))
	}
	return err
}
