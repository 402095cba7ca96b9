package layers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/layers"
)

// mostMethods is the limit for a type: one with more does several things.
const mostMethods = 20

func TestLayers_TypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	count, err := layers.Methods(root, "cmd/openstack-cloud-controller-manager", "pkg")
	if err != nil {
		t.Fatal(err)
	}
	for name, methods := range count {
		if methods > mostMethods {
			t.Errorf("%s has %d methods, %d are permitted: split it", name, methods, mostMethods)
		}
	}
}

func TestMethods_AreThoseOfTheTypeInAllFiles(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for name, text := range map[string]string{
		"a/one.go":      "package a\n\ntype T struct{ U }\ntype U int\n\nfunc (t T) A() {}\nfunc (U) B()    {}\nfunc C()        {}\n",
		"a/two.go":      "package a\n\ntype G[V any] struct{}\n\nfunc (t *T) D()    {}\nfunc (g *G[V]) E() {}\n",
		"a/two_test.go": "package a\n\nfunc (t *T) F() {}\n",
		"b/one.go":      "package b\n\ntype T int\n\nfunc (T) G() {}\n",
	} {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := layers.Methods(directory, "a", "b")
	if diff := cmp.Diff(map[string]int{"a.T": 2, "a.U": 1, "a.G": 1, "b.T": 1}, got); err != nil || diff != "" {
		t.Errorf("error %v, methods (- wanted, + counted):\n%s", err, diff)
	}
}
