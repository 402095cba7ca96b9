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

// leaseReadPatience is how long the start of the controllers waits for the read
// that lets us give the lease back one day.
const leaseReadPatience = 5 * time.Second

// giveBackPatience is how long the lease may take to be given back. An API server that
// is away does not hold up the end: the lease expires soon enough.
const giveBackPatience = 3 * time.Second

// lease is the leader election lease, to be given back at the end. Upstream's
// election cannot do it: it never ends before the process. A nil lease is that of
// a process without leader election.
type lease struct {
	leases coordination.LeaseInterface
	name   string

	mu sync.Mutex
	// holder is our name in the lease, once we lead.
	holder string
}

func newLease(completed *appconfig.CompletedConfig) *lease {
	election := completed.ComponentConfig.Generic.LeaderElection
	if !election.LeaderElect || election.ResourceLock != resourcelock.LeasesResourceLock {
		return nil
	}
	return &lease{leases: completed.Client.CoordinationV1().Leases(election.ResourceNamespace), name: election.ResourceName}
}

// learnHolder notes our own name. Upstream makes it up and tells nobody, but when
// it starts us, we have just become the holder.
func (l *lease) learnHolder(ctx context.Context) {
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaseReadPatience)
	defer cancel()
	host, err := os.Hostname()
	if err != nil {
		return
	}
	held, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The lease will be left to expire at the end: it cannot be read", "lease", l.name, "err", err)
		return
	}
	if holder := ptr.Deref(held.Spec.HolderIdentity, ""); strings.HasPrefix(holder, host+"_") {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.holder = holder
	}
}

// release gives the lease back if we hold it. The process must end right after it,
// or upstream's election takes the lease again.
func (l *lease) release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, giveBackPatience)
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
		err = ctx.Err() // which the retry takes for the end of its own patience
	}
	if err != nil {
		return fmt.Errorf("give back lease %s: %w", l.name, err)
	}
	klog.FromContext(ctx).Info("Gave back the leader election lease", "lease", l.name)
	return nil
}
