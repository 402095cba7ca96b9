package state_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func TestParseFingerprint_ReadsWhatStringWrote(t *testing.T) {
	t.Parallel()
	updated := time.Date(2026, 11, 20, 18, 34, 24, 0, time.UTC)
	full := state.Fingerprint{LoadBalancerID: "lb", UpdatedAt: updated, Digests: state.Digests{Full: "digest", Nodeless: "nodeless"}, Service: "uid", FloatingIPID: "fip"}
	warned := full
	warned.Warnings = "nodes:0123456789abcdef"
	bare := state.Fingerprint{LoadBalancerID: "lb", UpdatedAt: updated, Digests: state.Digests{Full: "digest"}, Service: "uid"}
	unread := state.Fingerprint{LoadBalancerID: "lb", UpdatedAt: updated, Service: "uid"}
	for text, want := range map[string]state.Fingerprint{
		full.String():                                      full,
		warned.String():                                    warned,
		bare.String():                                      bare,
		"lb 2026-11-20T18:34:24Z digest uid":               unread, // without the floating IP, by an earlier version
		"lb 2026-11-20T18:34:24Z digest uid frame":         unread,
		"lb 2026-11-20T18:34:24Z digest uid fip frame v99": unread,
	} {
		if got, ok := state.ParseFingerprint(text); !ok || got != want {
			t.Errorf("%q is read as %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "lb", "lb yesterday digest uid frame", "lb 2026-11-20T18:34:24Z digest"} {
		if got, ok := state.ParseFingerprint(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// Both digests, the floating IP and the order of words are what the next process reads.
func TestApplied_WritesItsFingerprint(t *testing.T) {
	t.Parallel()
	applied := state.Applied{
		LoadBalancer: state.LoadBalancer{ID: "lb", FloatingIPID: "fip"},
		Digests:      state.Digests{Full: "digest", Nodeless: "nodeless"},
		Seen:         state.Seen{UpdatedAt: time.Date(2026, 11, 20, 19, 34, 24, 0, time.FixedZone("CET", 3600))},
	}
	const want = "lb 2026-11-20T18:34:24Z digest uid fip nodeless v3"
	if got := applied.Fingerprint("uid").String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
