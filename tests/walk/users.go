package walk

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// servicePort returns the nth port of a Service. No other Service may request it.
func (r *run) servicePort(key testenv.Key, n int) v1.ServicePort {
	number := int32(1000*(slices.Index(r.keys, key)+1) + n)
	return v1.ServicePort{Name: fmt.Sprintf("p%d", number), Protocol: v1.ProtocolTCP, Port: number, NodePort: 30000 - 1000 + number%1000 + number/10}
}

// create creates a Service, or replaces its settings.
func (r *run) create(a, b int) {
	key := r.key(a)
	svc, known := r.service(key, b), r.env.Cluster.Service(key)
	switch {
	case known == nil:
		svc.UID = r.uid(svc.Name)
	case known.DeletionTimestamp != nil:
		return
	default: // annotations of other clients stay
		for _, name := range controllers() {
			if value, is := known.Annotations[name]; is {
				svc.Annotations[name] = value
			}
		}
	}
	r.env.Cluster.ForgetEndpoints(key)
	r.apply(key, svc)
}

// apply creates or replaces a Service. A router leads to nodes with endpoints.
func (r *run) apply(key testenv.Key, svc *v1.Service) {
	if r.start.Routed {
		r.env.Cluster.SetEndpoints(key, "node-1", "node-2")
	}
	r.env.Cluster.Apply(svc)
}

// controllers returns the annotations that controllers write.
func controllers() []string {
	return []string{annotation.LoadBalancerID, annotation.LoadBalancerAddress, annotation.WrittenFor}
}

// service returns one of the Services that users create.
func (r *run) service(key testenv.Key, b int) *v1.Service {
	svc := sweep.NewService(key.Name)
	svc.Namespace, svc.UID = key.Namespace, ""
	for n := range 1 + b%2 {
		svc.Spec.Ports = append(svc.Spec.Ports, r.servicePort(key, n))
	}
	if b/2%3 == 1 && !r.start.Forwarding {
		svc.Annotations[annotation.Internal] = "true"
	}
	if b/6%2 == 1 {
		r.local(svc)
	}
	if b/12%2 == 1 && r.restricts() {
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	}
	if r.start.DualStack {
		sweep.Dual(svc, b%5 > 2)
	}
	if r.start.Routed {
		return r.mayMove(svc, b)
	}
	return svc
}

// mayMove returns a Service that can change between Octavia and the provider without it, with no settings that this
// one lacks.
func (r *run) mayMove(svc *v1.Service, b int) *v1.Service {
	svc.Spec.LoadBalancerSourceRanges = nil
	if r.start.Forwarding {
		svc = sweep.Forwarding(svc)
	} else {
		svc = sweep.OnRouter(svc)
	}
	if b%3 == 0 {
		delete(svc.Annotations, annotation.Provider)
	}
	return svc
}

// provider moves a Service between Octavia and the provider without it.
func (r *run) provider(a, _ int) {
	key := r.key(a)
	if svc := r.env.Cluster.Service(key); svc == nil || svc.DeletionTimestamp != nil || !r.start.Routed {
		return
	}
	without := "router"
	if r.start.Forwarding {
		without = "port-forwarding"
	}
	r.env.Cluster.Edit(key, flip(annotation.Provider, without, ""))
}

// restricts reports whether the provider enforces source ranges, and has the features of amphorae.
func (r *run) restricts() bool { return r.start.Provider != octavia.ProviderOVN && !r.start.Routed }

// mayShare reports whether Services may share load balancers. The driver of ovn of Zed cannot add listeners beside
// monitors. A load balancer with a guest cannot be replaced for other IP families, or another provider.
func (r *run) mayShare() bool { return !r.oldOVN() && !r.start.DualStack && !r.start.Routed }

// oldOVN reports whether the provider is ovn of Zed.
func (r *run) oldOVN() bool { return r.start.Zed && r.start.Provider == octavia.ProviderOVN }

func (r *run) local(svc *v1.Service) {
	if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
		return
	}
	svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	svc.Spec.HealthCheckNodePort = int32(32000 + slices.Index(r.keys, testenv.KeyOf(svc)))
}

// edit changes one setting of a Service, or reverts that.
func (r *run) edit(a, b int) {
	key := r.key(a)
	if known := r.env.Cluster.Service(key); known == nil || known.DeletionTimestamp != nil {
		return
	}
	edits := r.edits()
	r.env.Cluster.Edit(key, func(svc *v1.Service) {
		edits[b%len(edits)](svc)
		fit(svc)
	})
}

// flip sets an annotation to one of two values, or removes it if the second is "".
func flip(name, one, other string) func(*v1.Service) {
	return func(svc *v1.Service) {
		switch {
		case svc.Annotations[name] != one:
			svc.Annotations[name] = one
		case other == "":
			delete(svc.Annotations, name)
		default:
			svc.Annotations[name] = other
		}
	}
}

// edits returns the changes that users may make.
func (r *run) edits() []func(*v1.Service) {
	all := r.editsAnywhere()
	if r.start.Routed {
		return all
	}
	all = append(all, r.editsInOctavia()...)
	if !r.restricts() {
		return all
	}
	ranges := func(cidrs ...string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = cidrs }
	}
	return append(all, ranges("10.0.0.0/8"), ranges("10.0.0.0/8", "12.0.0.0/8"), ranges("10.1.0.0/16"), ranges(),
		flip(annotation.ClientData, "70000", "80000"), flip(annotation.MemberData, "70000", "80000"),
		flip(annotation.ForwardedFor, "true", "false"))
}

// editsAnywhere returns changes that work with every provider, also router.
func (r *run) editsAnywhere() []func(*v1.Service) {
	return []func(*v1.Service){
		r.addPort,
		func(svc *v1.Service) {
			if len(svc.Spec.Ports) > 1 {
				svc.Spec.Ports = svc.Spec.Ports[:len(svc.Spec.Ports)-1]
			}
		},
		r.changePort,
		func(svc *v1.Service) { p := &svc.Spec.Ports[0]; p.NodePort = 30000 + (p.NodePort - 30000) ^ 1024 },
		func(svc *v1.Service) {
			if svc.Spec.SessionAffinity == v1.ServiceAffinityClientIP {
				svc.Spec.SessionAffinity = v1.ServiceAffinityNone
			} else {
				svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
			}
		},
		r.local,
		func(svc *v1.Service) {
			if !r.start.Forwarding { // which needs a floating IP
				flip(annotation.Internal, "true", "false")(svc)
			}
		},
		func(svc *v1.Service) {
			switch {
			case svc.Annotations[annotation.Managed] != "": // its objects would stay
			case svc.Spec.Type == v1.ServiceTypeLoadBalancer:
				if svc.Spec.Type = v1.ServiceTypeClusterIP; svc.Annotations[annotation.WrittenFor] == "" {
					delete(svc.Annotations, annotation.LoadBalancerID) // the named one is deleted, unless others are on it
				}
			default:
				svc.Spec.Type = v1.ServiceTypeLoadBalancer
			}
		},
	}
}

// editsInOctavia returns changes that work with every provider of Octavia.
func (r *run) editsInOctavia() []func(*v1.Service) {
	return []func(*v1.Service){
		flip(annotation.MonitorDelay, "17", ""), flip(annotation.MonitorDown, "5", "6"),
		flip(annotation.Monitor, "false", "true"),
		func(svc *v1.Service) {
			if mode(svc) == "" { // else its members may depend on those before
				flip(annotation.NodeSelector, edge, "")(svc)
			}
		},
		func(svc *v1.Service) {
			if mode(svc) != "" {
				flip(annotation.Members, annotation.MembersEndpointNodes, annotation.MembersNodes)(svc)
			}
		},
		flipPods,
		flip(annotation.ConnLimit, "500", "600"),
	}
}

// metrics has the load balancer of a Service serve its metrics, to other clients, or no more. That of another
// Service cannot.
func (r *run) metrics(a, _ int) {
	key := r.key(a)
	svc := r.env.Cluster.Service(key)
	if svc == nil || svc.DeletionTimestamp != nil || r.start.Provider != octavia.ProviderAmphora || r.start.Routed || svc.Annotations[annotation.Share] != "" {
		return
	}
	own := func(lb octavia.LoadBalancer) bool {
		owner, uid := ownerOf(lb)
		return lb.ID == svc.Annotations[annotation.LoadBalancerID] && owner == key && uid == string(svc.UID)
	}
	if !slices.ContainsFunc(r.env.Cloud.Octavia.Snapshot(), own) {
		return
	}
	r.env.Cluster.Edit(key, func(svc *v1.Service) {
		switch svc.Annotations[annotation.MetricsCIDRs] {
		case "":
			sweep.Measured(svc, 9100+slices.Index(r.keys, key), "10.8.0.0/16")
		case "10.8.0.0/16":
			svc.Annotations[annotation.MetricsCIDRs] += ",10.9.0.0/16"
		default:
			delete(svc.Annotations, annotation.MetricsPort)
			delete(svc.Annotations, annotation.MetricsCIDRs)
		}
	})
}

// measured reports whether the load balancer of a Service serves its metrics.
func measured(svc *v1.Service) bool { return svc.Annotations[annotation.MetricsPort] != "" }

func (r *run) addPort(svc *v1.Service) {
	for n := range 4 {
		p := r.servicePort(testenv.KeyOf(svc), n)
		if !slices.ContainsFunc(svc.Spec.Ports, func(other v1.ServicePort) bool { return other.Port == p.Port }) {
			svc.Spec.Ports = append(svc.Spec.Ports, p)
			return
		}
	}
}

// changePort replaces the last port.
func (r *run) changePort(svc *v1.Service) {
	last := len(svc.Spec.Ports) - 1
	for n := range 3 {
		p := r.servicePort(testenv.KeyOf(svc), 5+n)
		if !slices.ContainsFunc(svc.Spec.Ports, func(other v1.ServicePort) bool { return other.Port == p.Port }) {
			svc.Spec.Ports[last] = p
			return
		}
	}
}

func (r *run) delete(a, _ int) {
	r.manageAgain(r.key(a))
	r.env.Cluster.Delete(r.key(a))
}

// recreate deletes a Service, and creates another one of its name as soon as it is gone.
func (r *run) recreate(a, b int) {
	key := r.key(a)
	known := r.env.Cluster.Service(key)
	if known == nil || known.DeletionTimestamp != nil {
		return
	}
	r.delete(a, 0)
	r.took()
	go func() {
		for {
			changed := r.env.Cluster.Changed()
			now := r.env.Cluster.Service(key)
			if now != nil && now.UID != known.UID {
				return
			}
			if now == nil {
				r.mu.Lock()
				svc := r.service(key, b)
				svc.UID = r.uid(key.Name)
				r.mu.Unlock()
				r.apply(key, svc)
				r.took()
				return
			}
			select {
			case <-changed:
			case <-r.ctx.Done():
				return
			}
		}
	}()
}

// families makes a Service dual-stack, or single-stack again, which takes another load balancer.
func (r *run) families(a, _ int) {
	key := r.key(a)
	svc := r.env.Cluster.Service(key)
	if svc == nil || svc.DeletionTimestamp != nil || !r.start.DualStack {
		return
	}
	r.env.Cluster.Edit(key, func(svc *v1.Service) { sweep.Dual(svc, len(svc.Spec.IPFamilies) == 1) })
}

// share puts a Service on the load balancer of another one, or on its own again.
func (r *run) share(a, b int) {
	key := r.key(a)
	svc := r.env.Cluster.Service(key)
	if svc == nil || svc.DeletionTimestamp != nil || !r.mayShare() || measured(svc) {
		return
	}
	// Other namespaces do not permit it.
	balancers := slices.DeleteFunc(r.env.Cloud.Octavia.Snapshot(), func(lb octavia.LoadBalancer) bool {
		owner, _ := ownerOf(lb)
		return owner.Namespace != key.Namespace
	})
	id := ""
	if len(balancers) > 0 && b%4 > 0 {
		id = balancers[b%len(balancers)].ID
	}
	r.env.Cluster.Edit(key, func(svc *v1.Service) { svc.Annotations[annotation.LoadBalancerID] = id })
}

// name has a Service share a load balancer by one of two names, or leave the share.
func (r *run) name(a, b int) {
	key := r.key(a)
	svc := r.env.Cluster.Service(key)
	if svc == nil || svc.DeletionTimestamp != nil || !r.mayShare() || measured(svc) {
		return
	}
	r.env.Cluster.Edit(key, func(svc *v1.Service) {
		if b%3 == 0 {
			delete(svc.Annotations, annotation.Share)
		} else {
			svc.Annotations[annotation.Share] = fmt.Sprint("share-", b%3)
		}
	})
}

// node changes the nodes. The first one always stays.
func (r *run) node(a, b int) {
	name := fmt.Sprintf("node-%d", 2+a%3)
	known := r.env.Cluster.Node(name)
	switch {
	case known == nil && !r.start.Inherited:
		if _, err := r.env.AddNode(name, fmt.Sprintf("127.100.%d.%d", 2+a%3, 1+b)); err != nil {
			r.labelEdge(fmt.Sprintf("node-%d", 1)) // the address is taken
		}
	case known == nil:
	case b%3 == 0:
		removeNode(r.env, name)
	case b%3 == 1:
		r.labelEdge(name)
	default:
		r.labelEdge("node-1")
	}
}

// pods moves the pods of a Service, and its members follow them from then on. One is always on the node
// that stays.
func (r *run) pods(a, b int) {
	key := r.key(a)
	svc := r.env.Cluster.Service(key)
	if svc == nil || svc.DeletionTimestamp != nil || svc.Annotations[annotation.NodeSelector] != "" {
		return
	}
	nodes := []string{"node-1"}
	for i := range 3 {
		if b>>i&1 == 1 {
			nodes = append(nodes, fmt.Sprintf("node-%d", 2+i))
		}
	}
	r.env.Cluster.SetEndpoints(key, nodes...)
	if mode(svc) == "" {
		r.env.Cluster.Edit(key, func(svc *v1.Service) { svc.Annotations[annotation.Members] = annotation.MembersEndpointNodes })
	}
}

// removeNode removes a Node with its server.
func removeNode(env *testenv.Env, name string) {
	env.Cloud.Nova.DeleteServer(strings.TrimPrefix(env.Cluster.Node(name).Spec.ProviderID, "openstack:///"))
	env.Cluster.DeleteNode(name)
}

// labelEdge adds a label to a Node, or removes it from all except the first.
func (r *run) labelEdge(name string) {
	node := r.env.Cluster.Node(name)
	if node == nil {
		return
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Labels[edge] != "" && name != "node-1" {
		delete(node.Labels, edge)
	} else {
		node.Labels[edge] = "true"
	}
	r.env.Cluster.SetNode(node)
}
