package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func TestParseRecord_ReadsWhatStringWrote(t *testing.T) {
	t.Parallel()
	updated := time.Date(2026, 11, 20, 18, 34, 24, 0, time.UTC)
	full := state.Record{LoadBalancerID: "lb", UpdatedAt: updated, Digests: state.Digests{Full: "digest", Nodeless: "nodeless"}, Service: "uid", FloatingIPID: "fip"}
	warned := full
	warned.Warnings = "nodes:0123456789abcdef"
	unconfirmed := warned
	unconfirmed.Parts = "parts"
	unbelieved := state.Record{LoadBalancerID: "lb", UpdatedAt: updated, Service: "uid", FloatingIPID: "fip"}
	weighed := unconfirmed
	weighed.Weighed = true
	confirmed := full
	confirmed.Weighed = true
	bare := state.Record{LoadBalancerID: "lb", UpdatedAt: updated, Digests: state.Digests{Full: "digest"}, Service: "uid"}
	unread := state.Record{LoadBalancerID: "lb", UpdatedAt: updated, Service: "uid"}
	for text, want := range map[string]state.Record{
		full.String():                                  full,
		warned.String():                                warned,
		unconfirmed.String():                           unconfirmed,
		weighed.String():                               weighed,
		confirmed.String():                             confirmed,
		unbelieved.String():                            unbelieved,
		bare.String():                                  bare,
		"lb 2026-11-20T18:34:24Z digest uid":           unread, // without the floating IP, by another version
		"lb 2026-11-20T18:34:24Z digest uid frame":     unread,
		"lb 2026-11-20T18:34:24Z digest uid fip frame": unread,
		"lb 2026-11-20T18:34:24Z digest uid fip frame v1 nodes:0 more": unread,
		"lb 2026-11-20T18:34:24Z digest uid fip frame v99":             unread,
		"lb 2026-11-20T18:34:24Z digest uid fip frame v1+":             unread,
		"lb 2026-11-20T18:34:24Z digest uid fip frame vw":              unread,
	} {
		if got, ok := state.ParseRecord(text); !ok || got != want {
			t.Errorf("%q is read as %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "lb", "lb yesterday digest uid frame", "lb 2026-11-20T18:34:24Z digest"} {
		if got, ok := state.ParseRecord(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

// The next process reads both digests, the floating IP and the order of words.
func TestApplied_WritesItsRecord(t *testing.T) {
	t.Parallel()
	applied := state.Applied{
		LoadBalancer: state.LoadBalancer{ID: "lb", FloatingIPID: "fip"},
		Digests:      state.Digests{Full: "digest", Nodeless: "nodeless"},
		Seen:         state.Seen{UpdatedAt: time.Date(2026, 11, 20, 19, 34, 24, 0, time.FixedZone("CET", 3600))},
	}
	const want = "lb 2026-11-20T18:34:24Z digest uid fip nodeless v1"
	if got := applied.Record("uid").String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A program of a version without parts must not trust an unconfirmed state: it trusts no other
// version.
func TestRecord_IsOfAnotherVersionWhereItWasNotConfirmed(t *testing.T) {
	t.Parallel()
	f := state.Record{LoadBalancerID: "lb", Digests: state.Digests{Full: "digest"}, Service: "uid"}
	confirmed := strings.Fields(f.String())
	f.Parts = "parts"
	if got := strings.Fields(f.String()); len(got) != len(confirmed) || got[6] == confirmed[6] {
		t.Errorf("%q, and %q where it was confirmed", got, confirmed)
	}
}
