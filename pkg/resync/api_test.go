package resync

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// recording returns an engine with a record for the Service.
func recording(s *v1.Service) *fakeEngine {
	return &fakeEngine{records: map[types.NamespacedName]types.UID{cluster.Key(s): s.UID}}
}

func (f *fixture) assertWritten() {
	f.t.Helper()
	if written := f.engine.written; len(written) != 1 || written[0] != nil {
		f.t.Errorf("writing the record gave %v", written)
	}
}

func TestWriteRecord_IsOnePatch(t *testing.T) {
	t.Parallel()
	web := newService("web")
	run(t, recording(web), objects(web), func(f *fixture) {
		f.assertWritten()
		if diff := cmp.Diff(map[string]string{
			annotation.WrittenFor: "lb uid-web", annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9",
		}, f.service("web").Annotations); diff != "" {
			t.Error(diff)
		}
		patches := 0
		for _, action := range f.client.Actions() {
			if action.GetVerb() == "patch" {
				patches++
			}
		}
		if patches != 1 {
			t.Errorf("%d patches, want 1", patches)
		}
	})
}

func TestWriteRecord_KeepsLoadBalancerThatTheServiceNamesByNow(t *testing.T) {
	t.Parallel()
	web := newService("web")
	web.Annotations = map[string]string{annotation.LoadBalancerID: "another"}
	run(t, recording(web), objects(web), func(f *fixture) {
		f.assertWritten()
		if got := f.service("web").Annotations[annotation.LoadBalancerID]; got != "another" {
			t.Errorf("the Service names %q now", got)
		}
	})
}

func TestWriteRecord_RemovesLoadBalancerThatTheServiceHasLeft(t *testing.T) {
	t.Parallel()
	web := newService("web")
	web.Annotations = map[string]string{annotation.LoadBalancerID: "lb", annotation.WrittenFor: "lb uid-web", annotation.LoadBalancerAddress: "203.0.113.9", "other": "a"}
	run(t, &fakeEngine{}, objects(web), func(f *fixture) {
		if err := f.controller.api.writeRecord(f.t.Context(), cluster.Key(web), web.UID, annotation.Record{Service: web.UID, Left: true}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"other": "a"}, f.service("web").Annotations); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWriteRecord_IsNoErrorWithoutTheRightToPatchServices(t *testing.T) {
	t.Parallel()
	web := newService("web")
	run(t, &fakeEngine{}, objects(web), func(f *fixture) {
		f.client.PrependReactor("patch", "services", func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource("services"), "web", errors.New("no"))
		})
		if err := f.controller.api.writeRecord(f.t.Context(), cluster.Key(web), web.UID, annotation.Record{Address: "203.0.113.9"}); err != nil {
			t.Errorf("error %v", err)
		}
	})
}

func TestWriteRecord_IsNoErrorOnceTheServiceIsGone(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(), func(f *fixture) {
		if err := f.controller.api.writeRecord(f.t.Context(), cluster.Key(newService("gone")), "uid-gone", annotation.Record{Address: "203.0.113.9"}); err != nil {
			t.Errorf("error %v", err)
		}
	})
}

// A record neither overwrites a change that the informer has not delivered yet, nor reaches another
// Service of the same name.
func TestWriteRecord_HoldsOnlyForTheServiceAsItIsKnown(t *testing.T) {
	t.Parallel()
	web := newService("web")
	web.ResourceVersion = "7"
	run(t, &fakeEngine{}, objects(web), func(f *fixture) {
		var patch map[string]map[string]any
		f.client.PrependReactor("patch", "services", func(a k8stesting.Action) (bool, runtime.Object, error) {
			if err := json.Unmarshal(a.(k8stesting.PatchAction).GetPatch(), &patch); err != nil {
				return true, nil, err
			}
			return true, nil, apierrors.NewConflict(v1.Resource("services"), "web", errors.New("changed"))
		})
		err := f.controller.api.writeRecord(f.t.Context(), cluster.Key(web), web.UID, annotation.Record{Address: "203.0.113.9"})
		if !apierrors.IsConflict(err) {
			t.Errorf("error %v, want a conflict: it is to be tried again", err)
		}
		if m := patch["metadata"]; m["uid"] != string(web.UID) || m["resourceVersion"] != "7" {
			t.Errorf("the patch holds for %v", m)
		}
	})
}

func TestPublishRefused_OnlyReplacesAnAddress(t *testing.T) {
	t.Parallel()
	status := &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "192.0.2.7"}}}
	unserved := newService("new")
	unserved.Status.LoadBalancer.Ingress = nil
	run(t, &fakeEngine{}, objects(newService("web"), newService("same"), unserved), func(f *fixture) {
		for name, test := range map[string]struct {
			status *v1.LoadBalancerStatus
			want   string
		}{
			"web":  {status, "192.0.2.7"},
			"same": {&v1.LoadBalancerStatus{}, "192.0.2.1"},
			"new":  {status, ""},
		} {
			if err := f.controller.PublishRefused(f.service(name), test.status); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got := ""
			if ingress := f.service(name).Status.LoadBalancer.Ingress; len(ingress) > 0 {
				got = ingress[0].IP
			}
			if got != test.want {
				t.Errorf("%s: published %q, want %q", name, got, test.want)
			}
		}
	})
}
