package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// leaseReadTimeout is how long the start of the controllers waits for the read of the lease, which
// its release needs.
const leaseReadTimeout = 5 * time.Second

// leaseReleaseTimeout limits the release of the lease, so that an unavailable API server does not
// delay the shutdown: the lease expires soon.
const leaseReleaseTimeout = 3 * time.Second

// lease is the leader election lease, which is released at the shutdown. The leader election of the
// controller manager cannot do that: it only ends with the process. A nil lease is that of a
// process without leader election.
type lease struct {
	leases coordination.LeaseInterface
	name   string

	mu sync.Mutex
	// holder is the identity of this process in the lease, when it leads.
	holder string
}

func newLease(completed *appconfig.CompletedConfig) *lease {
	election := completed.ComponentConfig.Generic.LeaderElection
	if !election.LeaderElect || election.ResourceLock != resourcelock.LeasesResourceLock {
		return nil
	}
	return &lease{leases: completed.Client.CoordinationV1().Leases(election.ResourceNamespace), name: election.ResourceName}
}

// readHolder reads the identity of this process from the lease. The leader election generates
// it and does not expose it, but this process has just become the holder when its provider
// is initialized.
func (l *lease) readHolder(ctx context.Context) {
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaseReadTimeout)
	defer cancel()
	host, err := os.Hostname()
	if err != nil {
		return
	}
	held, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read the lease: it will expire after the shutdown", "lease", l.name, "err", err)
		return
	}
	if holder := ptr.Deref(held.Spec.HolderIdentity, ""); strings.HasPrefix(holder, host+"_") {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holder = holder
	}
}

// release releases the lease if this process holds it. The process must end right after
// that, or its leader election acquires the lease again.
func (l *lease) release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseReleaseTimeout)
	defer cancel()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		held, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
		if err != nil || ptr.Deref(held.Spec.HolderIdentity, "") != l.holder {
			return err
		}
		now := metav1.NowMicro()
		held.Spec.HolderIdentity = nil
		held.Spec.LeaseDurationSeconds = ptr.To[int32](1)
		held.Spec.AcquireTime, held.Spec.RenewTime = &now, &now
		_, err = l.leases.Update(ctx, held, metav1.UpdateOptions{})
		return err
	})
	if err == nil {
		err = ctx.Err() // which the retry mistakes for its own timeout
	}
	if err != nil {
		return fmt.Errorf("give back lease %s: %w", l.name, err)
	}
	klog.FromContext(ctx).Info("Gave back the leader election lease", "lease", l.name)
	return nil
}

// The lease of the only cloud controller manager of a cluster.
const defaultLeaseNamespace, defaultLeaseName = metav1.NamespaceSystem, "cloud-controller-manager"

// controllerName returns the name that distinguishes this controller from others of the cluster,
// such as those of other regions: the name of its lease, without which only one of them works; or
// the region, without leader election and with provider IDs that have the region. It is "" for the
// default lease. A dry run has the name of the controller that it previews.
func controllerName(completed *appconfig.CompletedConfig, regionalIDs bool, region string) string {
	election := completed.ComponentConfig.Generic.LeaderElection
	name := strings.TrimSuffix(election.ResourceName, dryRunSuffix)
	switch {
	case election.ResourceNamespace != defaultLeaseNamespace:
		return election.ResourceNamespace + "." + name
	case name != defaultLeaseName:
		return name
	case !election.LeaderElect && regionalIDs:
		return region
	}
	return ""
}
