package resync

import (
	"slices"
	"testing"
	"time"

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
	leaving := func(nodes ...string) *discovery.EndpointSlice {
		s := newSlice("web-1", "web", "a", "b", "c")
		for i, node := range []string{"a", "b", "c"} {
			if slices.Contains(nodes, node) {
				s.Endpoints[i].Conditions = discovery.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
			}
		}
		return s
	}
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
		f.changeSlice(leaving()) // pods that are ready at these addresses are other ones
		f.advance(promptBatchPeriod)
		if names := stopping(f); len(names) > 0 {
			t.Errorf("%v stop, which do not terminate", names)
		}
	})
}
