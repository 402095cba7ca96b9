package plan_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// The output of the command for the examples of the documentation.
//
//proves:90,122
func TestPlan_MatchesGoldenFilesAndReference(t *testing.T) {
	t.Parallel()
	t.Run("switch", func(t *testing.T) {
		t.Parallel()
		c := peers(t)
		golden.File(t, "testdata/switch.golden", text(t, must(t, plan.ExitNothing)(c.plan(plan.Query{All: true}, plan.NodeChange{}))))
	})
	t.Run("switch-with-changes", func(t *testing.T) {
		t.Parallel()
		c := peers(t)
		change := func(namespace, name string, do func(*v1.Service)) {
			svc, err := c.client.CoreV1().Services(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			do(svc)
			if _, err := c.client.CoreV1().Services(namespace).Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		change("shop", "local", func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"} })
		change("shop", "dns", func(svc *v1.Service) { svc.Annotations[annotation.Class] = "gold" })
		golden.File(t, "testdata/switch-with-changes.golden", text(t, must(t, plan.ExitRefused)(c.plan(plan.Query{All: true}, plan.NodeChange{}))))
	})
	t.Run("one cluster", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, simulator.Options{}, clusterID)
		c.addNodes(3)
		same, changed, replaced, kept, gone := service("default", "web", 80, 443), service("shop", "api", 443), service("shop", "store", 80), service("shop", "mail", 25), service("shop", "old", 80)
		c.serve(same, changed, replaced, kept, gone)
		changed.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
		changed.Spec.Ports = append(changed.Spec.Ports, service("", "", 8443).Spec.Ports...)
		replaced.Annotations[annotation.Provider], replaced.Annotations[annotation.Prefix+"allow-replace"] = "ovn", "true"
		kept.Annotations[annotation.TLSContainer] = "https://cloud.example.com/v1/containers/mail"
		gone.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		refused, classed := service("shop", "fax", 80), service("shop", "metal", 80)
		refused.Annotations[annotation.Provider] = "pigeon"
		class := "example.com/metal"
		classed.Spec.LoadBalancerClass = &class
		for _, svc := range []*v1.Service{same, changed, replaced, kept, gone, service("shop", "new", 80), refused, classed} {
			c.add(svc)
		}
		planned := func(code int, query plan.Query, nodes plan.NodeChange) string {
			return text(t, must(t, code)(c.plan(query, nodes)))
		}
		golden.File(t, "testdata/all.golden", planned(plan.ExitRefused, plan.Query{All: true}, plan.NodeChange{}))
		golden.File(t, "testdata/no-change.golden", planned(plan.ExitNothing, plan.Query{}, plan.NodeChange{}))
		golden.File(t, "testdata/changes.golden", planned(plan.ExitChanges, plan.Query{Namespace: "shop", Names: []string{"api"}}, plan.NodeChange{}))
		golden.File(t, "testdata/replaced.golden", planned(plan.ExitChanges, plan.Query{Names: []string{"shop/store"}}, plan.NodeChange{}))
		golden.File(t, "testdata/not-ours.golden", planned(plan.ExitNothing, plan.Query{Names: []string{"shop/metal"}}, plan.NodeChange{}))
		golden.File(t, "testdata/without-nodes.golden", planned(plan.ExitChanges, plan.Query{}, plan.NodeChange{Without: []string{"node-1"}}))
		golden.File(t, "testdata/with-nodes.golden", planned(plan.ExitChanges, plan.Query{}, plan.NodeChange{With: []string{"node-7=127.100.1.77", "node-0"}}))
		golden.File(t, "testdata/without-any-node.golden", planned(plan.ExitUnknown, plan.Query{}, plan.NodeChange{Without: []string{"node-0", "node-1", "node-2"}}))
		golden.File(t, "testdata/file.golden", planned(plan.ExitChanges, plan.Query{File: strings.NewReader(manifests)}, plan.NodeChange{}))
		var out bytes.Buffer
		if err := cli.WriteJSON(&out, must(t, plan.ExitChanges)(c.plan(plan.Query{Namespace: "shop", Names: []string{"api"}}, plan.NodeChange{}))); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/json.golden", stable(out.String()))
	})
	t.Cleanup(func() { golden.Outputs(t, "../../../docs/commands.md", "plan") })
}

// manifests are Services to apply, one of which exists.
const manifests = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  type: LoadBalancer
  sessionAffinity: ClientIP
  ports:
  - {name: p80, port: 80, protocol: TCP}
  - {name: p443, port: 443, protocol: TCP}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: none of ours}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: blog, namespace: shop}
  spec: {type: LoadBalancer, externalTrafficPolicy: Local, ports: [{port: 80}]}
`

// untypedItem is a List with a second item without kind.
const untypedItem = `{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}},
  {"metadata": {"name": "b"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 81}]}}]}`

// As with kubectl apply, fields that the manifest no longer has are removed, and those of others
// stay.
func TestPlan_TakesAManifestForWhatKubectlApplyWouldLeave(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	c.addNodes(2)
	svc := service("default", "web", 80)
	before := svc.DeepCopy()
	before.Annotations[annotation.ClientData] = "60000"
	last, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web", "annotations": before.Annotations}, "spec": before.Spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	svc.Annotations[annotation.ClientData], svc.Annotations[v1.LastAppliedConfigAnnotation] = "60000", string(last)
	svc.Annotations[annotation.ConnLimit] = "100" // set by another client
	c.serve(svc)
	c.add(svc)
	const manifest = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "ports": [{"name": "p80", "port": 80, "protocol": "TCP"}]}}`
	r := must(t, plan.ExitChanges)(c.plan(plan.Query{File: strings.NewReader(manifest)}, plan.NodeChange{}))
	if steps := r.Services[0].Steps; len(steps) != 1 || steps[0].Text != "listener TCP/80: timeout_client_data 60000 → default" {
		t.Errorf("%+v", steps)
	}
}

func TestPlan_TellsWhatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	c.addNodes(1)
	web, down := service("default", "web", 80), service("default", "down", 80)
	c.serve(web, down)
	c.add(web)
	c.add(down)
	for name, query := range map[string]plan.Query{
		"the file has no Service":                 {File: strings.NewReader("# nothing\n---\napiVersion: v1\nkind: ConfigMap\n")},
		"Object 'Kind' is missing":                {File: strings.NewReader("{}")},
		"item 1 of a List has no kind":            {File: strings.NewReader(untypedItem)},
		"read the manifests":                      {File: strings.NewReader("a: [")},
		`read Service default/nobody: services "`: {Names: []string{"nobody"}},
	} {
		if _, err := c.plan(query, plan.NodeChange{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want %q", query, err, name)
		}
	}
	for text, nodes := range map[string]plan.NodeChange{
		"there is no node x":                   {Without: []string{"x"}},
		"there is no node y: give the address": {With: []string{"y"}},
		"node node-0 exists":                   {With: []string{"node-0=10.0.0.1"}},
		"the address of y: ParseAddr":          {With: []string{"y=z"}},
	} {
		if _, err := c.plan(plan.Query{}, nodes); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want %q", nodes, err, text)
		}
	}
	// The wait for a PENDING load balancer has a limit.
	if err := c.Cloud.Octavia.SetProvisioningStatus(lbOf(t, c, "down"), "PENDING_UPDATE"); err != nil {
		t.Fatal(err)
	}
	c.patient = 3 * time.Second
	r := must(t, plan.ExitUnknown)(c.plan(plan.Query{All: true}, plan.NodeChange{}))
	if got := r.Services[0]; got.Name != "down" || got.Verdict != plan.Unknown || !strings.Contains(got.Error, "PENDING_UPDATE") {
		t.Errorf("%+v", got)
	}
	if got := r.Services[1]; got.Verdict != plan.NoChange {
		t.Errorf("%+v", got)
	}
	c.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/load-balancer/v2.0/lbaas/loadbalancers", Status: http.StatusInternalServerError})
	if r := must(t, plan.ExitUnknown)(c.plan(plan.Query{Names: []string{"web"}}, plan.NodeChange{})); r.Services[0].Error == "" {
		t.Errorf("%+v", r.Services)
	}
}

// The controller refuses another project than before, and so does the command.
func TestPlan_IsRefusedInAnotherProject(t *testing.T) {
	t.Parallel()
	c := newCluster(t, simulator.Options{}, clusterID)
	if err := c.client.Tracker().Add(&v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "openstack-cloud"}, Data: map[string]string{"project": "another"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.plan(plan.Query{All: true}, plan.NodeChange{}); err == nil || !strings.Contains(err.Error(), "cloud.conf has another project") {
		t.Errorf("got %v", err)
	}
}

// lbOf returns the ID of the load balancer of a Service.
func lbOf(t *testing.T, c *cluster, name string) string {
	t.Helper()
	for _, lb := range c.Cloud.Octavia.Snapshot() {
		if strings.HasSuffix(lb.Name, "_"+name) {
			return lb.ID
		}
	}
	t.Fatalf("no load balancer of %s", name)
	return ""
}
