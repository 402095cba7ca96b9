package goal

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// What only others can end is told by one event, as long as it is the same, with since
// when and what to ask the cloud's operator; and the error says the same in the same words, so
// that those who report it emit no new event each time.
//
//	trouble                                    told           tried again
//	the load balancer is in ERROR, and blocks  InError        as any error; failed over as goal.Failovers says
//	it is PENDING at the end of a round        Pending        after half a minute
//	a quota or an address pool is used up      QuotaExceeded  after five minutes
//	a part of it is in ERROR each time         InError        after five minutes, then twice as long, an hour at most

// Tell tells what keeps a Service from what it asks for, and returns the reason that it has told,
// "" for none, and the error to report. Expired says that the round was ended for its time.
// Without an error, what was told is over.
func (e *Engine) Tell(ctx context.Context, svc *v1.Service, err error, expired bool) (reason.Reason, error) {
	var blocked *refusal.BlockedError
	var pending *watcher.PendingError
	var broken *apply.ChildrenError
	switch {
	case err == nil:
		e.Events.TroubleOver(svc)
	case refusal.ByCloud(err) && apierror.IsQuota(err):
		return reason.QuotaExceeded, e.tellExhausted(ctx, svc, err)
	case errors.As(err, &blocked) && blocked.Failed:
		e.Events.Trouble(svc, reason.InError, blocked.Why, blocked.Why)
		return reason.InError, err
	case expired && errors.As(err, &pending):
		e.Events.Trouble(svc, reason.Pending, pending.What(), pending.What())
		return reason.Pending, err
	case errors.As(err, &broken):
		return reason.InError, e.tellBroken(svc, err, broken)
	}
	return "", err
}

// tellExhausted adds to a refusal for a quota, or for an address pool that is empty, how much
// of it there is.
func (e *Engine) tellExhausted(ctx context.Context, svc *v1.Service, err error) error {
	what := e.Lookup.Exhausted(ctx, err)
	if apierror.IsPartsQuota(err) {
		e.Store.MarkPartsShort()
	}
	met := e.Store.Meet(svc.UID, what, func(since time.Time) string {
		return fmt.Sprintf("%s; since %s %s", message.Truncate(err.Error(), message.MaxError/2), stamp(since), what)
	})
	e.Events.Trouble(svc, reason.QuotaExceeded, met.Key, met.Text)
	return &troubleError{met.Text, err}
}

// tellBroken tells of parts that are in ERROR however often they are written.
func (e *Engine) tellBroken(svc *v1.Service, err error, broken *apply.ChildrenError) error {
	const first, longest = 5 * time.Minute, time.Hour
	met := e.Store.Meet(svc.UID, broken.Error(), func(since time.Time) string {
		return fmt.Sprintf("%s since %s, however often that is written; what else is in it goes on: "+
			"ask the cloud's operator why, or to fail it over (openstack loadbalancer failover %s)", broken, stamp(since), broken.ID)
	})
	e.Events.Trouble(svc, reason.InError, met.Key, met.Text)
	after := first
	for range met.Times - 1 {
		after = min(2*after, longest)
	}
	return refusal.Later(&troubleError{met.Text, err}, after)
}

// troubleError is an error in the words in which it was told first.
type troubleError struct {
	text  string
	cause error
}

// Error implements error.
func (e *troubleError) Error() string { return e.text }

// Unwrap returns the error itself.
func (e *troubleError) Unwrap() error { return e.cause }
