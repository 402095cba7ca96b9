package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// newRecord is the ConfigMap with these keys and values.
func newRecord(data map[string]string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: ScopeRecord}, Data: data}
}

// newFixture returns the guard of a process in project b of RegionOne.
func newFixture(objects ...runtime.Object) (*Guard, *fake.Clientset, *record.FakeRecorder, *clocktesting.FakeClock) {
	client, events, now := fake.NewClientset(objects...), record.NewFakeRecorder(100), clocktesting.NewFakeClock(time.Now())
	return NewGuard(client.CoreV1().ConfigMaps(metav1.NamespaceSystem), Controller{}, func() Scope { return Scope{"b", "RegionOne"} }, events, now),
		client, events, now
}

func recorded(t *testing.T, client *fake.Clientset) map[string]string {
	t.Helper()
	stored, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), ScopeRecord, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return stored.Data
}

func TestGuard_RecordsAndComparesProjectAndRegion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored  map[string]string // nil: no record
		allowed bool
	}{
		"the first start":               {nil, true},
		"an empty record":               {map[string]string{}, true},
		"the same":                      {map[string]string{"project": "b", "region": "RegionOne"}, true},
		"project confirmed by its key":  {map[string]string{"region": "RegionOne"}, true},
		"region confirmed by its key":   {map[string]string{"project": "b"}, true},
		"keys of the operator's own":    {map[string]string{"project": "b", "region": "RegionOne", "note": "x"}, true},
		"another project":               {map[string]string{"project": "a", "region": "RegionOne"}, false},
		"another region":                {map[string]string{"project": "b", "region": "RegionTwo"}, false},
		"another region, no project":    {map[string]string{"region": "RegionTwo"}, false},
		"before, there was no region":   {map[string]string{"project": "b", "region": ""}, false},
		"a project in different spaces": {map[string]string{"project": "B", "region": "RegionOne"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []runtime.Object
			if test.stored != nil {
				objects = append(objects, newRecord(test.stored))
			}
			guard, client, events, _ := newFixture(objects...)
			err := guard.Check(t.Context())
			if test.allowed != (err == nil) || !test.allowed && !errors.Is(err, ErrMoved) {
				t.Fatalf("allowed: %v", err)
			}
			after := recorded(t, client)
			if test.allowed {
				if after["project"] != "b" || after["region"] != "RegionOne" || after["note"] != test.stored["note"] {
					t.Errorf("written is %v", after)
				}
				requests := len(client.Actions())
				if err := guard.Check(t.Context()); err != nil || len(client.Actions()) != requests {
					t.Errorf("asked again: %v, %d requests", err, len(client.Actions())-requests)
				}
				return
			}
			if len(after) != len(test.stored) {
				t.Errorf("the record became %v", after)
			}
			event := <-events.Events
			for _, value := range append(mapValues(test.stored), "b", "RegionOne", string(reason.CloudChanged), "delete configmap") {
				if !strings.Contains(event, value) {
					t.Errorf("event %q lacks %q", event, value)
				}
			}
		})
	}
}

func mapValues(m map[string]string) []string {
	var values []string
	for _, value := range m {
		values = append(values, value)
	}
	return values
}

func TestGuard_PermitsAnotherScopeOnceTheRecordIsDeleted(t *testing.T) {
	t.Parallel()
	guard, client, events, now := newFixture(newRecord(map[string]string{"project": "a", "region": "RegionOne"}))
	for range 3 {
		if err := guard.Check(t.Context()); !errors.Is(err, ErrMoved) {
			t.Fatalf("got %v", err)
		}
	}
	if gets := len(client.Actions()); gets != 1 || len(events.Events) != 1 {
		t.Errorf("%d requests and %d events within a moment, want one of each", gets, len(events.Events))
	}
	if err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(t.Context(), ScopeRecord, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	now.Step(confirmationPeriod)
	if err := guard.Check(t.Context()); err != nil {
		t.Errorf("confirmed: %v", err)
	}
	if got := recorded(t, client); got["project"] != "b" {
		t.Errorf("written is %v", got)
	}
}

// The role of cloud-provider-openstack has no right for the ConfigMap.
func TestGuard_HoldsUpNothingWithoutTheRightToKeepTheRecord(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"get", "create", "update"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			var objects []runtime.Object
			if verb == "update" {
				objects = append(objects, newRecord(nil))
			}
			guard, client, events, now := newFixture(objects...)
			client.PrependReactor(verb, "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(v1.Resource("configmaps"), ScopeRecord, nil)
			})
			if err := guard.Check(t.Context()); err != nil {
				t.Error(err)
			}
			if len(events.Events) != 0 {
				t.Errorf("event %q", <-events.Events)
			}
			guard.current = func() Scope { return Scope{"c", "RegionOne"} } // new credentials were read
			now.Step(time.Hour)
			if err := guard.Check(t.Context()); !errors.Is(err, ErrMoved) {
				t.Errorf("another project in the same process: %v", err)
			}
		})
	}
}

func TestGuard_PermitsNothingWhileTheRecordCannotBeRead(t *testing.T) {
	t.Parallel()
	guard, client, _, _ := newFixture(newRecord(map[string]string{"project": "a", "region": "RegionOne"}))
	failing := true
	client.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		return failing, nil, apierrors.NewInternalError(errors.New("etcd is away"))
	})
	if err := guard.Check(t.Context()); err == nil || errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
	failing = false
	if err := guard.Check(t.Context()); !errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
}

// Each controller of a cluster has its own Scope, and the confirmation of a move of one keeps the
// records of the others.
func TestGuard_KeepsControllersApart(t *testing.T) {
	t.Parallel()
	both := map[string]string{"project": "a", "region": "RegionOne", "project.ccm-two": "b", "region.ccm-two": "RegionTwo"}
	for name, test := range map[string]struct {
		controller string
		scope      Scope
		refused    string // with the remedy
	}{
		"the only one":              {"", Scope{"a", "RegionOne"}, ""},
		"the second":                {"ccm-two", Scope{"b", "RegionTwo"}, ""},
		"a third":                   {"ccm-three", Scope{"c", "RegionThree"}, ""},
		"a region with odd letters": {"région 4/öst", Scope{"c", "région 4/öst"}, ""},
		"the second has moved": {"ccm-two", Scope{"b", "RegionOne"},
			`patch configmap openstack-cloud --type=merge --patch='{"data":{"project.ccm-two":"b","region.ccm-two":"RegionOne"}}'`},
		"the first has moved": {"", Scope{"b", "RegionTwo"},
			`patch configmap openstack-cloud --type=merge --patch='{"data":{"project":"b","region":"RegionTwo"}}'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, events := fake.NewClientset(newRecord(both)), record.NewFakeRecorder(100)
			guard := NewGuard(client.CoreV1().ConfigMaps(metav1.NamespaceSystem), Controller{test.controller, true}, func() Scope { return test.scope }, events, clocktesting.NewFakeClock(time.Now()))
			err := guard.Check(t.Context())
			if test.refused == "" && err != nil || test.refused != "" && (!errors.Is(err, ErrMoved) || !strings.HasSuffix(err.Error(), test.refused)) {
				t.Errorf("got %v", err)
			}
			after := recorded(t, client)
			for key, value := range both {
				if after[key] != value {
					t.Errorf("%s became %q", key, after[key])
				}
			}
			for key := range after {
				if noKey.MatchString(key) {
					t.Errorf("%q is no key of a ConfigMap", key)
				}
			}
		})
	}
}

// The name of a controller is that of its lease. If it changes, and the new one has no record, the
// Scope of the cluster is that of the others; only a further region may have its own controller.
func TestGuard_NoticesAnotherProjectWhereTheControllerHasAnotherName(t *testing.T) {
	t.Parallel()
	only := map[string]string{"project": "a", "region": "RegionOne"}
	named := map[string]string{"project.occm": "a", "region.occm": "RegionOne"}
	both := map[string]string{"project": "a", "region": "RegionOne", "project.ccm-two": "b", "region.ccm-two": "RegionTwo"}
	for name, test := range map[string]struct {
		stored     map[string]string
		controller Controller
		scope      Scope
		before     string // in a refusal
	}{
		"it gets a name":                           {only, Controller{Name: "occm"}, Scope{"a", "RegionOne"}, ""},
		"it gets a name, and another project":      {only, Controller{Name: "occm"}, Scope{"b", "RegionOne"}, "project a"},
		"it gets a name, and another region":       {only, Controller{Name: "occm"}, Scope{"a", "RegionTwo"}, `"RegionOne"`},
		"it loses its name":                        {named, Controller{}, Scope{"a", "RegionOne"}, ""},
		"it loses its name, and another project":   {named, Controller{}, Scope{"b", "RegionOne"}, "project a"},
		"it gets another name and another project": {named, Controller{Name: "ccm"}, Scope{"b", "RegionOne"}, "project a"},
		"a further region":                         {only, Controller{"ccm-two", true}, Scope{"a", "RegionTwo"}, ""},
		"a further region of another project":      {only, Controller{"ccm-two", true}, Scope{"b", "RegionTwo"}, ""},
		"another project in a region that is had":  {only, Controller{"ccm-two", true}, Scope{"b", "RegionOne"}, "project a"},
		"the first after the second":               {map[string]string{"project.ccm-two": "b", "region.ccm-two": "RegionTwo"}, Controller{"", true}, Scope{"a", "RegionOne"}, ""},
		"another name for one of two":              {both, Controller{"ccm-2", true}, Scope{"b", "RegionTwo"}, ""},
		"another name and project for one of two":  {both, Controller{"ccm-2", true}, Scope{"a", "RegionTwo"}, "project b"},
		"a region is confirmed for the first":      {map[string]string{"project": "a"}, Controller{Name: "occm"}, Scope{"a", "RegionTwo"}, ""},
		"keys of the operator's own":               {map[string]string{"note": "x"}, Controller{Name: "occm"}, Scope{"b", "RegionOne"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, events, now := fake.NewClientset(newRecord(test.stored)), record.NewFakeRecorder(100), clocktesting.NewFakeClock(time.Now())
			guard := NewGuard(client.CoreV1().ConfigMaps(metav1.NamespaceSystem), test.controller, func() Scope { return test.scope }, events, now)
			err := guard.Check(t.Context())
			if test.before == "" {
				after := recorded(t, client)
				if err != nil || keysOf(test.controller.Name).scope(newRecord(after)) != test.scope {
					t.Errorf("%v, recorded is %v", err, after)
				}
				return
			}
			if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "the cluster is in") || !strings.Contains(err.Error(), test.before) || len(recorded(t, client)) != len(test.stored) {
				t.Fatalf("%v, recorded is %v", err, recorded(t, client))
			}
			confirm(t, client, err.Error())
			now.Step(confirmationPeriod)
			if err := guard.Check(t.Context()); err != nil {
				t.Errorf("confirmed: %v", err)
			}
			again := NewGuard(client.CoreV1().ConfigMaps(metav1.NamespaceSystem), test.controller, func() Scope { return Scope{"c", "RegionOne"} }, events, now)
			if err := again.Check(t.Context()); !errors.Is(err, ErrMoved) {
				t.Errorf("a restart in a third project: %v", err)
			}
		})
	}
}

// confirm applies the patch in the command at the end of an error.
func confirm(t *testing.T, client *fake.Clientset, text string) {
	t.Helper()
	_, patch, found := strings.Cut(text, " patch configmap openstack-cloud --type=merge --patch='")
	if !found {
		t.Fatalf("%q names no command", text)
	}
	patch = strings.ReplaceAll(strings.TrimSuffix(patch, "'"), `'\''`, "'")
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Patch(t.Context(), ScopeRecord, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// A preview does not know its controller.
func TestCompare_PermitsTheScopeOfAnyController(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored  map[string]string
		scope   Scope
		allowed bool
	}{
		"nothing is recorded":  {nil, Scope{"a", "RegionOne"}, true},
		"no keys":              {map[string]string{"note": "x"}, Scope{"a", "RegionOne"}, true},
		"the only one's":       {map[string]string{"project": "a", "region": "RegionOne"}, Scope{"a", "RegionOne"}, true},
		"not the only one's":   {map[string]string{"project": "a", "region": "RegionOne"}, Scope{"a", "RegionTwo"}, false},
		"the second's":         {map[string]string{"project": "a", "region": "RegionOne", "project.x": "b", "region.x": "RegionTwo"}, Scope{"b", "RegionTwo"}, true},
		"of neither":           {map[string]string{"project": "a", "region": "RegionOne", "project.x": "b", "region.x": "RegionTwo"}, Scope{"a", "RegionTwo"}, false},
		"a key was taken away": {map[string]string{"region": "RegionOne"}, Scope{"b", "RegionOne"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			if test.stored != nil {
				client = fake.NewClientset(newRecord(test.stored))
			}
			err := CompareScope(t.Context(), client.CoreV1().ConfigMaps(metav1.NamespaceSystem), test.scope)
			if test.allowed != (err == nil) || !test.allowed && !errors.Is(err, ErrMoved) {
				t.Errorf("got %v", err)
			}
		})
	}
}
