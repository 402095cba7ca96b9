package resync

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// A Service is synced again when the pods that terminate are about to stop, so that their members leave before
// that; with several pods, at the time of each.
//
//proves:55
func TestEndpoints_SyncTheirServiceBeforePodsStop(t *testing.T) {
	t.Parallel()
	web := follower("web")
	web.Annotations["stay"] = "20s"
	stopping := func(f *fixture) (names []string) {
		endpoints, _, _ := f.controller.Endpoints(web)
		for _, e := range endpoints[0].Endpoints {
			if e.Stopping {
				names = append(names, e.Node)
			}
		}
		return names
	}
	run(t, &fakeEngine{}, append(objects(web), newSlice("web-1", "web", "a", "b", "c")), func(f *fixture) {
		f.advance(2 * quietPeriod)
		f.changeSlice(leaving("a"))
		f.advance(10 * time.Second)
		f.changeSlice(leaving("a", "b"))
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b")
		f.advance(10*time.Second - 2*promptBatchPeriod)
		if names := stopping(f); len(names) > 0 {
			t.Errorf("%v stop too early", names)
		}
		f.assertRepaired("web:a,b", "web:a,b")
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b")
		if names := stopping(f); !slices.Equal(names, []string{"a"}) {
			t.Errorf("%v stop, want a", names)
		}
		f.advance(10 * time.Second)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b", "web:a,b")
		f.advance(5 * time.Minute) // each of them once
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b", "web:a,b")
		f.changeSlice(newSlice("web-1", "web", "b", "c")) // the end of a pod is a change, even if its member has left
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b", "web:a,b", "web:a,b")
		f.changeSlice(leaving()) // pods that are ready at these addresses are other ones
		f.advance(promptBatchPeriod)
		if names := stopping(f); len(names) > 0 {
			t.Errorf("%v stop, which do not terminate", names)
		}
	})
}

// A sync that began before the pods were about to stop, and ends later, is followed by another one.
//
//proves:55
func TestEndpoints_SyncTheirServiceAgainIfPodsStopMeanwhile(t *testing.T) {
	t.Parallel()
	web := follower("web")
	web.Annotations["stay"] = "20s"
	engine := &fakeEngine{serve: func(context.Context, *v1.Service) error {
		time.Sleep(25 * time.Second)
		return nil
	}}
	run(t, engine, append(objects(web), newSlice("web-1", "web", "a", "b", "c")), func(f *fixture) {
		f.advance(2 * quietPeriod)
		f.changeSlice(leaving("a"))
		f.advance(26 * time.Second)
		f.assertRepaired("web:a,b")
		f.advance(26 * time.Second)
		f.assertRepaired("web:a,b", "web:a,b")
		f.advance(5 * time.Minute)
		f.assertRepaired("web:a,b", "web:a,b")
	})
}

// leaving returns a slice with ready endpoints on the nodes a, b and c, but for those on some nodes, which
// terminate and still serve.
func leaving(nodes ...string) *discovery.EndpointSlice {
	s := newSlice("web-1", "web", "a", "b", "c")
	for i, node := range []string{"a", "b", "c"} {
		if slices.Contains(nodes, node) {
			s.Endpoints[i].Conditions = discovery.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
		}
	}
	return s
}
