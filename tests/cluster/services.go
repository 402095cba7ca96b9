package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/utils/ptr"
)

// targetPort is the port of the pods, which do not run.
const targetPort = 8080

// SetPods writes the EndpointSlices of a Service, one of each of its IP families, as the endpoint slice
// controller would: so many pods on each of the nodes. Those on the nodes leaving terminate, but still
// serve; all others are ready. The Service must have no selector, since there are no pods for that
// controller to find.
func SetPods(ctx context.Context, client kubernetes.Interface, service *corev1.Service, podsOn map[string]int, leaving ...string) error {
	return writeSlices(ctx, client, service, anyPort, func(family discoveryv1.AddressType) (endpoints []discoveryv1.Endpoint, err error) {
		pod := "10.244.%d.%d"
		if family == discoveryv1.AddressTypeIPv6 {
			pod = "fd00:244:%d::%d"
		}
		for n, node := range slices.Sorted(maps.Keys(podsOn)) {
			for i := range podsOn[node] {
				endpoints = append(endpoints, endpointOn(node, fmt.Sprintf(pod, n+1, i+2), leaving))
			}
		}
		return endpoints, nil
	})
}

// SetPodsAt is SetPods for one ready pod on each node, at an IPv4 address.
func SetPodsAt(ctx context.Context, client kubernetes.Interface, service *corev1.Service, addresses map[string]netip.Addr) error {
	return writeSlices(ctx, client, service, anyPort, func(discoveryv1.AddressType) (endpoints []discoveryv1.Endpoint, err error) {
		for _, node := range slices.Sorted(maps.Keys(addresses)) {
			endpoints = append(endpoints, endpointOn(node, addresses[node].String(), nil))
		}
		return endpoints, nil
	})
}

func anyPort(corev1.ServicePort) int32 { return targetPort }

// hostPortDistance is the distance from the range of node ports to an unused range.
const hostPortDistance = 10000

// SetHostPods is SetPods for pods in the nodes' own network, one on each of the
// nodes, which a kube-proxy can send traffic to. Ports that share a network must
// differ, so each Service port's is made from its node port.
func SetHostPods(ctx context.Context, client kubernetes.Interface, service *corev1.Service, nodes []string, leaving ...string) error {
	target := func(port corev1.ServicePort) int32 { return port.NodePort - hostPortDistance }
	return writeSlices(ctx, client, service, target, func(family discoveryv1.AddressType) (endpoints []discoveryv1.Endpoint, err error) {
		for _, name := range slices.Concat(nodes, leaving) {
			addresses, err := addressesOf(ctx, client, name, family)
			if err != nil {
				return nil, err
			}
			for _, address := range addresses {
				endpoints = append(endpoints, endpointOn(name, address, leaving))
			}
		}
		return endpoints, nil
	})
}

// addressesOf returns the internal addresses of a node in an IP family.
func addressesOf(ctx context.Context, client kubernetes.Interface, name string, family discoveryv1.AddressType) (addresses []string, err error) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("find a pod's address: %w", err)
	}
	for _, address := range node.Status.Addresses {
		ip, err := netip.ParseAddr(address.Address) // else it is a name
		if err == nil && address.Type == corev1.NodeInternalIP && ip.Is6() == (family == discoveryv1.AddressTypeIPv6) {
			addresses = append(addresses, address.Address)
		}
	}
	return addresses, nil
}

// HostPod is a pod in its node's own network. It has a target port for each port of the Service, in their order from
// FirstPort on. A Leaving one terminates, but still serves.
type HostPod struct {
	Node      string
	FirstPort int32
	Leaving   bool
}

// SetEachHostPod writes an IPv4 EndpointSlice for each of the pods of a Service, since their ports differ, and deletes all
// others.
func SetEachHostPod(ctx context.Context, client kubernetes.Interface, service *corev1.Service, pods []HostPod) error {
	written := map[string]bool{}
	for _, pod := range pods {
		var leaving []string
		if pod.Leaving {
			leaving = []string{pod.Node}
		}
		addresses, err := addressesOf(ctx, client, pod.Node, discoveryv1.AddressTypeIPv4)
		if err != nil {
			return err
		}
		var endpoints []discoveryv1.Endpoint
		for _, address := range addresses {
			endpoints = append(endpoints, endpointOn(pod.Node, address, leaving))
		}
		target := func(port corev1.ServicePort) int32 {
			at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == port.Name })
			return pod.FirstPort + int32(at)
		}
		name := fmt.Sprintf("%s-%d", service.Name, pod.FirstPort)
		if err := writeSlice(ctx, client, service, name, discoveryv1.AddressTypeIPv4, endpoints, target); err != nil {
			return err
		}
		written[name] = true
	}
	all := client.DiscoveryV1().EndpointSlices(service.Namespace)
	found, err := all.List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
	if err != nil {
		return err
	}
	for _, slice := range found.Items {
		if !written[slice.Name] {
			if err := all.Delete(ctx, slice.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

func endpointOn(node, address string, leaving []string) discoveryv1.Endpoint {
	leaves := slices.Contains(leaving, node)
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		NodeName:   &node,
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(!leaves), Serving: ptr.To(true), Terminating: ptr.To(leaves)},
	}
}

// writeSlices writes a slice of each IP family of a Service. A Service without families is one of IPv4.
func writeSlices(ctx context.Context, client kubernetes.Interface, service *corev1.Service, target func(corev1.ServicePort) int32,
	endpoints func(discoveryv1.AddressType) ([]discoveryv1.Endpoint, error),
) error {
	families := service.Spec.IPFamilies
	if len(families) == 0 {
		families = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	for _, family := range families {
		all, err := endpoints(discoveryv1.AddressType(family))
		if err == nil {
			name := service.Name + "-" + strings.ToLower(string(family))
			err = writeSlice(ctx, client, service, name, discoveryv1.AddressType(family), all, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PodOn returns the name of a Service's pod on a node. Its Pod object exists only if a test creates it.
func PodOn(service, node string) string { return service + "-" + node }

// writeSlice lets the slice belong to its Service, and go with it. For trafficDistribution PreferSameNode, ready
// endpoints get the hints of the EndpointSlice controller.
func writeSlice(ctx context.Context, client kubernetes.Interface, service *corev1.Service, name string, family discoveryv1.AddressType,
	endpoints []discoveryv1.Endpoint, target func(corev1.ServicePort) int32,
) error {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace,
			Name:      name,
			Labels:    map[string]string{discoveryv1.LabelServiceName: service.Name},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service")),
			},
		},
		AddressType: family,
		Endpoints:   endpoints,
	}
	for i, e := range slice.Endpoints {
		slice.Endpoints[i].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: service.Namespace, Name: PodOn(service.Name, *e.NodeName)}
	}
	for _, port := range service.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: &port.Name, Protocol: &port.Protocol, Port: ptr.To(target(port)),
		})
	}
	if ptr.Deref(service.Spec.TrafficDistribution, "") == corev1.ServiceTrafficDistributionPreferSameNode {
		for i, e := range slice.Endpoints {
			if *e.Conditions.Ready {
				slice.Endpoints[i].Hints = &discoveryv1.EndpointHints{ForNodes: []discoveryv1.ForNode{{Name: *e.NodeName}}}
			}
		}
	}
	all := client.DiscoveryV1().EndpointSlices(service.Namespace)
	_, err := all.Update(ctx, slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = all.Create(ctx, slice, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("set the pods of service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}

// ExternalIP is the address at which a Service is reached from outside.
func ExternalIP(ctx context.Context, client kubernetes.Interface, namespace, name string) (string, error) {
	service, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if ingress := service.Status.LoadBalancer.Ingress; len(ingress) > 0 && ingress[0].IP != "" {
		return ingress[0].IP, nil
	}
	return "", fmt.Errorf("service %s/%s has no external IP", namespace, name)
}

// Gone is an error while the Service exists.
func Gone(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("service %s/%s still exists", namespace, name)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// Initialized is an error until the cloud controller manager has given the Node
// its provider ID, and lets pods in.
func Initialized(ctx context.Context, client kubernetes.Interface, name string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Spec.ProviderID == "" {
		return errors.New("node " + name + " has no provider ID")
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider }) {
		return errors.New("node " + name + " is tainted")
	}
	return nil
}
