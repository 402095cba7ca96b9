package e2e

import (
	"io"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

const (
	// graceTime is how long a pod serves at least after its deletion: enough for each kube-proxy to
	// learn of it.
	graceTime = 5 * time.Second
	// hasteTime is the time between two moves of a pod that follow each other at once.
	hasteTime = 2 * time.Second
	// slack is the difference between what the test observes and what clients do.
	slack = time.Second
)

// endpoints moves a pod from node to node, some times back at once, while clients connect through the floating IP,
// without health monitors. With trafficDistribution PreferSameNode, none of them may fail. With
// externalTrafficPolicy Local, only those fail that begin after a pod has stopped and before its node has left the load
// balancer; the connections that the pod has serve until it stops.
func endpoints(s *scene) {
	moves, least := 2, 50
	if s.carries(corev1.ProtocolTCP) && s.Cloud.KubeProxy() != "" {
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
	near := s.create("near", following(func(svc *corev1.Service) {
		svc.Spec.TrafficDistribution = ptr.To(corev1.ServiceTrafficDistributionPreferSameNode)
	}), "node-1")
	local := s.create("local", following(func(svc *corev1.Service) {
		svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}), "node-1")
	p := &pod{scene: s, of: []*service{near, local}, on: "node-1", address: at(local.address(), 8080)}
	for _, of := range p.of {
		of.onNodes([]string{"node-1"})
		s.answeredBy(s.outside(), at(of.address(), 8080), "node-1")
	}
	preferring := s.load("PreferSameNode", s.outside(), at(near.address(), 8080), 2)
	locally := s.load("Local", s.outside(), p.address, 1)
	for i := range moves {
		to := nodeNames()[(slices.Index(nodeNames(), p.on)+1)%len(nodeNames())]
		if i%4 == 3 || moves < 4 && i > 0 {
			p.moveAndBack(to)
		} else {
			p.move(to)
		}
	}
	for _, failure := range preferring.stop(least) {
		s.Errorf("PreferSameNode: %v", failure)
	}
	s.report("Local: %s from the end of a pod until its node has left, on average", length(p.stopped))
	for _, failure := range outside(p.stopped, locally.stop(0)) {
		s.Errorf("Local, while a pod serves: %v", failure)
	}
	near.remove()
	local.remove()
	s.nothingLeft()
}

// pod is the only pod of some Services.
type pod struct {
	*scene
	of      []*service
	on      string
	address string // of a Service with externalTrafficPolicy Local
	// stopped are the periods after a pod has stopped, until its node has left the load balancer.
	stopped []period
}

// move replaces the pod by one on another node, as a rollout does.
func (p *pod) move(to string) {
	p.Helper()
	open := p.connect()
	p.set([]string{to}, p.on)
	p.leave(to, open)
}

// moveAndBack moves the pod to another node and, while it still serves on the first one, back.
func (p *pod) moveAndBack(to string) {
	p.Helper()
	p.set([]string{to}, p.on)
	time.Sleep(hasteTime)
	p.set([]string{p.on}, to)
	from := p.on
	p.on = to
	p.leave(from, nil)
}

// leave lets the pod on its node stop when another node serves too, and waits for the end of the change.
func (p *pod) leave(to string, open *held) {
	p.Helper()
	grace := time.After(graceTime)
	for _, of := range p.of {
		if p.Provider == "ovn" { // it cuts the connections of members that leave
			of.onNodes([]string{p.on, to})
		} else {
			of.onNodes([]string{to})
		}
	}
	<-grace
	ended := time.Now()
	if err := open.failure(); err != nil {
		p.Errorf("connection to the pod on %s, which still serves: %v", p.on, err)
	}
	p.set([]string{to})
	for _, of := range p.of {
		of.onNodes([]string{to})
	}
	p.stopped = append(p.stopped, period{ended.Add(-slack), time.Now().Add(slack)})
	p.on = to
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
	if !p.carries(corev1.ProtocolTCP) {
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
