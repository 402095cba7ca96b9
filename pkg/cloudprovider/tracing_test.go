package cloudprovider

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loglines"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/otlp"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Each call about a node or its routes is a separate trace that contains its requests.
//
//proves:102
func TestTracing_HasSpansOfCallsAboutNodesAndRoutes(t *testing.T) {
	t.Parallel()
	provider, end := otlp.Collect(t)
	cloud, c := connection(t, func(*config.Config) {})
	c.Config.Route.RouterID, c.CloudRoutes, c.Tracer = cloud.Router.ID, true, provider
	if _, err := cloud.AddServer("node-1", ""); err != nil {
		t.Fatal(err)
	}
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	p.SetInformers(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	instances, _ := p.InstancesV2()
	routes, _ := p.Routes()
	node := &v1.Node{}
	node.Name = "node-1"
	metadata, err := instances.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	calls := []struct {
		name, operation string
		do              func() error
	}{
		{"node", "exists", func() error { _, err := instances.InstanceExists(t.Context(), node); return err }},
		{"node", "shutdown", func() error { _, err := instances.InstanceShutdown(t.Context(), node); return err }},
		{"route", "list", func() error { _, err := routes.ListRoutes(t.Context(), ""); return err }},
		{"route", "create", func() error {
			return routes.CreateRoute(t.Context(), "", "", &cloudprovider.Route{
				TargetNode: "node-1", TargetNodeAddresses: metadata.NodeAddresses, DestinationCIDR: "10.244.1.0/24",
			})
		}},
		{"route", "delete", func() error {
			return routes.DeleteRoute(t.Context(), "", &cloudprovider.Route{Name: "10.244.1.0/24 via " + metadata.NodeAddresses[0].Address, TargetNode: "node-1"})
		}},
	}
	for _, call := range calls {
		if err := call.do(); err != nil {
			t.Errorf("%s %s: %v", call.name, call.operation, err)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	got := end()
	roots := map[string]int{}
	for _, span := range got {
		if len(span.ParentSpanId) > 0 {
			continue
		}
		operation := otlp.Attribute(span, "operation")
		roots[span.Name+" "+operation]++
		if node := otlp.Attribute(span, "k8s.node.name"); node != "node-1" && span.Name != "batch" && operation != "list" {
			t.Errorf("%s %s is about node %q", span.Name, operation, node)
		}
	}
	want := map[string]int{"node metadata": 1, "node exists": 1, "node shutdown": 1, "route list": 1, "route create": 1, "route delete": 1, "batch ": 2}
	if diff := cmp.Diff(want, roots); diff != "" {
		t.Errorf("calls have the spans (-want +got):\n%s", diff)
	}
	sent := map[string]bool{}
	for _, span := range got {
		if otlp.Attribute(span, "openstack.request_id") != "" {
			sent[otlp.RequestID(span)+" "+otlp.Attribute(span, "url.path")] = true
		}
	}
	for _, service := range []string{"/compute", "/network"} {
		requests := cloud.RequestLog.Requests(requestlog.Under(service))
		for _, request := range requests {
			path, _, _ := strings.Cut(request.Path, "?")
			if !sent[request.GlobalID+" "+path] {
				t.Errorf("%s %s, with the global request ID %q, is in no trace of it", request.Method, request.Path, request.GlobalID)
			}
		}
		if len(requests) == 0 {
			t.Errorf("nothing was asked of %s", service)
		}
	}
}

// talkativeEngine logs that it deletes.
type talkativeEngine struct{ engine }

func (*talkativeEngine) Delete(ctx context.Context, _ *v1.Service) error {
	klog.FromContext(ctx).Info("Deleting")
	return nil
}

//proves:102
func TestLog_SaysForWhichService(t *testing.T) {
	t.Parallel()
	balancers := &loadBalancers{engine: &talkativeEngine{}, calls: newCalls(t.Context(), nil)}
	ctx, log := loglines.At(t.Context(), 2)
	if err := balancers.EnsureLoadBalancerDeleted(ctx, "", service("web")); err != nil {
		t.Fatal(err)
	}
	if got := log.Take(); len(got) != 1 || fmt.Sprint(got[0]["service"]) != "map[name:web namespace:default]" {
		t.Errorf("the log has %v", got)
	}
}
