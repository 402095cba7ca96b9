package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// The service controller puts the errors of all calls into events and logs, and retries by
// them.
func TestLoadBalancers_ReturnShortErrors(t *testing.T) {
	t.Parallel()
	e := &engine{err: fmt.Errorf("%s: %w", strings.Repeat("x", 1<<20), api.NewRetryError("later", time.Minute))}
	p := started(t, e)
	lb, svc := balancer(t, p), &v1.Service{}
	for name, call := range map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, _, err := lb.GetLoadBalancer(ctx, "", svc); return err },
		"ensure": func(ctx context.Context) error { _, err := lb.EnsureLoadBalancer(ctx, "", svc, nil); return err },
		"delete": func(ctx context.Context) error { return lb.EnsureLoadBalancerDeleted(ctx, "", svc) },
		"repair": func(ctx context.Context) error {
			_, err := resyncEngine{p.loadBalancers}.Repair(ctx, svc, nil)
			return err
		},
	} {
		err := call(t.Context())
		var later *api.RetryError
		if err == nil || len(err.Error()) > message.MaxError || !errors.As(err, &later) {
			t.Errorf("%s: an error of %d bytes, which asks to come back: %v", name, len(fmt.Sprint(err)), later != nil)
		}
	}
}

// longRoutes fail with all that somebody wrote.
type longRoutes struct{ cloudprovider.Routes }

func (longRoutes) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return fmt.Errorf("%s: %w", strings.Repeat("é", 5000), errRoute)
}

var errRoute = errors.New("no such router")

// The route controller puts the error of a route into an event, behind the names of Node and route,
// which have 390 bytes at most.
func TestCreateRoute_ReturnsErrorsThatFitIntoEvents(t *testing.T) {
	t.Parallel()
	calls := newCalls(t.Context(), nil)
	defer calls.end()
	err := (&routesAdapter{inner: longRoutes{}, calls: calls}).CreateRoute(t.Context(), "", "", &cloudprovider.Route{})
	if !errors.Is(err, errRoute) || len(err.Error()) > message.MaxEvent-390 {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}
