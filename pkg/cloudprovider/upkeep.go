package cloudprovider

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

// upkeep brings load balancers up to what is not the business of the workers of
// upstream's service controller: nodes that come, go, are excluded or get other
// addresses; labels of nodes, which a node selector picks; and changes that somebody
// else makes in the cloud. Upstream has one worker for nodes, which waits for all
// Services: so it is told that all is done, and nodes are listened to here.
type upkeep struct {
	nodes    corelisters.NodeLister
	services corelisters.ServiceLister
	queue    workqueue.TypedRateLimitingInterface[string]
	keeper   keeper
	client   corev1.CoreV1Interface
	recorder record.EventRecorder
	// gather is how long changes of nodes are gathered into one round for a Service;
	// gatherGone is for nodes that go, whose traffic has nowhere to go to.
	gather, gatherGone time.Duration
	// forbidden is done once Services cannot be patched, unread once they cannot be read
	// one by one.
	forbidden, unread sync.Once
}

// keeper is what upkeep asks of the load balancers.
type keeper interface {
	// SelectsNodes says whether labels decide which nodes are the Service's members.
	SelectsNodes(service *v1.Service) bool
	// Watch calls drifted for Services whose load balancer somebody else changed.
	Watch(ctx context.Context, drifted func(types.NamespacedName))
	// WriteDown calls write with what is to stand in a Service's annotation.
	WriteDown(ctx context.Context, write func(ctx context.Context, service types.NamespacedName, uid types.UID, text loadbalancer.Written) error)
	// Repair brings a load balancer to what the Service asks for, with the nodes as they
	// are when its turn comes (nil), or makes it anew if alive says, right before, that
	// the Service is still there. It gives the address to publish. It returns at the end,
	// however long the cloud takes: any number of calls may wait. An address that comes
	// with an error is to be published all the same.
	Repair(ctx context.Context, service *v1.Service, nodes []*v1.Node, alive func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error)
}

// DefaultServiceWorkers is the default of --concurrent-service-syncs; upstream's is 1,
// with which every Service waits for the one before it. A worker that waits for a load
// balancer costs nothing: all waits share one request.
const DefaultServiceWorkers = 300

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
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, initial bool) {
			if node, ok := added.(*v1.Node); ok && !initial {
				s.nodeChanged(nil, node)
			}
		},
		UpdateFunc: func(before, after any) {
			b, okBefore := before.(*v1.Node)
			a, okAfter := after.(*v1.Node)
			if okBefore && okAfter {
				s.nodeChanged(b, a)
			}
		},
		DeleteFunc: func(last any) {
			if unknown, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = unknown.Obj
			}
			if node, ok := last.(*v1.Node); ok {
				s.nodeChanged(node, nil)
			}
		},
	})
	return s, err
}

// nodeChanged queues the Services for which a change of a node can matter. A node that
// came has no before, one that went no after.
func (s *upkeep) nodeChanged(before, after *v1.Node) {
	was, is := before != nil && !excluded(before), after != nil && !excluded(after)
	every := func(*v1.Service) bool { return true }
	switch {
	case was && !is:
		s.enqueue(s.gatherGone, every)
	case !was && is:
		s.enqueue(s.gather, every)
	case !was:
	case before.Spec.ProviderID != after.Spec.ProviderID, !slices.Equal(memberAddresses(before), memberAddresses(after)):
		s.enqueue(s.gather, every)
	case !maps.Equal(before.Labels, after.Labels):
		s.enqueue(s.gather, s.keeper.SelectsNodes)
	}
}

// memberAddresses are the addresses that a member can have.
func memberAddresses(node *v1.Node) []v1.NodeAddress {
	return slices.DeleteFunc(slices.Clone(node.Status.Addresses), func(a v1.NodeAddress) bool {
		return a.Type != v1.NodeInternalIP && a.Type != v1.NodeExternalIP
	})
}

// enqueue queues the Services for which a change of a node matters.
func (s *upkeep) enqueue(after time.Duration, matters func(*v1.Service) bool) {
	all, err := s.services.List(labels.Everything())
	if err != nil {
		return // a lister of an informer has no errors
	}
	for _, service := range all {
		if handled(service) && matters(service) {
			s.queue.AddAfter(cache.MetaObjectToName(service).String(), after)
		}
	}
}

// nodesChanged takes a change of nodes that upstream tells of: the Service is brought up
// to date soon, with the nodes as they are then.
func (s *upkeep) nodesChanged(service *v1.Service) {
	known, err := s.services.Services(service.Namespace).Get(service.Name)
	if err == nil && known.UID == service.UID && handled(known) {
		s.queue.AddAfter(cache.MetaObjectToName(service).String(), s.gather)
	}
}

// handled tells whether a Service is one of upstream's service controller, which puts
// its finalizer on a Service before it asks for a load balancer. Load balancers of
// Services without it were made by somebody else, such as MetalLB.
func handled(service *v1.Service) bool {
	return service.DeletionTimestamp == nil && service.Spec.Type == v1.ServiceTypeLoadBalancer &&
		service.Spec.LoadBalancerClass == nil && servicehelpers.HasLBFinalizer(service)
}

// balanced tells whether a Service has a load balancer of ours by now. One that has none
// yet gets it from upstream.
func balanced(service *v1.Service) bool {
	return handled(service) && len(service.Status.LoadBalancer.Ingress) > 0
}

// newest gives a Service and the nodes that can be its members as they are now; nil when
// there is no such Service any more.
func (s *upkeep) newest(service *v1.Service) (*v1.Service, []*v1.Node) {
	now, err := s.services.Services(service.Namespace).Get(service.Name)
	if err != nil || now.UID != service.UID {
		return nil, nil
	}
	nodes, err := s.nodes.List(labels.Everything())
	if err != nil {
		return nil, nil // a lister of an informer has no errors
	}
	return now, slices.DeleteFunc(nodes, excluded)
}

// run works until the context ends, and returns when all work has. Each Service that
// has work waits by itself: those whose load balancer is stuck hold up nobody.
func (s *upkeep) run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() {
		for {
			key, stop := s.queue.Get()
			if stop {
				return
			}
			work.Go(func() { s.work(ctx, key) })
		}
	})
	work.Go(func() {
		s.keeper.Watch(ctx, func(name types.NamespacedName) { s.queue.Add(cache.ObjectName(name).String()) })
	})
	work.Go(func() { s.keeper.WriteDown(ctx, s.write) })
	<-ctx.Done()
	s.queue.ShutDown()
	work.Wait()
}

// work brings a Service up to date, and queues it again when that fails.
func (s *upkeep) work(ctx context.Context, key string) {
	defer s.queue.Done(key)
	err := s.bring(ctx, key)
	if err == nil {
		s.queue.Forget(key)
		return
	}
	klog.FromContext(ctx).Error(err, "Cannot bring a load balancer up to date, trying again", "service", key)
	var later *api.RetryError
	if errors.As(err, &later) {
		s.queue.AddAfter(key, later.RetryAfter())
	} else {
		s.queue.AddRateLimited(key)
	}
}

func (s *upkeep) bring(ctx context.Context, key string) error {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return err
	}
	service, err := s.services.Services(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) || err == nil && !handled(service) {
		return nil
	}
	if err != nil {
		return err
	}
	published, err := s.keeper.Repair(ctx, service, nil, func(ctx context.Context) (bool, error) {
		return s.alive(ctx, service)
	})
	switch {
	case errors.Is(err, loadbalancer.ErrNoLoadBalancer):
		return nil // it is made by upstream, with the nodes as they then are
	case err != nil:
		s.recorder.Eventf(service, v1.EventTypeWarning, "UpdateLoadBalancerFailed", "Error updating load balancer: %v", err)
		return errors.Join(err, s.publishRefused(service, published))
	case !balanced(service):
		return nil // upstream publishes its first address
	}
	return s.publish(service, published)
}

// alive asks the API server, not the cache, whether a Service is still to have its
// load balancer. Where the role does not let it (that of cloud-provider-openstack only
// lets Services be listed and watched), the cache has to do: it lags by moments, and what
// is made for a Service that has just gone is found by its deletion.
func (s *upkeep) alive(ctx context.Context, service *v1.Service) (bool, error) {
	now, err := s.client.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		s.unread.Do(func() {
			klog.FromContext(ctx).Info("May not get Services, going by those that are watched: give the role of the cloud-controller-manager the verb get for services", "err", err)
		})
		now, err = s.services.Services(service.Namespace).Get(service.Name)
	}
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

// publishRefused publishes the address that came with the refusal of a Service.
func (s *upkeep) publishRefused(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if status == nil || len(status.Ingress) == 0 || !balanced(service) {
		return nil
	}
	return s.publish(service, status)
}

// write puts the fingerprint, ID and address of a load balancer on its Service, with
// one patch. Without the right to patch Services they stay unwritten, and a restart
// reads every load balancer.
func (s *upkeep) write(ctx context.Context, service types.NamespacedName, uid types.UID, written loadbalancer.Written) error {
	now, metadata := map[string]string{}, map[string]any{"uid": uid} // another Service of that name is a conflict
	if known, err := s.services.Services(service.Namespace).Get(service.Name); err == nil {
		now = known.Annotations
		metadata["resourceVersion"] = known.ResourceVersion // and so is what we have not seen yet
	}
	text := map[string]string{annotation.Fingerprint: written.Fingerprint, annotation.LoadBalancerAddress: written.Address}
	if now[annotation.LoadBalancerID] == written.Named {
		text[annotation.LoadBalancerID] = written.LoadBalancerID
	}
	maps.DeleteFunc(text, func(name, value string) bool { return value == "" || now[name] == value })
	if len(text) == 0 {
		return nil
	}
	metadata["annotations"] = text
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
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
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err):
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
