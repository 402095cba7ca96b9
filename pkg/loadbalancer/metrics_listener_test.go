package loadbalancer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const prometheus = "PROMETHEUS"

// measured returns a Service with some ports and a load balancer that serves its metrics.
func measured(name string, ports int) *v1.Service {
	svc := service(name, ports)
	svc.Annotations[annotation.MetricsPort], svc.Annotations[annotation.MetricsCIDRs] = "9100", "10.9.0.0/16, 10.8.0.0/16"
	return svc
}

// measures returns the listener with the metrics, nil if there is none.
func (env *environment) measures() *simoctavia.Listener {
	env.T.Helper()
	lb := env.loadBalancer()
	for _, l := range lb.Listeners {
		if l.Protocol == prometheus {
			return l
		}
	}
	return nil
}

//proves:141
func TestMetricsListener_IsCreatedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(2), measured("web", 2)
	env.Cloud.RequestLog.Reset()
	env.foretold(svc, nodes)
	if created := env.Cloud.RequestLog.Count(http.MethodPost, lbRoute); created != 1 || len(env.loadBalancer().Listeners) != 3 {
		t.Errorf("%d requests created %d listeners", created, len(env.loadBalancer().Listeners))
	}
	l := env.measures()
	if l == nil || l.ProtocolPort != 9100 || !slices.Equal(l.AllowedCIDRs, []string{"10.8.0.0/16", "10.9.0.0/16"}) || l.DefaultPoolID != "" {
		t.Fatalf("%+v", l)
	}
	if pools := len(env.loadBalancer().Pools); pools != 2 {
		t.Errorf("%d pools", pools)
	}
	env.unchanged(svc, nodes)
	for _, step := range []struct {
		what   string
		change func()
		writes int
	}{
		{"other clients", func() { svc.Annotations[annotation.MetricsCIDRs] = "10.7.0.0/16" }, 1},
		{"another port", func() { svc.Annotations[annotation.MetricsPort] = "9101" }, 2},
		{"the port becomes one of the Service", func() {
			svc.Annotations[annotation.MetricsPort] = "9102"
			svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9101))
		}, 6}, // pool, members, monitor, a listener in place of the other, and that of 9102
		{"the port goes back", func() {
			svc.Annotations[annotation.MetricsPort] = "9101"
			svc.Spec.Ports = svc.Spec.Ports[:2]
		}, 5}, // the listener of the port is closed to others, two listeners go with a pool, one comes
		{"no metrics", func() {
			delete(svc.Annotations, annotation.MetricsPort)
			delete(svc.Annotations, annotation.MetricsCIDRs)
		}, 1},
	} {
		step.change()
		env.Cloud.RequestLog.Reset()
		env.foretold(svc, nodes)
		env.writes(step.writes)
		env.unchanged(svc, nodes)
		if l := env.measures(); (l == nil) != (step.what == "no metrics") || l != nil && l.DefaultPoolID != "" {
			t.Errorf("%s: %+v", step.what, l)
		}
	}
	env.restart()
	env.unchanged(svc, nodes)
}

// Nodes change, and the process restarts, beside the listener without a pool.
//
//proves:141
func TestMetricsListener_CostsNothingWhenNodesChange(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), measured("web", 1)
	env.ensure(svc, nodes[:2])
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(1)
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(0)
	env.delete(svc)
	env.loadBalancers(0)
}

//proves:141
func TestMetricsListener_IsRestoredAfterAnotherClientDeletedIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), measured("web", 1)
	env.ensure(svc, nodes)
	if err := octaviaAsSomebodyElse(t, env).Octavia().DeleteListener(env.ctx, env.measures().ID); err != nil {
		t.Fatal(err)
	}
	env.repair(svc, nodes)
	if env.measures() == nil {
		t.Error("it is gone")
	}
	env.unchanged(svc, nodes)
}

//proves:141
func TestMetricsListener_IsRefusedBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys   map[string]string
		change func(svc *v1.Service)
		want   string
	}{
		"on ovn":                        {map[string]string{"lb-provider": "ovn"}, func(*v1.Service) {}, "metrics-port]: Forbidden: the provider ovn"},
		"without clients":               {nil, func(svc *v1.Service) { delete(svc.Annotations, annotation.MetricsCIDRs) }, "metrics-allowed-cidrs]: Required"},
		"for all clients of two ranges": {nil, func(svc *v1.Service) { svc.Annotations[annotation.MetricsCIDRs] = "0.0.0.0/1, 128.0.0.0/1" }, "allowed are CIDRs that do not cover 0.0.0.0/0 together"},
		"for all clients":               {nil, func(svc *v1.Service) { svc.Annotations[annotation.MetricsCIDRs] = "0.0.0.0/0" }, "admits all clients"},
		"for IPv6":                      {nil, func(svc *v1.Service) { svc.Annotations[annotation.MetricsCIDRs] = "2001:db8::/64" }, "IP family, IPv4"},
		"on a port":                     {nil, func(svc *v1.Service) { svc.Annotations[annotation.MetricsPort] = "80" }, "is a TCP port of the Service"},
		"beside security groups": {map[string]string{"deny-annotations": ""}, func(svc *v1.Service) {
			svc.Annotations[annotation.VIPSecurityGroups] = "22222222-2222-4222-8222-222222222222"
		}, "beside security groups of the VIP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: test.keys})
			svc := measured("web", 1)
			svc.Spec.Ports[0].Port = 80
			test.change(svc)
			env.refused(svc, env.nodes(1), test.want)
			env.loadBalancers(0)
		})
	}
}

//proves:141
func TestMetricsListener_IsOnlyOnLoadBalancerOfItsService(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := measured("a", 1), measured("b", 0)
	a.Annotations[annotation.Share], b.Annotations[annotation.Share] = "edge", "edge"
	b.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 8081)}
	b.Annotations[annotation.MetricsPort] = "9200"
	env.served(a, nodes)
	env.options.services.apply(b)
	env.Cloud.RequestLog.Reset()
	env.refused(b, nodes, "metrics-port]: Forbidden: the load balancer was created for another Service")
	env.writes(0)
	delete(b.Annotations, annotation.MetricsPort)
	env.served(b, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, annotation.MetricsCIDRs+": has no effect without") {
		t.Errorf("events: %s", emitted)
	}
	env.rest(nodes, a, b)
}

// A process that starts compares the Service with the record, which does not show whether the load balancer is
// shared. As a guest the Service would be refused.
//
//proves:141
func TestMetricsListener_IsCreatedForServiceThatChangedBeforeStart(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	env.writeDown(svc)
	env.restart()
	annotate(annotation.MetricsPort, "9100", annotation.MetricsCIDRs, "10.8.0.0/16")(svc)
	env.ensure(svc, nodes)
	if env.measures() == nil {
		t.Error("it is missing")
	}
	env.unchanged(svc, nodes)
}

// A Service that became invalid before a process starts is refused, whatever the record contains.
//
//proves:141
func TestMetricsListener_IsRefusedForServiceThatChangedBeforeStart(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": "ovn"}})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	env.writeDown(svc)
	env.restart()
	annotate(annotation.MetricsPort, "9100", annotation.MetricsCIDRs, "10.8.0.0/16")(svc)
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "metrics-port]: Forbidden: the provider ovn")
	env.writes(0)
}
