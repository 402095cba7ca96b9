package async

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
)

// ErrClosed tells that no work is taken any more, because the process ends.
var ErrClosed = errors.New("the controller is shutting down")

// Behavior is what Actors do with requests.
type Behavior[Req, Res any] struct {
	// Serve does what a request asks for. Its context ends with Close, and when the
	// only caller that waits for the result is gone, and it was not detached.
	Serve func(context.Context, Req) (Res, error)
	// Merge makes one request of a queued one, which has not begun, and a later one. It
	// is false where the later one needs a turn of its own.
	Merge func(queued, later Req) (merged Req, ok bool)
	// Joins reports whether what is being served answers a later request as well.
	Joins func(serving, later Req) bool
	// Detached is called at the end of a request that was detached, unless a caller has joined it
	// since; nil: nothing is. Left has the result then, unless another caller has waited for it.
	Detached func(Req)
}

// Actors serve requests by key: those of one key one after the other, in the order in
// which they came; those of different keys at the same time. A key takes memory only
// while it has work, or a result that nobody has heard of yet. Methods may be called
// from many goroutines.
type Actors[Req, Res any] struct {
	behavior Behavior[Req, Res]

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	lines  map[string][]*Task[Req, Res] // the first is being served
	left   map[string]*Task[Req, Res]   // ended while nobody waited
}

// Task is a request on its way. A nil error of Submit gives one.
type Task[Req, Res any] struct {
	actors *Actors[Req, Res]
	key    string
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed at the end; then result and err are set
	result Res
	err    error

	// Under the lock of actors:
	request  Req
	waiting  int
	detached bool // Behavior.Detached is to be called
}

// NewActors returns Actors without work.
func NewActors[Req, Res any](behavior Behavior[Req, Res]) *Actors[Req, Res] {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	return &Actors[Req, Res]{
		behavior: behavior, ctx: ctx, cancel: cancel,
		lines: map[string][]*Task[Req, Res]{}, left: map[string]*Task[Req, Res]{},
	}
}

// Submit queues a request of a key, or joins it to one that is on its way, and returns
// at once. The caller must Wait for the task. Of the context the work gets the values,
// not the end. The error is ErrClosed.
func (a *Actors[Req, Res]) Submit(ctx context.Context, key string, request Req) (*Task[Req, Res], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	task := a.join(key, request)
	if task == nil {
		task = &Task[Req, Res]{actors: a, key: key, request: request, done: make(chan struct{})}
		task.ctx, task.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // run calls it when the task is done
		a.lines[key] = append(a.lines[key], task)
		if len(a.lines[key]) == 1 {
			a.running.Add(1)
			go a.run(key)
		}
	}
	task.waiting++
	return task, nil
}

// join returns the task of a key that serves a request too; nil: there is none.
func (a *Actors[Req, Res]) join(key string, request Req) *Task[Req, Res] {
	line := a.lines[key]
	switch len(line) {
	case 0:
		return nil
	case 1:
		if line[0].ctx.Err() == nil && a.behavior.Joins(line[0].request, request) {
			line[0].detached = false // this caller has the result, or detaches it too
			return line[0]
		}
		return nil
	}
	last := line[len(line)-1]
	merged, ok := a.behavior.Merge(last.request, request)
	if !ok {
		return nil
	}
	last.request = merged
	return last
}

// run serves the line of a key until it is empty.
func (a *Actors[Req, Res]) run(key string) {
	defer a.running.Done()
	growStack()
	for task := a.first(key); task != nil; {
		untie := context.AfterFunc(a.ctx, task.cancel)
		task.result, task.err = a.behavior.Serve(task.ctx, task.Request())
		untie()
		task.cancel()
		ended := task
		task = a.next(ended) // nobody can go back from the one that has ended
		if ended.detached && a.behavior.Detached != nil && a.ctx.Err() == nil {
			a.behavior.Detached(ended.request)
		}
	}
}

// growStack gives a goroutine the stack that a round takes at once. Its stack would grow in steps, each of
// which copies and adjusts all that is on it: a twelfth of the CPU time of a restart.
//
//go:noinline
func growStack() byte {
	var room [20 << 10]byte // the stack is the next power of two
	return room[len(os.Args)%len(room)]
}

func (a *Actors[Req, Res]) first(key string) *Task[Req, Res] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if line := a.lines[key]; len(line) > 0 {
		return line[0]
	}
	return nil
}

// next ends a task, and gives the one behind it.
func (a *Actors[Req, Res]) next(ended *Task[Req, Res]) *Task[Req, Res] {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.left, ended.key)
	if ended.waiting == 0 {
		a.left[ended.key] = ended
	}
	close(ended.done)
	line := slices.Delete(a.lines[ended.key], 0, 1)
	if len(line) == 0 {
		delete(a.lines, ended.key)
		return nil
	}
	a.lines[ended.key] = line
	return line[0]
}

// Busy reports whether a key has work.
func (a *Actors[Req, Res]) Busy(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.lines[key]) > 0
}

// Unclaimed reports whether a key has a result, or will have one, that no caller waits for, nor
// Behavior.Detached announces.
func (a *Actors[Req, Res]) Unclaimed(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	unclaimed := func(t *Task[Req, Res]) bool { return t.waiting == 0 && !t.detached }
	left := a.left[key]
	return left != nil && unclaimed(left) || slices.ContainsFunc(a.lines[key], unclaimed)
}

// Behind reports whether such a request waits for the end of the one of a key that is being served.
func (a *Actors[Req, Res]) Behind(key string, such func(Req) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	line := a.lines[key]
	return len(line) > 1 && slices.ContainsFunc(line[1:], func(t *Task[Req, Res]) bool { return such(t.request) })
}

// Left takes the result of a key's last task that ended while nobody waited for it. It
// is given once, and false where there is none.
func (a *Actors[Req, Res]) Left(key string) (request Req, result Res, err error, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	task, ok := a.left[key]
	if !ok {
		return request, result, nil, false
	}
	delete(a.left, key)
	return task.request, task.result, task.err, true
}

// Size returns the number of keys with work, and with a result that nobody has heard of.
func (a *Actors[Req, Res]) Size() (working, left int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.lines), len(a.left)
}

// Close ends all work and waits for its end.
func (a *Actors[Req, Res]) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	a.running.Wait()
}

// Wait waits for the end of a task, and gives its result. Once back is closed it waits
// no longer: ended is false, the work goes on by itself, and Left has the result. When
// the context ends, so does the work, unless another caller waits for it. Wait must be
// called once for each Submit.
func (t *Task[Req, Res]) Wait(ctx context.Context, back <-chan struct{}) (result Res, ended bool, err error) {
	select {
	case <-t.done:
	case <-ctx.Done():
		if !t.abandon() {
			return result, true, ctx.Err()
		}
		<-t.done // it ends with its context
	case <-back:
		if t.leave() {
			return result, false, nil
		}
		<-t.done
	}
	return t.result, true, t.err
}

// Request returns what the task was asked for, with whatever was merged into it.
func (t *Task[Req, Res]) Request() Req {
	t.actors.mu.Lock()
	defer t.actors.mu.Unlock()
	return t.request
}

// leave lets a task go on by itself. It is false when it has ended.
func (t *Task[Req, Res]) leave() bool { return t.unlessEnded(func() { t.waiting-- }) }

// Detach has Behavior.Detached called at the end of a task, for a caller that has gone back from its
// Wait. It is false when it has ended: Left has the result.
func (t *Task[Req, Res]) Detach() bool { return t.unlessEnded(func() { t.detached = true }) }

// unlessEnded changes a task under the lock. It is false, and changes nothing, when it has ended.
func (t *Task[Req, Res]) unlessEnded(change func()) bool {
	t.actors.mu.Lock()
	defer t.actors.mu.Unlock()
	select {
	case <-t.done:
		return false
	default:
		change()
		return true
	}
}

// abandon ends a task that no other caller waits for, or has detached. It is false when one does
// or has, or when the task had not begun and is dropped.
func (t *Task[Req, Res]) abandon() bool {
	a := t.actors
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.waiting > 1 || t.detached {
		t.waiting--
		return false
	}
	t.cancel()
	if i := slices.Index(a.lines[t.key], t); i > 0 {
		a.lines[t.key] = slices.Delete(a.lines[t.key], i, i+1)
		return false
	}
	return true
}
