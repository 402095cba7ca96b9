package plan_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// Members follow the endpoints in the EndpointSlices. A pod that only its readiness gate holds counts as
// ready, as in the controller.
func TestPlan_HasMembersWithEndpointsAndThoseThatReadinessGatesHold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		gated, failing bool
		want           string
	}{
		"not ready":                 {want: "and 1 member"},
		"held by its gate":          {gated: true, want: "and 2 members"},
		"held, and without a probe": {gated: true, failing: true, want: "and 1 member"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, simulator.Options{}, clusterID)
			c.addNodes(3)
			web := service("default", "web", 80)
			web.Annotations[annotation.Members], web.Spec.Selector = annotation.MembersEndpointNodes, map[string]string{"app": "web"}
			c.add(web)
			slice := &discovery.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discovery.LabelServiceName: "web"}},
				AddressType: discovery.AddressTypeIPv4, Ports: []discovery.EndpointPort{{Name: new("p80"), Port: new(int32(8080))}},
				Endpoints: []discovery.Endpoint{
					{Addresses: []string{"10.244.0.5"}, NodeName: new("node-0"), Conditions: discovery.EndpointConditions{Ready: new(true)}},
					{Addresses: []string{"10.244.1.5"}, NodeName: new("node-1"), Conditions: discovery.EndpointConditions{Ready: new(false)}},
				},
			}
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-b", Labels: map[string]string{"app": "web"}}}
			if test.gated {
				pod.Labels[gates.Label], pod.Spec.ReadinessGates = "true", []v1.PodReadinessGate{{ConditionType: gates.Condition}}
			}
			pod.Status.PodIPs = []v1.PodIP{{IP: "10.244.1.5"}}
			if !test.failing {
				pod.Status.Conditions = []v1.PodCondition{{Type: v1.ContainersReady, Status: v1.ConditionTrue}}
			}
			if err := c.client.Tracker().Add(slice); err != nil {
				t.Fatal(err)
			}
			if err := c.client.Tracker().Add(pod); err != nil {
				t.Fatal(err)
			}
			r := must(t, plan.ExitChanges)(c.plan(plan.Query{Names: []string{"web"}}, plan.NodeChange{}))
			if step := r.Services[0].Steps[0].Text; !strings.Contains(step, test.want) {
				t.Errorf("step %q, want %q", step, test.want)
			}
		})
	}
}
