package apply_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

func TestBatches_FitARequest(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 1000, 2000} {
		all := apply.MembersOpts(members(n, 80))
		var joined []pools.CreateMemberOpts
		count := 0
		for batch := range apply.Batches(all) {
			if size := apply.Size(batch); size > apply.BodyLimit || len(batch) == 0 {
				t.Errorf("of %d members: a batch of %d with %d bytes", n, len(batch), size)
			}
			joined = append(joined, batch...)
			count++
		}
		if len(joined) != n || n > 0 && cmp.Diff(all, joined) != "" {
			t.Errorf("of %d members: %d after cutting, or others", n, len(joined))
		}
		if least := apply.Size(all)/apply.BodyLimit + 1; n > 0 && count > 2*least {
			t.Errorf("of %d members: %d batches where %d would do", n, count, least)
		}
	}
}

func TestBatches_EndWithTheLoop(t *testing.T) {
	t.Parallel()
	n := 0
	for range apply.Batches(apply.MembersOpts(members(2000, 80))) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d batches after the first", n-1)
	}
}

func TestShrink_LeavesOutMembersOnly(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	for _, test := range []struct {
		members int
		left    []int // per listener
	}{
		{10, []int{10, 10}},
		{1000, []int{1000, 1000}}, // without names
		{2000, []int{2000, 0}},    // one of two fits
		{4000, []int{0, 0}},
	} {
		lb := e.web(80, 443)
		for i := range lb.Listeners {
			lb.Listeners[i].Pool.Members = members(test.members, lb.Listeners[i].Port)
		}
		shrunk := apply.Shrink(lb, driver.Quirks{})
		var left []int
		for i, l := range shrunk.Listeners {
			left = append(left, len(l.Pool.Members))
			if len(lb.Listeners[i].Pool.Members) != test.members {
				t.Fatal("the plan's load balancer lost its members")
			}
			for j, m := range l.Pool.Members {
				if m.Key() != lb.Listeners[i].Pool.Members[j].Key() {
					t.Fatalf("member %v became %v", lb.Listeners[i].Pool.Members[j], m)
				}
			}
			l.Pool.Members = lb.Listeners[i].Pool.Members
			if diff := cmp.Diff(lb.Listeners[i], l); diff != "" {
				t.Errorf("more than members is left out: %s", diff)
			}
		}
		if diff := cmp.Diff(test.left, left); diff != "" {
			t.Errorf("of %d members: %s", test.members, diff)
		}
		if size := apply.Size(apply.CreateOpts(shrunk)); size > apply.BodyLimit {
			t.Errorf("of %d members: still %d bytes", test.members, size)
		}
	}
}

// TestRun_SendsMembersBeyondTheLimitInBatches goes from a few members to very many, some
// of them new and some gone, in a cloud that refuses long requests.
func TestRun_SendsMembersBeyondTheLimitInBatches(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	few := e.web(80)
	few.Listeners[0].Pool.Members = members(5, 80)
	e.reach(few)
	e.Cloud.RequestLog.Reset()
	many := e.web(80)
	many.Listeners[0].Pool.Members = members(4000, 80)[2:]
	todo, observed, err := e.attempt(many)
	if err != nil {
		t.Fatalf("%v\n%s", err, todo)
	}
	e.nothingToDo(many, observed)
	e.nothingToDo(many, e.observe())
	writes := e.Cloud.RequestLog.Requests(requestlog.Writes())
	batches := slices.DeleteFunc(slices.Clone(writes), func(r requestlog.Request) bool { return r.Method != http.MethodPut })
	if len(batches) < 2 || len(batches) > 3 || len(writes)-len(batches) != 2 {
		t.Errorf("%d batches and %d other writes, want 2 and 2: %+v", len(batches), len(writes)-len(batches), writes)
	}
	for _, r := range batches {
		if !strings.HasSuffix(r.Path, "?additive_only=true") || r.RequestBytes > 114_688 || r.Status != http.StatusAccepted {
			t.Errorf("batch %+v", r)
		}
	}
}

func TestRun_SendsMembersWithinTheLimitInOneBatch(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	e.reach(e.web(80))
	e.Cloud.RequestLog.Reset()
	desired := e.web(80)
	desired.Listeners[0].Pool.Members = slices.DeleteFunc(members(300, 80), func(m model.Member) bool { return m.Name == "node-1" })
	if _, _, err := e.attempt(desired); err != nil {
		t.Fatal(err)
	}
	if writes := e.Cloud.RequestLog.Requests(requestlog.Writes()); len(writes) != 1 {
		t.Errorf("writes %+v", writes)
	}
	e.nothingToDo(desired, e.observe())
}
