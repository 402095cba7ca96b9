package records_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
)

// in returns n UIDs that the given ConfigMap has the records of.
func in(shard uint32, n int) (uids []types.UID) {
	for i := 0; len(uids) < n; i++ {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(uid(i)))
		if hash.Sum32()%4 == shard {
			uids = append(uids, uid(i))
		}
	}
	return uids
}

// stored returns the ConfigMap of the first shard, or another.
func (f *fixture) stored(shard int) *v1.ConfigMap {
	f.t.Helper()
	found, err := f.maps().Get(f.t.Context(), records.Names()[shard], metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

// Later releases, and operators with the documentation, find the records by these names.
func TestConfigMaps_FindRecordsByNameAndHash(t *testing.T) {
	t.Parallel()
	want := []string{"openstack-load-balancers-0", "openstack-load-balancers-1", "openstack-load-balancers-2", "openstack-load-balancers-3"}
	if got := records.Names(); !slices.Equal(got, want) {
		t.Fatalf("names %q, want %q", got, want)
	}
	run(t, func(f *fixture) {
		p := f.start()
		for shard := range 4 {
			service := in(uint32(shard), 1)[0]
			p.Set(service, "text")
			time.Sleep(time.Hour)
			f.assertWrites(1)
			if data := f.stored(shard).Data; len(data) != 1 || data["load-balancers"] != string(service)+" text\n" {
				t.Errorf("ConfigMap %d has %q", shard, data)
			}
		}
	})
}

// The first write of a process that has read the records is one update.
func TestConfigMaps_UpdateWhatWasLoaded(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		first := f.start()
		first.Set(uid(1), "one")
		time.Sleep(time.Hour)
		first.stop()
		f.writes()
		next := f.start()
		next.Set(uid(1), "two")
		time.Sleep(time.Hour)
		f.assertWrites(1)
		assertRecord(t, f.start(), uid(1), "two")
	})
}

func TestConfigMaps_WriteRecordAndRemovalOfOnePeriodTogether(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		both := in(2, 2)
		p := f.start()
		p.Set(both[0], "one")
		p.Set(both[1], "one")
		time.Sleep(time.Hour)
		f.writes()
		f.live.Store(&map[types.UID]bool{both[1]: true})
		p.Set(both[1], "two")
		time.Sleep(time.Hour)
		f.assertWrites(1)
		if data := f.stored(2).Data["load-balancers"]; data != string(both[1])+" two\n" {
			t.Errorf("recorded is %q", data)
		}
	})
}

func TestConfigMaps_HoldExactlyWhatTheLimitAllows(t *testing.T) {
	t.Parallel()
	const limit = 768 << 10
	for name, test := range map[string]struct {
		more int // bytes than fit
		want []int
	}{
		"all":              {0, []int{0, 1, 2}},
		"all but the last": {1, []int{0, 1}},
		"all but a long":   {1000, []int{0, 2}},
	} {
		run(t, func(f *fixture) {
			services := in(1, 3)
			slices.Sort(services) // the order in which they are written
			texts := []string{"first", "", "last"}
			texts[1] = strings.Repeat("x", limit+test.more-3*(len(services[0])+2)-len(texts[0])-len(texts[2]))
			p := f.start()
			for i, text := range texts {
				p.Set(services[i], text)
			}
			time.Sleep(time.Hour)
			var want string
			for _, i := range test.want {
				want += string(services[i]) + " " + texts[i] + "\n"
			}
			if data := f.stored(1).Data["load-balancers"]; data != want {
				t.Errorf("%s: %d records in %d bytes", name, strings.Count(data, "\n"), len(data))
			}
			// The operator reads why a restart takes longer than before.
			var missing []any
			for _, line := range f.log.Take() {
				missing = append(missing, line["notRecorded"])
			}
			if left := 3 - len(test.want); left == 0 && len(missing) > 0 || left > 0 && fmt.Sprint(missing) != fmt.Sprint([]any{left}) {
				t.Errorf("%s: reported as not recorded are %v", name, missing)
			}
		})
	}
}

func TestConfigMaps_WriteTheOthersWhereOneFails(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		var broken atomic.Bool
		broken.Store(true)
		f.client.PrependReactor("create", "configmaps", func(action k8stesting.Action) (bool, runtime.Object, error) {
			name := action.(k8stesting.CreateAction).GetObject().(*v1.ConfigMap).Name
			return broken.Load() && name == records.Names()[1], nil, errors.New("it is too busy")
		})
		p := f.start()
		for shard := range 4 {
			p.Set(in(uint32(shard), 1)[0], "text")
		}
		time.Sleep(records.WritePeriod + time.Second)
		next := f.start()
		for shard := range 4 {
			want := "text"
			if shard == 1 {
				want = ""
			}
			assertRecord(t, next, in(uint32(shard), 1)[0], want)
		}
		broken.Store(false)
		f.writes()
		time.Sleep(records.WritePeriod)
		f.assertWrites(1)
		assertRecord(t, f.start(), in(1, 1)[0], "text")
	})
}

// conflict returns the error of a write that another client has overtaken.
func conflict() error {
	return apierrors.NewConflict(v1.Resource("configmaps"), "it", errors.New("changed"))
}

func TestConfigMaps_WriteLaterIfTheReadAfterAConflictFails(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		p.Set(uid(1), "one")
		time.Sleep(time.Hour)
		f.fail(func(verb string) error {
			if verb == "update" {
				return conflict()
			}
			return errors.New("connection refused")
		})
		p.Set(uid(1), "two")
		time.Sleep(records.WritePeriod + time.Minute)
		f.fail(nil)
		assertRecord(t, f.start(), uid(1), "one")
		time.Sleep(records.WritePeriod)
		assertRecord(t, f.start(), uid(1), "two")
	})
}

// After a conflict the ConfigMap has the labels and the version of the other client.
func TestConfigMaps_KeepMetadataThatCausedAConflict(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		service := in(0, 1)[0]
		p := f.start()
		p.Set(service, "one")
		time.Sleep(time.Hour)
		theirs := f.stored(0)
		theirs.Labels, theirs.ManagedFields = map[string]string{"backup": "daily"}, []metav1.ManagedFieldsEntry{{Manager: "theirs"}}
		theirs.BinaryData = map[string][]byte{"theirs": {1}}
		if _, err := f.maps().Update(t.Context(), theirs, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		conflicts := 1
		f.fail(func(verb string) error {
			if verb == "update" && conflicts > 0 {
				conflicts--
				return conflict()
			}
			return nil
		})
		f.client.ClearActions()
		p.Set(service, "two")
		time.Sleep(time.Hour)
		var last *v1.ConfigMap
		for _, action := range f.client.Actions() {
			if update, is := action.(k8stesting.UpdateAction); is {
				last = update.GetObject().(*v1.ConfigMap)
			}
		}
		if last == nil || last.Labels["backup"] != "daily" || len(last.ManagedFields)+len(last.BinaryData) > 0 || last.Data["load-balancers"] != string(service)+" two\n" {
			t.Errorf("written is %+v", last)
		}
	})
}

// Another process, which is not the leader any more, can create a ConfigMap meanwhile.
func TestConfigMaps_OverwriteOneThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		service := in(3, 1)[0]
		p := f.start()
		theirs := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: records.Names()[3]}, Data: map[string]string{"load-balancers": "theirs one\n"}}
		if err := f.client.Tracker().Add(theirs); err != nil {
			t.Fatal(err)
		}
		p.Set(service, "text")
		time.Sleep(records.WritePeriod + time.Second)
		if data := f.stored(3).Data["load-balancers"]; data != string(service)+" text\n" {
			t.Errorf("it has %q", data)
		}
	})
}

func TestConfigMaps_WriteNothingOnceAnUpdateIsForbidden(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		p := f.start()
		p.Set(uid(1), "one")
		time.Sleep(time.Hour)
		f.fail(func(verb string) error {
			if verb != "update" {
				return nil
			}
			return apierrors.NewForbidden(v1.Resource("configmaps"), "it", errors.New("no"))
		})
		f.writes()
		for _, text := range []string{"two", "three"} {
			p.Set(uid(1), text)
			time.Sleep(time.Hour)
		}
		f.assertWrites(1)
	})
}

func TestLoad_WaitsForTheAPIServerAndLosesNoRecord(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		first := f.start()
		first.Set(uid(1), "text")
		first.stop()
		f.fail(func(string) error { return errors.New("connection refused") })
		f.client.ClearActions()
		time.AfterFunc(time.Minute, func() { f.fail(nil) })
		began := time.Now()
		next := f.start()
		assertRecord(t, next, uid(1), "text")
		if took, tries := time.Since(began), len(f.client.Actions()); took < time.Minute || took > 2*time.Minute || tries > 20 {
			t.Errorf("it has taken %s and %d requests", took, tries)
		}
	})
}

func TestLoad_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		f.fail(func(string) error { return errors.New("connection refused") })
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
		defer cancel()
		err := records.New(f.maps(), clock.RealClock{}).Load(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), records.Names()[0]) {
			t.Errorf("error %v", err)
		}
	})
}

// Other clients can write a ConfigMap, so that any line can be in it.
func TestLoad_ReadsLinesOfTwoWordsOrMore(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		for shard, name := range records.Names() {
			service := in(uint32(shard), 1)[0]
			data := "\n" + string(service) + " first text\nalone\n  \n" + string(service) + " last text \n"
			stored := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}, Data: map[string]string{"load-balancers": data}}
			if err := f.client.Tracker().Add(stored); err != nil {
				t.Fatal(err)
			}
		}
		p := f.start()
		for shard := range uint32(4) {
			assertRecord(t, p, in(shard, 1)[0], "last text")
			p.Set(in(shard, 2)[1], "text")
		}
		time.Sleep(time.Hour)
		for shard := range 4 {
			if n := strings.Count(f.stored(shard).Data["load-balancers"], "\n"); n != 2 {
				t.Errorf("ConfigMap %d has %d records", shard, n)
			}
		}
	})
}
