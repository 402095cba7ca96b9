package cloudprovider

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/dryrun"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// dry returns a provider in a dry run, and its report.
func dry(t *testing.T, e *engine, change func(*Options), services ...*v1.Service) (*Provider, *dryrun.Report) {
	t.Helper()
	client, report := fake.NewClientset(kubeSystem()), dryrun.New(clock.RealClock{}, nil)
	for _, s := range services {
		if err := client.Tracker().Add(s); err != nil {
			t.Fatal(err)
		}
	}
	options := Options{
		Client: client, DryRun: report, NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
	}
	if change != nil {
		change(&options)
	}
	return startedWith(t, options), report
}

// outcomes returns the entries of a report for Services, by name.
func outcomes(report *dryrun.Report) map[string]dryrun.Service {
	all := map[string]dryrun.Service{}
	for _, s := range report.State().Services {
		all[s.Name] = s
	}
	return all
}

//proves:90
func TestDryRun_PreviewsInPlaceOfEveryCall(t *testing.T) {
	t.Parallel()
	e := &engine{found: loadbalancer.Preview{Steps: []loadbalancer.PreviewStep{{Text: "listener TCP/80: create"}, {Text: "pool TCP/80: delete", Pauses: "TCP/80"}}}}
	p, report := dry(t, e, nil)
	lb, svc := balancer(t, p), publishedService("web")
	if status, err := lb.EnsureLoadBalancer(t.Context(), "", svc, nil); err != cloudprovider.ImplementedElsewhere || status != nil {
		t.Errorf("ensured with %v, %v: upstream would publish that", status, err)
	}
	want := []string{"listener TCP/80: create", "pool TCP/80: delete (interrupts TCP/80)"}
	if got := outcomes(report)["web"]; got.Outcome != dryrun.Changed || !slices.Equal(got.Steps, want) {
		t.Errorf("reported %+v", got)
	}
	if status, err := repaired(t.Context(), p.loadBalancers, svc); err != nil || status.Ingress[0].IP != "192.0.2.1" {
		t.Errorf("repaired with %v, %v: not the address that is published", status, err)
	}
	e.found.Deletes = true
	if err := lb.EnsureLoadBalancerDeleted(t.Context(), "", svc); err != nil {
		t.Error(err)
	}
	if got := outcomes(report)["web"]; got.Outcome != dryrun.Deleted {
		t.Errorf("reported %+v", got)
	}
	if diff := cmp.Diff([]string{"preview", "preview", "preview"}, e.calls); diff != "" {
		t.Errorf("the engine was asked for (-want +got):\n%s", diff)
	}
}

// A dry run exists to show a refused Service and a cloud that does not answer. They are no errors,
// because upstream would retry.
//
//proves:90
func TestDryRun_ReportsRefusalsAndFailures(t *testing.T) {
	t.Parallel()
	e := &engine{}
	p, report := dry(t, e, nil)
	lb := balancer(t, p)
	ensure := func(name string) {
		t.Helper()
		if _, err := lb.EnsureLoadBalancer(t.Context(), "", service(name), nil); err != cloudprovider.ImplementedElsewhere {
			t.Errorf("%s: %v", name, err)
		}
	}
	ensure("same")
	e.found = loadbalancer.Preview{Refusal: &loadbalancer.Refusal{Reason: "invalid", Text: "annotation x: no"}, Notes: []loadbalancer.PreviewNote{{Reason: "Ignored", Text: "y"}}}
	ensure("refused")
	e.found = loadbalancer.Preview{Address: loadbalancer.AddressChanges, Before: "1.1.1.1", After: "2.2.2.2"}
	ensure("moves")
	e.err = errors.New("octavia is away")
	ensure("unknown")
	want := map[string]dryrun.Service{
		"same":    {Outcome: dryrun.Unchanged},
		"refused": {Outcome: dryrun.Refused, Reason: "invalid", Text: "annotation x: no", Notes: []string{"Ignored: y"}},
		"moves":   {Outcome: dryrun.Unchanged, Address: "changes: 1.1.1.1 → 2.2.2.2"},
		"unknown": {Outcome: dryrun.Unknown, Text: "octavia is away"},
	}
	if diff := cmp.Diff(want, outcomes(report), cmpopts.IgnoreFields(dryrun.Service{}, "Namespace", "Name", "Since", "Checked")); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// The work of another controller on a Service causes no events here. So the previews of Services
// with planned changes are repeated; a Service that is gone is no longer reported.
//
//proves:90
func TestDryRun_LooksAgainWhereSomethingWouldBeDone(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(time.Now())
	e := &engine{found: loadbalancer.Preview{Steps: []loadbalancer.PreviewStep{{Text: "create"}}}}
	p, report := dry(t, e, func(o *Options) { o.Clock, o.PreviewInterval = clk, time.Minute }, publishedService("web"), publishedService("idle"))
	lb := balancer(t, p)
	for _, name := range []string{"web", "gone"} {
		if _, err := lb.EnsureLoadBalancer(t.Context(), "", publishedService(name), nil); err != cloudprovider.ImplementedElsewhere {
			t.Fatal(err)
		}
	}
	e.mu.Lock()
	e.found = loadbalancer.Preview{}
	e.mu.Unlock()
	await.Eventually(t, "another look", func(context.Context) error {
		clk.Step(time.Minute)
		if got := outcomes(report); len(got) != 1 || got["web"].Outcome != dryrun.Unchanged {
			return errors.New(cmp.Diff(nil, got))
		}
		return nil
	})
	e.mu.Lock()
	before := len(e.calls)
	e.mu.Unlock()
	clk.Step(time.Hour)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := e.calls[before:]; len(after) > 0 {
		t.Errorf("asked again where nothing would be done: %q", after)
	}
}

// goneServers are InstancesV2 without a server.
type goneServers struct{}

func (goneServers) InstanceExists(context.Context, *v1.Node) (bool, error) { return false, nil }

func (goneServers) InstanceShutdown(context.Context, *v1.Node) (bool, error) {
	return false, cloudprovider.InstanceNotFound
}

func (goneServers) InstanceMetadata(context.Context, *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{ProviderID: "openstack:///1", InstanceType: "m1", Zone: "z"}, nil
}

//proves:90
func TestDryRun_ReportsNodesAndRoutesInPlaceOfChangingThem(t *testing.T) {
	t.Parallel()
	report, ctx := dryrun.New(clock.RealClock{}, nil), t.Context()
	nodes := &previewedInstances{goneServers{}, report}
	stays, shutdown := node("node-1", "10.0.0.1"), false
	exists, err := nodes.InstanceExists(ctx, stays)
	if err == nil {
		shutdown, err = nodes.InstanceShutdown(ctx, stays)
	}
	if !exists || shutdown || err != nil {
		t.Errorf("a node without a server: exists %v, shut down %v, %v", exists, shutdown, err)
	}
	fresh := node("node-2", "10.0.0.2")
	for _, taints := range [][]v1.Taint{nil, {{Key: api.TaintExternalCloudProvider}}} {
		fresh.Spec.Taints = taints
		if metadata, err := nodes.InstanceMetadata(ctx, fresh); err != nil || metadata.InstanceType != "m1" {
			t.Errorf("%v, %v", metadata, err)
		}
	}
	routes := &previewedRoutes{report: report} // the dry run never calls the wrapped routes
	route := &cloudprovider.Route{Name: "10.1.0.0/24 via 10.0.0.1", TargetNode: "node-1", DestinationCIDR: "10.1.0.0/24"}
	if err := errors.Join(routes.CreateRoute(ctx, "", "", route), routes.DeleteRoute(ctx, "", route)); err != nil {
		t.Error(err)
	}
	var said []string
	for _, c := range report.State().Changes {
		said = append(said, c.Object+": "+c.What)
	}
	want := []string{
		"node node-1: delete: its server is gone",
		`node node-2: initialize: provider ID openstack:///1, type m1, zone "z", region "", addresses []`,
		"route to 10.1.0.0/24: add: by node node-1",
		"route to 10.1.0.0/24: remove: 10.1.0.0/24 via 10.0.0.1",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

//proves:90,123
func TestDryRun_GivesOnlyPreviewsAndReadsToTheControllers(t *testing.T) {
	t.Parallel()
	_, c := connection(t, func(conf *config.Config) { conf.LoadBalancer.GarbagePolicy, conf.Route.RouterID = "delete", "r" })
	c.DryRun = dryrun.New(c.Clock, nil)
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	if _, is := p.loadBalancers.engine.(*previews); !is {
		t.Error("load balancers are made")
	}
	if p.options.Conditions != nil || c.loadBalancerOptions(nil, p.options, "", nil).Conditions != nil {
		t.Error("conditions are written")
	}
	p.SetInformers(informers.NewSharedInformerFactory(c.Client, 0))
	routes, _ := p.Routes()
	if _, is := routes.(*previewedRoutes); !is {
		t.Error("routes are changed")
	}
	instances, _ := p.InstancesV2()
	if _, is := instances.(*previewedInstances); !is {
		t.Error("nodes are changed")
	}
	if changed := harmless(c.Config); changed.LoadBalancer.GarbagePolicy != "report" || c.Config.LoadBalancer.GarbagePolicy != "delete" {
		t.Error("garbage is removed")
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
