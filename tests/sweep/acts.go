package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// act is a change of a Service, in a cloud of any kind.
type act struct {
	name string
	// of is the only provider that supports it; "": all do.
	of string
	// keys are further ones of [LoadBalancer].
	keys map[string]string
	// twoNetworks is set if nodes have addresses in two networks.
	twoNetworks bool
	// before has the existing Services; nil: web.
	before []*v1.Service
	// endpoints are the nodes with endpoints of web; nil: they are not watched.
	endpoints []string
	// then creates further objects after these are served; nil: none.
	then func(env *testenv.Env)
	do   func(ctx context.Context, env *testenv.Env) error
}

func (a act) on(c cloud) Scenario {
	if a.before == nil {
		a.before = []*v1.Service{service("web", 80, 81)}
	}
	keys := maps.Clone(c.keys)
	maps.Copy(keys, a.keys)
	return Scenario{
		Name: a.name + " on " + c.name, Kind: a.name, Options: testenv.Options{Simulator: c.simulator(), Keys: keys, SecondNetwork: a.twoNetworks},
		Before: func(env *testenv.Env) error {
			addClass(env)
			for _, svc := range a.before {
				env.Cluster.Apply(svc)
			}
			if a.endpoints != nil {
				env.Cluster.SetEndpoints(web(), a.endpoints...)
			}
			return addNodes(env, 2)
		},
		Then: a.then,
		Act:  a.do,
	}
}

// PodClass is the class for pods as members: with managed security groups, annotations cannot request them.
const PodClass = "pods"

// addClass adds the class to cloud.conf.
func addClass(env *testenv.Env) {
	env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{PodClass: {Members: annotation.MembersPods}}
}

func addNodes(env *testenv.Env, n int) error {
	for i := range n {
		if _, err := env.AddNode(fmt.Sprintf("node-%d", i+1), fmt.Sprintf("127.100.1.%d", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// web is the Service of most acts.
func web() testenv.Key { return key("web") }

func key(name string) testenv.Key { return testenv.Key{Namespace: "default", Name: name} }

func service(name string, ports ...int32) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), Annotations: map[string]string{},
		},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, SessionAffinity: v1.ServiceAffinityNone,
		},
	}
	for _, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, servicePort(port))
	}
	return svc
}

func servicePort(number int32) v1.ServicePort {
	return v1.ServicePort{Name: fmt.Sprintf("p%d", number), Protocol: v1.ProtocolTCP, Port: number, NodePort: 30000 + number}
}

func with(svc *v1.Service, name, value string) *v1.Service {
	svc.Annotations[name] = value
	return svc
}

func restricted(svc *v1.Service, ranges ...string) *v1.Service {
	svc.Spec.LoadBalancerSourceRanges = ranges
	return svc
}

type doing = func(context.Context, *testenv.Env) error

// edit changes web.
func edit(change func(*v1.Service)) doing {
	return func(_ context.Context, env *testenv.Env) error {
		env.Cluster.Edit(web(), change)
		return nil
	}
}

func annotate(name, value string) doing {
	return edit(func(svc *v1.Service) { svc.Annotations[name] = value })
}

func create(svc *v1.Service) doing {
	return func(_ context.Context, env *testenv.Env) error {
		env.Cluster.Apply(svc)
		return nil
	}
}

func remove(name string) doing {
	return func(_ context.Context, env *testenv.Env) error {
		env.Cluster.Delete(key(name))
		return nil
	}
}

// acts returns all acts.
func acts() []act {
	all := []act{
		{name: "create", before: []*v1.Service{}, do: create(service("web", 80, 81))},
		{name: "create internal", before: []*v1.Service{}, do: create(with(service("web", 80), annotation.Internal, "true"))},
		{name: "delete", do: remove("web")},
		{name: "delete of a kept floating IP", before: []*v1.Service{with(service("web", 80), annotation.KeepFloatingIP, "true")}, do: remove("web")},
		{name: "type changed", do: edit(func(svc *v1.Service) { svc.Spec.Type = v1.ServiceTypeClusterIP })},
		{name: "restart", do: func(ctx context.Context, env *testenv.Env) error { return env.Restart(ctx) }},
		{name: "replaced", of: octavia.ProviderAmphora, do: replaced("ovn")},
		{name: "replaced", of: octavia.ProviderOVN, do: replaced("amphora")},
	}
	all = append(all, edits()...)
	all = append(all, metricsActs()...)
	all = append(all, settingActs()...)
	all = append(all, nodeActs()...)
	all = append(all, podActs()...)
	return append(all, shares()...)
}

func replaced(provider string) doing {
	return edit(func(svc *v1.Service) {
		svc.Annotations[annotation.Provider], svc.Annotations[annotation.Prefix+"allow-replace"] = provider, "true"
	})
}

// edits returns changes of a Service's settings.
func edits() []act {
	return []act{
		{name: "port added", do: edit(func(svc *v1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, servicePort(82)) })},
		{name: "port removed", do: edit(func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })},
		{name: "port changed", do: edit(func(svc *v1.Service) { svc.Spec.Ports[1] = servicePort(443) })},
		{name: "node port changed", do: edit(func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 31080 })},
		{name: "affinity changed", do: edit(func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP })},
		{name: "policy changed", do: edit(func(svc *v1.Service) {
			svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 31999
		})},
		{name: "monitor changed", do: annotate(annotation.MonitorDelay, "17")},
		{name: "monitor removed", do: annotate(annotation.Monitor, "false")},
		{name: "monitor added", before: []*v1.Service{with(service("web", 80, 81), annotation.Monitor, "false")}, do: annotate(annotation.Monitor, "true")},
		{
			name: "source ranges changed", of: octavia.ProviderAmphora,
			before: []*v1.Service{restricted(service("web", 80, 81), "10.0.0.0/8", "11.0.0.0/8")},
			do:     edit(func(svc *v1.Service) { restricted(svc, "10.0.0.0/8", "12.0.0.0/8") }),
		},
		{name: "source ranges set", of: octavia.ProviderAmphora, do: edit(func(svc *v1.Service) { restricted(svc, "10.0.0.0/8") })},
		{
			name: "port added to what is restricted", of: octavia.ProviderAmphora, before: []*v1.Service{restricted(service("web", 80), "10.0.0.0/8")},
			do: edit(func(svc *v1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, servicePort(82)) }),
		},
		{name: "timeouts changed", of: octavia.ProviderAmphora, do: annotate(annotation.ClientData, "70000")},
		{name: "protocol changed", of: octavia.ProviderAmphora, do: annotate(annotation.ForwardedFor, "true")},
		{name: "floating IP removed", do: annotate(annotation.Internal, "true")},
		{name: "floating IP added", before: []*v1.Service{with(service("web", 80), annotation.Internal, "true")}, do: annotate(annotation.Internal, "false")},
	}
}

// nodeActs returns changes of the nodes.
func nodeActs() []act {
	return []act{
		{name: "node added", do: func(_ context.Context, env *testenv.Env) error {
			_, err := env.AddNode("node-3", "127.100.1.3")
			return err
		}},
		{name: "node removed", do: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.DeleteNode("node-1")
			return nil
		}},
		{name: "nodes come and go and come again", of: octavia.ProviderOVN, do: func(ctx context.Context, env *testenv.Env) error {
			both, before := []*v1.Node{}, memberChanges(env)
			for i := 3; i <= 4; i++ {
				node, err := env.AddNode(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", i))
				if err != nil {
					return err
				}
				both = append(both, node)
			}
			if err := begun(ctx, env, before); err != nil {
				return err
			}
			before = memberChanges(env)
			for _, node := range both {
				env.Cluster.DeleteNode(node.Name)
			}
			if err := begun(ctx, env, before); err != nil {
				return err
			}
			for _, node := range both {
				env.Cluster.SetNode(node)
			}
			return nil
		}},
		{name: "nodes replaced", do: func(_ context.Context, env *testenv.Env) error {
			for i := range 2 {
				env.Cluster.DeleteNode(fmt.Sprintf("node-%d", i+1))
				if _, err := env.AddNode(fmt.Sprintf("node-%d", i+3), fmt.Sprintf("127.100.1.%d", i+3)); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// podActs change the endpoints of a Service with members that follow them, or begin to.
func podActs() []act {
	const mode, nodes = annotation.Members, annotation.MembersEndpointNodes
	following := func() []*v1.Service { return []*v1.Service{with(service("web", 80, 81), mode, nodes)} }
	ofPods := func() []*v1.Service { return []*v1.Service{with(service("web", 80, 81), annotation.Class, PodClass)} }
	move := func(nodes ...string) doing {
		return func(_ context.Context, env *testenv.Env) error {
			env.Cluster.SetEndpoints(web(), nodes...)
			return nil
		}
	}
	return []act{
		{name: "pods move", before: following(), endpoints: []string{"node-1"}, do: move("node-2")},
		{name: "pods move to another node", before: following(), endpoints: []string{"node-1", "node-2"}, do: move("node-1")},
		{name: "pods end", before: following(), endpoints: []string{"node-1"}, do: move()},
		{name: "members follow pods", endpoints: []string{"node-1"}, do: annotate(mode, nodes)},
		{name: "members follow pods no more", before: following(), endpoints: []string{"node-1"}, do: annotate(mode, annotation.MembersNodes)},
		{name: "pods become members", endpoints: []string{"node-1", "node-2"}, do: annotate(annotation.Class, PodClass)},
		{name: "pods become members in place of their nodes", before: following(), endpoints: []string{"node-1"}, do: edit(func(svc *v1.Service) {
			delete(svc.Annotations, mode)
			svc.Annotations[annotation.Class] = PodClass
		})},
		{name: "pods are members no more", before: ofPods(), endpoints: []string{"node-1", "node-2"}, do: annotate(mode, annotation.MembersNodes)},
		{name: "pods that are members move", before: ofPods(), endpoints: []string{"node-1"}, do: move("node-2")},
		{name: "pods that are members end", before: ofPods(), endpoints: []string{"node-1"}, do: move()},
		{name: "pods come and go and come again", of: octavia.ProviderOVN, before: following(), endpoints: []string{"node-1"}, do: func(ctx context.Context, env *testenv.Env) error {
			for _, nodes := range [][]string{{"node-1", "node-2"}, {"node-1"}} {
				before := memberChanges(env)
				env.Cluster.SetEndpoints(web(), nodes...)
				if err := begun(ctx, env, before); err != nil {
					return err
				}
			}
			env.Cluster.SetEndpoints(web(), "node-1", "node-2")
			return nil
		}},
	}
}

// begun waits until a change of members has begun in each pool, or for a minute at most: a slow
// cloud still works on it then. Before is the number of earlier changes.
func begun(ctx context.Context, env *testenv.Env, before int) error {
	for range 60 {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if memberChanges(env) > before {
			return nil
		}
	}
	return nil
}

// memberChanges returns the number of changes of members that have begun in each pool.
func memberChanges(env *testenv.Env) int {
	counts := map[string]int{}
	for _, lb := range env.Cloud.Octavia.Snapshot() {
		for _, pool := range lb.Pools {
			counts[pool.ID] = 0
		}
	}
	for _, request := range env.Cloud.RequestLog.Requests(requestlog.Writes()) {
		for id := range counts {
			if strings.Contains(request.Path, "/pools/"+id+"/members") {
				counts[id]++
			}
		}
	}
	if len(counts) == 0 {
		return 0
	}
	return slices.Min(slices.Collect(maps.Values(counts)))
}

// shares returns acts of several Services on one load balancer. They have no monitors, because the
// driver of Zed could not add listeners.
func shares() []act {
	calm := func(name string, ports ...int32) *v1.Service {
		return with(service(name, ports...), annotation.Monitor, "false")
	}
	onto := func(guest, owner string) doing {
		return func(_ context.Context, env *testenv.Env) error {
			env.Cluster.Edit(key(guest), func(svc *v1.Service) { svc.Annotations[annotation.LoadBalancerID] = balancerOf(env, owner) })
			return nil
		}
	}
	named := func(name string, port int32) *v1.Service { return with(calm(name, port), annotation.Share, "edge") }
	share := func(name, value string) doing {
		return func(_ context.Context, env *testenv.Env) error {
			env.Cluster.Edit(key(name), func(svc *v1.Service) {
				svc.Annotations[annotation.Share] = value
				if value == "" {
					delete(svc.Annotations, annotation.Share)
				}
			})
			return nil
		}
	}
	join := func(env *testenv.Env) { env.Cluster.Apply(named("other", 8080)) }
	guest := func(env *testenv.Env) {
		env.Cluster.Apply(with(calm("guest", 443), annotation.LoadBalancerID, balancerOf(env, "web")))
	}
	alone, two := []*v1.Service{calm("web", 80)}, []*v1.Service{calm("web", 80), calm("other", 8080)}
	return []act{
		{name: "share", before: alone, do: func(_ context.Context, env *testenv.Env) error {
			guest(env)
			return nil
		}},
		{name: "unshare", before: alone, then: guest, do: onto("guest", "")},
		{name: "guest leaves", before: alone, then: guest, do: remove("guest")},
		{name: "owner leaves", before: alone, then: guest, do: remove("web")},
		{name: "move", before: two, then: guest, do: onto("guest", "other")},
		{name: "move of an owner", before: two, do: onto("web", "other")},
		{name: "join by name", before: []*v1.Service{named("web", 80)}, do: create(named("other", 8080))},
		{name: "own load balancer joins by name", before: []*v1.Service{named("web", 80), calm("other", 8080)}, do: share("other", "edge")},
		{name: "leave a name", before: []*v1.Service{named("web", 80)}, then: join, do: share("other", "")},
		{name: "owner of a name leaves", before: []*v1.Service{named("web", 80)}, then: join, do: remove("web")},
	}
}

// balancerOf returns the ID of the load balancer of a Service; "" if there is none.
func balancerOf(env *testenv.Env, name string) string {
	for _, lb := range env.Cloud.Octavia.Snapshot() {
		if lb.Name == "kube_service_kubernetes_default_"+name {
			return lb.ID
		}
	}
	return ""
}
