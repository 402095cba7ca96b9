package loadbalancer

import (
	"strings"
	"testing"
)

// FuzzFingerprint reads the annotation last-applied, which anybody may write who may
// write the Service.
func FuzzFingerprint(f *testing.F) {
	f.Add("ID 2026-11-20T18:34:24Z digest UID ID frame v2")
	f.Add("ID 2026-11-20T18:34:24.5+01:00 digest UID - - v2")
	f.Add("ID 2026-11-20T18:34:24Z digest UID")
	f.Add(strings.Repeat("- ", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		read, ok := parseFingerprint(text)
		if !ok || read.digest == "" || read.loadBalancerID == "" || read.service == "" {
			return // nothing of it is believed
		}
		again, ok := parseFingerprint(read.String())
		if read.updatedAt = read.updatedAt.UTC(); !ok || !again.updatedAt.Equal(read.updatedAt) {
			t.Errorf("%q is read as %+v, and that as %+v", text, read, again)
		}
		again.updatedAt = read.updatedAt
		if again != read {
			t.Errorf("%q is read as %+v, and that as %+v", text, read, again)
		}
	})
}
