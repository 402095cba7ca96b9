package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// services watches the Services of the namespace.
type services struct {
	client kubernetes.Interface
	end    chan struct{}
	ended  func()
	// changes counts the changes of all Services.
	changes int

	mutex sync.Mutex
	// addressed has an entry for each existing Service, true if it has an address; last is when one
	// got its first.
	addressed map[string]bool
	last      time.Time
}

// watchServices watches until stop is called.
func watchServices(client kubernetes.Interface) *services {
	s := &services{client: client, end: make(chan struct{}), addressed: map[string]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Services().Informer()
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{ // only an informer that has ended has an error
		AddFunc:    s.note,
		UpdateFunc: func(_, object any) { s.note(object) },
		DeleteFunc: s.forget,
	})
	factory.Start(s.end)
	s.ended = factory.Shutdown
	return s
}

func (s *services) stop() {
	close(s.end)
	s.ended()
}

func (s *services) note(object any) {
	service, is := object.(*corev1.Service)
	if !is {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	has := len(service.Status.LoadBalancer.Ingress) > 0
	if has && !s.addressed[service.Name] {
		s.last = time.Now()
	}
	s.addressed[service.Name] = has
}

func (s *services) forget(object any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	_, name, _ := cache.SplitMetaNamespaceKey(key) // the informer has created the key
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.addressed, name)
}

// count returns the number of Services, of those with an address, and when the last of these got
// its first.
func (s *services) count() (existing, addressed int, last time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, has := range s.addressed {
		if has {
			addressed++
		}
	}
	return len(s.addressed), addressed, s.last
}

func serviceNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("web-%05d", i+1)
	}
	return names
}

// create creates Services with so many ports of TCP.
func (s *services) create(ctx context.Context, names []string, ports int) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
		}
		for i := range ports {
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprintf("port-%d", i+1), Protocol: corev1.ProtocolTCP, Port: int32(80 + i),
			})
		}
		_, err := s.client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create service %s: %w", name, err)
		}
		return nil
	})
}

// patch makes the same change to Services.
func (s *services) patch(ctx context.Context, names []string, change map[string]any) error {
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return each(ctx, names, func(ctx context.Context, name string) error {
		_, err := s.client.CoreV1().Services(namespace).Patch(ctx, name, types.MergePatchType, text, metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("change service %s: %w", name, err)
		}
		return nil
	})
}

// remove deletes Services.
func (s *services) remove(ctx context.Context, names []string) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		err := s.client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil {
			return fmt.Errorf("delete service %s: %w", name, err)
		}
		return nil
	})
}
