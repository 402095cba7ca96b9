package resync

import (
	"context"
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// ReadEndpoints returns the endpoints of a Service, read from the API server. If that fails for
// another reason than a missing right, they are Unreadable.
func ReadEndpoints(ctx context.Context, client kubernetes.Interface, service *v1.Service, now time.Time) (members.Endpoints, settings.Watch) {
	selector := labels.Set{discovery.LabelServiceName: service.Name}.String()
	found, err := client.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsForbidden(err) {
		return nil, settings.Forbidden
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot read the endpoints of a Service", "service", klog.KObj(service))
		return nil, settings.Unreadable
	}
	endpoints := Endpoints(found.Items)
	if endpoints.AllReady() {
		return endpoints, settings.Watched
	}
	return endpoints.WithReady(gates.ReadReady(ctx, client, service, now)), settings.Watched
}

// Endpoints returns the endpoints in the EndpointSlices of one Service.
func Endpoints(slices []discovery.EndpointSlice) members.Endpoints {
	var endpoints members.Endpoints
	for i := range slices {
		if _, _, slice, ok := parseSlice(&slices[i]); ok {
			endpoints = append(endpoints, slice)
		}
	}
	return endpoints
}

// listerOf returns the reader of EndpointSlices. Those of headless Services, which no load balancer
// serves, are left out.
func listerOf(client kubernetes.Interface) cache.ListerWatcher {
	return cluster.Labelled(client, client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll), "!"+v1.IsHeadlessService)
}

// parseSlice returns the key, the Service and the endpoints of an EndpointSlice, and false for
// another object. A slice of no Service has an empty one.
func parseSlice(object any) (key types.NamespacedName, service string, slice members.Slice, ok bool) {
	from, is := object.(*discovery.EndpointSlice)
	if !is {
		return key, "", slice, false
	}
	slice = members.Slice{Family: v1.IPFamily(from.AddressType), Endpoints: make([]members.Endpoint, 0, len(from.Endpoints))}
	for _, port := range from.Ports {
		slice.Ports = append(slice.Ports, ptr.Deref(port.Name, ""))
		slice.Numbers = append(slice.Numbers, int(ptr.Deref(port.Port, 0)))
	}
	for _, e := range from.Endpoints {
		ready := e.Conditions.Ready == nil || *e.Conditions.Ready
		endpoint := members.Endpoint{Ready: ready, Serving: ready, Terminating: e.Conditions.Terminating != nil && *e.Conditions.Terminating}
		if e.Conditions.Serving != nil {
			endpoint.Serving = *e.Conditions.Serving
		}
		if endpoint.Node = ptr.Deref(e.NodeName, ""); len(e.Addresses) > 0 {
			endpoint.Address = addressOf(e.Addresses[0]) // no other one has a meaning
		}
		slice.Endpoints = append(slice.Endpoints, endpoint)
		if pod := podOf(e); pod != nil && slice.Pod == "" {
			slice.Pod = pod.Name
		}
	}
	return types.NamespacedName{Namespace: from.Namespace, Name: from.Name}, from.Labels[discovery.LabelServiceName], slice, true
}

// podOf returns the name of an endpoint's pod, nil for none.
func podOf(e discovery.Endpoint) *v1.ObjectReference {
	if e.TargetRef == nil || e.TargetRef.Kind != "Pod" {
		return nil
	}
	return &v1.ObjectReference{Kind: e.TargetRef.Kind, Name: e.TargetRef.Name}
}

// addressOf parses the address of an endpoint; one that is a name or has a zone is invalid.
func addressOf(text string) netip.Addr {
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}
	}
	return address.Unmap()
}
