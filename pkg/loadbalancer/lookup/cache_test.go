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
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

//proves:77
func TestFactsAreKeptForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	node := w.node("a", "")
	for _, test := range []struct {
		what     string
		settings settings.Settings
		requests int
	}{
		{"network and subnets", w.internal(inNetwork(w.cloud.Network.ID), func(s *settings.Settings) { s.Members.SubnetID = "m" }), 2},
		{"floating network", w.external(), 1},
		{"external networks", w.external(floatingFrom("")), 1},
		{"ports of nodes", w.internal(inSubnet("")), 1},
	} {
		t.Run(test.what, func(t *testing.T) {
			w.pass(2 * age)
			w.cloud.Books.Reset()
			first := w.must(test.settings, node)
			w.asked(test.requests)
			w.pass(age)
			if diff := cmp.Diff(first, w.must(test.settings, node), cmpopts.IgnoreUnexported(driver.Driver{})); diff != "" {
				t.Error(diff)
			}
			w.asked(0)
			w.pass(time.Second)
			w.must(test.settings, node)
			w.asked(test.requests)
		})
	}
}

func TestOnlyNewNodesAreAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	a, b, c := w.node("a", ""), w.node("b", ""), w.node("c", "")
	s := w.internal(inSubnet(""))
	w.must(s, a)
	w.cloud.Books.Reset()
	w.must(s, a, b, c)
	requests := w.cloud.Books.Requests(books.Under(portsRoute))
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

func TestAtOneTimeOneRequestServesAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: networkRoute, Delay: 50 * time.Millisecond})
	s := w.external()
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			if _, err := w.gather(s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.asked(1)
}

func TestWhoGivesUpDoesNotEndItForTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: networkRoute, Delay: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := w.reader.Gather(ctx, w.external(), nil, driver.Driver{}, nil)
		gaveUp <- err
	}()
	until(t.Context(), t, "the request is under way", func() bool { return w.cloud.Faults.Hits() > 0 })
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	w.must(w.external())
	w.asked(1)
}
