package bench

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// The cases. Those of the first group have one Service.
const (
	caseCreate           = "create"
	caseNoop             = "noop"
	caseRestart          = "restart"
	caseNodeAdd          = "node-add"
	caseNodeAddCold      = "node-add-cold" // the first change after a restart
	caseNodeRemove       = "node-remove"
	caseNodeChurn        = "node-churn"
	caseListenerChange   = "listener-change"
	caseNodePortChange   = "node-port-change"
	caseAffinityChange   = "affinity-change"
	casePortAdd          = "port-add"
	casePortRemove       = "port-remove"
	caseMonitorOn        = "monitor-on"
	caseMonitorChange    = "monitor-change"
	caseMonitorOff       = "monitor-off"
	casePolicyChange     = "policy-change"
	caseFloatingIPRemove = "floating-ip-remove"
	caseFloatingIPAdd    = "floating-ip-add"
	caseDelete           = "delete"
	// The members follow the endpoints of the Service.
	caseRollout      = "rollout"        // pods are replaced on the same nodes
	caseScale        = "scale"          // a pod ends on a node without others
	casePodsNodeLost = "pods-node-lost" // a node is lost with all pods on it

	caseCreateMany      = "create-many"
	caseNodeAddMany     = "node-add-many"
	caseNodeAddManyCold = "node-add-many-cold" // after a restart
	caseIdle            = "idle"
	caseDeleteMany      = "delete-many"

	// A controller in a separate process, with many Services that have many members.
	caseHold        = "hold"
	caseHoldNoop    = "hold-noop"
	caseHoldNodeAdd = "hold-node-add"
	caseHoldRestart = "hold-restart"
)

// churn is the number of nodes that are replaced at once.
const churn = 10

// life is the life of one Service. Each change of it is a case.
type life struct {
	*environment
	scale   scale
	service *v1.Service
	nodes   []*v1.Node
	rows    []Row
}

// liveOnce creates a Service, changes it in every way, and deletes it.
func liveOnce(ctx context.Context, s scale) (rows []Row, err error) {
	s.services, s.workers = 1, cloudprovider.DefaultServiceWorkers
	env, err := newEnvironment(ctx, s, s.nodes+churn)
	if err != nil {
		return nil, err
	}
	defer env.close()
	l := &life{environment: env, scale: s, service: newService("web", s.ports), nodes: env.nodes[:s.nodes]}
	l.ensure(ctx, caseCreate)
	l.ensure(ctx, caseNoop)
	l.nodeChanges(ctx)
	for _, c := range serviceChanges(s) {
		c.change(l.service)
		l.ensure(ctx, c.name)
	}
	if err := l.podChanges(ctx); err != nil {
		return nil, err
	}
	if err := env.rest(ctx); err != nil {
		return nil, err
	}
	l.do(ctx, caseRestart, func(ctx context.Context) error {
		if err := env.restart(ctx); err != nil {
			return err
		}
		return env.controller.watching(ctx, func(ctx context.Context) error {
			return env.controller.ensure(ctx, l.service, l.nodes)
		})
	})
	l.update(ctx, caseNodeAddCold, env.nodes[min(s.nodes, churn)-1:][:s.nodes+1])
	l.do(ctx, caseDelete, func(ctx context.Context) error { return env.controller.delete(ctx, l.service) })
	return l.rows, nil
}

func (l *life) do(ctx context.Context, name string, work func(context.Context) error) {
	l.rows = append(l.rows, l.measure(ctx, name, l.scale, work))
}

// ensure is a sync of the Service.
func (l *life) ensure(ctx context.Context, name string) {
	l.do(ctx, name, func(ctx context.Context) error { return l.controller.ensure(ctx, l.service, l.nodes) })
}

// nodeChanges add a node, remove it, and replace many.
func (l *life) nodeChanges(ctx context.Context) {
	n := l.scale.nodes
	replaced := min(n, churn)
	for _, change := range []struct {
		name string
		to   []*v1.Node
	}{
		{caseNodeAdd, l.environment.nodes[:n+1]},
		{caseNodeRemove, l.environment.nodes[:n]},
		{caseNodeChurn, l.environment.nodes[replaced : n+replaced]},
	} {
		l.update(ctx, change.name, change.to)
	}
}

// podChanges has the members follow endpoints, which are on all nodes at first, and no more at the
// end. Scales with fewer than three nodes are too small for it.
func (l *life) podChanges(ctx context.Context) error {
	if len(l.nodes) < 3 {
		return nil
	}
	l.service.Annotations[annotation.Members] = annotation.MembersEndpointNodes
	l.pods(l.nodes, 1)
	if err := l.controller.ensure(ctx, l.service, l.nodes); err != nil {
		return err
	}
	for _, change := range []struct {
		name string
		on   []*v1.Node
		each int
	}{
		{caseRollout, l.nodes, 2},
		{caseScale, l.nodes[1:], 1},
		{casePodsNodeLost, l.nodes[2:], 1},
	} {
		l.pods(change.on, change.each)
		l.do(ctx, change.name, func(ctx context.Context) error { return l.controller.repair(ctx, l.service, l.nodes) })
	}
	delete(l.service.Annotations, annotation.Members)
	l.notes.endpoints.Store(nil)
	return l.controller.ensure(ctx, l.service, l.nodes)
}

// pods sets the endpoints of the Service, so many on each node.
func (l *life) pods(nodes []*v1.Node, each int) {
	slice := members.Slice{Family: v1.IPv4Protocol}
	for _, port := range l.service.Spec.Ports {
		slice.Ports = append(slice.Ports, port.Name)
	}
	for _, node := range nodes {
		for range each {
			slice.Endpoints = append(slice.Endpoints, members.Endpoint{Node: node.Name, Ready: true, Serving: true})
		}
	}
	l.notes.endpoints.Store(&members.Endpoints{slice})
}

// update is a change of the nodes, as upstream reports it.
func (l *life) update(ctx context.Context, name string, nodes []*v1.Node) {
	l.nodes = nodes
	l.do(ctx, name, func(ctx context.Context) error { return l.controller.repair(ctx, l.service, l.nodes) })
}

// serviceChange is a change of a Service by a user.
type serviceChange struct {
	name   string
	change func(*v1.Service)
}

// serviceChanges returns all changes that the provider supports. A change stays during the next
// ones.
func serviceChanges(s scale) []serviceChange {
	annotate := func(name, value string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Annotations[name] = value }
	}
	changes := []serviceChange{
		{caseNodePortChange, func(svc *v1.Service) { svc.Spec.Ports[0].NodePort += 1000 }},
		{casePortAdd, func(svc *v1.Service) { addPort(svc, len(svc.Spec.Ports)) }},
		{casePortRemove, func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:len(svc.Spec.Ports)-1] }},
		{caseFloatingIPRemove, annotate(annotation.Internal, "true")},
		{caseFloatingIPAdd, annotate(annotation.Internal, "false")},
		{caseAffinityChange, func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP }},
	}
	if s.provider == amphora { // ovn has no source ranges
		changes = append(changes, serviceChange{caseListenerChange, func(svc *v1.Service) {
			svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		}})
	}
	if !s.monitors {
		return append(changes,
			serviceChange{caseMonitorOn, annotate(annotation.Monitor, "true")},
			serviceChange{caseMonitorChange, annotate(annotation.MonitorDelay, "17")},
			serviceChange{caseMonitorOff, annotate(annotation.Monitor, "false")})
	}
	return append(changes, serviceChange{casePolicyChange, func(svc *v1.Service) {
		svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
		svc.Spec.HealthCheckNodePort = 31999
	}})
}

func (s scale) String() string {
	text := fmt.Sprintf("%s, %d ports, %d nodes, %d services", s.provider, s.ports, s.nodes, max(s.services, 1))
	if s.monitors {
		text += ", monitors"
	}
	if s.kubeProxy {
		text += " that ask kube-proxy"
	}
	return text
}
