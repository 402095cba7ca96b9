package main

import (
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// serviceEvents filters the events of the service controller. That emits a Warning for each call
// that ends before the load balancer is created or deleted, and an event for the beginning of the
// next call: for a thousand concurrent creations, which wait for each other in Octavia, these would
// be most of the events, and all of the Warnings. ChangingLoadBalancer reports the changes, and a
// Warning of ours a delay. After a restart it emits the beginning and the end of a call for each
// Service, although nothing changes.
type serviceEvents struct {
	// untouched reports whether this process has not changed a Service.
	untouched func(types.UID) bool

	mu sync.Mutex
	// begun are Services with an event for the beginning of a call or for a failure, and none for
	// the end, with the reason of the event for the beginning; "" for none.
	begun map[types.UID]string
}

// emits reports whether to write an event. Repeats is set if an equal one was written, as far as
// the broadcaster remembers: it does of 4,096 events, fewer than those of five thousand Services.
func (s *serviceEvents) emits(event *v1.Event, repeats bool) bool {
	service := event.InvolvedObject.UID
	s.mu.Lock()
	defer s.mu.Unlock()
	beginning, begun := s.begun[service]
	switch event.Reason {
	case "EnsuringLoadBalancer", "DeletingLoadBalancer":
		unchanged := event.Reason == "EnsuringLoadBalancer" && !begun && s.untouched(service)
		if repeats || beginning == event.Reason || unchanged {
			return false
		}
		beginning = event.Reason
	case "SyncLoadBalancerFailed", "DeleteLoadBalancerFailed":
		if strings.Contains(event.Message, reason.GoesOn) {
			return false
		}
	case "EnsuredLoadBalancer":
		delete(s.begun, service)
		return begun || !s.untouched(service)
	case "DeletedLoadBalancer":
		delete(s.begun, service)
		return true
	default:
		return true
	}
	if s.begun == nil {
		s.begun = map[types.UID]string{}
	}
	s.begun[service] = beginning
	return true
}

// eventBuilder creates clients that write only the events that serviceEvents selects, to a sink.
type eventBuilder struct {
	cloudprovider.ControllerClientBuilder
	events *serviceEvents
	sink   record.EventSink
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder. It is what the service controller
// calls.
func (b eventBuilder) ClientOrDie(name string) kubernetes.Interface {
	return eventClient{b.ControllerClientBuilder.ClientOrDie(name), b}
}

type eventClient struct {
	kubernetes.Interface
	to eventBuilder
}

// CoreV1 implements kubernetes.Interface.
func (c eventClient) CoreV1() typedcorev1.CoreV1Interface {
	return eventCore{c.Interface.CoreV1(), c.to}
}

type eventCore struct {
	typedcorev1.CoreV1Interface
	to eventBuilder
}

// Events implements typedcorev1.EventsGetter.
func (c eventCore) Events(namespace string) typedcorev1.EventInterface {
	return filteredEvents{c.CoreV1Interface.Events(namespace), c.to}
}

// filteredEvents implements the methods that a record.EventSink uses.
type filteredEvents struct {
	typedcorev1.EventInterface
	to eventBuilder
}

// CreateWithEventNamespace implements typedcorev1.EventExpansion.
func (e filteredEvents) CreateWithEventNamespace(event *v1.Event) (*v1.Event, error) {
	if !e.to.events.emits(event, false) {
		return event, nil
	}
	return e.to.sink.Create(event)
}

// PatchWithEventNamespace implements typedcorev1.EventExpansion.
func (e filteredEvents) PatchWithEventNamespace(event *v1.Event, patch []byte) (*v1.Event, error) {
	if !e.to.events.emits(event, true) {
		return event, nil
	}
	return e.to.sink.Patch(event, patch)
}
