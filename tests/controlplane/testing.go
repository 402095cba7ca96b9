package controlplane

import (
	"context"
	"testing"
)

// ForTest starts a control plane that ends with the test. When the test has
// failed, the ends of the programs' logs are printed.
func ForTest(t testing.TB, options Options) *ControlPlane {
	t.Helper()
	if options.Logf == nil {
		options.Logf = t.Logf
	}
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{apiServer, controllerManager} {
				t.Logf("the end of %s's log:\n%s", name, c.Log(name))
			}
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Eventually calls check until it returns nil, and fails the test with its last
// error when that takes longer than the context allows.
func Eventually(ctx context.Context, t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	if err := Await(ctx, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
