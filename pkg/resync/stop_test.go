package resync

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// A Service is synced again when the pods that terminate are about to stop, so that their members leave before
// that; with several pods, at the time of each.
//
//proves:55
func TestEndpoints_SyncTheirServiceBeforePodsStop(t *testing.T) {
	t.Parallel()
	web := follower("web")
	web.Annotations["stay"] = "20s"
	run(t, &fakeEngine{}, append(objects(web), newSlice("web-1", "web", "a", "b", "c")), func(f *fixture) {
		f.advance(2 * quietPeriod)
		f.changeSlice(leaving("a"))
		f.advance(10 * time.Second)
		f.changeSlice(leaving("a", "b"))
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b")
		f.advance(10*time.Second - 2*promptBatchPeriod)
		f.assertStopping(web)
		f.assertRepaired("web:a,b", "web:a,b")
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b")
		f.assertStopping(web, "a")
		f.advance(10 * time.Second)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b", "web:a,b")
		f.advance(5 * time.Minute) // each of them once
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b", "web:a,b")
		f.changeSlice(newSlice("web-1", "web", "b", "c")) // the end of a pod is a change, even if its member has left
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b", "web:a,b", "web:a,b")
		f.changeSlice(leaving()) // pods that are ready at these addresses are other ones
		f.advance(promptBatchPeriod)
		f.assertStopping(web)
	})
}

// Pods that stop together leave one after the other, the first of them so early that the last has left when they stop: a
// driver removes them in turn. Those that stop later leave as late as they can.
//
//proves:143
func TestEndpoints_LeaveInTurnIfPodsStopTogether(t *testing.T) {
	t.Parallel()
	web := follower("web")
	web.Annotations["stay"], web.Annotations["each"] = "30s", "6s"
	run(t, &fakeEngine{}, append(objects(web), newSlice("web-1", "web", "a", "b", "c")), func(f *fixture) {
		f.advance(2 * quietPeriod)
		f.changeSlice(leaving("a", "b"))
		f.advance(10 * time.Second)
		f.changeSlice(leaving("a", "b", "c"))
		for _, then := range []struct {
			after   time.Duration // began 10, 10 and 0 seconds ago
			leaving []string
		}{
			{13 * time.Second, nil}, {2 * time.Second, []string{"b"}}, {4 * time.Second, []string{"b"}}, {2 * time.Second, []string{"a", "b"}},
			{8 * time.Second, []string{"a", "b"}}, {2 * time.Second, []string{"a", "b", "c"}},
		} {
			f.advance(then.after)
			f.assertStopping(web, then.leaving...)
		}
	})
}

// Several pods at one address, which have it from their node, leave in turn too: as early as several addresses would.
//
//proves:143
func TestEndpoints_LeaveInTimeIfPodsShareAddress(t *testing.T) {
	t.Parallel()
	web := follower("web")
	web.Annotations["stay"], web.Annotations["each"] = "30s", "6s"
	run(t, &fakeEngine{}, append(objects(web), newSlice("web-1", "web", "a", "b", "c")), func(f *fixture) {
		f.advance(2 * quietPeriod)
		slice := leaving("a", "b")
		slice.Endpoints[1].Addresses = slice.Endpoints[0].Addresses
		f.changeSlice(slice)
		f.advance(23 * time.Second)
		f.assertStopping(web)
		f.advance(2 * time.Second)
		f.assertStopping(web, "a", "b")
	})
}

// Pods have addresses of both IP families, and each is a member only if the load balancer serves both. Else the addresses of
// the other family do not make members leave earlier.
//
//proves:143
func TestEndpoints_LeaveAsLateAsTheirIPFamilyNeeds(t *testing.T) {
	t.Parallel()
	type then struct {
		after   time.Duration
		leaving []string // those of IPv4 first
	}
	for family, want := range map[string][]then{
		model.IPv4: {{23 * time.Second, nil}, {2 * time.Second, []string{"b"}}, {6 * time.Second, []string{"a", "b"}}},
		model.IPv6: {{23 * time.Second, nil}, {2 * time.Second, []string{"b"}}, {6 * time.Second, []string{"a", "b"}}},
		"": {
			{11 * time.Second, nil}, {2 * time.Second, []string{"b"}}, {6 * time.Second, []string{"a", "b"}},
			{6 * time.Second, []string{"a", "b", "b"}}, {6 * time.Second, []string{"a", "b", "a", "b"}},
		},
	} {
		web := follower("web")
		web.Annotations["stay"], web.Annotations["each"], web.Annotations["family"] = "30s", "6s", family
		run(t, &fakeEngine{}, append(objects(web), newSlice("web-1", "web", "a", "b", "c"), ofIPv6(newSlice("web-1", "web", "a", "b", "c"))), func(f *fixture) {
			f.advance(2 * quietPeriod)
			f.changeSlice(leaving("a", "b"))
			f.advance(promptBatchPeriod)
			f.changeSlice(ofIPv6(leaving("a", "b")))
			for _, then := range want {
				f.advance(then.after)
				f.assertStopping(web, then.leaving...)
			}
		})
	}
}

// A member that has left because its endpoint was about to stop does not come back when other members turn out to take
// less time to be removed, or so much that they stay until their endpoints have stopped.
//
//proves:143
func TestEndpoints_StopForGoodWhateverLaterRemovalsTake(t *testing.T) {
	t.Parallel()
	for _, later := range []string{"50s", "0s"} {
		web := follower("web")
		web.Annotations["stay"] = "20s"
		run(t, &fakeEngine{}, append(objects(web), newSlice("web-1", "web", "a", "b", "c")), func(f *fixture) {
			f.advance(2 * quietPeriod)
			f.changeSlice(leaving("a"))
			f.advance(10 * time.Second)
			f.changeSlice(leaving("a", "b"))
			f.advance(11 * time.Second)
			f.assertStopping(web, "a")
			web.Annotations["stay"] = later
			if _, err := f.client.CoreV1().Services("default").Update(f.t.Context(), web, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			f.advance(10 * time.Second)
			f.assertStopping(web, "a")
			f.changeSlice(newSlice("web-1", "web", "a", "b", "c")) // pods that are ready at these addresses are other ones
			f.advance(time.Second)
			f.assertStopping(web)
			f.changeSlice(leaving("a"))
			f.advance(time.Second)
			f.assertStopping(web)
		})
	}
}

// assertStopping fails unless the endpoints of a Service that are about to stop are on these nodes.
func (f *fixture) assertStopping(service *v1.Service, nodes ...string) {
	f.t.Helper()
	var stopping []string
	endpoints, _, _ := f.controller.Endpoints(service)
	slices.SortFunc(endpoints, func(a, b members.Slice) int { return strings.Compare(string(a.Family), string(b.Family)) })
	for _, slice := range endpoints {
		for _, e := range slice.Endpoints {
			if e.Stopping {
				stopping = append(stopping, e.Node)
			}
		}
	}
	if !slices.Equal(stopping, nodes) {
		f.t.Errorf("the endpoints on %v are about to stop, want %v", stopping, nodes)
	}
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

// ofIPv6 returns the slice of the same pods with their addresses of IPv6.
func ofIPv6(s *discovery.EndpointSlice) *discovery.EndpointSlice {
	s.Name, s.AddressType = s.Name+"-ipv6", discovery.AddressTypeIPv6
	for i := range s.Endpoints {
		s.Endpoints[i].Addresses = []string{fmt.Sprintf("fd00::%d", i+1)}
	}
	return s
}
