package resync

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// endpointPatience is how long the endpoints are pending after the start, and how long this
// process must have lacked the right to read EndpointSlices before it counts as lacking it: an
// API server that starts refuses requests for some moments.
const endpointPatience = 10 * time.Second

// watchState is the state of the watch of EndpointSlices.
type watchState struct {
	// synced is set once all slices are known; began is the time of the start, refused that of the
	// first of the present refusals, zero if there is none.
	synced         bool
	began, refused time.Time
	// last is the last reported state: Watched, Forbidden, or Unwatched before the first.
	last settings.Watch
}

// at returns whether endpoints are watched, and whether they are pending. Once all slices are known, one
// refusal is no reason to give them up: the next attempt is refused, too (see failed), or succeeds.
func (s *watchState) at(now time.Time) (state settings.Watch, pending bool) {
	if s.last == settings.Forbidden || !s.synced && s.refusedForLong(now) {
		return settings.Forbidden, false
	}
	return settings.Watched, !s.synced && now.Sub(s.began) < endpointPatience
}

// refusedForLong reports whether all attempts for endpointPatience were refused.
func (s *watchState) refusedForLong(now time.Time) bool {
	return !s.refused.IsZero() && now.Sub(s.refused) >= endpointPatience
}

// answered records that all slices are known. Late is set if Services have been served without them.
func (s *watchState) answered(now time.Time) (late bool) {
	late = !s.synced && now.Sub(s.began) >= endpointPatience || s.last == settings.Forbidden
	s.synced, s.refused, s.last = true, time.Time{}, settings.Watched
	return late
}

// failed records the end of a watch, and returns whether this process lacks the right to it; begins is set
// the first time.
func (s *watchState) failed(err error, now time.Time) (forbidden, begins bool) {
	if !apierrors.IsForbidden(err) {
		if s.last != settings.Forbidden {
			s.refused = time.Time{}
		}
		return false, false
	}
	if s.refused.IsZero() {
		s.refused = now
	}
	begins = s.refusedForLong(now) && s.last != settings.Forbidden
	if begins {
		s.last = settings.Forbidden
	}
	return s.last == settings.Forbidden, begins
}
