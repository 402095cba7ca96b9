package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// What only somebody else can end is told by one event, as long as it is the same, with since
// when and what to ask the cloud's operator; and the error says the same in the same words, so
// that those who report it emit no new event each time.
//
//	trouble                                    told           tried again
//	the load balancer is in ERROR, and blocks  InError        as any error; failed over as goal.Failovers says
//	it is PENDING at the end of a round        Pending        after half a minute
//	a quota or an address pool is used up      QuotaExceeded  after five minutes
//	a part of it is in ERROR each time         InError        after five minutes, then twice as long, an hour at most

// tell tells what keeps a Service from what it asks for, and returns the error to report.
// Without an error, what was told is over.
func (r *Reconciler) tell(ctx context.Context, svc *v1.Service, err error) error {
	var blocked *refusal.BlockedError
	var pending *watcher.PendingError
	var broken *apply.ChildrenError
	switch {
	case err == nil:
		r.engine().Events.TroubleOver(svc)
	case refusal.ByCloud(err) && apierror.IsQuota(err):
		return r.tellExhausted(ctx, svc, err)
	case errors.As(err, &blocked) && blocked.Failed:
		r.engine().Events.Trouble(svc, events.InError, blocked.Why, blocked.Why)
	case errors.As(err, &pending) && r.expired(ctx) > 0:
		r.engine().Events.Trouble(svc, events.Pending, pending.What(), pending.What())
	case errors.As(err, &broken):
		return r.tellBroken(svc, err, broken)
	}
	return err
}

// tellExhausted adds to a refusal for a quota, or for an address pool that is empty, how much
// of it there is.
func (r *Reconciler) tellExhausted(ctx context.Context, svc *v1.Service, err error) error {
	what := r.engine().Lookup.Exhausted(ctx, err)
	met := r.store.Meet(svc.UID, what, func(since time.Time) string {
		told := fmt.Sprintf("; %s, since %s", what, since.UTC().Format(time.RFC3339))
		return message.Truncate(err.Error(), message.MaxError/2) + told
	})
	r.engine().Events.Trouble(svc, events.QuotaExceeded, met.Key, met.Text)
	return &troubleError{met.Text, err}
}

// tellBroken tells of parts that are in ERROR however often they are written.
func (r *Reconciler) tellBroken(svc *v1.Service, err error, broken *apply.ChildrenError) error {
	const first, longest = 5 * time.Minute, time.Hour
	met := r.store.Meet(svc.UID, broken.Error(), func(since time.Time) string {
		return fmt.Sprintf("%s since %s: writing that again has not helped %d times; what else is in it goes on: "+
			"ask the cloud's operator why, or to fail it over (openstack loadbalancer failover %s)",
			broken, since.UTC().Format(time.RFC3339), maxAttempts, broken.ID)
	})
	r.engine().Events.Trouble(svc, events.InError, met.Key, met.Text)
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

func (e *troubleError) Error() string { return e.text }
func (e *troubleError) Unwrap() error { return e.cause }
