package cloudprovider

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// cloudRecord is the ConfigMap with these keys and values.
func cloudRecord(data map[string]string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: CloudRecordName}, Data: data}
}

// checking is a check of a process that works in project b of RegionOne.
func checking(objects ...runtime.Object) (*cloudCheck, *fake.Clientset, *record.FakeRecorder, *clocktesting.FakeClock) {
	client, events, now := fake.NewClientset(objects...), record.NewFakeRecorder(100), clocktesting.NewFakeClock(time.Now())
	return &cloudCheck{
		maps: client.CoreV1().ConfigMaps(metav1.NamespaceSystem), recorder: events, clock: now,
		current: func() CloudIdentity { return CloudIdentity{"b", "RegionOne"} },
	}, client, events, now
}

func recorded(t *testing.T, client *fake.Clientset) map[string]string {
	t.Helper()
	stored, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), CloudRecordName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return stored.Data
}

func TestProjectAndRegionAreWrittenDownAndCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored  map[string]string // nil: no record
		allowed bool
	}{
		"the first start":               {nil, true},
		"an empty record":               {map[string]string{}, true},
		"the same":                      {map[string]string{"project": "b", "region": "RegionOne"}, true},
		"project confirmed by its key":  {map[string]string{"region": "RegionOne"}, true},
		"region confirmed by its key":   {map[string]string{"project": "b"}, true},
		"keys of the operator's own":    {map[string]string{"project": "b", "region": "RegionOne", "note": "x"}, true},
		"another project":               {map[string]string{"project": "a", "region": "RegionOne"}, false},
		"another region":                {map[string]string{"project": "b", "region": "RegionTwo"}, false},
		"another region, no project":    {map[string]string{"region": "RegionTwo"}, false},
		"before, there was no region":   {map[string]string{"project": "b", "region": ""}, false},
		"a project in different spaces": {map[string]string{"project": "B", "region": "RegionOne"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []runtime.Object
			if test.stored != nil {
				objects = append(objects, cloudRecord(test.stored))
			}
			check, client, events, _ := checking(objects...)
			err := check.allow(t.Context())
			if test.allowed != (err == nil) || !test.allowed && !errors.Is(err, ErrCloudChanged) {
				t.Fatalf("allowed: %v", err)
			}
			after := recorded(t, client)
			if test.allowed {
				if after["project"] != "b" || after["region"] != "RegionOne" || after["note"] != test.stored["note"] {
					t.Errorf("written is %v", after)
				}
				requests := len(client.Actions())
				if err := check.allow(t.Context()); err != nil || len(client.Actions()) != requests {
					t.Errorf("asked again: %v, %d requests", err, len(client.Actions())-requests)
				}
				return
			}
			if len(after) != len(test.stored) {
				t.Errorf("the record became %v", after)
			}
			event := <-events.Events
			for _, value := range append(mapValues(test.stored), "b", "RegionOne", cloudChanged, "delete configmap") {
				if !strings.Contains(event, value) {
					t.Errorf("event %q lacks %q", event, value)
				}
			}
		})
	}
}

func mapValues(m map[string]string) []string {
	var values []string
	for _, value := range m {
		values = append(values, value)
	}
	return values
}

func TestAChangeOfTheCloudIsConfirmedByDeletingTheRecord(t *testing.T) {
	t.Parallel()
	check, client, events, now := checking(cloudRecord(map[string]string{"project": "a", "region": "RegionOne"}))
	for range 3 {
		if err := check.allow(t.Context()); !errors.Is(err, ErrCloudChanged) {
			t.Fatalf("got %v", err)
		}
	}
	if gets := len(client.Actions()); gets != 1 || len(events.Events) != 1 {
		t.Errorf("%d requests and %d events within a moment, want one of each", gets, len(events.Events))
	}
	if err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(t.Context(), CloudRecordName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	now.Step(confirmationPeriod)
	if err := check.allow(t.Context()); err != nil {
		t.Errorf("confirmed: %v", err)
	}
	if got := recorded(t, client); got["project"] != "b" {
		t.Errorf("written is %v", got)
	}
}

// The role of cloud-provider-openstack knows no such ConfigMap.
func TestWithoutTheRightToKeepTheRecordNothingIsHeldUp(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"get", "create", "update"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			var objects []runtime.Object
			if verb == "update" {
				objects = append(objects, cloudRecord(nil))
			}
			check, client, events, now := checking(objects...)
			client.PrependReactor(verb, "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(v1.Resource("configmaps"), CloudRecordName, nil)
			})
			if err := check.allow(t.Context()); err != nil {
				t.Error(err)
			}
			if len(events.Events) != 0 {
				t.Errorf("event %q", <-events.Events)
			}
			check.current = func() CloudIdentity { return CloudIdentity{"c", "RegionOne"} } // new credentials were read
			now.Step(time.Hour)
			if err := check.allow(t.Context()); !errors.Is(err, ErrCloudChanged) {
				t.Errorf("another project in the same process: %v", err)
			}
		})
	}
}

// That the record cannot be read is no permission.
func TestAnUnreadableRecordAllowsNothing(t *testing.T) {
	t.Parallel()
	check, client, _, _ := checking(cloudRecord(map[string]string{"project": "a", "region": "RegionOne"}))
	failing := true
	client.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		return failing, nil, apierrors.NewInternalError(errors.New("etcd is away"))
	})
	if err := check.allow(t.Context()); err == nil || errors.Is(err, ErrCloudChanged) {
		t.Errorf("got %v", err)
	}
	failing = false
	if err := check.allow(t.Context()); !errors.Is(err, ErrCloudChanged) {
		t.Errorf("got %v", err)
	}
}

// moved is a cluster of the first project whose credentials are suddenly another's.
func moved(t *testing.T) (*simulator.Cloud, *fake.Clientset, *clocktesting.FakeClock, *Provider, string) {
	t.Helper()
	cloud, c := connection(t, func(*config.Config) {})
	now, client := clocktesting.NewFakeClock(time.Now()), fake.NewClientset(kubeSystem())
	c.Client, c.Clock = client, now
	c.Config.Route.RouterID = cloud.Router.ID
	server, err := cloud.AddServer("node-1", "")
	if err != nil {
		t.Fatal(err)
	}
	connect := func() *Provider {
		p, err := Connect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		p.options.NewLoadBalancers = func(string, Newest) (LoadBalancers, error) { return &engine{}, nil }
		p.Initialize(nil, t.Context().Done())
		p.SetInformers(informers.NewSharedInformerFactory(client, 0))
		return p
	}
	if err := connect().Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := cloud.AddAccount("other", "other")
	c.Config.Global.Username, c.Config.Global.UserID = other.UserName, ""
	c.Config.Global.Password, c.Config.Global.TenantID, c.Config.Global.TenantName = other.Password, other.ProjectID, ""
	return cloud, client, now, connect(), "openstack:///" + server.ID
}

// A Secret that was mixed up must cost neither a node nor a load balancer.
func TestCredentialsOfAnotherProjectDeleteAndMakeNothing(t *testing.T) {
	t.Parallel()
	cloud, client, now, p, providerID := moved(t)
	nodes, _ := p.InstancesV2()
	routes, _ := p.Routes()
	lb, node, svc := balancer(t, p), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, service("web")
	node.Spec.ProviderID = providerID
	exists, errExists := nodes.InstanceExists(t.Context(), node)
	_, errEnsure := lb.EnsureLoadBalancer(t.Context(), "", svc, nil)
	_, there, errGet := lb.GetLoadBalancer(t.Context(), "", svc)
	refused := map[string]error{
		"a node is gone": errExists, "ensure": errEnsure, "get": errGet,
		"delete":       lb.EnsureLoadBalancerDeleted(t.Context(), "", svc),
		"repair":       errorOf(p.loadBalancers.Repair(t.Context(), svc, nil, nil)),
		"create route": routes.CreateRoute(t.Context(), "", "", &cloudprovider.Route{}),
		"delete route": routes.DeleteRoute(t.Context(), "", &cloudprovider.Route{}),
	}
	for what, err := range refused {
		if !errors.Is(err, ErrCloudChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if exists || there {
		t.Errorf("the node exists: %v, the load balancer: %v", exists, there)
	}
	if text := errEnsure.Error(); strings.Contains(text, cloud.Account.ProjectID) || !strings.Contains(text, CloudRecordName) {
		t.Errorf("a Service's users read %q", text)
	}
	if text := errExists.Error(); !strings.Contains(text, cloud.Account.ProjectID) {
		t.Errorf("the log does not say where the cluster was: %q", text)
	}

	if err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(t.Context(), CloudRecordName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	now.Step(confirmationPeriod)
	if exists, err := nodes.InstanceExists(t.Context(), node); exists || err != nil {
		t.Errorf("once it is confirmed: %v, %v", exists, err)
	}
	if _, err := lb.EnsureLoadBalancer(t.Context(), "", svc, nil); err != nil {
		t.Errorf("once it is confirmed: %v", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func errorOf[T any](_ T, err error) error { return err }
