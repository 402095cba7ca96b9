package state_test

import (
	"regexp"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// The record of a Service changes only if a warning does.
func TestWarnings_AreWrittenInOneOrder(t *testing.T) {
	t.Parallel()
	var one, two state.Entry
	if got := one.Warnings.String(); got != "" {
		t.Errorf("none are written as %q", got)
	}
	subjects := []string{"settings", "nodes", "quota", "address", "members", "class"}
	for i := range subjects {
		one.Warn(subjects[i], "text")
		two.Warn(subjects[len(subjects)-1-i], "text")
	}
	format := regexp.MustCompile(`^address:([0-9a-f]{16}),class:([0-9a-f]{16}),members:[0-9a-f]{16},nodes:[0-9a-f]{16},quota:[0-9a-f]{16},settings:[0-9a-f]{16}$`)
	for range 10 { // the order of a map is random
		if a, b := one.Warnings.String(), two.Warnings.String(); a != b || !format.MatchString(a) {
			t.Fatalf("%q and %q", a, b)
		}
	}
}

func TestWarnings_RecallTheLastProcessOnce(t *testing.T) {
	t.Parallel()
	word := func(subject, text string) string {
		var e state.Entry
		e.Warn(subject, text)
		return e.Warnings.String()
	}
	var e state.Entry
	e.Warnings.Recall("")
	e.Warnings.Recall("nothing,broken:xyz," + word("nodes", "one"))
	for subject, want := range map[string]bool{"nodes": true, "broken": false, "nothing": false} {
		if e.Warnings.About(subject) != want {
			t.Errorf("a warning about %s: %v", subject, !want)
		}
	}
	e.Warn("nodes", "") // it is over
	e.Warnings.Recall(word("nodes", "one"))
	if e.Warnings.About("nodes") || !e.Warn("nodes", "one") {
		t.Error("the record of the last process brings back a warning that is over")
	}
}

// A record without the newest warnings must be written again, for each of them.
func TestWarn_MakesTheRecordDueIfAWarningHasChanged(t *testing.T) {
	t.Parallel()
	before := applied("lb")
	e := state.Entry{Applied: before}
	for i, step := range []struct {
		subject, text string
		send, changed bool
	}{
		{"nodes", "", false, false}, {"nodes", "one", true, true}, {"nodes", "one", false, false}, {"nodes", "two", true, true},
		{"settings", "one", true, true}, {"settings", "", false, true}, {"nodes", "", false, true}, {"nodes", "", false, false},
	} {
		e.Applied = before
		if send := e.Warn(step.subject, step.text); send != step.send || e.Applied.RecordDue() != step.changed {
			t.Errorf("%d: %q about %s is sent: %v, record due: %v", i, step.text, step.subject, send, e.Applied.RecordDue())
		}
		if !before.Persisted.Record {
			t.Fatal("the applied state was changed in place")
		}
	}
	unpersisted := applied("lb")
	unpersisted.Persisted.Record = false
	e.Applied = unpersisted
	if e.Warn("nodes", "one"); e.Applied != unpersisted {
		t.Error("a state without a record is replaced")
	}
}
