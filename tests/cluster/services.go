package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// targetPort is where the pods that nobody runs would listen.
const targetPort = 8080

// SetPods writes the EndpointSlice of a Service as the endpoint slice controller
// would for ready pods: so many on each of the nodes. The Service must have no
// selector, since there are no pods for that controller to find.
func SetPods(ctx context.Context, client kubernetes.Interface, service *corev1.Service, podsOn map[string]int) error {
	slices := client.DiscoveryV1().EndpointSlices(service.Namespace)
	want := endpointSlice(service, podsOn)
	_, err := slices.Update(ctx, want, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = slices.Create(ctx, want, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("set the pods of service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}

// endpointSlice belongs to its Service, and goes with it. It is of the Service's
// first IP family.
func endpointSlice(service *corev1.Service, podsOn map[string]int) *discoveryv1.EndpointSlice {
	family, pod := discoveryv1.AddressTypeIPv4, "10.244.%d.%d"
	if len(service.Spec.IPFamilies) > 0 && service.Spec.IPFamilies[0] == corev1.IPv6Protocol {
		family, pod = discoveryv1.AddressTypeIPv6, "fd00:244:%d::%d"
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace,
			Name:      service.Name + "-" + strings.ToLower(string(family)),
			Labels:    map[string]string{discoveryv1.LabelServiceName: service.Name},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service")),
			},
		},
		AddressType: family,
	}
	for _, port := range service.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: &port.Name, Protocol: &port.Protocol, Port: ptr.To[int32](targetPort),
		})
	}
	for n, node := range slices.Sorted(maps.Keys(podsOn)) {
		for i := range podsOn[node] {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses:  []string{fmt.Sprintf(pod, n+1, i+2)},
				NodeName:   &node,
				Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
			})
		}
	}
	return slice
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
// its provider ID.
func Initialized(ctx context.Context, client kubernetes.Interface, name string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Spec.ProviderID == "" {
		return errors.New("node " + name + " has no provider ID")
	}
	return nil
}
