package testenv

import (
	"context"
	"errors"
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
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// routePeriod is the interval of the reconciliation of routes (--route-reconciliation-period).
const routePeriod = 10 * time.Second

// runRoutes works as the route controller.
func (p *process) runRoutes(ctx context.Context) {
	table := routes.New(routes.Options{
		Network: p.session.Neutron(), RouterID: p.env.Cloud.Router.ID, Nodes: lister{p.env.Cluster}, Synced: func() bool { return true },
		ConfigMaps: configMaps{process: p}, ClusterID: p.env.options.ClusterUID,
	})
	p.work.Go(func() {
		for ctx.Err() == nil {
			p.note("routes", p.syncRoutes(ctx, table))
			_ = sleep(ctx, routePeriod) // the end of the context ends the loop
		}
	})
}

// syncRoutes does one round with concurrent calls.
func (p *process) syncRoutes(ctx context.Context, table *routes.Table) error {
	all, err := table.ListRoutes(ctx, p.env.options.ClusterName)
	if err != nil {
		return err
	}
	var calls []func() error
	has := map[string]bool{}
	for _, r := range all {
		if r.Blackhole {
			calls = append(calls, func() error { return table.DeleteRoute(ctx, p.env.options.ClusterName, r) })
		}
		has[string(r.TargetNode)+" "+r.DestinationCIDR] = true
	}
	for _, node := range p.env.Cluster.Nodes() {
		for _, cidr := range node.Spec.PodCIDRs {
			if wanted := (&cloudprovider.Route{
				TargetNode: types.NodeName(node.Name), TargetNodeAddresses: node.Status.Addresses, DestinationCIDR: cidr,
			}); !has[node.Name+" "+cidr] {
				calls = append(calls, func() error { return table.CreateRoute(ctx, p.env.options.ClusterName, "", wanted) })
			}
		}
	}
	errs := make([]error, len(calls))
	var group sync.WaitGroup
	for i, call := range calls {
		group.Go(func() { errs[i] = call() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// lister lists the Nodes of a cluster.
type lister struct{ cluster *Cluster }

var _ corelisters.NodeLister = lister{}

// List implements corelisters.NodeLister.
func (l lister) List(selector labels.Selector) ([]*v1.Node, error) {
	return slices.DeleteFunc(l.cluster.Nodes(), func(node *v1.Node) bool { return !selector.Matches(labels.Set(node.Labels)) }), nil
}

// Get implements corelisters.NodeLister.
func (l lister) Get(name string) (*v1.Node, error) {
	if node := l.cluster.Node(name); node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(v1.Resource("nodes"), name)
}

// configMaps has the ConfigMaps of kube-system that routes need.
type configMaps struct {
	corev1.ConfigMapInterface
	process *process
}

// Get implements corev1.ConfigMapInterface.
func (m configMaps) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1.ConfigMap, error) {
	c := m.process.env.Cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.configMaps[name]; known != nil {
		return known.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(v1.Resource("configmaps"), name)
}

// Create implements corev1.ConfigMapInterface.
func (m configMaps) Create(_ context.Context, made *v1.ConfigMap, _ metav1.CreateOptions) (*v1.ConfigMap, error) {
	return m.put(made, func(known *v1.ConfigMap) error {
		if known != nil {
			return apierrors.NewAlreadyExists(v1.Resource("configmaps"), made.Name)
		}
		return nil
	})
}

// Update implements corev1.ConfigMapInterface.
func (m configMaps) Update(_ context.Context, next *v1.ConfigMap, _ metav1.UpdateOptions) (*v1.ConfigMap, error) {
	return m.put(next, func(known *v1.ConfigMap) error {
		switch {
		case known == nil:
			return apierrors.NewNotFound(v1.Resource("configmaps"), next.Name)
		case known.ResourceVersion != next.ResourceVersion:
			return apierrors.NewConflict(v1.Resource("configmaps"), next.Name, errors.New("it has been changed"))
		}
		return nil
	})
}

func (m configMaps) put(next *v1.ConfigMap, check func(known *v1.ConfigMap) error) (*v1.ConfigMap, error) {
	if m.process.isDead() {
		return nil, errDead
	}
	c := m.process.env.Cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := check(c.configMaps[next.Name]); err != nil {
		return nil, err
	}
	stored := next.DeepCopy()
	c.version++
	stored.ResourceVersion = strconv.FormatInt(c.version, 10)
	stored.Data = maps.Clone(next.Data)
	c.configMaps[next.Name] = stored
	return stored.DeepCopy(), nil
}
