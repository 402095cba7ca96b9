package conditions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

var (
	earlier = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	now     = metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
)

// patched returns the conditions after a patch as the API server applies it.
func patched(t *testing.T, have []metav1.Condition, changes []any) []metav1.Condition {
	t.Helper()
	before, err := json.Marshal(v1.Service{Status: v1.ServiceStatus{Conditions: have}})
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": changes}})
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, v1.Service{})
	if err != nil {
		t.Fatal(err)
	}
	var svc v1.Service
	if err := json.Unmarshal(after, &svc); err != nil {
		t.Fatal(err)
	}
	return svc.Status.Conditions
}

func condition(name reason.Condition, status metav1.ConditionStatus, why reason.Reason, text string, since metav1.Time) metav1.Condition {
	return metav1.Condition{Type: string(name), Status: status, Reason: string(why), Message: text, LastTransitionTime: since}
}

func foreign() metav1.Condition {
	return condition("example.com/Other", metav1.ConditionTrue, "Other", "another controller's", earlier)
}

//proves:100
func TestChanges_TouchNoConditionOfOthersAndKeepTheTimeOfAStatus(t *testing.T) {
	t.Parallel()
	have := []metav1.Condition{
		foreign(), condition(reason.IsRefused, metav1.ConditionTrue, reason.Invalid, "a", earlier),
		condition(reason.Provisioned, metav1.ConditionFalse, reason.Refused, "b", earlier),
	}
	got := patched(t, have, conditions.Changes(have, []conditions.Condition{
		{Type: reason.IsRefused, Is: true, Reason: reason.Conflict, Message: "c"},
		{Type: reason.Provisioned, Is: true, Reason: reason.Ready, Message: "d"},
		{Type: reason.IsDrifted, Reason: reason.Undrifted},
	}, now))
	want := map[string]metav1.Condition{}
	for _, c := range []metav1.Condition{
		foreign(), condition(reason.IsRefused, metav1.ConditionTrue, reason.Conflict, "c", earlier),
		condition(reason.Provisioned, metav1.ConditionTrue, reason.Ready, "d", now),
		condition(reason.IsDrifted, metav1.ConditionFalse, reason.Undrifted, "", now),
	} {
		want[c.Type] = c
	}
	if diff := cmp.Diff(want, byType(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]metav1.Condition{foreign()}, patched(t, got, conditions.Removal(got))); diff != "" {
		t.Errorf("after the removal (-want +got):\n%s", diff)
	}
}

func byType(all []metav1.Condition) map[string]metav1.Condition {
	found := map[string]metav1.Condition{}
	for _, c := range all {
		found[c.Type] = c
	}
	return found
}

//proves:100
func TestChanges_AreNoneForTheNoiseOfMessages(t *testing.T) {
	t.Parallel()
	const text = "Octavia refuses port 80 (request req-%s) since %s, trying again in %s"
	said := func(port, request, since, again string) conditions.Condition {
		return conditions.Condition{Type: reason.IsRefused, Is: true, Reason: reason.Conflict,
			Message: strings.Replace(fmt.Sprintf(text, request, since, again), "80", port, 1)}
	}
	first := said("80", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "2026-01-01T00:00:00Z", "5m0s")
	have := patched(t, nil, conditions.Changes(nil, []conditions.Condition{first}, earlier))
	for port, want := range map[string]int{"80": 0, "81": 1} {
		again := said(port, "9c858901-8a57-4791-81fe-4c455b099bc9", "2026-03-04T05:06:07.5+01:00", "1h12m30.5s")
		if changes := conditions.Changes(have, []conditions.Condition{again}, now); len(changes) != want {
			t.Errorf("port %s: %d changes, want %d", port, len(changes), want)
		}
	}
}

func TestRemoval_IsNoneWhereThereIsNothingOfOurs(t *testing.T) {
	t.Parallel()
	if changes := conditions.Removal([]metav1.Condition{foreign()}); changes != nil {
		t.Errorf("removes %v", changes)
	}
}

// words returns the conditions in short form, such as "Provisioned=true Ready".
func words(said []conditions.Condition) string {
	var all []string
	for _, s := range said {
		_, name, _ := strings.Cut(string(s.Type), "/")
		all = append(all, fmt.Sprintf("%s=%t %s", name, s.Is, s.Reason))
		if !listed(s) {
			all = append(all, "which the list of reasons does not have")
		}
	}
	return strings.Join(all, ", ")
}

// listed reports whether the list of reasons has the one of a condition, with its status.
func listed(said conditions.Condition) bool {
	return slices.ContainsFunc(reason.Table(), func(entry reason.Entry) bool {
		return entry.Reason == said.Reason && slices.Contains(entry.States, reason.State{Condition: said.Type, Is: said.Is})
	})
}

//proves:100
func TestRound_SaysWhatItHasFoundAndNothingElse(t *testing.T) {
	t.Parallel()
	const arrived = "Provisioned=true LoadBalancerReady, Degraded=false LoadBalancerSound, Refused=false LoadBalancerRequestAccepted, Drifted=false LoadBalancerAsApplied"
	failure := errors.New("no answer")
	unhealthy := []metav1.Condition{condition(reason.Degraded, metav1.ConditionTrue, reason.NoHealthyMember, "", earlier)}
	provisioned := []metav1.Condition{condition(reason.Provisioned, metav1.ConditionTrue, reason.Ready, "", earlier)}
	published := v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "203.0.113.5"}}}
	for name, test := range map[string]struct {
		round  conditions.Round
		status v1.ServiceStatus
		want   string
	}{
		"arrived":                 {round: conditions.Round{LoadBalancerID: "lb"}, want: arrived},
		"a setting is ignored":    {round: conditions.Round{LoadBalancerID: "lb", Ignored: "x: unknown"}, want: "Provisioned=true LoadBalancerReady, Degraded=false LoadBalancerSound, Refused=false LoadBalancerSettingIgnored, Drifted=false LoadBalancerAsApplied"},
		"unhealthy, and watched":  {round: conditions.Round{LoadBalancerID: "lb", Watched: true}, status: v1.ServiceStatus{Conditions: unhealthy}, want: "Provisioned=true LoadBalancerReady, Refused=false LoadBalancerRequestAccepted, Drifted=false LoadBalancerAsApplied"},
		"unhealthy, not watched":  {round: conditions.Round{LoadBalancerID: "lb"}, status: v1.ServiceStatus{Conditions: unhealthy}, want: arrived},
		"unhealthy as another":    {round: conditions.Round{LoadBalancerID: "lb", Watched: true}, status: v1.ServiceStatus{Conditions: []metav1.Condition{condition(reason.Provisioned, metav1.ConditionTrue, reason.NoHealthyMember, "", earlier)}}, want: arrived},
		"healthy again":           {round: conditions.Round{LoadBalancerID: "lb", Watched: true}, status: v1.ServiceStatus{Conditions: []metav1.Condition{condition(reason.Degraded, metav1.ConditionFalse, reason.NoHealthyMember, "", earlier)}}, want: arrived},
		"was in ERROR":            {round: conditions.Round{LoadBalancerID: "lb", Watched: true}, status: v1.ServiceStatus{Conditions: []metav1.Condition{condition(reason.Degraded, metav1.ConditionTrue, reason.InError, "", earlier)}}, want: arrived},
		"refused, drift is left":  {round: conditions.Round{Err: failure, Refusal: reason.NotOwned, Drift: "x"}, want: "Provisioned=false LoadBalancerRefused, Refused=true LoadBalancerNotOwned, Drifted=true LoadBalancerDrifted"},
		"refused, for a quota":    {round: conditions.Round{Err: failure, Refusal: reason.QuotaExceeded, Reported: reason.QuotaExceeded}, want: "Provisioned=false LoadBalancerRefused, Refused=true LoadBalancerQuotaExceeded, Drifted=false LoadBalancerAsApplied"},
		"drift is left":           {round: conditions.Round{LoadBalancerID: "lb", Drift: "x"}, want: "Provisioned=true LoadBalancerReady, Degraded=false LoadBalancerSound, Refused=false LoadBalancerRequestAccepted, Drifted=true LoadBalancerDrifted"},
		"gone, and left":          {round: conditions.Round{Drift: "x"}, want: "Provisioned=false LoadBalancerGone, Refused=false LoadBalancerRequestAccepted, Drifted=true LoadBalancerDrifted"},
		"refused":                 {round: conditions.Round{Err: failure, Refusal: reason.NotOwned}, want: "Provisioned=false LoadBalancerRefused, Refused=true LoadBalancerNotOwned, Drifted=false LoadBalancerAsApplied"},
		"in ERROR":                {round: conditions.Round{Err: failure, Reported: reason.InError}, want: "Provisioned=false LoadBalancerInError, Degraded=true LoadBalancerInError"},
		"PENDING":                 {round: conditions.Round{Err: failure, Reported: reason.Pending}, want: "Provisioned=false LoadBalancerPending"},
		"never made":              {round: conditions.Round{Err: failure}, want: "Provisioned=false LoadBalancerNotReady"},
		"an outage":               {round: conditions.Round{Err: failure}, status: v1.ServiceStatus{Conditions: provisioned}},
		"an outage at an upgrade": {round: conditions.Round{Err: failure}, status: v1.ServiceStatus{LoadBalancer: published}},
		"drift that stays":        {round: conditions.Round{Err: failure, Drift: "x"}, status: v1.ServiceStatus{Conditions: provisioned}, want: "Drifted=true LoadBalancerDrifted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := words(test.round.Conditions(&v1.Service{Status: test.status})); got != test.want {
				t.Errorf("says\n%s, want\n%s", got, test.want)
			}
		})
	}
}

//proves:100
func TestHealth_IsDegradedOnlyWhereAPoolServesNobody(t *testing.T) {
	t.Parallel()
	for operating, want := range map[string]string{
		"ONLINE": "Degraded=false LoadBalancerSound", "DEGRADED": "Degraded=false LoadBalancerSound", "NO_MONITOR": "Degraded=false LoadBalancerSound",
		"ERROR": "Degraded=true LoadBalancerNoHealthyMember", "OFFLINE": "", "": "",
	} {
		said := conditions.Health("lb-1", operating, []string{"TCP/80"})
		if got := words(said); got != want {
			t.Errorf("%s: says %q, want %q", operating, got, want)
		}
		if operating == "ERROR" && said[0].Message != "Load balancer lb-1 has the operating status ERROR: no member answers of the pool for TCP/80" {
			t.Errorf("says %q", said[0].Message)
		}
	}
}

func TestRound_SaysWhatItsRoundHasFound(t *testing.T) {
	t.Parallel()
	failure := errors.New("the request failed")
	long := errors.New(strings.Repeat("x", 2000))
	for name, test := range map[string]struct {
		round conditions.Round
		want  map[reason.Condition]string
	}{
		"arrived": {conditions.Round{LoadBalancerID: "lb", Address: "203.0.113.5", Ignored: "a setting", Drift: "a step"}, map[reason.Condition]string{
			reason.Provisioned: "Load balancer lb serves the Service at 203.0.113.5", reason.Degraded: "", reason.IsRefused: "Without effect: a setting", reason.IsDrifted: "a step",
		}},
		"refused": {conditions.Round{Err: failure, Refusal: reason.Invalid, Kept: "the old is kept"}, map[reason.Condition]string{
			reason.Provisioned: "The request of the Service is refused: see the condition Refused", reason.IsRefused: "the old is kept", reason.IsDrifted: "",
		}},
		"in ERROR": {conditions.Round{Err: failure, Reported: reason.InError}, map[reason.Condition]string{
			reason.Provisioned: "the request failed", reason.Degraded: "the request failed",
		}},
		"PENDING": {conditions.Round{Err: failure, Reported: reason.Pending}, map[reason.Condition]string{reason.Provisioned: "the request failed"}},
	} {
		got := map[reason.Condition]string{}
		for _, c := range test.round.Conditions(&v1.Service{}) {
			got[c.Type] = c.Message
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := (conditions.Round{Err: long, Reported: reason.Pending}).Conditions(&v1.Service{}); len(got[0].Message) > 960 {
		t.Errorf("a message has %d bytes", len(got[0].Message))
	}
}

func TestHealth_NamesPoolsOnlyIfTheyAreKnown(t *testing.T) {
	t.Parallel()
	got := conditions.Health("lb-1", "ERROR", nil)
	want := []conditions.Condition{{
		Type: reason.Degraded, Is: true, Reason: reason.NoHealthyMember, Message: "Load balancer lb-1 has the operating status ERROR: no member answers",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A status without its own change has the time of the last one.
func TestChanges_AreOfEachPartOfACondition(t *testing.T) {
	t.Parallel()
	have := []metav1.Condition{condition(reason.IsRefused, metav1.ConditionTrue, reason.Invalid, "text", earlier)}
	for name, test := range map[string]struct {
		wanted  conditions.Condition
		changed bool
		since   metav1.Time
	}{
		"nothing":           {conditions.Condition{Type: reason.IsRefused, Is: true, Reason: reason.Invalid, Message: "text"}, false, earlier},
		"the message":       {conditions.Condition{Type: reason.IsRefused, Is: true, Reason: reason.Invalid, Message: "other"}, true, earlier},
		"the reason":        {conditions.Condition{Type: reason.IsRefused, Is: true, Reason: reason.Conflict, Message: "text"}, true, earlier},
		"the status":        {conditions.Condition{Type: reason.IsRefused, Is: false, Reason: reason.Invalid, Message: "text"}, true, now},
		"another condition": {conditions.Condition{Type: reason.IsDrifted, Is: true, Reason: reason.Invalid, Message: "text"}, true, now},
	} {
		changes := conditions.Changes(have, []conditions.Condition{test.wanted}, now)
		got := byType(patched(t, have, changes))[string(test.wanted.Type)]
		if len(changes) > 0 != test.changed || test.changed && !got.LastTransitionTime.Equal(&test.since) {
			t.Errorf("%s: changed %v, since %s", name, len(changes) > 0, got.LastTransitionTime)
		}
	}
}
