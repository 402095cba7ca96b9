package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/prometheus/slis"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/clientbuilder"
	controllerhealthz "k8s.io/controller-manager/pkg/healthz"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/dryrun"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// dryRunSuffix is added to the name of the leader election lease of a dry run, which must not
// compete with the active controller.
const dryRunSuffix = "-dry-run"

// dryRun is the part of a process that prevents writes.
type dryRun struct {
	// asked is --dry-run.
	asked bool
	// report is nil before the start, and without --dry-run.
	report *dryrun.Report
}

// wrapReviews guards the clients of the HTTP server for the authorization of /metrics. They are
// created before the others, from flags of their own.
func (d *dryRun) wrapReviews(next http.RoundTripper) http.RoundTripper {
	if !d.asked {
		return next
	}
	return (&dryrun.Kubernetes{}).Wrap(next)
}

// start replaces all clients of the controller manager by guarded ones, and sets another lease.
// Without --dry-run it does nothing.
func (d *dryRun) start(completed *appconfig.CompletedConfig) error {
	if !d.asked {
		return nil
	}
	klog.InfoS("Dry run: nothing is written, neither to OpenStack nor to Kubernetes. Log lines about changes are about planned ones", "report", dryrun.Path)
	metrics := dryrun.NewMetrics()
	if err := metrics.Register(legacyregistry.Register); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	d.report = dryrun.New(clock.RealClock{}, metrics)
	generic := &completed.ComponentConfig.Generic
	generic.LeaderElection.ResourceName += dryRunSuffix
	generic.LeaderMigrationEnabled = false // one process has all controllers, and one lease
	guard := &dryrun.Kubernetes{
		Lease:    types.NamespacedName{Namespace: generic.LeaderElection.ResourceNamespace, Name: generic.LeaderElection.ResourceName},
		Withheld: d.report.Withheld,
	}
	return guardClients(completed, guard.Wrap)
}

// guardClients replaces all clients of the API server. None has been used.
func guardClients(completed *appconfig.CompletedConfig, guard transport.WrapperFunc) (err error) {
	completed.Kubeconfig.Wrap(guard)
	builder := clientbuilder.SimpleControllerClientBuilder{ClientConfig: completed.Kubeconfig}
	completed.ClientBuilder = builder
	if completed.Client, err = kubernetes.NewForConfig(rest.AddUserAgent(completed.Kubeconfig, options.CloudControllerManagerUserAgent)); err != nil {
		return fmt.Errorf("create a client of the API server: %w", err)
	}
	if completed.VersionedClient, err = builder.Client("shared-informers"); err != nil {
		return fmt.Errorf("create a client of the API server: %w", err)
	}
	resync := completed.ComponentConfig.Generic.MinResyncPeriod.Duration
	completed.SharedInformers = informers.NewSharedInformerFactory(completed.VersionedClient, resync+time.Duration(rand.Int64N(int64(resync)+1)))
	return nil
}

// serve serves the report in addition to the paths of the controller manager, which cannot be
// extended, with the same authorization. Without --dry-run it does nothing.
func (d *dryRun) serve(ctx context.Context, completed *appconfig.CompletedConfig) error {
	serving := completed.SecureServing
	if serving == nil || d.report == nil {
		return nil
	}
	mux := controllermanager.NewBaseHandler(&completed.ComponentConfig.Generic.Debugging, controllerhealthz.NewMutableHealthzHandler())
	slis.SLIMetricsWithReset{}.Install(mux)
	mux.Handle(dryrun.Path, d.report)
	handler := controllermanager.BuildHandlerChain(mux, &completed.Authorization, &completed.Authentication)
	if _, _, err := serving.Serve(handler, 0, ctx.Done()); err != nil {
		return fmt.Errorf("serve the report: %w", err)
	}
	completed.SecureServing = nil
	return nil
}

// end writes the report to the log.
func (d *dryRun) end() {
	if d.report == nil {
		return
	}
	var text strings.Builder
	_ = d.report.WriteText(screen.New(&text, nil)) // a Builder has no errors
	klog.Info(text.String())
}
