package desire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// service makes a Service default/web with HTTP on TCP.
func service(changes ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "service-uid", Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{
			Type:                  v1.ServiceTypeLoadBalancer,
			IPFamilies:            []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
			SessionAffinity:       v1.ServiceAffinityNone,
			Ports:                 []v1.ServicePort{port(v1.ProtocolTCP, 80)},
		},
	}
	for _, change := range changes {
		change(svc)
	}
	return svc
}

func port(protocol v1.Protocol, number int32) v1.ServicePort {
	return v1.ServicePort{Name: fmt.Sprintf("p%d", number), Protocol: protocol, Port: number, NodePort: 30000 + number}
}

func ports(all ...v1.ServicePort) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.Ports = all }
}

func annotated(name, value string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Annotations[name] = value }
}

func families(all ...v1.IPFamily) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.IPFamilies = all }
}

// local gives the Service the traffic policy Local.
func local(svc *v1.Service) {
	svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	svc.Spec.HealthCheckNodePort = 31000
}

// conf is the configuration of an operator who has set what has no default.
func conf(changes ...func(*config.LoadBalancer)) *config.Config {
	c := &config.Config{LoadBalancer: config.LoadBalancer{
		LBProvider: "amphora", LBMethod: "ROUND_ROBIN", SubnetID: "subnet", FloatingNetworkID: "public",
		MonitorDelay: seconds(5), MonitorTimeout: seconds(3), MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
	}}
	for _, change := range changes {
		change(&c.LoadBalancer)
	}
	return c
}

func seconds(n int) config.Duration { return config.Duration{Duration: time.Duration(n) * time.Second} }

func node(name string, addresses ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}}
	for _, address := range addresses {
		kind, external := v1.NodeInternalIP, strings.HasPrefix(address, "external ")
		if external {
			kind, address = v1.NodeExternalIP, strings.TrimPrefix(address, "external ")
		}
		n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: kind, Address: address})
	}
	return n
}

// settings reads the settings of a Service that has no mistake.
func settings(t *testing.T, svc *v1.Service, cfg *config.Config) desire.Settings {
	t.Helper()
	s, _, errs := desire.Read(svc, cfg)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return s
}

// today is what the provider amphora of a current Octavia can do.
func today() driver.Driver {
	return driver.Of("amphora", octavia.Version{Major: 2, Minor: 30})
}

// refused fails unless there is exactly one error, which has all these words.
func refused(t *testing.T, errs field.ErrorList, words ...string) {
	t.Helper()
	if len(errs) != 1 {
		t.Fatalf("%d errors, want one: %v", len(errs), errs)
	}
	for _, word := range words {
		if !strings.Contains(errs[0].Error(), word) {
			t.Errorf("error %q says nothing of %q", errs[0].Error(), word)
		}
	}
}
