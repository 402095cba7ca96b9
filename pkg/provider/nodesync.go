package provider

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// nodeSync brings load balancers up to changes of nodes that upstream's service
// controller does not look at: addresses, which members are made of, and labels,
// which a node selector picks. What upstream looks at (nodes that come, go or are
// excluded) is left to it.
type nodeSync struct {
	nodes    corelisters.NodeLister
	services corelisters.ServiceLister
	queue    workqueue.TypedRateLimitingInterface[string]
	// selects tells whether labels of nodes decide on the members of a Service.
	selects func(*v1.Service) bool
	// delay gathers changes of many nodes into one pass.
	delay  time.Duration
	update func(context.Context, *v1.Service, []*v1.Node) error
}

const (
	nodeSyncDelay = 5 * time.Second
	// nodeSyncWorkers is how many Services are brought up to date at a time.
	nodeSyncWorkers = 10
	// excludedByAutoscaler is the taint of nodes that are about to be deleted.
	excludedByAutoscaler = "ToBeDeletedByClusterAutoscaler"
)

// newNodeSync listens to nodes. It does nothing before run.
func newNodeSync(factory informers.SharedInformerFactory, selects func(*v1.Service) bool,
	update func(context.Context, *v1.Service, []*v1.Node) error,
) (*nodeSync, error) {
	s := &nodeSync{
		nodes:    factory.Core().V1().Nodes().Lister(),
		services: factory.Core().V1().Services().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](
			5*time.Second, 5*time.Minute)),
		selects: selects,
		delay:   nodeSyncDelay,
		update:  update,
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
				s.enqueue(s.selects)
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
func (s *nodeSync) enqueue(matters func(*v1.Service) bool) {
	all, err := s.services.List(labels.Everything())
	if err != nil {
		return // a lister of an informer has no errors
	}
	for _, service := range all {
		if balanced(service) && matters(service) {
			s.queue.AddAfter(cache.MetaObjectToName(service).String(), s.delay)
		}
	}
}

// balanced tells whether a Service has a load balancer of ours by now. One that
// has none yet gets it from upstream, with the nodes as they then are.
func balanced(service *v1.Service) bool {
	return service.DeletionTimestamp == nil && service.Spec.Type == v1.ServiceTypeLoadBalancer &&
		service.Spec.LoadBalancerClass == nil && len(service.Status.LoadBalancer.Ingress) > 0
}

// run works until the context ends, and returns when all work has.
func (s *nodeSync) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range nodeSyncWorkers {
		workers.Go(func() {
			for s.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	s.queue.ShutDown()
	workers.Wait()
}

func (s *nodeSync) next(ctx context.Context) bool {
	key, stop := s.queue.Get()
	if stop {
		return false
	}
	defer s.queue.Done(key)
	if err := s.bring(ctx, key); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot bring a load balancer up to a change of nodes, trying again", "service", key)
		s.queue.AddRateLimited(key)
		return true
	}
	s.queue.Forget(key)
	return true
}

func (s *nodeSync) bring(ctx context.Context, key string) error {
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
	return s.update(ctx, service.DeepCopy(), slices.DeleteFunc(nodes, excluded))
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
