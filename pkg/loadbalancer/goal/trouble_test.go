package goal

import (
	"errors"
	"strings"
	"testing"
	"time"

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

// sendsAll is a memory of events that sends all of them.
type sendsAll struct{}

func (sendsAll) Warn(types.UID, string, string) bool     { return true }
func (sendsAll) Announce(types.UID, string, string) bool { return true }
func (sendsAll) Place(events.Object) (string, string)    { return "", "" }

func newTroubles(clk *testingclock.FakePassiveClock) (*Troubles, *record.FakeRecorder) {
	recorder := record.NewFakeRecorder(100)
	return &Troubles{store: state.New(clk, nil), events: events.New(recorder, sendsAll{}), clock: clk}, recorder
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
