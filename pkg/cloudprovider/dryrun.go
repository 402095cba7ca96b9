package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/dryrun"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

const (
	// previewTimeout is how long a preview waits for a load balancer that another controller is
	// changing. The result is unknown then, and the preview is repeated.
	previewTimeout = time.Minute
	// defaultPreviewInterval is how often previews with planned changes are repeated.
	defaultPreviewInterval = 5 * time.Minute
)

// harmless returns the configuration of a dry run, in which the removal of objects is only
// reported.
func harmless(conf *config.Config) *config.Config {
	changed := *conf
	if changed.LoadBalancer.GarbagePolicy == "delete" {
		changed.LoadBalancer.GarbagePolicy = "report"
	}
	return &changed
}

// previews are the load balancers of a dry run. They report the planned changes of a Service
// instead of making them, and return no errors. Newest returns the newest Service and nodes.
type previews struct {
	LoadBalancers

	report *dryrun.Report
	newest Newest
}

// Ensure implements LoadBalancers. The status is the present one of the Service.
func (p *previews) Ensure(ctx context.Context, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	p.preview(ctx, service, nodes)
	return service.Status.LoadBalancer.DeepCopy(), nil
}

// Delete implements LoadBalancers.
func (p *previews) Delete(ctx context.Context, service *v1.Service) error {
	p.preview(ctx, service, nil)
	return nil
}

// StartRepair implements LoadBalancers.
func (p *previews) StartRepair(ctx context.Context, service *v1.Service, _ func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error)) {
	go func() {
		var nodes []*v1.Node
		if now, members := p.newest.Newest(service); now != nil {
			service, nodes = now, members
		}
		ended(p.Ensure(ctx, service, nodes))
	}()
}

// PersistRecords implements LoadBalancers. It records nothing.
func (p *previews) PersistRecords(ctx context.Context, _ func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	<-ctx.Done()
}

// preview reports the planned changes for a Service.
func (p *previews) preview(ctx context.Context, service *v1.Service, nodes []*v1.Node) {
	bounded, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	found, err := p.Preview(bounded, service, nodes)
	if err != nil && ctx.Err() != nil {
		return // the process ends
	}
	p.report.Preview(ctx, dryrun.ServiceOf(service, found, err))
}

// again repeats the previews of Services with planned changes, one after the other, at intervals:
// the work of another controller on them causes no events here. WatchDrift covers the Services
// without planned changes.
func (p *previews) again(ctx context.Context, services corelisters.ServiceLister, interval time.Duration, clock clock.WithTicker) {
	if interval <= 0 {
		interval = defaultPreviewInterval
	}
	ticker := clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		for _, key := range p.report.Open() {
			service, err := services.Services(key.Namespace).Get(key.Name)
			if err != nil || !dispatch.Wanted(service) && !servicehelpers.HasLBFinalizer(service) {
				p.report.Forget(key)
			} else if now, nodes := p.newest.Newest(service); now != nil && ctx.Err() == nil {
				p.preview(ctx, now, nodes)
			}
		}
	}
}

// previewedInstances are the servers behind nodes in a dry run. They report the changes that the
// controllers of nodes would make after an answer.
type previewedInstances struct {
	cloudprovider.InstancesV2

	report *dryrun.Report
}

// InstanceExists implements cloudprovider.InstancesV2. A Node that would be deleted stays.
func (i *previewedInstances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := i.InstancesV2.InstanceExists(ctx, node)
	if err == nil && !exists {
		i.report.Would(ctx, "node "+node.Name, "delete: its server is gone")
	}
	return exists || err == nil, err
}

// InstanceShutdown implements cloudprovider.InstancesV2. Upstream calls it for a Node that stays,
// even if its server is gone.
func (i *previewedInstances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	shutdown, err := i.InstancesV2.InstanceShutdown(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return shutdown, err
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (i *previewedInstances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	metadata, err := i.InstancesV2.InstanceMetadata(ctx, node)
	if err != nil || metadata == nil {
		return metadata, err
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == api.TaintExternalCloudProvider {
			i.report.Would(ctx, "node "+node.Name, fmt.Sprintf("initialize: provider ID %s, type %s, zone %q, region %q, addresses %v",
				metadata.ProviderID, metadata.InstanceType, metadata.Zone, metadata.Region, metadata.NodeAddresses))
		}
	}
	return metadata, nil
}

// previewedRoutes are the routes to pods in a dry run.
type previewedRoutes struct {
	cloudprovider.Routes

	report *dryrun.Report
}

// CreateRoute implements cloudprovider.Routes.
func (r *previewedRoutes) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	r.report.Would(ctx, "route to "+route.DestinationCIDR, fmt.Sprintf("add: by node %s", route.TargetNode))
	return nil
}

// DeleteRoute implements cloudprovider.Routes.
func (r *previewedRoutes) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	r.report.Would(ctx, "route to "+route.DestinationCIDR, "remove: "+route.Name)
	return nil
}
