package e2e

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/testutil"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

// costs counts what the controller asks of the cloud for one Service of three
// ports.
func costs(s *scene) {
	const ports = 3
	nodes := s.countNodes()
	everywhere := func(nodes int) map[string]int {
		return map[string]int{"TCP/8080": nodes, "TCP/9090": nodes, "UDP/8080": nodes}
	}
	took := s.meter()
	web := s.create("web", func(svc *corev1.Service) {
		svc.Spec.Ports = []corev1.ServicePort{port(corev1.ProtocolTCP, 8080), port(corev1.ProtocolTCP, 9090), port(corev1.ProtocolUDP, 8080)}
	}, "node-1")
	web.address()
	web.has(everywhere(nodes))
	took("create", cost.Create(0))

	synced := web.synced()
	web.annotate("e2e.test/touched", "yes")
	s.eventually("another sync", func(context.Context) error {
		if web.synced() == synced {
			return fmt.Errorf("there were %d", synced)
		}
		return nil
	})
	took("nothing to do", cost.Nothing())

	s.addForeignNode(0)
	web.has(everywhere(nodes + 1))
	took("a node comes", cost.NodesChange(ports))
	s.removeForeignNode(0)
	web.has(everywhere(nodes))
	took("a node goes", cost.NodesChange(ports))

	web.remove()
	s.nothingLeft()
	took("delete", cost.Delete())
}

// meter returns a function that judges what the controller has asked of the cloud since its last call, or since
// this one. No other scenario may be at work.
func (s *scene) meter() (took func(what string, want cost.Cost)) {
	s.Helper()
	before := s.spent()
	return func(what string, want cost.Cost) {
		s.Helper()
		var have, after cost.Cost
		s.eventually(what+" counted", func(context.Context) error { // the cloud shows a change before it answers
			after = s.spent()
			have = cost.Cost{Writes: after.Writes - before.Writes, Cycles: after.Cycles - before.Cycles}
			if have.Writes < want.Writes || have.Cycles < want.Cycles {
				return fmt.Errorf("there are %d writes and %d PENDING cycles", have.Writes, have.Cycles)
			}
			return nil
		})
		before = after
		s.Logf("%s: %d writes, %d PENDING cycles", what, have.Writes, have.Cycles)
		if have != want {
			s.Errorf("%s took %+v, want %+v", what, have, want)
		}
	}
}

// spent is what the controller has asked of the cloud since its start, as its own
// metrics tell. Each change that Octavia accepts makes a load balancer PENDING
// once, so those are the cycles.
func (s *scene) spent() (spent cost.Cost) {
	s.Helper()
	counted, err := s.CCM.Metrics(s.Context())
	s.must(err)
	writes := func(sample *testutil.Sample) int {
		request := string(sample.Metric["request"])
		if strings.HasSuffix(request, "_list") || strings.HasSuffix(request, "_get") || strings.HasPrefix(request, "token_") {
			return 0
		}
		return int(sample.Value)
	}
	for _, sample := range counted["openstack_api_requests_total"] {
		spent.Writes += writes(sample)
		if strings.HasPrefix(string(sample.Metric["request"]), "loadbalancer_") && strings.HasPrefix(string(sample.Metric["code"]), "2") {
			spent.Cycles += writes(sample)
		}
	}
	for _, sample := range counted["openstack_api_request_retries_total"] {
		spent.Writes += writes(sample)
	}
	return spent
}

// synced returns the number of upstream's events that the Service has its load balancer.
func (s *service) synced() (times int32) {
	s.Helper()
	events, err := s.Client().CoreV1().Events(s.namespace).List(s.Context(), metav1.ListOptions{
		FieldSelector: "reason=EnsuredLoadBalancer,involvedObject.name=" + s.name,
	})
	s.must(err)
	for _, event := range events.Items {
		times += max(event.Count, 1)
	}
	return times
}
