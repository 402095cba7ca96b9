package routes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/loglines"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/otlp"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// One request serves many calls, so it is in the trace of none of them.
//
//proves:102
func TestTracing_LinksBatchWithItsCalls(t *testing.T) {
	t.Parallel()
	provider, end := otlp.Collect(t)
	k := newCloud(t, simulator.Options{}).cluster("a")
	k.tracer = provider
	k.join("node-1", "10.244.1.0/24")
	k.join("node-2", "10.244.2.0/24")
	k.settle()
	got := end()
	batches, calls := got.Named("batch"), got.Named("route")
	if len(batches) != 1 || len(calls) != 2 {
		t.Fatalf("%d batches of %d calls: %v", len(batches), len(calls), got)
	}
	batch := batches[0]
	if len(batch.ParentSpanId) > 0 || len(batch.Links) != len(calls) {
		t.Errorf("the batch is %v", batch)
	}
	for _, call := range calls {
		if !otlp.Linked(batch, call) || !otlp.Linked(call, batch) || string(call.TraceId) == string(batch.TraceId) {
			t.Errorf("the call %v and the batch %v have no links to each other", call, batch)
		}
	}
	if added := got.Named("router_update"); len(added) != 1 || string(added[0].ParentSpanId) != string(batch.SpanId) {
		t.Errorf("the batch has sent %v", got.In(batch))
	}
	for _, request := range k.RequestLog.Requests(requestlog.Writes(), requestlog.Under("/network")) {
		if request.GlobalID != otlp.RequestID(batch) {
			t.Errorf("%s %s has the global request ID %q, want that of the batch, %s", request.Method, request.Path, request.GlobalID, otlp.RequestID(batch))
		}
	}
}

// At the verbosity of the manifests each route that is added or removed has one line, and nothing
// else is logged.
//
//proves:102
func TestLog_HasOneLineForEachRoute(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	var log *loglines.Log
	k.logged, log = loglines.At(k.Context(), 2)
	node := k.join("node-1", "10.244.1.0/24", "10.244.2.0/24")
	for _, operation := range []struct {
		name string
		do   func()
		node string // a blackhole leads to none
	}{
		{"create", func() {}, "node-1"},
		{"delete", func() { k.leave(node) }, ""},
	} {
		operation.do()
		k.settle()
		var want, got []loglines.Line
		for _, cidr := range node.Spec.PodCIDRs {
			want = append(want, loglines.Line{
				"msg": "Changed a route", "route": cidr + " via " + k.address(node), "leads": operation.node != "",
				"node": operation.node, "port": k.ports["node-1"], "router": k.Router.ID,
			})
		}
		for _, line := range log.Take() {
			ids, _ := line["requestIDs"].([]any)
			if len(ids) != 2 || line["took"] == nil { // one of the router, and one of the port
				t.Errorf("%s: the log has %v", operation.name, line)
			}
			for _, id := range append(ids, line["globalRequestID"]) {
				if !strings.HasPrefix(fmt.Sprint(id), "req-") {
					t.Errorf("%s: the ID of a request is %v", operation.name, id)
				}
			}
			for _, key := range []string{"logger", "level", "requestIDs", "globalRequestID", "took"} {
				delete(line, key)
			}
			got = append(got, line)
		}
		slices.SortFunc(got, func(a, b loglines.Line) int { return strings.Compare(fmt.Sprint(a["route"]), fmt.Sprint(b["route"])) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the log has (-want +got):\n%s", operation.name, diff)
		}
	}
}
