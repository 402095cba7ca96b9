package records_test

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

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loglines"
)

// process is a process that keeps records until it is stopped.
type process struct {
	*records.ConfigMaps
	stop func()
}

// fixture is an API server, in a bubble of testing/synctest.
type fixture struct {
	t      *testing.T
	client *fake.Clientset
	// log is that of the last process.
	log *loglines.Log
	// live are the Services that there are, nil when that is not known.
	live atomic.Pointer[map[types.UID]bool]
	// fails, when set, returns the error of a request.
	fails atomic.Pointer[func(verb string) error]
}

// fail has requests fail as long as the function returns an error; nil: none does.
func (f *fixture) fail(with func(verb string) error) { f.fails.Store(&with) }

func run(t *testing.T, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, client: fake.NewClientset()}
		f.client.PrependReactor("*", "configmaps", func(action k8stesting.Action) (bool, runtime.Object, error) {
			if with := f.fails.Load(); with != nil && *with != nil {
				err := (*with)(action.GetVerb())
				return err != nil, nil, err
			}
			return false, nil, nil
		})
		test(f)
	})
}

func (f *fixture) maps() corev1.ConfigMapInterface {
	return f.client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
}

// start starts a process, which is stopped at the end of the test at the latest.
func (f *fixture) start() *process {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	ctx, f.log = loglines.At(ctx, 2)
	p := &process{ConfigMaps: records.New(f.maps(), clock.RealClock{})}
	if err := p.Load(ctx); err != nil {
		f.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		p.Run(ctx, func() map[types.UID]bool {
			if live := f.live.Load(); live != nil {
				return *live
			}
			return nil
		})
	})
	p.stop = func() {
		cancel()
		running.Wait()
	}
	f.t.Cleanup(p.stop)
	return p
}

// writes returns how many writes there were since the last call.
func (f *fixture) writes() int {
	n := 0
	for _, action := range f.client.Actions() {
		if verb := action.GetVerb(); verb != "get" {
			n++
		}
	}
	f.client.ClearActions()
	return n
}

func (f *fixture) assertWrites(want int) {
	f.t.Helper()
	if got := f.writes(); got != want {
		f.t.Errorf("%d writes, want %d", got, want)
	}
}

func assertRecord(t *testing.T, p *process, service types.UID, want string) {
	t.Helper()
	if got := p.Get(service); got != want {
		t.Errorf("recorded of %s is %q, want %q", service, got, want)
	}
}

// text is as long as the record of a Service with a floating IP.
func text(service types.UID, at int) string {
	return fmt.Sprintf("7d1f1b1e-3f0c-4a54-9f4b-0a4a6c9d8e7f 2026-11-20T18:34:%02dZ 0123456789abcdef0123456789abcdef %s "+
		"6a0ce0d8-3d3f-4b0e-8a55-0f6d7c1b2a39 0123456789abcdef0123456789abcdef v2", at, service)
}

func uid(i int) types.UID { return types.UID(fmt.Sprintf("5a1c0f6e-0a66-4b0e-9c4d-%012d", i)) }

func TestConfigMaps_WriteFiveThousandRecordsAtOnceAndLazily(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		for round := range 2 {
			for i := range 5000 {
				p.Set(uid(i), text(uid(i), round))
			}
			time.Sleep(records.WritePeriod - time.Second)
			f.assertWrites(0)
			time.Sleep(time.Minute)
			f.assertWrites(len(records.Names()))
			for i := range 5000 {
				p.Set(uid(i), text(uid(i), round)) // which changes nothing
			}
			time.Sleep(time.Hour)
			f.assertWrites(0)
		}
		for _, name := range records.Names() {
			stored, err := f.maps().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if size := len(stored.Data["load-balancers"]); size > 512<<10 || size < 100<<10 {
				t.Errorf("%s has %d bytes", name, size)
			}
		}
		next := f.start()
		for i := range 5000 {
			assertRecord(t, next, uid(i), text(uid(i), 1))
		}
	})
}

func TestConfigMaps_WriteOnlyWhatHasChanged(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		for i := range 100 {
			p.Set(uid(i), text(uid(i), 0))
		}
		time.Sleep(time.Hour)
		f.writes()
		p.Set(uid(7), text(uid(7), 1))
		time.Sleep(time.Hour)
		f.assertWrites(1)
		assertRecord(t, f.start(), uid(7), text(uid(7), 1))
	})
}

// The lease is given back when that is done, so that the next leader reads it.
func TestConfigMaps_WriteOnceMoreAtTheEnd(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		p.Set("uid", text("uid", 0))
		p.stop()
		f.assertWrites(1)
		assertRecord(t, f.start(), "uid", text("uid", 0))
	})
}

func TestConfigMaps_DropTheRecordsOfServicesThatAreGone(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		p.Set("gone", text("gone", 0))
		p.Set("stays", text("stays", 0))
		time.Sleep(time.Hour)
		assertRecord(t, p, "gone", text("gone", 0)) // who is gone is not known yet
		f.live.Store(&map[types.UID]bool{"stays": true})
		p.Set("stays", text("stays", 1))
		time.Sleep(time.Hour)
		next := f.start()
		assertRecord(t, next, "gone", "")
		assertRecord(t, next, "stays", text("stays", 1))
	})
}

func TestConfigMaps_RecordAgainWhenTheyAreLost(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		first := f.start()
		first.Set("uid", text("uid", 0))
		time.Sleep(time.Hour)
		next := f.start()
		assertRecord(t, next, "uid", text("uid", 0))
		for _, name := range records.Names() {
			_ = f.maps().Delete(t.Context(), name, metav1.DeleteOptions{}) // not all are there
		}
		assertRecord(t, f.start(), "uid", "")
		next.Set("uid", text("uid", 1))
		time.Sleep(time.Hour) // which makes it again
		assertRecord(t, f.start(), "uid", text("uid", 1))
	})
}

func TestConfigMaps_OverwriteWhatAnotherClientHasWritten(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		p.Set("uid", text("uid", 0))
		time.Sleep(time.Hour)
		var updates atomic.Int32
		f.fail(func(verb string) error {
			if verb != "update" || updates.Add(1) > 1 {
				return nil
			}
			return apierrors.NewConflict(v1.Resource("configmaps"), "it", errors.New("changed"))
		})
		p.Set("uid", text("uid", 1))
		for updates.Load() == 0 {
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second) // not only when it is time to write again
		assertRecord(t, f.start(), "uid", text("uid", 1))
		if n := updates.Load(); n != 2 {
			t.Errorf("%d updates, want 2", n)
		}
	})
}

func TestConfigMaps_KeepTheMetadataThatOthersHaveWritten(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		p.Set("uid", text("uid", 0))
		time.Sleep(time.Hour)
		list := func() []v1.ConfigMap {
			found, err := f.maps().List(t.Context(), metav1.ListOptions{})
			if err != nil || len(found.Items) == 0 {
				t.Fatalf("%d ConfigMaps: %v", len(found.Items), err)
			}
			return found.Items
		}
		for _, stored := range list() {
			stored.Labels = map[string]string{"backup": "daily"}
			if _, err := f.maps().Update(t.Context(), &stored, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		f.start().Set("uid", text("uid", 1))
		time.Sleep(time.Hour)
		assertRecord(t, f.start(), "uid", text("uid", 1))
		for _, stored := range list() {
			if stored.Labels["backup"] != "daily" {
				t.Errorf("%s has lost a label", stored.Name)
			}
		}
	})
}

func TestConfigMaps_RetryWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		away := func(string) error { return errors.New("connection refused") }
		f.fail(away)
		time.AfterFunc(time.Minute, func() { f.fail(nil) })
		p := f.start()
		f.fail(away)
		p.Set("uid", text("uid", 0))
		time.Sleep(records.WritePeriod + time.Minute)
		f.fail(nil)
		time.Sleep(records.WritePeriod)
		assertRecord(t, f.start(), "uid", text("uid", 0))
	})
}

func TestConfigMaps_AreDoneWithoutTheRightToKeepThem(t *testing.T) {
	t.Parallel()
	for _, forbidden := range []string{"get", "create"} {
		run(t, func(f *fixture) {
			f.fail(func(verb string) error {
				if verb != forbidden {
					return nil
				}
				return apierrors.NewForbidden(v1.Resource("configmaps"), "it", errors.New("no"))
			})
			p := f.start()
			p.Set("uid", text("uid", 0))
			assertRecord(t, p, "uid", text("uid", 0))
			time.Sleep(time.Hour)
			f.client.ClearActions()
			p.Set("uid", text("uid", 1))
			time.Sleep(time.Hour)
			f.assertWrites(0)
		})
	}
}

func TestConfigMaps_HoldNoMoreThanTheAPIServerTakes(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		long := strings.Repeat("x", 100<<10)
		for i := range 100 {
			p.Set(uid(i), long)
		}
		time.Sleep(time.Hour)
		total := 0
		for _, name := range records.Names() {
			stored, err := f.maps().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			size := len(stored.Data["load-balancers"])
			if total += size; size > 768<<10 {
				t.Errorf("%s has %d bytes", name, size)
			}
		}
		if total < 2<<20 {
			t.Errorf("only %d bytes are recorded", total)
		}
	})
}

// The contents of a ConfigMap affect only records.
func FuzzConfigMaps(f *testing.F) {
	f.Add("uid ID 2026-11-20T18:34:24Z digest uid - - v2\n")
	f.Add("\n \n\x00 \xff\nuid")
	f.Fuzz(func(t *testing.T, data string) {
		client := fake.NewClientset()
		for _, name := range records.Names() {
			stored := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}, Data: map[string]string{"load-balancers": data}}
			if err := client.Tracker().Add(stored); err != nil {
				t.Fatal(err)
			}
		}
		all := records.New(client.CoreV1().ConfigMaps(metav1.NamespaceSystem), clock.RealClock{})
		if err := all.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := all.Get("uid"); strings.Contains(got, "\n") {
			t.Errorf("%q", got)
		}
	})
}
