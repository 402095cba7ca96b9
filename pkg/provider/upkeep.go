package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/cloud-provider/api"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// upkeep brings load balancers up to what upstream's service controller does not
// look at: addresses of nodes, which members are made of; labels of nodes, which a
// node selector picks; and changes that somebody else makes in the cloud. What
// upstream looks at (Services, and nodes that come, go or are excluded) is left to
// it.
type upkeep struct {
	nodes    corelisters.NodeLister
	services corelisters.ServiceLister
	queue    workqueue.TypedRateLimitingInterface[string]
	keeper   keeper
	client   corev1.CoreV1Interface
	recorder record.EventRecorder
	// gather is how long changes of nodes are gathered into one pass over a Service;
	// gatherGone is for nodes that go, whose traffic has nowhere to go to.
	gather, gatherGone time.Duration
	// members are the names of the nodes of the last change that upstream told of.
	members nameSet
	// forbidden is done once Services cannot be patched.
	forbidden sync.Once
}

// keeper is what upkeep asks of the load balancers.
type keeper interface {
	// SelectsNodes says whether labels decide which nodes are the Service's members.
	SelectsNodes(service *v1.Service) bool
	// Watch calls drifted for Services whose load balancer somebody else changed.
	Watch(ctx context.Context, drifted func(types.NamespacedName))
	// WriteDown calls write with what is to stand in a Service's annotation.
	WriteDown(ctx context.Context, write func(ctx context.Context, service types.NamespacedName, uid types.UID, text loadbalancer.Written) error)
	// Repair brings a load balancer back, or makes it anew if alive says, right
	// before, that the Service is still there. It gives the address to publish.
	Repair(ctx context.Context, service *v1.Service, nodes []*v1.Node, alive func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error)
}

// How many Services are worked on at a time. Most of them wait for their load
// balancer, which costs nothing: all waits share one request.
const (
	// DefaultServiceWorkers is the default of --concurrent-service-syncs; upstream's
	// is 1, with which every Service waits for the one before it.
	DefaultServiceWorkers = 300
	// UpkeepWorkers bring Services to changed nodes, and back after changes by others.
	UpkeepWorkers = 300
)

const (
	gatherFor     = 5 * time.Second
	gatherGoneFor = time.Second
	// excludedByAutoscaler is the taint of nodes that are about to be deleted.
	excludedByAutoscaler = "ToBeDeletedByClusterAutoscaler"
)

// newUpkeep listens to nodes. It does nothing before run.
func newUpkeep(factory informers.SharedInformerFactory, keeper keeper, client corev1.CoreV1Interface, recorder record.EventRecorder) (*upkeep, error) {
	s := &upkeep{
		nodes:    factory.Core().V1().Nodes().Lister(),
		services: factory.Core().V1().Services().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](
			5*time.Second, 5*time.Minute)),
		keeper:     keeper,
		client:     client,
		recorder:   recorder,
		gather:     gatherFor,
		gatherGone: gatherGoneFor,
	}
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			b, okBefore := before.(*v1.Node)
			a, okAfter := after.(*v1.Node)
			if !okBefore || !okAfter {
				return
			}
			switch {
			case !slices.Equal(memberAddresses(b), memberAddresses(a)):
				s.enqueue(func(*v1.Service) bool { return true })
			case !maps.Equal(b.Labels, a.Labels):
				s.enqueue(s.keeper.SelectsNodes)
			}
		},
	})
	return s, err
}

// memberAddresses are the addresses that a member can have.
func memberAddresses(node *v1.Node) []v1.NodeAddress {
	return slices.DeleteFunc(slices.Clone(node.Status.Addresses), func(a v1.NodeAddress) bool {
		return a.Type != v1.NodeInternalIP && a.Type != v1.NodeExternalIP
	})
}

// enqueue queues the Services for which a change of a node can matter.
func (s *upkeep) enqueue(matters func(*v1.Service) bool) {
	all, err := s.services.List(labels.Everything())
	if err != nil {
		return // a lister of an informer has no errors
	}
	for _, service := range all {
		if balanced(service) && matters(service) {
			s.queue.AddAfter(cache.MetaObjectToName(service).String(), s.gather)
		}
	}
}

// nodesChanged takes a change that upstream tells of, and has the Service brought
// up to date soon: with the nodes as they are then, so that many changes shortly
// after one another are one. It is false for a Service that is not upkeep's yet.
func (s *upkeep) nodesChanged(service *v1.Service, nodes []*v1.Node) bool {
	known, err := s.services.Services(service.Namespace).Get(service.Name)
	if err != nil || known.UID != service.UID || !balanced(known) {
		return false
	}
	delay := s.gather
	if s.members.shrinks(nodes) {
		delay = s.gatherGone
	}
	s.queue.AddAfter(cache.MetaObjectToName(service).String(), delay)
	return true
}

// balanced tells whether a Service has a load balancer of ours by now. One that
// has none yet gets it from upstream, with the nodes as they then are.
func balanced(service *v1.Service) bool {
	return service.DeletionTimestamp == nil && service.Spec.Type == v1.ServiceTypeLoadBalancer &&
		service.Spec.LoadBalancerClass == nil && len(service.Status.LoadBalancer.Ingress) > 0
}

// run works until the context ends, and returns when all work has.
func (s *upkeep) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range UpkeepWorkers {
		workers.Go(func() {
			for s.next(ctx) {
			}
		})
	}
	workers.Go(func() {
		s.keeper.Watch(ctx, func(name types.NamespacedName) { s.queue.Add(cache.ObjectName(name).String()) })
	})
	workers.Go(func() { s.keeper.WriteDown(ctx, s.write) })
	<-ctx.Done()
	s.queue.ShutDown()
	workers.Wait()
}

func (s *upkeep) next(ctx context.Context) bool {
	key, stop := s.queue.Get()
	if stop {
		return false
	}
	defer s.queue.Done(key)
	if err := s.bring(ctx, key); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot bring a load balancer up to date, trying again", "service", key)
		var later *api.RetryError
		if errors.As(err, &later) {
			s.queue.AddAfter(key, later.RetryAfter())
		} else {
			s.queue.AddRateLimited(key)
		}
		return true
	}
	s.queue.Forget(key)
	return true
}

func (s *upkeep) bring(ctx context.Context, key string) error {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return err
	}
	service, err := s.services.Services(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) || err == nil && !balanced(service) {
		return nil
	}
	if err != nil {
		return err
	}
	nodes, err := s.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	service = service.DeepCopy()
	published, err := s.keeper.Repair(ctx, service, slices.DeleteFunc(nodes, excluded), func(ctx context.Context) (bool, error) {
		return s.alive(ctx, service)
	})
	if err != nil {
		s.recorder.Eventf(service, v1.EventTypeWarning, "UpdateLoadBalancerFailed", "Error updating load balancer: %v", err)
		return err
	}
	return s.publish(service, published)
}

// alive asks the API server, not the cache, whether a Service is still to have its
// load balancer.
func (s *upkeep) alive(ctx context.Context, service *v1.Service) (bool, error) {
	now, err := s.client.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && now.UID == service.UID && balanced(now), err
}

// publish writes the address where it is not the published one any more.
func (s *upkeep) publish(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if servicehelpers.LoadBalancerStatusEqual(&service.Status.LoadBalancer, status) {
		return nil
	}
	changed := service.DeepCopy()
	changed.Status.LoadBalancer = *status
	if _, err := servicehelpers.PatchService(s.client, service, changed); err != nil {
		return fmt.Errorf("publish the new address of service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}

// write puts the fingerprint, ID and address of a load balancer on its Service, with
// one patch. Without the right to patch Services they stay unwritten, and a restart
// reads every load balancer.
func (s *upkeep) write(ctx context.Context, service types.NamespacedName, uid types.UID, written loadbalancer.Written) error {
	now := map[string]string{}
	if known, err := s.services.Services(service.Namespace).Get(service.Name); err == nil {
		now = known.Annotations
	}
	text := map[string]string{annotation.Fingerprint: written.Fingerprint, annotation.LoadBalancerAddress: written.Address}
	if now[annotation.LoadBalancerID] == written.Named {
		text[annotation.LoadBalancerID] = written.LoadBalancerID
	}
	maps.DeleteFunc(text, func(name, value string) bool { return now[name] == value })
	if len(text) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         uid, // another Service of that name is a conflict
		"annotations": text,
	}})
	if err != nil {
		return err
	}
	_, err = s.client.Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsForbidden(err):
		s.forbidden.Do(func() {
			klog.FromContext(ctx).Info("May not patch Services: every load balancer will be read again after a restart", "err", err)
		})
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
		return nil // the Service is gone
	}
	return err
}

// excluded tells whether upstream leaves a node out of load balancers (KEP-3458).
func excluded(node *v1.Node) bool {
	if label, ok := node.Labels[v1.LabelNodeExcludeBalancers]; ok {
		if exclude, err := strconv.ParseBool(label); err != nil || exclude {
			return true
		}
	}
	return node.DeletionTimestamp != nil ||
		slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == excludedByAutoscaler })
}
