package cloudprovider

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Initialize is called when this process becomes the leader, before any other request for cloud
// resources. It waits until the API server answers with the cluster's identity. Only the first call
// has an effect: a second engine would not know the work of the first.
func (p *Provider) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	p.initialized.Do(func() { p.initialize(stop) })
}

func (p *Provider) initialize(stop <-chan struct{}) {
	ctx := p.calls.process
	go func() {
		select {
		case <-stop:
			p.calls.end()
		case <-ctx.Done():
		}
	}()
	if p.options.Leading != nil {
		p.options.Leading(ctx)
	}
	if err := p.scope.Check(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Services, nodes and routes wait")
	}
	if p.options.NewLoadBalancers == nil && p.options.NewRoutes == nil {
		reportMissingRights(p.options.Recorder, false, p.scope.Unrecorded())
		return
	}
	id, err := cluster.ReadID(ctx, p.options.Client, p.options.Clock)
	if err == nil && p.options.NewLoadBalancers != nil {
		err = p.startLoadBalancers(ctx, id)
	}
	if err != nil && ctx.Err() == nil {
		p.options.Stop(fmt.Errorf("start load balancers: %w", err))
	}
	if err == nil {
		reportMissingRights(p.options.Recorder, id == "", p.scope.Unrecorded())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clusterID = id
}

// reportMissingRights emits which protections are off, because the role of this process lacks
// rights, as that of cloud-provider-openstack does. Objects that are created meanwhile never get
// these protections.
func reportMissingRights(recorder record.EventRecorder, unidentified, unrecorded bool) {
	var lacks []string
	if unidentified {
		lacks = append(lacks, "it may not read namespace kube-system, so load balancers do not carry the ID of their cluster, also not later, "+
			"a cluster of the same name in the project is not told apart, and nothing looks for garbage")
	}
	if unrecorded {
		lacks = append(lacks, "it may not keep ConfigMap "+cluster.ScopeRecord+", so a start with credentials of another project or region is not noticed")
	}
	if len(lacks) == 0 || recorder == nil {
		return
	}
	reason.RightsMissing.Emit(recorder, operatorEvents(), "The controller lacks rights: "+strings.Join(lacks, "; ")+
		". Apply manifests/additional-rights/rbac.yaml, and restart the pods")
}

func (p *Provider) startLoadBalancers(ctx context.Context, id string) error {
	if p.options.Records != nil {
		if err := p.options.Records.Load(ctx); err != nil {
			return err
		}
	}
	balancers := &loadBalancers{calls: p.calls, scope: p.scope, metrics: p.options.Metrics}
	engine, err := p.options.NewLoadBalancers(id, balancers)
	if err != nil {
		return err
	}
	balancers.engine = engine
	if p.options.DryRun != nil {
		balancers.engine = &previews{engine, p.options.DryRun, balancers}
	}
	context.AfterFunc(ctx, engine.Close) // its background work ends with the process
	klog.FromContext(ctx).Info("Load balancers are ready", "clusterID", id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settings != nil { // cloud.conf has changed before this process led
		if err := engine.Reconfigure(p.settings); err != nil {
			return err
		}
	}
	p.loadBalancers = balancers
	return nil
}

// SetInformers is called after Initialize, before the informers are started. Only the first call
// has an effect, as with Initialize.
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	p.informed.Do(func() { p.setInformers(factory) })
}

func (p *Provider) setInformers(factory informers.SharedInformerFactory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nodes := factory.Core().V1().Nodes()
	keepTrimmed(p.calls.process, nodes.Informer())
	p.options.Metrics.useNodes(nodes.Lister())
	if p.options.UseNodes != nil {
		p.options.UseNodes(nodes.Lister())
	}
	if p.options.NewRoutes != nil {
		p.routes = &routesAdapter{inner: p.options.NewRoutes(p.clusterID, nodes.Lister(), nodes.Informer().HasSynced), calls: p.calls, scope: p.scope}
	}
	if p.loadBalancers == nil {
		return
	}
	p.informers = factory
	services := factory.Core().V1().Services()
	keepTrimmed(p.calls.process, services.Informer())
	if p.options.Conditions != nil {
		if err := p.options.Conditions.Use(services); err != nil {
			p.options.Stop(fmt.Errorf("listen to Services: %w", err))
		}
	}
}

// Shutdown refuses new calls and cancels those that run. It returns when they have returned and
// everything is closed, or with the context's error.
func (p *Provider) Shutdown(ctx context.Context) error {
	if err := p.calls.drain(ctx); err != nil {
		return err
	}
	p.background.Wait() // it ends with the calls
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loadBalancers != nil {
		p.loadBalancers.engine.Close()
		p.loadBalancers = nil
	}
	if p.options.Close != nil {
		p.options.Close()
	}
	return nil
}
