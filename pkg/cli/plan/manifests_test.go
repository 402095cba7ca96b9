package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// asJSON returns an object as kubectl get -o json prints it.
func asJSON(t *testing.T, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// planFile previews the only Service of a file.
func planFile(t *testing.T, c *cluster, code int, query plan.Query, file string) plan.Service {
	t.Helper()
	query.File = strings.NewReader(file)
	r := must(t, code)(c.plan(query, plan.NodeChange{}))
	if len(r.Services) != 1 {
		t.Fatalf("%d Services: %+v", len(r.Services), r.Services)
	}
	return r.Services[0]
}

// exported is a Service with values of another cluster, or of an earlier object of its name.
func exported(svc *v1.Service) *v1.Service {
	svc = svc.DeepCopy()
	svc.UID, svc.ResourceVersion, svc.Generation = "5a1c0f6e-0000-4000-8000-000000000001", "4711", 3
	svc.CreationTimestamp = metav1.Now()
	svc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1"}}
	svc.Status.Conditions = []metav1.Condition{{Type: "Provisioned", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}}
	return svc
}

// A Service that is created again from the output of kubectl get is another one: it has neither the
// address nor the load balancer of the first.
func TestPlan_TakesNothingOverForAnExportedServiceThatIsCreated(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1.Service){
		"as it was": func(*v1.Service) {},
		"of another address": func(svc *v1.Service) {
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "127.200.0.99"}}
		},
		"while it is being deleted": func(svc *v1.Service) {
			svc.DeletionTimestamp, svc.DeletionGracePeriodSeconds = &metav1.Time{Time: svc.CreationTimestamp.Time}, new(int64)
		},
		"with the UID of the first": func(svc *v1.Service) { svc.UID = "uid-of-living" },
		"without its finalizer":     func(svc *v1.Service) { svc.Finalizers = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, simulator.Options{}, clusterID)
			c.addNodes(1)
			living := service("default", "living", 80)
			c.serve(living)
			file := exported(living)
			change(file)
			s := planFile(t, c, plan.ExitChanges, plan.Query{}, asJSON(t, file))
			if s.Address.Change != loadbalancer.AddressNew || s.TakenOver || s.Deletes || len(s.Steps) != 2 {
				t.Errorf("%+v", s)
			}
			if len(s.Notes) == 0 || !strings.HasPrefix(s.Notes[0].Text, "the API server ignores ") || !strings.Contains(s.Notes[0].Text, "status") {
				t.Errorf("notes %+v", s.Notes)
			}
		})
	}
}

// The manifest of an existing Service decides neither its published address nor its UID.
func TestPlan_KeepsWhatTheAPIServerKeepsOfALiveService(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	c.addNodes(1)
	web := service("default", "web", 80)
	c.serve(web)
	web.ResourceVersion, web.Generation = "12", 2
	c.add(web)
	for name, change := range map[string]func(*v1.Service){
		"as it is":          func(*v1.Service) {},
		"no status":         func(svc *v1.Service) { svc.Status = v1.ServiceStatus{} },
		"another address":   func(svc *v1.Service) { svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}} },
		"older":             func(svc *v1.Service) { svc.Generation, svc.CreationTimestamp = 1, metav1.Now() },
		"no identity":       func(svc *v1.Service) { svc.UID, svc.ResourceVersion, svc.Finalizers = "", "", nil },
		"no allocated port": func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 0 },
	} {
		file := web.DeepCopy()
		change(file)
		s := planFile(t, c, plan.ExitNothing, plan.Query{}, asJSON(t, file))
		if s.Verdict != plan.NoChange || len(s.Steps) > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestPlan_TellsWhatTheAPIServerAndKubectlRefuse(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	c.addNodes(1)
	web := service("default", "web", 80)
	c.serve(web)
	web.ResourceVersion = "12"
	c.add(web)
	live := func(change func(*v1.Service)) string {
		file := web.DeepCopy()
		change(file)
		return asJSON(t, file)
	}
	for text, test := range map[string]struct {
		file string
		kept bool
	}{
		"metadata.uid: Invalid value":                                               {live(func(svc *v1.Service) { svc.UID = "5a1c0f6e-0000-4000-8000-000000000001" }), true},
		"has been changed since 11 was read (conflict)":                             {live(func(svc *v1.Service) { svc.ResourceVersion = "11" }), true},
		"metadata.deletionTimestamp: Invalid value":                                 {live(func(svc *v1.Service) { svc.DeletionTimestamp = &metav1.Time{Time: web.CreationTimestamp.Add(1)} }), true},
		`unknown field "spec.loadBalancerSourceRange"`:                              {`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "loadBalancerSourceRange": ["10.0.0.0/8"], "ports": [{"port": 80}]}}`, true},
		"json: cannot unmarshal string into Go struct field ServiceSpec.spec.ports": {`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new"}, "spec": {"type": "LoadBalancer", "ports": "none"}}`, false},
		`metadata.name: Invalid value: "Web_1"`:                                     {`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "Web_1"}, "spec": {"type": "LoadBalancer"}}`, false},
		"kubectl apply refuses a manifest without":                                  {`{"apiVersion": "v1", "kind": "Service", "metadata": {"generateName": "web-"}, "spec": {"type": "LoadBalancer"}}`, false},
		"for namespace shop, and --namespace is default":                            {`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"type": "LoadBalancer"}}`, false},
		"metadata.annotations: Invalid value: \"not valid!":                         {`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new", "annotations": {"not valid!": "x"}}, "spec": {"type": "LoadBalancer"}}`, false},
	} {
		s := planFile(t, c, plan.ExitRefused, plan.Query{Enforced: true}, test.file)
		if s.Verdict != plan.Refused || !strings.Contains(s.Refusal.Text, text) || s.Refusal.Reason != plan.ReasonManifest || s.Refusal.Kept != test.kept {
			t.Errorf("%s: %s %+v", text, s.Verdict, s.Refusal)
		}
	}
}

// kubectl adds the namespace of its context before it compares a manifest with the last applied
// one.
func TestPlan_TakesTheNamespaceOfTheContextForThatOfTheManifest(t *testing.T) {
	t.Parallel()
	const bare = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "ports": [{"name": "p80", "port": 80}]}}`
	for name, test := range map[string]struct{ namespace, last, file string }{
		"one manifest":         {"default", `"name": "web", "namespace": "default"`, bare},
		"of another namespace": {"shop", `"name": "web", "namespace": "shop"`, bare},
		"in a List":            {"shop", `"name": "web", "namespace": "shop", "annotations": {}`, `{"apiVersion": "v1", "kind": "List", "items": [` + bare + `]}`},
		"YAML":                 {"default", `"name": "web", "namespace": "default"`, "# web\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  type: LoadBalancer\n  ports:\n  - {name: p80, port: 80}\n"},
		"with what was applied before": {"default", `"name": "web", "namespace": "default"`, strings.Replace(bare,
			`"name": "web"`, `"name": "web", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, simulator.Options{}, clusterID)
			c.addNodes(1)
			web := service(test.namespace, "web", 80)
			web.Annotations[v1.LastAppliedConfigAnnotation] = `{"apiVersion": "v1", "kind": "Service", "metadata": {` + test.last + `}, "spec": {"type": "LoadBalancer", "ports": [{"name": "p80", "port": 80}]}}`
			c.serve(web)
			c.add(web)
			s := planFile(t, c, plan.ExitNothing, plan.Query{Namespace: test.namespace}, test.file)
			if s.Namespace != test.namespace || s.Verdict != plan.NoChange || len(s.Notes) > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestPlan_GivesANewServiceTheIPFamilyOfTheCluster(t *testing.T) {
	t.Parallel()
	const node6 = "fd00:100::10"
	manifest := func(spec string) string {
		return `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new"}, "spec": {"type": "LoadBalancer", ` + spec + `"ports": [{"port": 80}]}}`
	}
	for name, test := range map[string]struct {
		family v1.IPFamily
		file   string
		want   v1.IPFamily
	}{
		"IPv4":                       {v1.IPv4Protocol, manifest(""), v1.IPv4Protocol},
		"IPv6":                       {v1.IPv6Protocol, manifest(""), v1.IPv6Protocol},
		"IPv6, and both if possible": {v1.IPv6Protocol, manifest(`"ipFamilyPolicy": "PreferDualStack", `), v1.IPv6Protocol},
		"IPv6, and both":             {v1.IPv6Protocol, manifest(`"ipFamilyPolicy": "RequireDualStack", `), v1.IPv6Protocol},
		"the manifest says it":       {v1.IPv6Protocol, manifest(`"ipFamilies": ["IPv4"], `), v1.IPv4Protocol},
		"the cluster IP says it":     {v1.IPv4Protocol, manifest(`"clusterIP": "fd00::1", `), v1.IPv6Protocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, simulator.Options{}, clusterID)
			c.addNodes(1)
			c.nodes[0].Status.Addresses = append(c.nodes[0].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: node6})
			if err := c.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), c.nodes[0], ""); err != nil {
				t.Fatal(err)
			}
			c.inFamily(test.family)
			seen := &seeing{}
			c.plans(seen, plan.Query{File: strings.NewReader(test.file)})
			if len(seen.services) != 1 || seen.services[0].Spec.IPFamilies[0] != test.want {
				t.Errorf("%+v", seen.services)
			}
		})
	}
}

func TestPlan_SaysWhereTheIPFamilyOfTheClusterIsNotKnown(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	c.addNodes(1)
	if err := c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("services"), "default", "kubernetes"); err != nil {
		t.Fatal(err)
	}
	s := planFile(t, c, plan.ExitChanges, plan.Query{}, `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]}}`)
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0].Text, "IPv4 is assumed") {
		t.Errorf("%+v", s.Notes)
	}
}

func TestPlan_SaysThatTheSecondIPFamilyIsNotKnown(t *testing.T) {
	t.Parallel()
	for families, want := range map[string]int{"": 1, `"ipFamilies": ["IPv4", "IPv6"], `: 0} {
		c := newCluster(t, simulator.Options{}, clusterID)
		c.addNodes(1)
		c.inFamily(v1.IPv4Protocol)
		s := planFile(t, c, plan.ExitChanges, plan.Query{}, `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new"}, "spec": {"type": "LoadBalancer", `+
			`"ipFamilyPolicy": "PreferDualStack", `+families+`"ports": [{"port": 80, "nodePort": 30080}]}}`)
		notes := slices.DeleteFunc(slices.Clone(s.Notes), func(n loadbalancer.PreviewNote) bool { return !strings.Contains(n.Text, "is for IPv4 alone") })
		if len(notes) != want {
			t.Errorf("%s: %+v", families, s.Notes)
		}
	}
}

// The items of a typed list need no kind, as in the output of kubectl get --raw.
func TestPlan_ReadsTypedAndNestedLists(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	c.addNodes(1)
	item := func(name, kind string) string {
		return `{` + kind + `"metadata": {"name": "` + name + `"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}`
	}
	const service = `"apiVersion": "v1", "kind": "Service", `
	for name, file := range map[string]string{
		"typed":                  `{"apiVersion": "v1", "kind": "ServiceList", "items": [` + item("a", "") + `, ` + item("b", "") + `]}`,
		"typed, and said":        `{"apiVersion": "v1", "kind": "ServiceList", "items": [` + item("a", service) + `, ` + item("b", "") + `]}`,
		"nested":                 `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ServiceList", "items": [` + item("a", "") + `]}, ` + item("b", service) + `]}`,
		"beside another list":    `{"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "c"}}]}` + "\n---\n" + item("a", service) + "\n---\n" + item("b", service),
		"and a Service of a CRD": `{"apiVersion": "serving.example.com/v1", "kind": "Service", "metadata": {"name": "c"}}` + "\n---\n" + item("a", service) + "\n---\n" + item("b", service),
	} {
		r := must(t, plan.ExitChanges)(c.plan(plan.Query{File: strings.NewReader(file)}, plan.NodeChange{}))
		if len(r.Services) != 2 || r.Services[0].Name != "a" || r.Services[1].Name != "b" {
			t.Errorf("%s: %+v", name, r.Services)
		}
	}
}

// The second manifest of a Service is applied to the result of the first one.
func TestPlan_AppliesTheManifestsOfAServiceOneAfterTheOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	c.addNodes(1)
	file := `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new", "annotations": {"` + annotation.ConnLimit + `": "7"}}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}, {"port": 81}]}}
---
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new", "namespace": "default"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 81}, {"port": 82}]}}`
	seen := &seeing{}
	c.plans(seen, plan.Query{File: strings.NewReader(file)})
	if len(seen.services) != 1 {
		t.Fatalf("%+v", seen.services)
	}
	svc := seen.services[0]
	if ports := svc.Spec.Ports; len(ports) != 2 || ports[0].Port+ports[1].Port != 81+82 || svc.Annotations[annotation.ConnLimit] != "" || svc.UID == types.UID("") {
		t.Errorf("%+v", svc)
	}
}

// A port for health checks goes with externalTrafficPolicy: Local.
func TestPlan_FreesTheHealthCheckPortThatIsNoLongerNeeded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	local := service("default", "web", 80)
	local.Spec.ExternalTrafficPolicy, local.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	c.add(local)
	file := `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "ports": [{"name": "p80", "port": 80}]}}`
	seen := &seeing{}
	c.plans(seen, plan.Query{File: strings.NewReader(file)})
	if svc := seen.services[0]; svc.Spec.HealthCheckNodePort != 0 || svc.Spec.Ports[0].NodePort != 30080 {
		t.Errorf("%+v", svc.Spec)
	}
}
