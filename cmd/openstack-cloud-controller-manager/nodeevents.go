package main

import (
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	appconfig "k8s.io/cloud-provider/app/config"
)

// withoutNodeEvents returns the configuration for a service controller that lists nodes,
// but is not told when one comes, changes or goes: pkg/resync follows nodes. For each of
// these events, of which every start brings one for every node, the service controller
// compares all nodes of all Services: nodes times Services times nodes.
func withoutNodeEvents(completed *appconfig.CompletedConfig) *appconfig.CompletedConfig {
	changed := *completed.Config
	changed.SharedInformers = silentNodes{changed.SharedInformers}
	return changed.Complete()
}

// silentNodes is a factory whose informer of nodes has no events.
type silentNodes struct {
	informers.SharedInformerFactory
}

// Core implements informers.SharedInformerFactory.
func (s silentNodes) Core() core.Interface { return silentCore{s.SharedInformerFactory.Core()} }

type silentCore struct{ core.Interface }

// V1 implements core.Interface.
func (s silentCore) V1() corev1.Interface { return silentV1{s.Interface.V1()} }

type silentV1 struct{ corev1.Interface }

// Nodes implements corev1.Interface.
func (s silentV1) Nodes() corev1.NodeInformer { return silentNodeInformer{s.Interface.Nodes()} }

type silentNodeInformer struct{ corev1.NodeInformer }

// Informer implements corev1.NodeInformer.
func (s silentNodeInformer) Informer() cache.SharedIndexInformer {
	return silentInformer{s.NodeInformer.Informer()}
}

// silentInformer drops the handler that it is given. An informer in use is registered with
// all the same, so that HasSynced of the registration works.
type silentInformer struct{ cache.SharedIndexInformer }

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer. It is what the service
// controller calls.
func (s silentInformer) AddEventHandlerWithResyncPeriod(cache.ResourceEventHandler, time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, 0)
}
