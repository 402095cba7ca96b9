package controlplane

import (
	"context"
	"testing"
	"time"
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

// patience is far beyond what anything takes on a busy machine.
const patience = 2 * time.Minute

// Eventually calls check until it returns nil, and fails the test with its last
// error when that takes minutes.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := Await(ctx, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
