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
	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// The service controller writes the errors of all calls into events and logs, and retries after
// errors.
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
			_, err := repaired(ctx, p.loadBalancers, svc)
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

// longRoutes fail with a very long text.
type longRoutes struct{ cloudprovider.Routes }

func (longRoutes) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return fmt.Errorf("%s: %w", strings.Repeat("é", 5000), errRoute)
}

var errRoute = errors.New("no such router")

// The route controller puts the error of a route into an event, after the names of Node and route,
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

// hostileCloud fails with a text that forges a line of the log.
type hostileCloud struct {
	cloudprovider.InstancesV2
	cloudprovider.Routes
}

var errForged = errors.New("no address on a\nE1122 00:00:00.000000 1 forged.go:1] \x1b[2J\u202e")

func (hostileCloud) InstanceExists(context.Context, *v1.Node) (bool, error) { return false, errForged }

func (hostileCloud) InstanceShutdown(context.Context, *v1.Node) (bool, error) {
	return false, errForged
}

func (hostileCloud) InstanceMetadata(context.Context, *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	return nil, errForged
}

func (hostileCloud) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return nil, errForged
}

func (hostileCloud) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return errForged
}

func (hostileCloud) DeleteRoute(context.Context, string, *cloudprovider.Route) error {
	return errForged
}

// The controllers of Kubernetes write errors into the log without escaping them.
func TestProvider_ReturnsErrorsOfOneLine(t *testing.T) {
	t.Parallel()
	p := started(t, &engine{err: errForged})
	instances := &instancesAdapter{inner: hostileCloud{}, calls: p.calls}
	routes := &routesAdapter{inner: hostileCloud{}, calls: p.calls}
	lb, svc, node := balancer(t, p), &v1.Service{}, &v1.Node{}
	for name, call := range map[string]func(context.Context) error{
		"ensure":   func(ctx context.Context) error { _, err := lb.EnsureLoadBalancer(ctx, "", svc, nil); return err },
		"delete":   func(ctx context.Context) error { return lb.EnsureLoadBalancerDeleted(ctx, "", svc) },
		"exists":   func(ctx context.Context) error { _, err := instances.InstanceExists(ctx, node); return err },
		"shutdown": func(ctx context.Context) error { _, err := instances.InstanceShutdown(ctx, node); return err },
		"metadata": func(ctx context.Context) error { _, err := instances.InstanceMetadata(ctx, node); return err },
		"list":     func(ctx context.Context) error { _, err := routes.ListRoutes(ctx, ""); return err },
		"route":    func(ctx context.Context) error { return routes.CreateRoute(ctx, "", "", &cloudprovider.Route{}) },
		"no route": func(ctx context.Context) error { return routes.DeleteRoute(ctx, "", &cloudprovider.Route{}) },
	} {
		err := call(t.Context())
		if !errors.Is(err, errForged) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		hostile.OneLine(t, err.Error())
	}
}
