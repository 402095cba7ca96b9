package cluster

import (
	"testing"
)

// testLogLines is how much of the cloud controller manager's log a failed test shows.
const testLogLines = 200

// ForTest starts a cluster that ends with the test. When the test has failed,
// the end of the cloud controller manager's log is printed.
func ForTest(t testing.TB, options Options) *Cluster {
	t.Helper()
	if options.Logf == nil {
		options.Logf = t.Logf
	}
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && c.CCM != nil {
			t.Logf("the end of the cloud controller manager's log:\n%s", c.CCM.Log(testLogLines))
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}
