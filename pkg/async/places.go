package async

import (
	"context"
	"sync"
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

// taken is what a work has of some places. It has them, unless one of its goroutines has given
// them away and not resumed, or waits for them, or the work has left.
type taken struct {
	*Places
	width int64

	mu   sync.Mutex
	has  bool
	left bool
	// away is how many calls of Yield are not resumed.
	away int
	// back is closed when the goroutine that waits for the places has them; nil while none waits.
	back chan struct{}
}

// Enter waits for as many places as the work is wide, first come, first served: at least
// one, and no more than there are. The work is to be done with the context that it gives,
// and must leave in the end. The error is the context's.
func (p *Places) Enter(ctx context.Context, width int) (with context.Context, leave func(), err error) {
	place := &taken{Places: p, width: min(max(int64(width), 1), p.all), has: true}
	queued := stopwatch.In(ctx, stopwatch.Queue)
	err = p.free.Acquire(ctx, place.width)
	queued()
	if err != nil {
		return nil, nil, err
	}
	return context.WithValue(ctx, placeKey{}, place), place.leave, nil
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

// Acquire takes so much of a semaphore, and waits for it; the places of the work (see Yield) are given
// away meanwhile. The error is the context's.
func Acquire(ctx context.Context, of *semaphore.Weighted, n int64) error {
	if of.TryAcquire(n) {
		return nil
	}
	defer stopwatch.In(ctx, stopwatch.Queue)()
	defer Yield(ctx)()
	return of.Acquire(ctx, n)
}

// Yield gives away the places of the work that is done with a context, until resume is
// called, which waits for as many again. Resume must be called, and has got them even when
// the context has ended. Where several goroutines of one work yield, the one that resumes last
// waits for the places. For work without a place, or which has given it away, Yield does nothing.
func Yield(ctx context.Context) (resume func()) {
	p, ok := ctx.Value(placeKey{}).(*taken)
	if !ok {
		return func() {}
	}
	p.yield()
	return func() {
		if p.resumed() {
			return
		}
		defer stopwatch.In(ctx, stopwatch.Queue)()
		// Work whose context has ended does little more than return: it may pass.
		p.regain(context.WithoutCancel(ctx))
	}
}

func (p *taken) yield() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away++
	p.release()
}

// leave ends the work.
func (p *taken) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	p.release()
}

// release returns the places, if the work has them. The caller has the lock.
func (p *taken) release() {
	if p.has {
		p.has = false
		p.free.Release(p.width)
	}
}

// resumed counts the end of a Yield. It reports whether the places need not be waited for.
func (p *taken) resumed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away--
	return !p.wanted()
}

// wanted reports whether the work lacks places that it needs. The caller has the lock.
func (p *taken) wanted() bool { return p.away == 0 && !p.has && !p.left }

// regain waits until the work has its places again, or another of its goroutines has given them
// away: that one waits for them in its turn. One goroutine asks for them, the others wait for it.
func (p *taken) regain(ctx context.Context) {
	for {
		p.mu.Lock()
		wanted, back := p.wanted(), p.back
		first := wanted && back == nil
		if first {
			p.back = make(chan struct{})
		}
		p.mu.Unlock()
		switch {
		case !wanted:
			return
		case !first:
			<-back
			continue
		}
		_ = p.free.Acquire(ctx, p.width) // for as long as it takes: the context does not end
		p.regained()
	}
}

// regained notes that the places are there. They go back where they are not needed any more.
func (p *taken) regained() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.back)
	p.has, p.back = true, nil
	if p.away > 0 || p.left {
		p.release()
	}
}
