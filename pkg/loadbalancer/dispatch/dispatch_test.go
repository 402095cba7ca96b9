package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// versions records nothing: every Service is the newest.
type versions struct{}

func (versions) Advance(types.UID, string) bool { return true }

func service(version string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: version},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
	}
}

func request(operation dispatch.Operation, version string) dispatch.Request {
	return dispatch.Request{Operation: operation, Service: service(version)}
}

// step is a Round.
type step func(ctx context.Context) (*v1.LoadBalancerStatus, error)

func (s step) Step(ctx context.Context) (*v1.LoadBalancerStatus, error) { return s(ctx) }

// start returns a Dispatcher with rounds of one kind.
func start(t *testing.T, round func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error), change func(*dispatch.Options)) *dispatch.Dispatcher {
	t.Helper()
	options := dispatch.Options{
		Clock: clock.RealClock{}, Timeout: time.Hour, Hold: time.Hour, Served: versions{},
		Begin: func(ctx context.Context, r dispatch.Request) (context.Context, dispatch.Round) {
			return ctx, step(func(ctx context.Context) (*v1.LoadBalancerStatus, error) { return round(ctx, r) })
		},
	}
	if change != nil {
		change(&options)
	}
	d := dispatch.New(options)
	t.Cleanup(d.Close)
	return d
}

// stage has rounds that wait until they are released.
type stage struct {
	*dispatch.Dispatcher

	mu     sync.Mutex
	steps  map[types.UID]int
	rounds []string
	ended  []types.UID
	// waits are those of rounds; once let is set, rounds do not wait.
	waits []*async.Future[error]
	let   bool
	// failure is the result of rounds that wait for nothing.
	failure error
}

// newStage returns a stage, in a bubble.
func newStage(t *testing.T, change func(*dispatch.Options)) *stage {
	t.Helper()
	s := &stage{steps: map[types.UID]int{}}
	s.Dispatcher = start(t, s.round, change)
	return s
}

func (s *stage) round(ctx context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
	s.mu.Lock()
	s.steps[r.Service.UID]++
	s.mu.Unlock()
	result, err := async.Await(ctx, telemetry.Octavia, "let", s.wait)
	if err != nil {
		if !async.IsWaiting(err) {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds = append(s.rounds, fmt.Sprint(r.Operation, " ", r.Service.ResourceVersion))
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}}, result
}

func (s *stage) wait() *async.Future[error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := async.NewFuture[error](nil)
	if s.let {
		f.Resolve(s.failure, nil)
	}
	s.waits = append(s.waits, f)
	return f
}

// release ends the waits of rounds with a result.
func (s *stage) release(result error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.let = true
	for _, f := range s.waits {
		f.Resolve(result, nil)
	}
}

// fail lets all rounds go with an error.
func (s *stage) fail(err error) {
	s.mu.Lock()
	s.failure = err
	s.mu.Unlock()
	s.release(err)
}

func TestCall_BeginsWithTheNewestState(t *testing.T) {
	t.Parallel()
	var seen string
	d := start(t, func(_ context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
		seen = r.Service.ResourceVersion
		return &v1.LoadBalancerStatus{}, nil
	}, func(o *dispatch.Options) {
		o.Newest = func(*v1.Service) (*v1.Service, []*v1.Node) { return service("7"), []*v1.Node{{}} }
	})
	if _, err := d.Call(t.Context(), request(dispatch.Ensure, "3")); err != nil {
		t.Fatal(err)
	}
	if seen != "7" {
		t.Errorf("began with version %s", seen)
	}
}

func unexpected(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) {
	return nil, errors.New("reconciled")
}

func TestCall_DoesNothingForAServiceThatWantsNoLoadBalancer(t *testing.T) {
	t.Parallel()
	d := start(t, unexpected, nil)
	svc := service("3")
	svc.Spec.Type = v1.ServiceTypeClusterIP
	if _, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: svc}); err != nil {
		t.Error(err)
	}
}

func TestWait_DoesNothingForRepairOfServiceThatIsGone(t *testing.T) {
	t.Parallel()
	d := start(t, unexpected, func(o *dispatch.Options) {
		o.Newest = func(*v1.Service) (*v1.Service, []*v1.Node) { return nil, nil }
	})
	for _, nodes := range [][]*v1.Node{nil, {{}}} {
		repair := request(dispatch.Repair, "3")
		repair.Nodes = nodes
		if _, err := d.Wait(t.Context(), repair); err != nil {
			t.Error(err)
		}
	}
}

func TestCall_ReturnsErrorOfRound(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	d := start(t, func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) { return nil, failed }, nil)
	if _, err := d.Call(t.Context(), request(dispatch.Ensure, "3")); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}

// The next call fetches the result of a round that continued; Options.Ended triggers that call.
func TestCall_ReturnsResultOfRoundThatHasGoneOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operation   dispatch.Operation
		old, polled bool
		result      error
		again       time.Duration // of the RetryError; 0: none
	}{
		"a new Service":              {operation: dispatch.Ensure},
		"a new one that fails":       {operation: dispatch.Ensure, result: errors.New("failed")},
		"an existing one":            {operation: dispatch.Ensure, old: true, again: 5 * time.Minute},
		"a deletion":                 {operation: dispatch.Delete, again: 5 * time.Minute},
		"a deletion that fails":      {operation: dispatch.Delete, result: errors.New("failed"), again: 5 * time.Minute},
		"without calls at their end": {operation: dispatch.Ensure, polled: true, again: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s *stage
				s = newStage(t, func(o *dispatch.Options) {
					o.Hold = time.Minute
					if !test.polled {
						o.New = func(*v1.Service) bool { return !test.old }
						o.Ended = func(svc *v1.Service) { s.ended = append(s.ended, svc.UID) }
					}
				})
				_, err := s.Call(t.Context(), request(test.operation, "3"))
				var again *api.RetryError
				if errors.As(err, &again) != (test.again > 0) || errors.Is(err, dispatch.ErrInProgress) == (test.again > 0) {
					t.Fatalf("error %v", err)
				}
				if test.again > 0 && (again.RetryAfter() != test.again || !strings.Contains(err.Error(), "which goes on by itself")) {
					t.Errorf("error %v, again after %s", err, again.RetryAfter())
				}
				s.release(test.result)
				synctest.Wait()
				if called := len(s.ended) == 1; called == test.polled {
					t.Errorf("Ended was called for %v", s.ended)
				}
				if working, unfetched := s.Size(); working != 0 || unfetched != 1 {
					t.Errorf("%d working, %d unfetched", working, unfetched)
				}
				if status, err := s.Call(t.Context(), request(test.operation, "3")); !errors.Is(err, test.result) || len(status.Ingress) != 1 {
					t.Errorf("the next call has %v, %v", status, err)
				}
				if len(s.rounds) != 1 {
					t.Errorf("rounds %v", s.rounds)
				}
			})
		})
	}
}

// A call that joins a round returns its result, so that no other call is needed.
func TestCall_JoinsRoundThatAnswersItToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *stage
		s = newStage(t, func(o *dispatch.Options) {
			o.Hold = time.Minute
			o.New = func(*v1.Service) bool { return true }
			o.Ended = func(svc *v1.Service) { s.ended = append(s.ended, svc.UID) }
			o.Written = func(_, now *v1.Service) bool { return now.Annotations["written"] != "" }
		})
		if _, err := s.Call(t.Context(), request(dispatch.Ensure, "3")); !errors.Is(err, dispatch.ErrInProgress) {
			t.Fatal(err)
		}
		written := service("4")
		written.Annotations = map[string]string{"written": "yes"}
		results := make(chan error, 1)
		go func() {
			_, err := s.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: written})
			results <- err
		}()
		synctest.Wait()
		s.release(nil)
		if err := <-results; err != nil || len(s.rounds) != 1 {
			t.Errorf("error %v, rounds %v", err, s.rounds)
		}
		synctest.Wait()
		if len(s.ended) > 0 {
			t.Error("another call is asked for")
		}
	})
}

func TestCall_InCrowdReturnsResultOfRoundThatDoesNotWait(t *testing.T) {
	t.Parallel()
	ready := &v1.LoadBalancerStatus{}
	d := start(t, func(context.Context, dispatch.Request) (*v1.LoadBalancerStatus, error) { return ready, nil },
		func(o *dispatch.Options) { o.Workers = 1 })
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			r := request(dispatch.Ensure, "3")
			r.Service.UID = types.UID(fmt.Sprint(i))
			for range 50 {
				if status, err := d.Call(t.Context(), r); status != ready || err != nil {
					t.Errorf("status %v, error %v", status, err)
				}
			}
		})
	}
	calls.Wait()
}

// In a crowd, calls return as soon as their rounds wait.
//
//proves:73
func TestCall_DoesNotWaitInCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(o *dispatch.Options) { o.Workers = 3 })
		returned := make(chan int, 3)
		for i := range 3 {
			go func() {
				r := request(dispatch.Ensure, "3")
				r.Service.UID = types.UID(fmt.Sprint(i))
				_, _ = s.Call(t.Context(), r)
				returned <- i
			}()
			synctest.Wait()
		}
		if len(returned) != 1 || <-returned != 2 {
			t.Errorf("%d calls more have returned, want the third only", len(returned))
		}
		s.release(nil)
		synctest.Wait()
		if len(returned) != 2 {
			t.Errorf("%d of the others have returned", len(returned))
		}
	})
}

// Requests for one Service are served in sequence; those that come meanwhile are merged, except for
// deletions.
func TestDispatcher_MergesRequestsThatWaitForTheSameTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil)
		var work sync.WaitGroup
		for _, r := range []dispatch.Request{
			request(dispatch.Ensure, "1"), request(dispatch.Repair, "2"), request(dispatch.Ensure, "3"), request(dispatch.Repair, "4"),
			request(dispatch.Delete, "5"), request(dispatch.Delete, "6"),
		} {
			work.Go(func() {
				if _, err := s.Wait(t.Context(), r); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		s.release(nil)
		work.Wait()
		if got, want := fmt.Sprint(s.rounds), "[ensure 1 ensure 4 delete 6]"; got != want {
			t.Errorf("rounds %s, want %s", got, want)
		}
		if s.Busy("u") {
			t.Error("there is work left")
		}
	})
}

func TestDeleted_ReportsADeletionThatSucceededOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		operation dispatch.Operation
		err       error
		deleted   bool
	}{{dispatch.Delete, nil, true}, {dispatch.Delete, errors.New("failed"), false}, {dispatch.Ensure, nil, false}} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, func(o *dispatch.Options) { o.Hold = 0 })
			if _, err := s.Call(t.Context(), request(test.operation, "3")); err == nil {
				t.Fatal("the call has waited")
			}
			synctest.Wait()
			s.release(test.err)
			synctest.Wait()
			if s.Deleted("another") || s.Deleted("u") != test.deleted || s.Deleted("u") {
				t.Errorf("%s with error %v: reported otherwise, or twice", test.operation, test.err)
			}
			if test.err == nil {
				return
			}
			if _, err := s.Call(t.Context(), request(test.operation, "3")); !errors.Is(err, test.err) || len(s.rounds) != 1 {
				t.Errorf("the next call has the error %v after rounds %v, want that of the only one", err, s.rounds)
			}
		})
	}
}

// No call fetches the result of a Service that is gone.
func TestForget_DropsResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(o *dispatch.Options) { o.Hold = 0 })
		if _, err := s.Call(t.Context(), request(dispatch.Delete, "3")); err == nil {
			t.Fatal("the call has waited")
		}
		s.release(errors.New("failed"))
		synctest.Wait()
		s.Forget("u")
		if _, unfetched := s.Size(); unfetched != 0 {
			t.Errorf("%d results are kept", unfetched)
		}
	})
}

// The next call gets the result of a round if its own call has not waited, also if a repair gets it too: the
// call would begin another round else, at once after one that has failed.
func TestCall_HasResultOfRoundThatServesARepairToo(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]bool{"its call has gone": true, "another call waits": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s *stage
				s = newStage(t, func(o *dispatch.Options) {
					o.Hold = time.Minute
					o.New = func(*v1.Service) bool { return false }
					o.Ended = func(svc *v1.Service) { s.ended = append(s.ended, svc.UID) }
				})
				failed := errors.New("failed")
				repair := func() {
					if err := s.Submit(t.Context(), request(dispatch.Repair, "3"), func(*v1.LoadBalancerStatus, error) {}); err != nil {
						t.Error(err)
					}
				}
				repair()
				synctest.Wait() // the first one waits in the cloud
				repair()
				var later *api.RetryError
				if _, err := s.Call(t.Context(), request(dispatch.Ensure, "3")); !errors.As(err, &later) {
					t.Fatal(err)
				}
				results := make(chan error, 1)
				if !returns {
					go func() {
						_, err := s.Call(t.Context(), request(dispatch.Ensure, "3"))
						results <- err
					}()
					synctest.Wait()
				}
				s.fail(failed)
				synctest.Wait()
				if returns {
					if len(s.ended) != 1 {
						t.Errorf("calls are asked for %d times", len(s.ended))
					}
					_, err := s.Call(t.Context(), request(dispatch.Ensure, "3"))
					results <- err
				} else if len(s.ended) > 0 {
					t.Error("another call is asked for")
				}
				if err := <-results; !errors.Is(err, failed) || len(s.rounds) != 2 {
					t.Errorf("error %v after rounds %v", err, s.rounds)
				}
				if _, unfetched := s.Size(); unfetched != 0 {
					t.Errorf("%d results are kept", unfetched)
				}
			})
		})
	}
}

// If a caller's context ends, its round ends too, unless another caller waits for it.
func TestWait_EndsRoundOfTheLastCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil)
		ended := make(chan string, 3)
		wait := func(name string, r dispatch.Request) (leave func()) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_, err := s.Wait(ctx, r)
				ended <- fmt.Sprint(name, ": ", err)
			}()
			synctest.Wait()
			return cancel
		}
		first, second := wait("first", request(dispatch.Ensure, "3")), wait("second", request(dispatch.Ensure, "3"))
		queued := wait("queued", request(dispatch.Delete, "3"))
		for name, leave := range map[string]func(){"first": first, "queued": queued} {
			leave()
			if got, want := <-ended, name+": context canceled"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if !s.Busy("u") {
			t.Fatal("the round of another caller has ended")
		}
		second()
		<-ended
		synctest.Wait()
		if s.Busy("u") || len(s.rounds) > 0 {
			t.Errorf("the round goes on, or has come to its end: %v", s.rounds)
		}
	})
}

// A round does a step when it begins, and one when its wait ends, however many rounds wait.
func TestDispatcher_StepsOnlyWhenWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 300
		s := newStage(t, nil)
		results := make(chan error, many)
		for i := range many {
			r := request(dispatch.Repair, "3")
			r.Service.UID = types.UID(fmt.Sprint(i))
			if err := s.Submit(t.Context(), r, func(_ *v1.LoadBalancerStatus, err error) { results <- err }); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for uid, steps := range s.steps {
			if steps != 1 {
				t.Fatalf("%d steps of %s while it waits", steps, uid)
			}
		}
		s.release(nil)
		synctest.Wait()
		for uid, steps := range s.steps {
			if steps != 2 {
				t.Fatalf("%d steps of %s", steps, uid)
			}
		}
		if len(results) != many {
			t.Errorf("%d of %d rounds have ended", len(results), many)
		}
	})
}

func TestRound_EndsWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(o *dispatch.Options) { o.Timeout = time.Minute })
		began := time.Now()
		if _, err := s.Wait(t.Context(), request(dispatch.Ensure, "3")); !errors.Is(err, dispatch.ErrTimeout) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("ended after %s", took)
		}
	})
}

// turn returns a stage with a round that waits for its turn, not for the cloud.
func turn(t *testing.T) (*dispatch.Dispatcher, *async.Future[error], chan error) {
	t.Helper()
	f := async.NewFuture[error](nil)
	d := start(t, func(ctx context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
		if r.Operation != dispatch.Ensure {
			return nil, nil //nolint:nilnil // a deletion has neither status nor error
		}
		_, err := async.Await(ctx, telemetry.Queue, "turn", func() *async.Future[error] { return f })
		if err != nil && !async.IsWaiting(err) {
			err = context.Cause(ctx)
		}
		return nil, err
	}, func(o *dispatch.Options) { o.Timeout = time.Minute })
	ended := make(chan error, 1)
	go func() {
		_, err := d.Wait(t.Context(), request(dispatch.Ensure, "3"))
		ended <- err
	}()
	time.Sleep(time.Hour)
	return d, f, ended
}

func TestRound_GoesOnWhileItWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, f, ended := turn(t)
		go func() { _, _ = d.Wait(t.Context(), request(dispatch.Repair, "3")) }() // a change of nodes
		time.Sleep(time.Hour)
		f.Resolve(nil, nil)
		if err := <-ended; err != nil {
			t.Errorf("error %v", err)
		}
	})
}

func TestRound_ThatWaitsForItsTurnEndsWhereServiceIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, _, ended := turn(t)
		time.Sleep(time.Second) // the limit was checked before
		began := time.Now()
		if _, err := d.Wait(t.Context(), request(dispatch.Delete, "4")); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the deletion has waited for another %s", took)
		}
		if err := <-ended; !errors.Is(err, dispatch.ErrTimeout) {
			t.Errorf("error %v", err)
		}
	})
}

// counted is a clock that counts its readings.
type counted struct {
	clock.RealClock
	readings atomic.Int64
}

func (c *counted) Now() time.Time {
	c.readings.Add(1)
	return c.RealClock.Now()
}

// A round that has used nearly all of its time waits for its turn.
func TestRound_ChecksItsTimeSeldomWhileItWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clk, worked := &counted{}, false
		d := start(t, func(ctx context.Context, _ dispatch.Request) (*v1.LoadBalancerStatus, error) {
			if !worked {
				worked = true
				time.Sleep(time.Minute - time.Millisecond)
			}
			_, err := async.Await(ctx, telemetry.Queue, "turn", func() *async.Future[error] { return async.NewFuture[error](nil) })
			return nil, err
		}, func(o *dispatch.Options) { o.Timeout, o.Clock = time.Minute, clk })
		go func() { _, _ = d.Wait(t.Context(), request(dispatch.Ensure, "3")) }()
		time.Sleep(time.Minute)
		before := clk.readings.Load()
		time.Sleep(10 * time.Second)
		if n := clk.readings.Load() - before; n > 100 {
			t.Errorf("it has read the clock %d times in ten seconds", n)
		}
	})
}

func TestClose_EndsRoundsAndRefusesRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil)
		results := make(chan error, 2)
		for _, operation := range []dispatch.Operation{dispatch.Ensure, dispatch.Delete} {
			go func() {
				_, err := s.Wait(t.Context(), request(operation, "3"))
				results <- err
			}()
			synctest.Wait()
		}
		s.Close()
		for range 2 {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		}
		if _, err := s.Wait(t.Context(), request(dispatch.Ensure, "3")); !errors.Is(err, dispatch.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}
