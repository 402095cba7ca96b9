package main

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// waits reports whether an event of the service controller says no more than that a Service still
// waits. Repeats is set where it has said the same before.
func waits(event *v1.Event, repeats bool) bool {
	switch event.Reason {
	case "SyncLoadBalancerFailed", "DeleteLoadBalancerFailed":
		return strings.Contains(event.Message, reason.GoesOn)
	case "EnsuringLoadBalancer", "DeletingLoadBalancer":
		return repeats
	}
	return false
}

// patientBuilder makes clients that do not write events of which waits is true. The service
// controller has a Warning for each call that ends before the load balancer is there, or gone, and
// says with the next one that it begins: of a thousand Services that are created at once, which wait
// for each other in Octavia, that would be most of the events, and all of the Warnings. What is
// being made, ChangingLoadBalancer says, and what keeps it longer, a Warning of ours.
type patientBuilder struct {
	cloudprovider.ControllerClientBuilder
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder. It is what the service controller
// calls.
func (b patientBuilder) ClientOrDie(name string) kubernetes.Interface {
	return patientClient{b.ControllerClientBuilder.ClientOrDie(name)}
}

type patientClient struct{ kubernetes.Interface }

// CoreV1 implements kubernetes.Interface.
func (c patientClient) CoreV1() typedcorev1.CoreV1Interface {
	return patientCore{c.Interface.CoreV1()}
}

type patientCore struct{ typedcorev1.CoreV1Interface }

// Events implements typedcorev1.EventsGetter.
func (c patientCore) Events(namespace string) typedcorev1.EventInterface {
	return patientEvents{c.CoreV1Interface.Events(namespace)}
}

// patientEvents implements what a record.EventSink calls.
type patientEvents struct{ typedcorev1.EventInterface }

// CreateWithEventNamespace implements typedcorev1.EventExpansion.
func (e patientEvents) CreateWithEventNamespace(event *v1.Event) (*v1.Event, error) {
	if waits(event, false) {
		return event, nil
	}
	return e.CreateWithEventNamespaceWithContext(context.Background(), event)
}

// PatchWithEventNamespace implements typedcorev1.EventExpansion.
func (e patientEvents) PatchWithEventNamespace(event *v1.Event, patch []byte) (*v1.Event, error) {
	if waits(event, true) {
		return event, nil
	}
	return e.PatchWithEventNamespaceWithContext(context.Background(), event, patch)
}
