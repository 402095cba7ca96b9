package async

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

// Places bounds how much work is done at the same time. Work that waits gives its places
// away meanwhile: see Yield.
type Places struct {
	all  int64
	free *semaphore.Weighted
}

// NewPlaces returns so many places.
func NewPlaces(n int) *Places { return &Places{all: int64(n), free: semaphore.NewWeighted(int64(n))} }

// placeKey is the key of a context for the places that its work has.
type placeKey struct{}

// taken is how many of some places a work has, unless it has given them away.
type taken struct {
	*Places
	width int64
	away  *atomic.Int32 // how many calls of Yield are not resumed
}

// Enter waits for as many places as the work is wide, first come, first served: at least
// one, and no more than there are. The work is to be done with the context that it gives,
// and must leave in the end. The error is the context's.
func (p *Places) Enter(ctx context.Context, width int) (with context.Context, leave func(), err error) {
	place := taken{p, min(max(int64(width), 1), p.all), new(atomic.Int32)}
	queued := stopwatch.In(ctx, stopwatch.Queue)
	err = p.free.Acquire(ctx, place.width)
	queued()
	if err != nil {
		return nil, nil, err
	}
	return context.WithValue(ctx, placeKey{}, place), func() { p.free.Release(place.width) }, nil
}

// Sleep waits for some time; the places of the work (see Yield) are given away meanwhile. The
// error is the context's.
func Sleep(ctx context.Context, clk clock.WithTicker, d time.Duration) error {
	timer := clk.NewTimer(d)
	defer timer.Stop()
	defer Yield(ctx)()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Yield returns the places of the work away that is done with a context, until resume is
// called, which waits for as many again. Resume must be called, and has got them even when
// the context has ended. For work without a place, or which has given it away, Yield does
// nothing.
func Yield(ctx context.Context) (resume func()) {
	p, ok := ctx.Value(placeKey{}).(taken)
	if !ok {
		return func() {}
	}
	if p.away.Add(1) == 1 {
		p.free.Release(p.width)
	}
	return func() {
		if p.away.Add(-1) > 0 {
			return
		}
		defer stopwatch.In(ctx, stopwatch.Queue)()
		// Work whose context has ended does little more than return: it may pass.
		_ = p.free.Acquire(context.WithoutCancel(ctx), p.width)
	}
}
