package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/tests/e2e"
)

// TestUpstream_PassesSpecsOfKubernetes needs the OpenStack of make e2e-upstream. FOCUS selects specs by a
// regular expression.
//
//proves:146
func TestUpstream_PassesSpecsOfKubernetes(t *testing.T) {
	state := os.Getenv("E2E_STATE")
	if state == "" || os.Getenv("KUBELETS") != "real" {
		t.Skip("KUBELETS is not real: see make e2e-upstream")
	}
	local, err := e2e.OpenLocal(t.Context(), filepath.Join(sources(t), "openstack"), state, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	directory := e2e.Output("upstream")
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	cluster, err := e2e.StartUpstream(t.Context(), local, "ovn", directory, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	adding, ctx := errgroup.WithContext(t.Context())
	for _, name := range []string{"node-1", "node-2"} {
		adding.Go(func() error { return cluster.AddKubelet(ctx, name) })
	}
	if err := adding.Wait(); err != nil {
		t.Fatal(err)
	}
	run := func(name, focus string, skips map[string]string) {
		t.Run(name, func(t *testing.T) {
			specs, err := cluster.RunSpecs(t.Context(), filepath.Join(directory, name), focus, skips)
			for _, spec := range specs {
				fmt.Printf("e2e upstream: %s in %.0f s: %s\n", spec.Status, spec.Seconds, spec.Name)
			}
			if err != nil || len(specs) == 0 {
				t.Errorf("%d specs have run: %v; see specs.log and junit_01.xml in %s", len(specs), err, filepath.Join(directory, name))
			}
		})
	}
	if focus := os.Getenv("FOCUS"); focus != "" {
		run("Specs", focus, nil)
		return
	}
	run("Specs", e2e.UpstreamSpecs, e2e.UpstreamSkips())
	if err := cluster.RestartWithMembers(t.Context(), "pods"); err != nil {
		t.Fatal(err)
	}
	run("SpecsWithPodsAsMembers", e2e.UpstreamSpecsWithPods, nil)
	t.Run("LeavesNothing", func(t *testing.T) {
		if err := cluster.AwaitNoObjects(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("DeletedServer", func(t *testing.T) {
		start := time.Now()
		if err := cluster.DeleteServer(t.Context(), "node-2"); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("e2e upstream: passed in %.0f s: the Node of a deleted server is deleted\n", time.Since(start).Seconds())
	})
}
