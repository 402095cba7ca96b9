package driver_test

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func v(minor int) model.Version { return model.Version{Major: 2, Minor: minor} }

func TestOf_KnowsWhatEachReleaseOfEachDriverSupports(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider                string
		version                 model.Version
		algorithm               string
		algorithms              int
		monitorPort, httpForUDP bool
		sourceRanges            bool
	}{
		{"amphora", v(30), "ROUND_ROBIN", 3, true, true, true},
		{"amphorav2", v(30), "ROUND_ROBIN", 3, true, true, true},
		{"octavia", v(16), "ROUND_ROBIN", 3, true, true, true},
		{"amphora", v(15), "ROUND_ROBIN", 3, true, false, true},
		{"amphora", v(12), "ROUND_ROBIN", 3, true, false, true},
		{"amphora", v(11), "ROUND_ROBIN", 3, true, false, false},
		{"ovn", v(30), "SOURCE_IP_PORT", 1, false, false, false},
		{"a vendor's", v(30), "ROUND_ROBIN", 4, true, true, true},
	} {
		d := driver.Of(test.provider, test.version)
		if d.Name != test.provider || d.Version != test.version {
			t.Errorf("%s %s is %s %s", test.provider, test.version, d.Name, d.Version)
		}
		if d.Algorithms[0] != test.algorithm || len(d.Algorithms) != test.algorithms || d.Supports(driver.MonitorPorts) != test.monitorPort ||
			d.Supports(driver.HTTPMonitorForUDP) != test.httpForUDP || d.Supports(driver.SourceRanges) != test.sourceRanges {
			t.Errorf("%s %s: %+v", test.provider, test.version, d)
		}
		if slices.Contains(d.Protocols, v1.ProtocolSCTP) != (test.version.Minor >= 23) {
			t.Errorf("%s %s has %v", test.provider, test.version, d.Protocols)
		}
	}
}

func TestOf_ServesSCTPFromTheReleaseOfEachDriver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider string
		version  model.Version
		want     bool
	}{
		{"amphora", v(22), false},
		{"amphora", v(23), true},
		{"ovn", v(23), false},
		{"ovn", v(24), true},
		{"f5", v(30), false},
		{"a vendor's", v(22), false},
		{"a vendor's", v(23), true},
	} {
		if got := slices.Contains(driver.Of(test.provider, test.version).Protocols, v1.ProtocolSCTP); got != test.want {
			t.Errorf("%s %s serves SCTP: %v", test.provider, test.version, got)
		}
	}
}

func TestOf_HasTheQuirksOfEachDriver(t *testing.T) {
	t.Parallel()
	sound := driver.Quirks{ActiveBeforeChildren: true, MemberByMember: true, CutsRemoved: true, CutsHairpins: true, PortPerVIP: true, FloatingIPAfterListeners: true, MonitorsNeedPorts: true, AlwaysSendSubnet: true, NeedsAdminStateUp: true, PreservesClientIP: true, IgnoresLimits: true}
	stale := sound
	sound.AffinityNeedsTimeout = true
	stale.StaleMonitors, stale.NoAffinity = true, true
	every := stale
	every.AffinityNeedsTimeout = true
	for _, test := range []struct {
		provider string
		version  model.Version
		want     driver.Quirks
	}{
		{"amphora", v(26), driver.Quirks{}},
		{"amphorav2", v(26), driver.Quirks{}},
		{"f5", v(26), driver.Quirks{}},
		{"a vendor's", v(26), driver.Quirks{UnprovenSourceRanges: true}},
		{"ovn", v(26), stale},
		{"ovn", v(27), sound},
	} {
		if got := driver.Of(test.provider, test.version).Quirks; got != test.want {
			t.Errorf("%s %s: %+v, want %+v", test.provider, test.version, got, test.want)
		}
	}
	if got := driver.QuirksOf("ovn"); got != every {
		t.Errorf("ovn of any release: %+v, want %+v", got, every)
	}
}

func TestOf_WantsMembersOfOneFamilyWhereTheDriverDoes(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string][]v1.Protocol{
		"amphora":    {v1.ProtocolUDP, v1.ProtocolSCTP},
		"ovn":        {v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP},
		"f5":         nil,
		"a vendor's": nil,
	} {
		if got := driver.Of(provider, v(30)).SameFamily; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", provider, got, want)
		}
	}
}

func TestOf_HasTheHealthMonitorsOfEachDriver(t *testing.T) {
	t.Parallel()
	every := []string{"TCP", "HTTP", "HTTPS", "TLS-HELLO", "PING", "UDP-CONNECT", "SCTP"}
	for provider, want := range map[string][]string{"amphora": every, "f5": every, "acme": every, "ovn": {"TCP", "UDP-CONNECT"}} {
		if got := driver.Of(provider, v(30)).Monitors; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", provider, got, want)
		}
	}
}

func TestTiming_FitsEachDriver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider      string
		create        time.Duration // until the first poll
		childrenStuck time.Duration
	}{
		{"amphora", 5 * time.Second, 10 * time.Second},
		{"a vendor's", 5 * time.Second, 10 * time.Second},
		{"ovn", 500 * time.Millisecond, time.Minute},
	} {
		got := driver.NewRegistry(driver.Settings{}).Timing(test.provider)
		if got.Create.First != test.create || got.ChildTimeout != test.childrenStuck {
			t.Errorf("%s: %+v", test.provider, got)
		}
		for _, interval := range []driver.PollInterval{got.Create, got.Update, got.Delete} {
			if latest := interval.Cap * 11 / 10; latest > 3*time.Second {
				t.Errorf("%s: the end of a change is seen %s late", test.provider, latest)
			}
		}
	}
}

func TestCanonical_ResolvesAliases(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{
		"amphora": "amphora", "octavia": "amphora", "amphorav2": "amphora", "ovn": "ovn", "f5": "f5", "acme": "acme", "": "",
	} {
		if got := driver.Canonical(provider); got != want {
			t.Errorf("%s is %q, want %q", provider, got, want)
		}
	}
}

// What the table of features, a release and an answer each say of a provider.
//
//proves:115
func TestLacks_NamesTheReason(t *testing.T) {
	t.Parallel()
	d := driver.Of("acme", v(9)).Without(driver.FullCreate)
	for feature, want := range map[driver.Feature]string{
		driver.FullCreate:        "the provider acme has refused load balancers that are created with everything in them",
		driver.MemberBatches:     "",
		driver.SourceRanges:      "this Octavia has API version v2.9, source ranges need v2.12",
		driver.Flavors:           "",
		driver.VIPSecurityGroups: "the provider acme has no security groups of the VIP",
	} {
		if got := d.Lacks(feature); got != want || d.Supports(feature) != (want == "") {
			t.Errorf("%s: %q, want %q", feature, got, want)
		}
	}
	if got, want := driver.Of("f5", v(9)).Lacks(driver.Flavors), "the provider f5 has no flavors"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDriver_ZeroValueSupportsWhatNoReleaseBrought(t *testing.T) {
	t.Parallel()
	var d driver.Driver
	if !d.Supports(driver.FullCreate) || !d.Supports(driver.MemberBatches) || d.Supports(driver.CustomTags) {
		t.Errorf("%+v", d)
	}
}

func TestWithout_LeavesTheDriverAsItIs(t *testing.T) {
	t.Parallel()
	d := driver.Of("acme", v(30))
	less := d.Without(driver.MemberBatches, driver.TLS)
	if less.Supports(driver.MemberBatches) || less.Supports(driver.TLS) || !less.Supports(driver.FullCreate) {
		t.Errorf("%+v", less)
	}
	if !d.Supports(driver.MemberBatches) || !d.Supports(driver.TLS) {
		t.Errorf("%+v", d)
	}
}
