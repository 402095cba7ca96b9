package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

func TestPlan_RefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for says, arguments := range map[string][]string{
		"give either names of Services, --all or --filename": {"web", "--all"},
		"give either names":                                   {"-f", "web.yaml", "--all"},
		"--cluster-name is empty":                             {"--cluster-name="},
		"--timeout is 0s: it must be above zero":              {"--timeout=0"},
		`--output is "yaml": allowed are`:                     {"-o", "yaml"},
		"unknown flag: --yes":                                 {"--yes"},
		"unknown flag: --al":                                  {"--al"},
		`--for is "cpo": allowed is cloud-provider-openstack`: {"--for=cpo"},
		"--for looks at all Services":                         {"--for=cloud-provider-openstack", "web"},
	} {
		command := newPlanCommand(func(*planFlags) error {
			t.Errorf("%q: it runs", arguments)
			return nil
		})
		if err := execute(command, arguments...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", arguments, err, says)
		}
	}
}

func TestPlan_TakesItsArguments(t *testing.T) {
	t.Parallel()
	var got *planFlags
	command := newPlanCommand(func(f *planFlags) error { got = f; return nil })
	if err := execute(command, "-n", "shop", "web", "other/api", "--without-nodes=a,b", "--with-nodes=c=10.0.0.1", "--kubeconfig=k"); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got.query.Names, " ") != "web other/api" || got.kubernetes.overrides.Context.Namespace != "shop" || len(got.nodes.Without) != 2 || len(got.nodes.With) != 1 || got.kubernetes.rules.ExplicitPath != "k" {
		t.Errorf("%+v", got)
	}
}

func TestReadOnlyClient_SendsNoWrite(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"NodeList","apiVersion":"v1"}`))
	}))
	t.Cleanup(server.Close)
	client, err := readOnlyClient(&rest.Config{Host: server.URL}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("a read: %v", err)
	}
	maps := client.CoreV1().ConfigMaps("default")
	for name, write := range map[string]func() error{
		"create": func() error { _, err := maps.Create(t.Context(), &v1.ConfigMap{}, metav1.CreateOptions{}); return err },
		"update": func() error {
			_, err := maps.Update(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
			return err
		},
		"patch":  func() error { _, err := maps.Patch(t.Context(), "a", "", nil, metav1.PatchOptions{}); return err },
		"delete": func() error { return maps.Delete(t.Context(), "a", metav1.DeleteOptions{}) },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "nothing is written to Kubernetes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A user without rights is told so at once, in one line.
func TestPlan_NeedsToReadWhatIdentifiesTheCluster(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}})
	if err := mayPlan(t.Context(), client); err != nil {
		t.Error(err)
	}
	client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1.Resource("namespaces"), metav1.NamespaceSystem, errors.New("no role"))
	})
	if err := mayPlan(t.Context(), client); err == nil || !strings.Contains(err.Error(), "this user may not read namespace kube-system") || !strings.Contains(err.Error(), "docs/plan.md") {
		t.Error(err)
	}
	if reads := len(client.Actions()); reads != 2 {
		t.Errorf("%d reads, want 2", reads)
	}
}

func TestProgram_SaysHowToPlan(t *testing.T) {
	t.Parallel()
	if got := runProgram(t, nil, "plan", "--help"); got.code != 0 || !strings.Contains(got.out, "--without-nodes") || strings.Contains(got.out, "--leader-elect") {
		t.Errorf("help: %+v", got)
	}
	if got := runProgram(t, nil, "plan", "--cloud-config=/nowhere"); got.code != 1 || !strings.HasPrefix(got.errors, "Error: ") {
		t.Errorf("without a cloud.conf: %+v", got)
	}
}
