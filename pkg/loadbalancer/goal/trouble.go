package goal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// A problem that only others can solve is reported by one event, as long as it is the same, with
// its start and the question for the cloud's operator. The error has the same text, so that its
// callers emit no new event each time.
//
//	trouble                                    reason         next attempt
//	the load balancer is in ERROR, and blocks  InError        as for any error; failover by goal.Failovers
//	it is PENDING at the end of a round        Pending        after half a minute
//	a quota or an address pool is exhausted    QuotaExceeded  after five minutes
//	a part of it is in ERROR each time         InError        after five minutes, then twice as long, an hour at most

// Troubles reports such problems.
type Troubles struct {
	store  *state.Store
	quotas *lookup.Quotas
	events *events.Recorder
	clock  clock.PassiveClock
}

// Report reports what keeps a Service from its desired state, and returns the reason of the event, ""
// for none, and the error to return. Expired is set if the round was ended by its time limit.
// Without an error, it reports the end of an earlier problem.
func (t *Troubles) Report(ctx context.Context, on events.Object, err error, expired bool) (reason.Reason, error) {
	var blocked *refusal.BlockedError
	var pending *watcher.PendingError
	var broken *apply.ChildrenError
	switch {
	case err == nil:
		t.events.Warn(on, events.TroubleOver())
	case refusal.ByCloud(err) && apierror.IsQuota(err):
		return reason.QuotaExceeded, t.reportExhausted(ctx, on, err)
	case errors.As(err, &blocked) && blocked.Failed:
		t.events.Warn(on, events.Trouble(reason.InError, blocked.Why, blocked.Why))
		return reason.InError, err
	case expired && errors.As(err, &pending):
		t.events.Warn(on, events.Trouble(reason.Pending, pending.What(), pending.What()))
		return reason.Pending, err
	case errors.As(err, &broken):
		return reason.InError, t.reportBroken(on, err, broken)
	}
	return "", err
}

// reportExhausted adds the limit and the use to a refusal because of a quota or an exhausted address
// pool.
func (t *Troubles) reportExhausted(ctx context.Context, on events.Object, err error) error {
	what := t.quotas.Exhausted(ctx, err)
	if apierror.IsPartsQuota(err) {
		t.store.Shortage.Mark()
	}
	trouble := t.meet(on, what, func(since time.Time) string {
		return fmt.Sprintf("%s; since %s %s", message.Truncate(err.Error(), message.MaxError/2), stamp(since), what)
	})
	t.events.Warn(on, events.Trouble(reason.QuotaExceeded, trouble.Key, trouble.Text))
	return &troubleError{trouble.Text, err}
}

// reportBroken reports parts that are in ERROR after each write.
func (t *Troubles) reportBroken(on events.Object, err error, broken *apply.ChildrenError) error {
	const first, longest = 5 * time.Minute, time.Hour
	trouble := t.meet(on, broken.Error(), func(since time.Time) string {
		return fmt.Sprintf("%s since %s, and writing it again has not helped; the other parts keep working: "+
			"ask the cloud's operator why, or to fail it over (openstack loadbalancer failover %s)", broken, stamp(since), broken.ID)
	})
	t.events.Warn(on, events.Trouble(reason.InError, trouble.Key, trouble.Text))
	after := first
	for range trouble.Times - 1 {
		after = min(2*after, longest)
	}
	return refusal.Later(&troubleError{trouble.Text, err}, after)
}

// meet records the trouble of a round, and returns its record. Text returns the report of a new one.
func (t *Troubles) meet(on events.Object, key string, text func(since time.Time) string) (met state.Trouble) {
	now := t.clock.Now()
	t.store.Update(on.Owner.UID, func(e *state.Entry) {
		e.Trouble.Meet(key, now, text)
		met = e.Trouble
	})
	return met
}

// troubleError is an error with the text of its first report.
type troubleError struct {
	text  string
	cause error
}

// Error implements error.
func (e *troubleError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *troubleError) Unwrap() error { return e.cause }
