package goal

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/api"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// warnings is a memory of events that has the last text on each subject, and sends each text again.
type warnings map[string]string

func (w warnings) Warn(_ types.UID, subject, text string) bool {
	w[subject] = text
	return text != ""
}

func (warnings) Announce(types.UID, string, string) bool  { return true }
func (warnings) Place(events.Object) (id, address string) { return "", "" }

func newTroubles(clk *testingclock.FakePassiveClock) (*Troubles, *record.FakeRecorder) {
	recorder := record.NewFakeRecorder(100)
	return &Troubles{store: state.New(clk, nil), events: events.New(recorder, warnings{}), clock: clk}, recorder
}

// Parts that are in ERROR after each write are written less and less often. The text stays the same, with its start.
func TestReport_RetriesBrokenPartsLessAndLessOften(t *testing.T) {
	t.Parallel()
	clk := testingclock.NewFakePassiveClock(noon)
	troubles, _ := newTroubles(clk)
	broken := func(name string) error {
		return &apply.ChildrenError{ID: "lb", Children: []model.Child{{Kind: "pool", Name: name, Status: model.Status{Provisioning: "ERROR"}}}}
	}
	text := ""
	for i, after := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour} {
		why, err := troubles.Report(t.Context(), ObjectOf(webService()), broken("web"), false)
		var retry *api.RetryError
		if !errors.As(err, &retry) || retry.RetryAfter() != after || why != reason.InError || !errors.As(err, new(*apply.ChildrenError)) {
			t.Errorf("attempt %d: %v, %v, want a retry after %s", i+1, why, err, after)
		}
		if text == "" {
			text = err.Error()
		}
		if err.Error() != text || !strings.Contains(text, "since 2026-11-29T12:00:00Z") || !strings.Contains(text, "openstack loadbalancer failover lb") {
			t.Errorf("attempt %d: %q, first %q", i+1, err, text)
		}
		clk.SetTime(clk.Now().Add(after))
	}
	_, err := troubles.Report(t.Context(), ObjectOf(webService()), broken("other"), false)
	var retry *api.RetryError
	if !errors.As(err, &retry) || retry.RetryAfter() != 5*time.Minute || strings.Contains(err.Error(), "12:00:00Z") {
		t.Errorf("another part: %v", err)
	}
}

// A trouble ends with the next round without an error, so that its next occurrence is reported.
func TestReport_EndsATrouble(t *testing.T) {
	t.Parallel()
	troubles, recorder := newTroubles(testingclock.NewFakePassiveClock(noon))
	warned := warnings{"trouble": "as before"}
	troubles.events = events.New(recorder, warned)
	if _, err := troubles.Report(t.Context(), ObjectOf(webService()), nil, false); err != nil || warned["trouble"] != "" {
		t.Errorf("the trouble is %q, error %v", warned["trouble"], err)
	}
}

// Only problems that others must solve have a reason, and an event that names it.
func TestReport_EmitsWhatOthersMustSolve(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err     error
		expired bool
		want    reason.Reason
	}{
		"nothing":                  {nil, false, ""},
		"another error":            {errors.New("timeout"), true, ""},
		"a conflict":               {&refusal.BlockedError{Why: "port TCP/80 is taken"}, false, ""},
		"in ERROR":                 {&refusal.BlockedError{Why: "it is in ERROR", Failed: true}, false, reason.InError},
		"PENDING":                  {&watcher.PendingError{}, false, ""},
		"PENDING until the end":    {&watcher.PendingError{}, true, reason.Pending},
		"parts that stay in ERROR": {&apply.ChildrenError{ID: "lb"}, false, reason.InError},
	} {
		troubles, recorder := newTroubles(testingclock.NewFakePassiveClock(noon))
		why, err := troubles.Report(t.Context(), ObjectOf(webService()), test.err, test.expired)
		if why != test.want || (err == nil) != (test.err == nil) || !errors.Is(err, test.err) {
			t.Errorf("%s: %q, %v", name, why, err)
		}
		emitted := ""
		if len(recorder.Events) > 0 {
			emitted = <-recorder.Events
		}
		if !strings.Contains(emitted, string(test.want)) || test.want == "" && test.err != nil && emitted != "" {
			t.Errorf("%s: event %q", name, emitted)
		}
	}
}

// An exhausted quota is reported with its numbers, as of its start, and one for parts of load balancers concerns all Services.
func TestReport_AddsTheNumbersOfAnExhaustedQuota(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err      error
		words    []string
		shortage bool
	}{
		"members":      {byOctavia(http.StatusForbidden, "Quota has been met for resources: Member"), []string{"since 2026-11-29T12:00:00Z", "quota of members is used up (7)"}, true},
		"floating IPs": {byNeutron(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['floatingip']."), []string{"since 2026-11-29T12:00:00Z", "quota of floating IPs is used up (5 of 5)"}, false},
	} {
		r := newRig(t)
		for i := range 2 {
			why, err := r.Troubles.Report(t.Context(), ObjectOf(r.svc), test.err, false)
			if why != reason.QuotaExceeded || !errors.As(err, new(gophercloud.ErrUnexpectedResponseCode)) {
				t.Errorf("%s: %q, %v", name, why, err)
			}
			for _, word := range test.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s, report %d: %q lacks %q", name, i, err, word)
				}
			}
			if event := r.events(); !strings.Contains(event, string(reason.QuotaExceeded)) || !strings.Contains(event, test.words[1]) {
				t.Errorf("%s: event %q", name, event)
			}
			r.clock.Step(time.Minute)
		}
		if r.store.Shortage.Recent() != test.shortage {
			t.Errorf("%s: other Services are created with all of their parts: %v", name, test.shortage)
		}
	}
	r := newRig(t)
	ours := fmt.Errorf("the limit of cloud.conf: %w", errors.New("Quota has been met for resources: Member"))
	if why, err := r.Troubles.Report(t.Context(), ObjectOf(r.svc), ours, false); why != "" || err != ours {
		t.Errorf("an error that is not the cloud's: %q, %v", why, err)
	}
}
