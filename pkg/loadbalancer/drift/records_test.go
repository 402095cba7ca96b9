package drift_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
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

// ensured has the Service look as after a change of ours.
func (f *fixture) ensured() {
	now := time.Now()
	f.cloud.seen.UpdatedAt = now
	f.change(func(a *state.Applied) {
		a.Seen = state.Seen{UpdatedAt: now, OperatingStatus: "ONLINE", Since: now}
		a.Persisted = state.Persisted{}
	})
}

func (f *fixture) fingerprint() string {
	confirmed := *f.applied()
	return confirmed.Fingerprint(uid).String()
}

// address is what is written into the annotations of the Service.
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

func TestPersistRecords_WritesAddressSoonAndFingerprintOnceConfirmed(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.ensured()
		written := f.records(nil)
		f.advance(state.ConfirmAfter - time.Nanosecond)
		f.assertWritten(*written)
		f.advance(time.Second)
		f.assertWritten(*written, address())
		f.advance(time.Minute)
		f.assertRecorded()
		f.watch()
		f.advance(time.Minute)
		f.assertReads("settings")
		f.assertWritten(*written, address())
		f.assertRecorded(f.fingerprint())
	})
}

func TestPersistRecords_ConfirmsByItselfWhereDriftIsNotWatched(t *testing.T) {
	t.Parallel()
	run(t, 0, func(f *fixture) {
		f.ensured()
		written := f.records(nil)
		f.advance(state.ConfirmAfter + time.Second)
		f.assertWritten(*written, address())
		f.advance(time.Hour)
		f.assertRecorded(f.fingerprint())
		if f.assertReads("settings"); len(f.cloud.looks) != 1 {
			t.Errorf("%d snapshots, want 1", len(f.cloud.looks))
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
		if len(f.cloud.looks) != 2 || !f.applied().Seen.Confirmed {
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
		if f.assertReads("settings", "settings"); !f.applied().Seen.Confirmed {
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
		f.assertRecorded(f.fingerprint()) // which does not wait for that
	})
}

// Else the next process would send the Service the same warning again.
func TestPersistRecords_RecordsTheWarningsThatTheServiceWasSent(t *testing.T) {
	t.Parallel()
	run(t, interval, func(f *fixture) {
		f.records(nil)
		f.store.Warn(uid, "nodes", "no address")
		f.advance(time.Minute)
		f.assertRecorded(f.fingerprint() + " " + f.store.Warnings(uid))
		f.store.Warn(uid, "nodes", "no address")
		f.advance(time.Minute)
		f.store.Warn(uid, "nodes", "")
		f.advance(time.Minute)
		if len(f.cloud.recorded) != 2 || f.cloud.recorded[1] != f.fingerprint() {
			t.Errorf("recorded %q", f.cloud.recorded)
		}
	})
}

// What is only reported is not what the Service asks for: the next process has to find it.
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
