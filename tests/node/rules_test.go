package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var web = types.NamespacedName{Namespace: "demo", Name: "web"}

// service has a TCP port "http" at node port 30080 and a UDP port "dns" at 30053.
func service(changes ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name},
		Spec: corev1.ServiceSpec{
			Type:                  corev1.ServiceTypeLoadBalancer,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080},
				{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, NodePort: 30053},
			},
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func local(s *corev1.Service) {
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	s.Spec.HealthCheckNodePort = 32000
}

// pod is an endpoint that is ready on a node.
func pod(address, node string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		NodeName:   &node,
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
	}
}

// leaving is an endpoint that terminates, but still serves.
func leaving(e discoveryv1.Endpoint) discoveryv1.Endpoint {
	e.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
	return e
}

func unready(e discoveryv1.Endpoint) discoveryv1.Endpoint {
	e.Conditions.Ready = ptr.To(false)
	return e
}

// slice is one of the Service's EndpointSlices, with both its ports.
func slice(name string, family discoveryv1.AddressType, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: web.Namespace, Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: web.Name},
		},
		AddressType: family,
		Ports: []discoveryv1.EndpointPort{
			{Name: ptr.To("http"), Port: ptr.To[int32](8080), Protocol: ptr.To(corev1.ProtocolTCP)},
			{Name: ptr.To("dns"), Port: ptr.To[int32](5353), Protocol: ptr.To(corev1.ProtocolUDP)},
		},
		Endpoints: endpoints,
	}
}

func ipv4(endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return slice("web-1", discoveryv1.AddressTypeIPv4, endpoints...)
}

func TestRules_FollowTrafficPolicyAndReadyPods(t *testing.T) {
	t.Parallel()
	var (
		onA, onB = pod("10.244.1.5", "a"), pod("10.244.2.5", "b")
		atA, atB = endpoint{"10.244.1.5", "a"}, endpoint{"10.244.2.5", "b"}
		http     = socket{corev1.ProtocolTCP, 30080}
		dns      = socket{corev1.ProtocolUDP, 30053}
	)
	both := func(endpoints ...endpoint) map[socket]frontend {
		return map[socket]frontend{
			http: {service: web, port: "http", endpoints: endpoints},
			dns:  {service: web, port: "dns", endpoints: endpoints},
		}
	}
	silent := map[socket]frontend{dns: {service: web, port: "dns"}}
	checked := func(pods int) map[int32]health { return map[int32]health{32000: {service: web, localEndpoints: pods}} }
	tests := map[string]struct {
		service *corev1.Service
		slices  []*discoveryv1.EndpointSlice
		want    rules
	}{
		"Cluster, no pods":               {service(), nil, rules{}},
		"Cluster, pods elsewhere":        {service(), []*discoveryv1.EndpointSlice{ipv4(onB)}, rules{frontends: both(atB)}},
		"Cluster, pods everywhere":       {service(), []*discoveryv1.EndpointSlice{ipv4(onB, onA)}, rules{frontends: both(atA, atB)}},
		"Cluster, nobody ready":          {service(), []*discoveryv1.EndpointSlice{ipv4(unready(onA))}, rules{}},
		"Local, no pods":                 {service(local), nil, rules{healthChecks: checked(0)}},
		"Local, pods elsewhere":          {service(local), []*discoveryv1.EndpointSlice{ipv4(onB)}, rules{frontends: silent, healthChecks: checked(0)}},
		"Local, pods everywhere":         {service(local), []*discoveryv1.EndpointSlice{ipv4(onA, onB)}, rules{frontends: both(atA), healthChecks: checked(1)}},
		"Local, the pod here not ready":  {service(local), []*discoveryv1.EndpointSlice{ipv4(unready(onA), onB)}, rules{frontends: silent, healthChecks: checked(0)}},
		"Cluster, one pod is leaving":    {service(), []*discoveryv1.EndpointSlice{ipv4(leaving(onA), onB)}, rules{frontends: both(atB)}},
		"Cluster, all pods are leaving":  {service(), []*discoveryv1.EndpointSlice{ipv4(leaving(onA), leaving(onB))}, rules{frontends: both(atA, atB)}},
		"Local, the pod here is leaving": {service(local), []*discoveryv1.EndpointSlice{ipv4(leaving(onA), onB)}, rules{frontends: both(atA), healthChecks: checked(0)}},
		"a pod named in two slices":      {service(local), []*discoveryv1.EndpointSlice{ipv4(onA), slice("web-2", discoveryv1.AddressTypeIPv4, onA)}, rules{frontends: both(atA), healthChecks: checked(1)}},
		"the other family does not help": {service(), []*discoveryv1.EndpointSlice{slice("web-6", discoveryv1.AddressTypeIPv6, pod("fd00::5", "a"))}, rules{}},
		"no node ports are allocated": {service(func(s *corev1.Service) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].NodePort = 0
			}
		}), []*discoveryv1.EndpointSlice{ipv4(onA)}, rules{}},
		"unknown readiness is ready": {service(), []*discoveryv1.EndpointSlice{ipv4(discoveryv1.Endpoint{Addresses: onA.Addresses, NodeName: onA.NodeName})}, rules{frontends: both(atA)}},
		"another Service's pods":     {service(func(s *corev1.Service) { s.Name = "other" }), []*discoveryv1.EndpointSlice{ipv4(onA)}, rules{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rulesFor("a", discoveryv1.AddressTypeIPv4, []*corev1.Service{test.service}, test.slices)
			want := test.want
			if want.frontends == nil {
				want.frontends = map[socket]frontend{}
			}
			if want.healthChecks == nil {
				want.healthChecks = map[int32]health{}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(rules{}, socket{}, frontend{}, endpoint{}, health{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRules_LeaveOutPodsWithoutPort(t *testing.T) {
	t.Parallel()
	partial := ipv4(pod("10.244.1.5", "a"))
	partial.Ports = partial.Ports[:1]
	got := rulesFor("a", discoveryv1.AddressTypeIPv4, []*corev1.Service{service()}, []*discoveryv1.EndpointSlice{partial})
	if len(got.frontends) != 1 || got.frontends[socket{corev1.ProtocolTCP, 30080}].port != "http" {
		t.Errorf("frontends = %v, want http alone", got.frontends)
	}
}
