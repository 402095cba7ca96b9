package drift_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// records runs PersistRecords until the end of the test, and returns what it writes.
func (f *fixture) records(fail func() error) *[]annotation.Record {
	var written []annotation.Record
	f.background(func(ctx context.Context) {
		f.detector.PersistRecords(ctx, func(_ context.Context, service types.NamespacedName, of types.UID, record annotation.Record) error {
			f.cloud.after()
			if service != web() || of != uid {
				f.t.Errorf("written on %s %s", service, of)
			}
			if fail != nil {
				if err := fail(); err != nil {
					return err
				}
			}
			written = append(written, record)
			return nil
		})
	})
	return &written
}

// ensured gives the Service the state after a change of ours.
func (f *fixture) ensured() {
	now := time.Now()
	f.cloud.seen.UpdatedAt = now
	f.change(func(a *state.Applied) {
		a.Confirmed, a.Seen = false, state.Seen{UpdatedAt: now, OperatingStatus: "ONLINE", Since: now}
		a.Persisted = state.Persisted{}
	})
}

func (f *fixture) record() string {
	confirmed := *f.applied()
	return confirmed.Record(uid).String()
}

// address is the record in the annotations of the Service.
func address() annotation.Record {
	return annotation.Record{Service: uid, LoadBalancerID: "lb", Address: "192.0.2.1"}
}

func (f *fixture) assertRecorded(want ...string) {
	f.t.Helper()
	if !slices.Equal(f.cloud.recorded, want) {
		f.t.Errorf("recorded %q, want %q", f.cloud.recorded, want)
	}
}

func (f *fixture) assertWritten(got []annotation.Record, want ...annotation.Record) {
	f.t.Helper()
	if !slices.Equal(got, want) {
		f.t.Errorf("written %+v, want %+v", got, want)
	}
}

func TestPersistRecords_WritesAddressSoonAndRecordOnceConfirmed(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.ensured()
		written := f.records(nil)
		f.advance(state.ConfirmAfter - time.Nanosecond)
		f.assertWritten(*written)
		f.advance(5 * time.Second)
		f.assertWritten(*written, address())
		f.advance(time.Minute)
		f.assertRecorded()
		f.watch()
		f.advance(time.Minute)
		f.assertReads("settings")
		f.assertWritten(*written, address())
		f.assertRecorded(f.record())
	})
}

// The annotations of a Service that has left its load balancer for provider router do not name it any more.
func TestPersistRecords_RemovesLoadBalancerThatServiceHasLeft(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.store.Update(uid, func(e *state.Entry) {
			e.SetRouted(&state.Routed{Service: web(), LoadBalancer: &model.LoadBalancer{ID: "port"}, Since: time.Now()})
		})
		failures := 1
		f.brought.Store(true)
		written := f.records(func() error {
			if failures--; failures >= 0 {
				return errors.New("conflict")
			}
			return nil
		})
		f.advance(time.Minute)
		f.assertWritten(*written)
		f.brought.Store(false)
		f.advance(10 * time.Second)
		f.assertWritten(*written, annotation.Record{Service: uid, Left: true})
		if !f.store.Get(uid).Routed.Unnamed || failures >= 0 {
			f.t.Error("it is not recorded, or has not failed before")
		}
		f.advance(time.Minute)
		f.assertWritten((*written)[1:])
	})
}

// A creation is one write for conditions and annotations, however long that write waits for its
// turn.
func TestPersistRecords_LeavesAddressToWriteThatBringsItAnyway(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.ensured()
		f.brought.Store(true)
		written := f.records(nil)
		f.advance(time.Minute)
		f.assertWritten(*written)
		f.brought.Store(false)
		f.advance(5 * time.Second)
		f.assertWritten(*written, address())
	})
}

func TestPersistRecords_ConfirmsByItselfWhereDriftIsNotWatched(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.ensured()
		written := f.records(nil)
		f.advance(state.ConfirmAfter + 5*time.Second)
		f.assertWritten(*written, address())
		f.advance(time.Hour)
		f.assertRecorded(f.record())
		if f.assertReads("settings"); len(f.cloud.looks) != 1 {
			t.Errorf("%d snapshots, want 1", len(f.cloud.looks))
		}
	})
}

func TestPersistRecords_SweepsWhatIsRetainedWhereDriftIsNotWatched(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.store.Retained.Add(web(), "gone")
		f.advance(time.Second)
		f.ensured()
		f.records(nil)
		f.advance(time.Minute)
		if left := f.store.Retained.IDs(web()); len(left) > 0 {
			t.Errorf("%v are still looked for", left)
		}
	})
}

func TestPersistRecords_DropsWhatAnotherClientHasChangedWhereDriftIsNotWatched(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.ensured()
		foreignListener(f)
		written := f.records(nil)
		f.advance(time.Hour)
		f.assertWritten(*written)
		f.assertRecorded()
		if f.applied() != nil || len(f.cloud.looks) != 1 {
			t.Errorf("known is %+v, after %d snapshots", f.applied(), len(f.cloud.looks))
		}
		f.assertDrift("")
	})
}

func TestPersistRecords_WaitsAMinuteAfterASnapshotThatFails(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.ensured()
		f.cloud.lookErr = errors.New("broken")
		f.records(nil)
		f.advance(time.Minute)
		if len(f.cloud.looks) != 1 {
			t.Errorf("%d snapshots within a minute, want 1", len(f.cloud.looks))
		}
		f.cloud.lookErr = nil
		f.advance(10 * time.Second)
		if len(f.cloud.looks) != 2 || !f.applied().Confirmed {
			t.Errorf("%d snapshots, known is %+v", len(f.cloud.looks), f.applied())
		}
	})
}

func TestPersistRecords_WaitsAMinuteAfterAReadThatFails(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.ensured()
		failingReads(f)
		f.records(nil)
		f.advance(time.Minute)
		f.assertReads("settings")
		f.cloud.readErr = nil
		f.advance(10 * time.Second)
		if f.assertReads("settings", "settings"); !f.applied().Confirmed {
			t.Errorf("known is %+v", f.applied())
		}
	})
}

func TestPersistRecords_RetriesWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.change(func(a *state.Applied) { a.Persisted = state.Persisted{} })
		failures := 3
		written := f.records(func() error {
			if failures--; failures >= 0 {
				return errors.New("conflict")
			}
			return nil
		})
		f.advance(3 * time.Second)
		f.assertWritten(*written)
		f.advance(time.Minute)
		f.assertWritten(*written, address())
		f.assertRecorded(f.record()) // which does not wait for that
	})
}

// Otherwise the next process would send the Service the same warning again.
func TestPersistRecords_RecordsTheWarningsThatTheServiceWasSent(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.records(nil)
		f.store.Update(uid, func(e *state.Entry) { e.Warn("nodes", "no address") })
		f.advance(time.Minute)
		f.assertRecorded(f.record() + " " + f.store.Get(uid).Warnings.String())
		f.store.Update(uid, func(e *state.Entry) { e.Warn("nodes", "no address") })
		f.advance(time.Minute)
		f.store.Update(uid, func(e *state.Entry) { e.Warn("nodes", "") })
		f.advance(time.Minute)
		if len(f.cloud.recorded) != 2 || f.cloud.recorded[1] != f.record() {
			t.Errorf("recorded %q", f.cloud.recorded)
		}
	})
}

// A state with reported drift is not the desired one: the next process must find it.
func TestPersistRecords_WritesNothingOfDriftThatIsOnlyReported(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.change(func(a *state.Applied) {
			a.Persisted, a.Reported = state.Persisted{}, map[string]bool{"a step": true}
		})
		written := f.records(nil)
		f.advance(time.Hour)
		f.assertWritten(*written)
		f.assertRecorded()
	})
}

// end runs PersistRecords to its end at once, and returns its records.
func (f *fixture) end() (recorded []string) {
	ctx, cancel := context.WithCancel(f.t.Context())
	cancel()
	before := len(f.cloud.recorded)
	f.cloud.mu.Unlock()
	f.detector.PersistRecords(ctx, func(context.Context, types.NamespacedName, types.UID, annotation.Record) error {
		f.t.Error("it writes annotations")
		return nil
	})
	f.cloud.mu.Lock()
	return f.cloud.recorded[before:]
}

func TestPersistRecords_RecordsAtItsEndWhatNothingHasConfirmed(t *testing.T) {
	t.Parallel()
	unconfirmed := func(f *fixture) { f.ensured() }
	for name, test := range map[string]struct {
		given    []func(*fixture)
		recorded bool
	}{
		"changed just now":          {given(unconfirmed), true},
		"of the process before":     {given(restored), true},
		"without any contents":      {given(unconfirmed, noContents), false},
		"changed by another client": {given(unconfirmed, byOthers), false},
		"read in brief":             {given(unconfirmed, func(f *fixture) { f.change(func(a *state.Applied) { a.Depth = model.Settings }) }), false},
		"on another's":              {given(unconfirmed, func(f *fixture) { f.change(func(a *state.Applied) { a.LoadBalancer.Shared = &model.Shared{} }) }), false},
		"drift is only reported": {given(unconfirmed, func(f *fixture) {
			f.change(func(a *state.Applied) { a.Reported = map[string]bool{"a step": true} })
		}), false},
		"refused":       {given(unconfirmed, func(f *fixture) { f.store.Update(uid, func(e *state.Entry) { e.Refusal.Refuse("quota", false) }) }), false},
		"being changed": {given(unconfirmed, func(f *fixture) { f.busy[string(uid)] = true }), false},
		"the ID of a part is not known": {given(unconfirmed, func(f *fixture) {
			f.withContents(func(lb *model.LoadBalancer) {
				lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.Map(func(i int, m model.Member) model.Member {
					if i == 1 {
						m.ID = ""
					}
					return m
				})
			})
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, interval, func(f *fixture) {
				for _, change := range test.given {
					change(f)
				}
				f.store.Update(uid, func(e *state.Entry) { e.Warn("nodes", "no address") })
				recorded := f.end()
				if len(recorded) == 0 && !test.recorded {
					return
				}
				if len(recorded) != 1 || !test.recorded {
					t.Fatalf("recorded %q", recorded)
				}
				want := f.applied().Record(uid)
				want.Warnings = f.store.Get(uid).Warnings.String()
				got, ok := state.ParseRecord(recorded[0])
				if want.Parts = got.Parts; !ok || got.Parts == "" || recorded[0] != want.String() {
					t.Errorf("recorded %q, want %q with its parts", recorded[0], want)
				}
			})
		})
	}
}

// If a process ends between a confirmation and the next search for due records, the next process
// need not read.
func TestPersistRecords_RecordsAtItsEndWhatWasConfirmedSinceItLooked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(*state.Applied)
		recorded bool
	}{
		"not recorded":           {func(a *state.Applied) { a.Persisted.Record = false }, true},
		"recorded":               {func(a *state.Applied) { a.Persisted.Record = true }, false},
		"drift is only reported": {func(a *state.Applied) { a.Persisted.Record, a.Reported = false, map[string]bool{"a step": true} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, interval, func(f *fixture) {
				f.change(func(a *state.Applied) { a.Confirmed = true; test.change(a) })
				var want []string
				if test.recorded {
					want = append(want, f.record())
				}
				if got := f.end(); !slices.Equal(got, want) {
					t.Errorf("recorded %q, want %q", got, want)
				}
			})
		})
	}
}
