package lookup_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

//proves:77
func TestGather_KeepsFactsForAWhile(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	node := env.node("a", "")
	for _, test := range []struct {
		what     string
		settings *settings.Settings
		requests int
	}{
		{"network and subnets", env.internal(inNetwork(env.Cloud.Network.ID), func(s *settings.Settings) { s.Members.SubnetID = "m" }), 2},
		{"floating network", env.external(), 1},
		{"external networks", env.external(floatingFrom("")), 1},
		{"ports of nodes", env.internal(inSubnet("")), 1},
	} {
		t.Run(test.what, func(t *testing.T) {
			env.pass(2 * age)
			env.Cloud.RequestLog.Reset()
			first := env.must(test.settings, node)
			env.asked(test.requests)
			env.pass(age)
			if diff := cmp.Diff(first, env.must(test.settings, node), cmpopts.IgnoreUnexported(driver.Driver{})); diff != "" {
				t.Error(diff)
			}
			env.asked(0)
			env.pass(time.Second)
			env.must(test.settings, node)
			env.asked(test.requests)
		})
	}
}

func TestGather_AsksOnlyForPortsOfNewNodes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	a, b, c := env.node("a", ""), env.node("b", ""), env.node("c", "")
	s := env.internal(inSubnet(""))
	env.must(s, a)
	env.Cloud.RequestLog.Reset()
	env.must(s, a, b, c)
	requests := env.Cloud.RequestLog.Requests(requestlog.Under(portsRoute))
	if len(requests) != 1 {
		t.Fatalf("%d requests for ports", len(requests))
	}
	asked, err := url.Parse(requests[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	if got := asked.Query()["device_id"]; len(got) != 2 {
		t.Errorf("asked for the ports of %v, want those of the two new nodes", got)
	}
}

func TestGather_SharesOneRequestAmongConcurrentCalls(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: networkRoute, Delay: 50 * time.Millisecond})
	s := env.external()
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			if _, err := env.gather(s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	env.asked(1)
}

func TestGather_ServesOthersWhenOneCallerIsCanceled(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: networkRoute, Delay: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := env.reader.Gather(ctx, env.external(), nil, driver.Driver{}, nil)
		gaveUp <- err
	}()
	await.Condition(t, "the request is under way", func() bool { return env.Cloud.Faults.Hits() > 0 })
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	env.must(env.external())
	env.asked(1)
}
