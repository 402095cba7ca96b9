package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	apiserver "k8s.io/apiserver/pkg/server"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/metrics/legacyregistry"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// process is the state of the program from start to exit.
type process struct {
	// ctx ends when the shutdown begins, which stop starts.
	ctx        context.Context
	stop       context.CancelCauseFunc
	env        config.Environment
	build      build
	userAgents []string
	// podGates is set if the readiness gates of pods are opened.
	podGates bool
	// tracing is the path of a TracingConfiguration, "" for none; stopTracing sends the last spans.
	tracing     string
	stopTracing func(context.Context)
	dryRun      dryRun
	serving     serving
	// serviceCalls has the service controller after that is created.
	serviceCalls serviceCalls
	// events writes those of the program and of the service controller.
	events *eventQueue

	// lease belongs to the provider, which is nil until the controller manager has requested it and
	// Keystone has answered.
	lease    *lease
	provider atomic.Pointer[cloudprovider.Provider]
	// returned is closed when the controller manager has stopped.
	returned     chan struct{}
	shutdownOnce sync.Once
}

// connect reads cloud.conf, signs in and returns the provider.
func (p *process) connect(completed *appconfig.CompletedConfig) (*cloudprovider.Provider, error) {
	shared := completed.ComponentConfig.KubeCloudShared
	if shared.CloudProvider.Name != cloudprovider.Name {
		return nil, fmt.Errorf("--cloud-provider is %q: allowed is %q", shared.CloudProvider.Name, cloudprovider.Name)
	}
	conf, err := p.readConfig(shared.CloudProvider.CloudConfigFile)
	if err != nil {
		return nil, err
	}
	routes := cloudRoutes(completed)
	if err := checkRoutes(conf.Route.RouterID, routes, shared.ClusterCIDR); err != nil {
		return nil, err
	}
	reconciles, requests, err := p.registerMetrics()
	if err != nil {
		return nil, err
	}
	tracer, stopTracing, err := p.startTracing()
	if err != nil {
		return nil, err
	}
	p.stopTracing = stopTracing
	if err := p.serving.open(completed); err != nil {
		return nil, err
	}
	if err := p.dryRun.start(completed); err != nil {
		return nil, err
	}
	p.lease = newLease(completed)
	p.events = newEventQueue(&corev1.EventSinkImpl{Interface: completed.Client.CoreV1().Events("")})
	untilExit := context.WithoutCancel(p.ctx) // the shutdown emits events as well
	go p.events.run(untilExit, p.ctx.Done())
	connected, err := p.signIn(completed.SecureServing, cloudprovider.Connection{
		Config: conf,
		Reread: func() (*config.Config, []config.Warning, error) {
			return config.LoadFile(shared.CloudProvider.CloudConfigFile, p.env)
		},
		UserAgent:      userAgent(p.build.version, p.userAgents),
		Client:         completed.Client,
		ClusterName:    shared.ClusterName,
		ServiceWorkers: int(completed.ComponentConfig.ServiceController.ConcurrentServiceSyncs),
		RegionalIDs:    p.env.RegionalIDs(),
		Controller:     controllerName(completed, p.env.RegionalIDs(), conf.Global.Region),
		CloudRoutes:    routes,
		PodGates:       p.podGates,
		CallAgain:      p.serviceCalls.again,
		Recorder:       newRecorder(untilExit, p.events, options.CloudControllerManagerUserAgent),
		Leading:        p.lease.readHolder,
		Stop:           p.stop,
		DryRun:         p.dryRun.report,
		Metrics:        reconciles,
		APIMetrics:     requests,
		Tracer:         tracer, Clock: clock.RealClock{},
	})
	if err != nil {
		return nil, err
	}
	addReadiness(&completed.Authentication, connected.Ready)
	p.provider.Store(connected)
	return connected, p.dryRun.serve(p.ctx, completed)
}

// readConfig reads cloud.conf and logs its warnings.
func (p *process) readConfig(path string) (*config.Config, error) {
	conf, warnings, err := config.LoadFile(path, p.env)
	for _, warning := range warnings {
		klog.Warning(warning)
	}
	return conf, err
}

func (p *process) registerMetrics() (*cloudprovider.Metrics, *transport.Metrics, error) {
	reconciles, requests := cloudprovider.NewMetrics(clock.RealClock{}), transport.NewMetrics()
	err := errors.Join(legacyregistry.Register(p.build.metric()), legacyregistry.Register(p.build.ownMetric()),
		reconciles.Register(legacyregistry.Register), requests.Register(legacyregistry.Register))
	if err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	return reconciles, requests, nil
}

// signIn connects to the cloud, and answers probes meanwhile. A process that waits for Keystone
// takes no part in the leader election, is alive and not ready.
func (p *process) signIn(serving *apiserver.SecureServingInfo, c cloudprovider.Connection) (*cloudprovider.Provider, error) {
	stop := serveWaiting(serving)
	defer stop()
	return cloudprovider.ConnectWhenAvailable(p.ctx, c)
}

// cloudRoutes reports whether the route controller will use routes.
func cloudRoutes(completed *appconfig.CompletedConfig) bool {
	conf := completed.ComponentConfig
	return conf.KubeCloudShared.ConfigureCloudRoutes &&
		controllermanager.IsControllerEnabled(names.NodeRouteController, app.ControllersDisabledByDefault, conf.Generic.Controllers)
}

// checkRoutes returns an error that names the missing setting with which the route controller would
// end the process with "invalid CIDR address".
func checkRoutes(routerID string, cloudRoutes bool, clusterCIDR string) error {
	if routerID == "" || !cloudRoutes || clusterCIDR != "" {
		return nil
	}
	return errors.New("cloud.conf [Route] router-id enables routes to pods: set --cluster-cidr to the networks of all pods, " +
		"as in the kube-controller-manager, or disable routes with --configure-cloud-routes=false or --controllers=*,-route")
}

// shutdown ends the running calls and then releases the lease, so that another replica takes over
// at once. If this process is still changing something, its lease is left to expire. A second
// concurrent call waits for the first.
func (p *process) shutdown() {
	p.shutdownOnce.Do(func() {
		defer p.dryRun.end()
		connected := p.provider.Load()
		if connected == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), shutdownTimeout)
		defer cancel()
		defer p.stopTracing(ctx)
		if err := connected.Shutdown(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Stopping without giving back the leader election lease")
			return
		}
		if err := p.lease.release(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "The leader election lease is left to expire")
		}
	})
}

// userAgent returns the User-Agent of requests to OpenStack: the operator's additions, then ours.
func userAgent(version string, additions []string) string {
	return strings.Join(append(additions[:len(additions):len(additions)], programName+"/"+version), " ")
}

func logProblems(err error) {
	for problem := range strings.Lines(err.Error()) {
		klog.Error(strings.TrimSpace(problem))
	}
}
