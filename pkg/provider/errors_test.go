package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// Upstream puts the errors of all calls into events and logs, and tells by them when to
// come back.
func TestNoCallGivesALongError(t *testing.T) {
	t.Parallel()
	e := &engine{err: fmt.Errorf("%s: %w", strings.Repeat("x", 1<<20), api.NewRetryError("later", time.Minute))}
	p := started(t, e)
	lb, svc := balancer(t, p), &v1.Service{}
	for name, call := range map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, _, err := lb.GetLoadBalancer(ctx, "", svc); return err },
		"ensure": func(ctx context.Context) error { _, err := lb.EnsureLoadBalancer(ctx, "", svc, nil); return err },
		"delete": func(ctx context.Context) error { return lb.EnsureLoadBalancerDeleted(ctx, "", svc) },
		"repair": func(ctx context.Context) error { _, err := p.loadBalancers.Repair(ctx, svc, nil, nil); return err },
	} {
		err := call(t.Context())
		var later *api.RetryError
		if err == nil || len(err.Error()) > message.MaxError || !errors.As(err, &later) {
			t.Errorf("%s: an error of %d bytes, which asks to come back: %v", name, len(fmt.Sprint(err)), later != nil)
		}
	}
}
