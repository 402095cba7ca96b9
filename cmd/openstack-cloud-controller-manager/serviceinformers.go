package main

import (
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// serviceInformers are the informers of the service controller: nodes without events, and Services
// without events of our own writes to annotations. Each new load balancer would be checked again
// for these, with one more event about its creation.
type serviceInformers struct {
	informers.SharedInformerFactory
	calls *serviceCalls
}

// serviceCalls selects the Services for which the service controller calls.
type serviceCalls struct {
	// written reports whether only this process has caused the difference.
	written func(before, now *v1.Service) bool
	// handler is the service controller's; nil before that is created.
	handler atomic.Pointer[cache.ResourceEventHandler]
}

// again makes the service controller call for a Service at once, as for a new one.
func (c *serviceCalls) again(service *v1.Service) {
	if handler := c.handler.Load(); handler != nil {
		(*handler).OnAdd(service, false)
	}
}

// Core implements informers.SharedInformerFactory.
func (i serviceInformers) Core() core.Interface {
	return serviceCore{i.SharedInformerFactory.Core(), i.calls}
}

type serviceCore struct {
	core.Interface
	calls *serviceCalls
}

// V1 implements core.Interface.
func (c serviceCore) V1() corev1.Interface { return serviceV1{c.Interface.V1(), c.calls} }

type serviceV1 struct {
	corev1.Interface
	calls *serviceCalls
}

// Nodes implements corev1.Interface.
func (i serviceV1) Nodes() corev1.TypedNodeInformer { return silentNodeInformer{i.Interface.Nodes()} }

// Services implements corev1.Interface.
func (i serviceV1) Services() corev1.TypedServiceInformer {
	return othersServiceInformer{i.Interface.Services(), i.calls}
}

// othersServiceInformer is an informer of Services with events only of others' writes for the
// service controller.
type othersServiceInformer struct {
	corev1.TypedServiceInformer
	calls *serviceCalls
}

// Informer implements corev1.TypedServiceInformer.
func (i othersServiceInformer) Informer() cache.SharedIndexInformer {
	return othersInformer{i.TypedServiceInformer.Informer(), i.calls}
}

// TypedInformer implements corev1.TypedServiceInformer.
func (i othersServiceInformer) TypedInformer() corev1.ServiceIndexInformer {
	return cache.NewTypedSharedIndexInformer[*v1.Service](i.Informer())
}

type othersInformer struct {
	cache.SharedIndexInformer
	calls *serviceCalls
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer. It is what the service
// controller calls.
func (i othersInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	i.calls.handler.Store(&handler)
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(othersHandler{handler, i.calls}, period)
}

type othersHandler struct {
	cache.ResourceEventHandler
	calls *serviceCalls
}

// OnUpdate implements cache.ResourceEventHandler.
func (h othersHandler) OnUpdate(before, now any) {
	service, ok := before.(*v1.Service)
	changed, is := now.(*v1.Service)
	if !ok || !is || !h.calls.written(service, changed) {
		h.ResourceEventHandler.OnUpdate(before, now)
	}
}
