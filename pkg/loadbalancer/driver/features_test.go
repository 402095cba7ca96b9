package driver

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// providers are the names of all drivers, and one that is not in the table.
func providers() []string {
	all := []string{"acme"}
	for _, p := range profiles() {
		all = append(all, p.names...)
	}
	return all
}

// Versions of Octavia's API are additive: a later release lacks nothing that an earlier one has, and a driver that lacks
// a feature never gets it.
func TestSupports_KeepsFeaturesInLaterReleases(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for f := range featureCount {
		if names[f.String()] = true; f.String() == "" {
			t.Errorf("feature %d has no name", f)
		}
		for _, provider := range providers() {
			first := -1
			for minor := range 40 {
				d := Of(provider, model.Version{Major: 2, Minor: minor})
				has := d.Supports(f)
				switch {
				case has && first < 0:
					first = minor
				case !has && first >= 0:
					t.Errorf("%s has %s in 2.%d, and lacks them in 2.%d", provider, f, first, minor)
				}
				if refused := d.Without(f); refused.Supports(f) || refused.Lacks(f) == "" || has != (d.Lacks(f) == "") {
					t.Errorf("%s 2.%d: %s refused: %q, else %q", provider, minor, f, refused.Lacks(f), d.Lacks(f))
				}
			}
			if lacking := features()[f].lacking&profileOf(provider).family != 0; lacking != (first < 0) {
				t.Errorf("%s has %s from 2.%d, in the table it lacks them: %v", provider, f, first, lacking)
			}
		}
		if zero := (Driver{}); zero.Supports(f) != (features()[f].since == model.Version{}) {
			t.Errorf("the zero driver supports %s: %v", f, zero.Supports(f))
		}
	}
	if len(names) != int(featureCount) {
		t.Errorf("%d names of %d features", len(names), featureCount)
	}
}

func TestSupports_AdditionalVIPsFromTheReleaseOfEachDriver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider string
		minor    int
		lacks    string
	}{
		{"amphora", 25, "this Octavia has API version v2.25, VIPs of both IP families need v2.26"},
		{"amphora", 26, ""},
		{"ovn", 26, "this Octavia has API version v2.26, VIPs of both IP families need v2.28"},
		{"ovn", 27, "this Octavia has API version v2.27, VIPs of both IP families need v2.28"},
		{"ovn", 28, ""},
		{"acme", 28, "the provider acme has no VIPs of both IP families"},
	} {
		if got := Of(test.provider, model.Version{Major: 2, Minor: test.minor}).Lacks(AdditionalVIPs); got != test.lacks {
			t.Errorf("%s 2.%d: %q, want %q", test.provider, test.minor, got, test.lacks)
		}
	}
}

// Providers without Octavia have nothing that is an object of Octavia, in any release.
func TestOf_HasWhatIsLeftWithoutOctavia(t *testing.T) {
	t.Parallel()
	tcpAndUDP := []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}
	for provider, want := range map[string]struct {
		protocols []v1.Protocol
		quirks    Quirks
	}{
		Router:         {[]v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}, Quirks{PreservesClientIP: true, Routed: true}},
		PortForwarding: {tcpAndUDP, Quirks{PreservesClientIP: true, Routed: true, NodePorts: true}},
	} {
		d := Of(provider, VersionTags)
		if !slices.Equal(d.Protocols, want.protocols) || d.Quirks != want.quirks || QuirksOf(provider) != want.quirks {
			t.Errorf("%s: protocols %v, quirks %+v", provider, d.Protocols, d.Quirks)
		}
		if len(d.Algorithms)+len(d.Monitors)+len(d.SameFamily) > 0 {
			t.Errorf("%s has choices of Octavia: %+v", provider, d.Choices)
		}
		for f := range featureCount {
			if d.Supports(f) != (f == CustomTags) {
				t.Errorf("%s: %s: %q", provider, f, d.Lacks(f))
			}
		}
		if timing := profileOf(provider).timing; timing != profileOf("ovn").timing {
			t.Errorf("%s waits like a driver that starts machines: %+v", provider, timing)
		}
	}
	for _, provider := range append(providers(), "") {
		if got, want := WithoutOctavia(provider), provider == "router" || provider == "port-forwarding"; got != want {
			t.Errorf("%q is without Octavia: %v", provider, got)
		}
	}
}

// A driver is a value: to refuse a feature of one changes neither the table nor the drivers that it returns later.
func TestOf_ReturnsTheSameAfterRefusals(t *testing.T) {
	t.Parallel()
	for _, provider := range providers() {
		before := Of(provider, VersionMetrics)
		for f := range featureCount {
			_ = before.Without(f)
		}
		for f := range featureCount {
			if after := Of(provider, VersionMetrics); after.Lacks(f) != before.Lacks(f) {
				t.Errorf("%s: %s: %q, was %q", provider, f, after.Lacks(f), before.Lacks(f))
			}
		}
	}
}
