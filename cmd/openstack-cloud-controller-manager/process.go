package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/component-base/metrics/legacyregistry"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// process is what lives from start to exit.
type process struct {
	// ctx ends when the process is to end, which stop does.
	ctx        context.Context
	stop       context.CancelCauseFunc
	env        config.Environment
	build      build
	userAgents []string

	// lease belongs to the provider, which is nil until upstream has asked for it and
	// Keystone has answered.
	lease    *lease
	provider atomic.Pointer[cloudprovider.Provider]
	// returned is closed when upstream has come to its end; finished is the rest of ours.
	returned chan struct{}
	finished sync.Once
}

// connect reads cloud.conf and signs in.
func (p *process) connect(completed *appconfig.CompletedConfig) (*cloudprovider.Provider, error) {
	shared := completed.ComponentConfig.KubeCloudShared
	if shared.CloudProvider.Name != cloudprovider.Name {
		return nil, fmt.Errorf("--cloud-provider is %q: allowed is %q", shared.CloudProvider.Name, cloudprovider.Name)
	}
	conf, warnings, err := config.LoadFile(shared.CloudProvider.CloudConfigFile, p.env)
	for _, warning := range warnings {
		klog.Warning(warning)
	}
	if err != nil {
		return nil, err
	}
	routes := cloudRoutes(completed)
	if err := checkRoutes(conf.Route.RouterID, routes, shared.ClusterCIDR); err != nil {
		return nil, err
	}
	if err := legacyregistry.Register(p.build.metric()); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	reconciles, requests := cloudprovider.NewMetrics(clock.RealClock{}), transport.NewMetrics()
	if err := reconciles.Register(legacyregistry.Register); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if err := requests.Register(legacyregistry.Register); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	p.lease = newLease(completed)
	connected, err := p.signIn(completed.SecureServing, cloudprovider.Connection{
		Config:         conf,
		Reread:         func() (config.Global, error) { return rereadGlobal(shared.CloudProvider.CloudConfigFile, p.env) },
		UserAgent:      userAgent(p.build.version, p.userAgents),
		Client:         completed.Client,
		ClusterName:    shared.ClusterName,
		ServiceWorkers: int(completed.ComponentConfig.ServiceController.ConcurrentServiceSyncs),
		RegionalIDs:    p.env.RegionalIDs(),
		CloudRoutes:    routes,
		Recorder:       completed.EventRecorder,
		Leading:        p.lease.learnHolder,
		Stop:           p.stop,
		Metrics:        reconciles,
		APIMetrics:     requests,
		Clock:          clock.RealClock{},
	})
	if err != nil {
		return nil, err
	}
	tellReadiness(&completed.Authentication, connected.Ready)
	p.provider.Store(connected)
	return connected, nil
}

// The pause between two sign-ins at the start doubles from the first to the longest.
const firstSignInPause, longestSignInPause = time.Second, 30 * time.Second

// signIn connects to the cloud. As long as Keystone is away it tries again, with what
// [Global] says by then: this process takes no part in the election meanwhile, is alive
// and not ready. Everything else is an error, as are refused credentials.
func (p *process) signIn(serving *apiserver.SecureServingInfo, c cloudprovider.Connection) (*cloudprovider.Provider, error) {
	handOver := serveWaiting(serving)
	defer handOver()
	for pause := firstSignInPause; ; pause = min(2*pause, longestSignInPause) {
		connected, err := cloudprovider.Connect(p.ctx, c)
		if err == nil || !apierror.IsKeystoneAway(err) || p.ctx.Err() != nil {
			return connected, err
		}
		klog.ErrorS(err, "Waiting for Keystone: not ready, and not a candidate for the leader until it answers", "again", pause)
		select {
		case <-p.ctx.Done():
			return nil, context.Cause(p.ctx)
		case <-c.Clock.After(pause):
		}
		if global, err := c.Reread(); err == nil {
			c.Config.Global = global
		}
	}
}

// rereadGlobal reads the configuration once more. What it warns of was told at the
// start.
func rereadGlobal(path string, env config.Environment) (config.Global, error) {
	conf, _, err := config.LoadFile(path, env)
	if err != nil {
		return config.Global{}, err
	}
	return conf.Global, nil
}

// cloudRoutes says whether upstream's route controller will ask for routes.
func cloudRoutes(completed *appconfig.CompletedConfig) bool {
	conf := completed.ComponentConfig
	return conf.KubeCloudShared.ConfigureCloudRoutes &&
		controllermanager.IsControllerEnabled(names.NodeRouteController, app.ControllersDisabledByDefault, conf.Generic.Controllers)
}

// checkRoutes says what is missing where upstream's route controller would end the
// process over an "invalid CIDR address".
func checkRoutes(routerID string, cloudRoutes bool, clusterCIDR string) error {
	if routerID == "" || !cloudRoutes || clusterCIDR != "" {
		return nil
	}
	return errors.New("cloud.conf [Route] router-id asks for routes to pods: give --cluster-cidr with the networks of all pods, " +
		"as the kube-controller-manager has it, or switch routes off with --configure-cloud-routes=false or --controllers=*,-route")
}

// finish ends the calls that still run and then gives the lease back, so that
// another replica goes on at once. The lease of a process that still works on
// something is left to expire. It returns when that is done, whoever began it.
func (p *process) finish() {
	p.finished.Do(func() {
		connected := p.provider.Load()
		if connected == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), shutdownPatience)
		defer cancel()
		if err := connected.Shutdown(ctx); err != nil {
			klog.ErrorS(err, "Stopping without giving back the leader election lease")
			return
		}
		if err := p.lease.release(ctx); err != nil {
			klog.ErrorS(err, "The leader election lease is left to expire")
		}
	})
}

// userAgent is what we call ourselves to OpenStack, after what the operator adds.
func userAgent(version string, additions []string) string {
	return strings.Join(append(additions[:len(additions):len(additions)], programName+"/"+version), " ")
}

// logProblems logs an error that may be many, one in each line.
func logProblems(err error) {
	for problem := range strings.Lines(err.Error()) {
		klog.Error(strings.TrimSpace(problem))
	}
}
