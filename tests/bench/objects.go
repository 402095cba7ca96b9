package bench

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// addNodes adds servers to a cloud without quotas, and returns their nodes.
func addNodes(cloud *simulator.Cloud, n int) ([]*v1.Node, error) {
	for _, resource := range []string{"port", "floatingip"} {
		cloud.Neutron.SetQuota(cloud.Account.ProjectID, resource, -1)
	}
	var nodes []*v1.Node
	for i := range n {
		name, address := fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.%d.%d", 1+i/200, 10+i%200)
		server, err := cloud.AddServer(name, address)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, newNode(name, address, server.ID))
	}
	return nodes, nil
}

// providerIDPrefix comes before the ID of a node's server.
const providerIDPrefix = "openstack:///"

func newNode(name, address, serverID string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodeSpec{ProviderID: providerIDPrefix + serverID},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}
}

// newService returns a Service with so many ports of TCP.
func newService(name string, ports int) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("0b7e5f1c-" + name), Annotations: map[string]string{},
			Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"},
		},
		Spec: v1.ServiceSpec{
			Type:                  v1.ServiceTypeLoadBalancer,
			IPFamilies:            []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
			SessionAffinity:       v1.ServiceAffinityNone,
		},
	}
	for i := range ports {
		addPort(svc, i)
	}
	return svc
}

func newServices(n, ports int) []*v1.Service {
	var all []*v1.Service
	for i := range n {
		all = append(all, newService(fmt.Sprintf("web-%d", i), ports))
	}
	return all
}

func addPort(svc *v1.Service, i int) {
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{
		Name: fmt.Sprintf("p%d", i), Protocol: v1.ProtocolTCP, Port: int32(80 + i), NodePort: int32(30080 + i),
	})
}
