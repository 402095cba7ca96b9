package async

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"
)

// Places bounds how many pieces of work are done at the same time. Who waits for
// somebody else gives its place away meanwhile: see Yield.
type Places struct {
	free *semaphore.Weighted
}

// NewPlaces returns so many places.
func NewPlaces(n int) *Places { return &Places{free: semaphore.NewWeighted(int64(n))} }

// placeKey is the key of a context for the place that its work has.
type placeKey struct{}

// Enter waits for a place, first come, first served. The work is to be done with the
// context that it gives, and must leave in the end. The error is the context's.
func (p *Places) Enter(ctx context.Context) (with context.Context, leave func(), err error) {
	if err := p.free.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	return context.WithValue(ctx, placeKey{}, p), func() { p.free.Release(1) }, nil
}

// Sleep waits for some time; the place of the work (see Yield) is given away meanwhile. The
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

// Yield returns the place of the work away that is done with a context, until resume is
// called, which waits for another one. Resume must be called, and has got the place
// even when the context has ended. For work without a place Yield does nothing.
func Yield(ctx context.Context) (resume func()) {
	p, ok := ctx.Value(placeKey{}).(*Places)
	if !ok {
		return func() {}
	}
	p.free.Release(1)
	return func() {
		// Work whose context has ended does little more than return: it may pass.
		_ = p.free.Acquire(context.WithoutCancel(ctx), 1)
	}
}
