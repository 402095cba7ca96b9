package sweep

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// metricsActs returns changes of the listener with metrics.
func metricsActs() []act {
	measured := func() []*v1.Service { return []*v1.Service{Measured(service("web", 80, 81), 9100, "10.8.0.0/16")} }
	measure := func(port int, clients string) doing {
		return edit(func(svc *v1.Service) { Measured(svc, port, clients) })
	}
	return []act{
		{name: "metrics added", of: octavia.ProviderAmphora, do: measure(9100, "10.8.0.0/16")},
		{name: "metrics for other clients", of: octavia.ProviderAmphora, before: measured(), do: measure(9100, "10.8.0.0/16, 10.9.0.0/16")},
		{name: "metrics at another port", of: octavia.ProviderAmphora, before: measured(), do: measure(9101, "10.8.0.0/16")},
		{name: "metrics removed", of: octavia.ProviderAmphora, before: measured(), do: edit(func(svc *v1.Service) {
			delete(svc.Annotations, annotation.MetricsPort)
			delete(svc.Annotations, annotation.MetricsCIDRs)
		})},
	}
}

// settingActs returns changes of settings that few Services have.
func settingActs() []act {
	web := func() *v1.Service {
		return with(with(service("web", 80, 81), annotation.Protocols, "80=HTTP,81=HTTP"), annotation.MonitorType, "TCP")
	}
	ofPorts := func(svc *v1.Service) *v1.Service {
		with(with(svc, annotation.ProxyProtocol+".80", "v2"), annotation.Method+".81", "LEAST_CONNECTIONS")
		return with(with(svc, annotation.MonitorType+".81", "HTTP"), annotation.MonitorPath+".81", "/ready")
	}
	internal := map[string]string{"internal-by-default": "true"}
	inFirst := func(env *testenv.Env) { // addresses of nodes are in both networks
		env.Cluster.Edit(key("web"), func(svc *v1.Service) { with(svc, annotation.MemberSubnetID, env.Cloud.Subnet.ID) })
	}
	return []act{
		{name: "cookies added", of: octavia.ProviderAmphora, before: []*v1.Service{web()}, do: annotate(annotation.Persistence, "HTTP_COOKIE")},
		{
			name: "cookie of the application", of: octavia.ProviderAmphora, before: []*v1.Service{with(web(), annotation.Persistence, "HTTP_COOKIE")},
			do: edit(func(svc *v1.Service) {
				with(with(svc, annotation.Persistence+".81", "APP_COOKIE"), annotation.CookieName+".81", "sid")
			}),
		},
		{
			name: "cookies removed", of: octavia.ProviderAmphora, before: []*v1.Service{with(web(), annotation.Persistence, "HTTP_COOKIE")},
			do: edit(func(svc *v1.Service) { delete(svc.Annotations, annotation.Persistence) }),
		},
		{name: "settings of a port", of: octavia.ProviderAmphora, do: edit(func(svc *v1.Service) { ofPorts(svc) })},
		{
			name: "settings of a port removed", of: octavia.ProviderAmphora, before: []*v1.Service{ofPorts(service("web", 80, 81))},
			do: edit(func(svc *v1.Service) { svc.Annotations = service("web").Annotations }),
		},
		{name: "internal by default", keys: internal, before: []*v1.Service{}, do: create(service("web", 80))},
		{name: "external despite the default", keys: internal, before: []*v1.Service{service("web", 80)}, do: annotate(annotation.Internal, "false")},
		{name: "members by subnet", twoNetworks: true, then: inFirst, do: annotate(annotation.MemberAddress, "true")},
		{
			name: "members by subnet no more", twoNetworks: true, before: []*v1.Service{with(service("web", 80, 81), annotation.MemberAddress, "true")}, then: inFirst,
			do: edit(func(svc *v1.Service) { delete(svc.Annotations, annotation.MemberAddress) }),
		},
		{name: "members at the Service's ports", keys: map[string]string{"member-port": "service"}, before: []*v1.Service{}, do: create(service("web", 80, 81))},
		{name: "address by name", do: annotate(annotation.Hostname, "web.example.com")},
		{name: "address in a name", do: annotate(annotation.IngressHostname, "true")},
		{name: "mode of the address", do: annotate(annotation.IPMode, "Proxy")},
		{
			name: "managed again", then: func(env *testenv.Env) {
				env.Cluster.Edit(key("web"), func(svc *v1.Service) {
					svc.Annotations[annotation.Managed] = "false"
					svc.Spec.Ports = append(svc.Spec.Ports, servicePort(82))
				})
			},
			do: annotate(annotation.Managed, "true"),
		},
		{name: "managed no more", do: edit(func(svc *v1.Service) {
			svc.Annotations[annotation.Managed] = "false"
			svc.Spec.Ports = svc.Spec.Ports[:1]
		})},
	}
}

// Measured gives a Service's load balancer a listener with its metrics.
func Measured(svc *v1.Service, port int, clients string) *v1.Service {
	return with(with(svc, annotation.MetricsPort, fmt.Sprint(port)), annotation.MetricsCIDRs, clients)
}
