package controlplane

import "testing"

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
