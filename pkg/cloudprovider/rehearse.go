package cloudprovider

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/resync"
)

// Rehearse returns the engine of load balancers as a controller that starts now would create it:
// with the identity of the cluster, the records of the last process, and the same configuration. Of
// the connection it uses Config, UserAgent, Client, ClusterName and Clock. It is only for previews:
// the session sends OpenStack no request that writes, and nothing is written to Kubernetes. The
// caller ends it with end.
//
// The error wraps cluster.ErrMoved if a controller would refuse to work, because cloud.conf leads
// to a project or region other than the cluster's.
func Rehearse(ctx context.Context, c Connection) (engine *loadbalancer.Reconciler, end func(), err error) {
	c.Config = WithKnownAnnotations(c.Config)
	options, err := SessionOptions(c.Config, c.UserAgent)
	if err != nil {
		return nil, nil, err
	}
	options.Clock, options.ReadOnly = c.Clock, true
	session, err := openstack.NewSession(ctx, c.Config.Global, options)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			session.Close()
		}
	}()
	maps := c.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	if err := cluster.CompareScope(ctx, maps, cluster.Scope{ProjectID: session.ProjectID(), Region: session.PinnedRegion()}); err != nil {
		return nil, nil, err
	}
	clusterID, err := cluster.ReadID(ctx, c.Client, c.Clock)
	if err != nil {
		return nil, nil, err
	}
	recorded := records.New(maps, c.Clock)
	if err := recorded.Load(ctx); err != nil {
		return nil, nil, fmt.Errorf("read what the last process has recorded: %w", err)
	}
	c.Recorder = &record.FakeRecorder{} // a preview emits no events
	rehearsed := c.loadBalancerOptions(session, Options{Records: recorded}, clusterID, nil)
	rehearsed.Endpoints = func(service *v1.Service) (members.Endpoints, settings.Watch, bool) {
		endpoints, watch := resync.ReadEndpoints(ctx, c.Client, service, c.Clock.Now())
		return endpoints, watch, false
	}
	rehearsed.Services = func(ctx context.Context, namespace string) ([]*v1.Service, error) {
		return resync.ReadServices(ctx, c.Client, namespace)
	}
	balancers, err := loadbalancer.New(rehearsed)
	if err != nil {
		return nil, nil, err
	}
	return balancers, func() { balancers.Close(); session.Close() }, nil
}
