package state_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// FuzzRecord parses records of a Service, which other clients may have written.
func FuzzRecord(f *testing.F) {
	f.Add("ID 2026-11-20T18:34:24Z digest UID ID frame v1")
	f.Add("ID 2026-11-20T18:34:24.5+01:00 digest UID - - v1")
	f.Add("ID 2026-11-20T18:34:24Z digest UID ID nodeless v1 nodes:0123456789abcdef")
	f.Add("ID 2026-11-20T18:34:24Z digest UID")
	f.Add(strings.Repeat("- ", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		read, ok := state.ParseRecord(text)
		if !ok || read.Digests.Full == "" || read.LoadBalancerID == "" || read.Service == "" {
			return // it is not trusted
		}
		again, ok := state.ParseRecord(read.String())
		if read.UpdatedAt = read.UpdatedAt.UTC(); !ok || !again.UpdatedAt.Equal(read.UpdatedAt) {
			t.Errorf("%q is read as %+v, and that as %+v", text, read, again)
		}
		again.UpdatedAt = read.UpdatedAt
		if again != read {
			t.Errorf("%q is read as %+v, and that as %+v", text, read, again)
		}
	})
}
