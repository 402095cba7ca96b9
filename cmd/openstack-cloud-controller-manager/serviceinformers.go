package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// serviceInformers are the informers of the service controller: nodes without events, and Services
// whose handler does not hear of what we write into their annotations. Each new load balancer would
// be looked at once more for that, with one more event that says it is there.
type serviceInformers struct {
	informers.SharedInformerFactory
	// written reports whether all that has changed of a Service is what this process has written.
	written func(before, now *v1.Service) bool
}

// Core implements informers.SharedInformerFactory.
func (i serviceInformers) Core() core.Interface {
	return serviceCore{i.SharedInformerFactory.Core(), i.written}
}

type serviceCore struct {
	core.Interface
	written func(before, now *v1.Service) bool
}

// V1 implements core.Interface.
func (c serviceCore) V1() corev1.Interface { return serviceV1{c.Interface.V1(), c.written} }

type serviceV1 struct {
	corev1.Interface
	written func(before, now *v1.Service) bool
}

// Nodes implements corev1.Interface.
func (i serviceV1) Nodes() corev1.NodeInformer { return silentNodeInformer{i.Interface.Nodes()} }

// Services implements corev1.Interface.
func (i serviceV1) Services() corev1.ServiceInformer {
	return othersServiceInformer{i.Interface.Services(), i.written}
}

// othersServiceInformer is an informer of Services that tells the service controller of what others
// write.
type othersServiceInformer struct {
	corev1.ServiceInformer
	written func(before, now *v1.Service) bool
}

// Informer implements corev1.ServiceInformer.
func (i othersServiceInformer) Informer() cache.SharedIndexInformer {
	return othersInformer{i.ServiceInformer.Informer(), i.written}
}

type othersInformer struct {
	cache.SharedIndexInformer
	written func(before, now *v1.Service) bool
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer. It is what the service
// controller calls.
func (i othersInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(othersHandler{handler, i.written}, period)
}

type othersHandler struct {
	cache.ResourceEventHandler
	written func(before, now *v1.Service) bool
}

// OnUpdate implements cache.ResourceEventHandler.
func (h othersHandler) OnUpdate(before, now any) {
	service, ok := before.(*v1.Service)
	changed, is := now.(*v1.Service)
	if !ok || !is || !h.written(service, changed) {
		h.ResourceEventHandler.OnUpdate(before, now)
	}
}
