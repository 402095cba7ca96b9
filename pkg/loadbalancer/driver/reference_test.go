package driver

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// The page for users is generated from the tables in the code.
func TestReference_IsUpToDate(t *testing.T) {
	t.Parallel()
	introduction, err := os.ReadFile("testdata/introduction.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../../docs/drivers.md", string(introduction)+featureTable(t)+choiceTable(t)+quirkTable(t)+timingTable())
}

// octavian returns the drivers of Octavia.
func octavian() []profile {
	return slices.DeleteFunc(slices.Clone(profiles()), func(p profile) bool { return p.family == router })
}

// title returns the column of a driver.
func title(p profile) string {
	if len(p.names) == 0 {
		return "others"
	}
	return p.names[0]
}

func header(b *strings.Builder, heading, first string) {
	columns := []string{first}
	for _, p := range octavian() {
		columns = append(columns, title(p))
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", heading, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

func row(b *strings.Builder, first string, cell func(profile) string) {
	fmt.Fprintf(b, "| %s |", first)
	for _, p := range octavian() {
		fmt.Fprintf(b, " %s |", cell(p))
	}
	fmt.Fprintln(b)
}

// release returns an API version, and the release of Octavia that brought it.
func release(t *testing.T, since model.Version) string {
	t.Helper()
	name, known := map[model.Version]string{
		{}:                       "any",
		VersionTimeouts:          "3.0, Rocky",
		VersionTags:              "4.0, Stein",
		VersionFlavors:           "4.0, Stein",
		VersionMonitorHTTP11:     "4.0, Stein",
		VersionAllowedCIDRs:      "5.0, Train",
		VersionZones:             "6.0, Ussuri",
		VersionHTTPForUDP:        "6.0, Ussuri",
		VersionProxyV2:           "7.0, Victoria",
		VersionSCTP:              "7.0, Victoria",
		VersionOVNSCTP:           "8.0, Wallaby",
		VersionMetrics:           "9.0, Xena",
		VersionSoundOVNMonitors:  "13.0, 2023.2",
		VersionAdditionalVIPs:    "11.0, Zed",
		VersionOVNAdditionalVIPs: "14.0, 2024.1",
		VersionVIPSecurityGroups: "16.0, 2025.1",
	}[since]
	switch {
	case !known:
		t.Errorf("the release of %s is not known here", since)
	case since == model.Version{}:
		return name
	}
	return fmt.Sprintf("%s (%s)", since, name)
}

func featureTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n## Features\n\n| feature | API version | amphora | ovn | f5 | others | a request for it all the same |\n|---|---|---|---|---|---|---|\n")
	for f := range featureCount {
		s := features()[f]
		if s.name == "" {
			t.Errorf("feature %d is not in the table", f)
		}
		fmt.Fprintf(&b, "| %s | %s |", s.name, release(t, s.since))
		for _, p := range octavian() {
			has := map[bool]string{true: "yes", false: "no"}[s.lacking&p.family == 0]
			if p.family == ovn && s.sinceOVN != (model.Version{}) {
				has = "from " + release(t, s.sinceOVN)
			}
			fmt.Fprintf(&b, " %s |", has)
		}
		fmt.Fprintf(&b, " %s |\n", s.otherwise)
	}
	return b.String()
}

func choiceTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	header(&b, "Choices", "setting")
	row(&b, "other names of the driver", func(p profile) string {
		if len(p.names) < 2 {
			return ""
		}
		return strings.Join(p.names[1:], ", ")
	})
	row(&b, "algorithms", func(p profile) string { return strings.Join(p.choices.Algorithms, ", ") })
	row(&b, "protocols", func(p profile) string {
		text := join(p.choices.Protocols)
		if p.sctp != nil {
			text += "; SCTP from " + release(t, *p.sctp)
		}
		return text
	})
	row(&b, "protocols with members only of the VIP's IP family", func(p profile) string { return join(p.choices.SameFamily) })
	row(&b, "health monitors", func(p profile) string { return strings.Join(p.choices.Monitors, ", ") })
	return b.String()
}

func join(protocols []v1.Protocol) string {
	var all []string
	for _, p := range protocols {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}

// quirkTable describes each quirk; one that it does not know is an error.
func quirkTable(t *testing.T) string {
	t.Helper()
	texts := map[string]string{
		"ActiveBeforeChildren":     "a load balancer is ACTIVE before its children: the controller waits for them",
		"CutsRemoved":              "a member that is removed loses its established connections at once, without RST, if they came by a floating IP: a member stays until shortly before its pods stop",
		"PortPerVIP":               "each VIP has a port of its own; Octavia reports that of the first, which therefore is the one with the floating IP",
		"FloatingIPAfterListeners": "a floating IP that is associated during the creation serves only the protocol of the first listener: with both TCP and UDP it is associated afterwards",
		"CutsHairpins":             "clients behind the port of a node do not reach pods that are members behind the same port",
		"MonitorsNeedPorts":        "a pool with a monitor and with members behind routes serves nothing: such a monitor is refused",
		"MemberByMember":           "a batch is worked on member by member, those that stay as they are included, and the load balancer is ACTIVE after the first: the others are waited for, and few members of many change by themselves",
		"AlwaysSendSubnet":         "a member that is sent with another subnet, or with none, is another member: every request names its subnet",
		"NeedsAdminStateUp":        "an update of a pool without admin_state_up leaves its listeners PENDING_UPDATE: it is always sent",
		"StaleMonitors":            "monitors of a full create are lost, and changes of monitors leave stale statuses: monitors follow one by one, and statuses are repaired",
		"PreservesClientIP":        "members see the addresses of the clients: security groups of the nodes can enforce source ranges",
		"NoAffinity":               "session affinity has no effect: the Service gets an event",
		"AffinityNeedsTimeout":     "session affinity has no effect without a timeout, which Octavia refuses for TCP: it is always sent for UDP and SCTP, and a Service with TCP ports gets an event",
		"IgnoresLimits":            "timeouts and connection limits of listeners are accepted, and have no effect",
		"UnprovenSourceRanges":     "source ranges are accepted even if they are not enforced: the Service gets an event",
		"RangesBreakFullCreate":    "",
		"Routed":                   "",
		"NodePorts":                "",
	}
	var b strings.Builder
	header(&b, "Quirks", "quirk")
	for i := range reflect.TypeFor[Quirks]().NumField() {
		name := reflect.TypeFor[Quirks]().Field(i).Name
		text, known := texts[name]
		if !known {
			t.Errorf("the quirk %s is not described", name)
		}
		if text == "" {
			continue // of no driver
		}
		row(&b, text, func(p profile) string {
			if !reflect.ValueOf(p.quirks).Field(i).Bool() {
				return ""
			}
			switch {
			case name == "StaleMonitors" && p.soundMonitors != nil:
				return "before " + release(t, *p.soundMonitors)
			case name == "NoAffinity" && p.affinity != nil:
				return "before " + release(t, *p.affinity)
			case name == "AffinityNeedsTimeout" && p.affinity != nil:
				return "from " + release(t, *p.affinity)
			}
			return "yes"
		})
	}
	return b.String()
}

func timingTable() string {
	var b strings.Builder
	header(&b, "Timing", "time")
	interval := func(of func(Timing) PollInterval) func(profile) string {
		return func(p profile) string {
			i := of(p.timing)
			return fmt.Sprintf("%s, %s, %s", i.First, i.Step, i.Cap)
		}
	}
	duration := func(of func(Timing) time.Duration) func(profile) string {
		return func(p profile) string { return of(p.timing).String() }
	}
	row(&b, "polls of a creation: until the first, from there to the second, and the longest interval", interval(func(t Timing) PollInterval { return t.Create }))
	row(&b, "polls of a change", interval(func(t Timing) PollInterval { return t.Update }))
	row(&b, "polls of a deletion", interval(func(t Timing) PollInterval { return t.Delete }))
	row(&b, "polls of PENDING children of an ACTIVE load balancer", duration(func(t Timing) time.Duration { return t.ChildInterval }))
	row(&b, "without an end of any of that, until it is taken to stay PENDING", duration(func(t Timing) time.Duration { return t.ChildTimeout }))
	row(&b, "until a creation that was not answered is looked for", duration(func(t Timing) time.Duration { return t.LostCreateRetry }))
	return b.String()
}
