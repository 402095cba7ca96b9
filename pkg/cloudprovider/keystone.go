package cloudprovider

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// The delay between two sign-ins doubles from the first to the longest.
const firstSignInDelay, longestSignInDelay = time.Second, 30 * time.Second

// ConnectWhenAvailable connects as Connect does. While Keystone is away it retries with the result
// of Reread. It returns every other error, such as refused credentials, and the cause of the
// context's end.
func ConnectWhenAvailable(ctx context.Context, c Connection) (*Provider, error) {
	for delay := firstSignInDelay; ; delay = min(2*delay, longestSignInDelay) {
		connected, err := Connect(ctx, c)
		if err == nil || !apierror.IsKeystoneAway(err) || ctx.Err() != nil {
			return connected, err
		}
		klog.FromContext(ctx).Error(err, "Waiting for Keystone: not ready, and not a candidate for the leader until it answers", "again", delay)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.Clock.After(delay):
		}
		c.reread()
	}
}

// reread replaces [Global] of the configuration by its present value, if it can be read.
func (c *Connection) reread() {
	if c.Reread == nil {
		return
	}
	if now, _, err := c.Reread(); err == nil {
		changed := *c.Config
		changed.Global = now.Global
		c.Config = &changed
	}
}

// rereadGlobal returns the function that a session calls for the present value of [Global].
func (c *Connection) rereadGlobal() func() (config.Global, error) {
	if c.Reread == nil {
		return nil
	}
	reread := c.Reread
	return func() (config.Global, error) {
		now, _, err := reread()
		if err != nil {
			return config.Global{}, err
		}
		return now.Global, nil
	}
}
