package apply_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// The pools change from one size to another in a cloud that refuses long requests: package plan
// cuts batches by the size of the requests of package apply.
func TestRun_SendsNoMoreBytesThanThePlanHasCounted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ before, after, requests int }{
		{0, 2300, 1},
		{2300, 0, 1},
		{2300, 5000, 2},
		{2600, 2400, 2 + 4}, // another pool, with a monitor
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{})
			web := func(n int) *model.LoadBalancer {
				lb := e.web(80)
				lb.Listeners[0].Pool.Members = members(n, 80)
				return lb
			}
			e.reach(e.web(80))
			for _, n := range []int{test.before, test.after} {
				e.Cloud.RequestLog.Reset()
				desired := web(n)
				todo, observed, err := e.attempt(desired)
				if err != nil {
					t.Fatalf("%v\n%s", err, todo)
				}
				e.nothingToDo(desired, observed)
				e.nothingToDo(desired, e.observe())
			}
			writes := e.Cloud.RequestLog.Requests(requestlog.Writes())
			if len(writes) != test.requests {
				t.Errorf("%d writes, want %d", len(writes), test.requests)
			}
			for _, r := range writes {
				if r.RequestBytes > 114_688 || r.Status >= http.StatusBadRequest {
					t.Errorf("%s %s: %d bytes, answered %d", r.Method, r.Path, r.RequestBytes, r.Status)
				}
			}
		})
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
			left = append(left, l.Pool.Members.Len())
			if lb.Listeners[i].Pool.Members.Len() != test.members {
				t.Fatal("the plan's load balancer lost its members")
			}
			for j, m := range l.Pool.Members.All() {
				if m.Key() != lb.Listeners[i].Pool.Members.Key(j) {
					t.Fatalf("member %v became %v", lb.Listeners[i].Pool.Members.At(j), m)
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
		if size := apply.Size(apply.CreateOpts(shrunk)); size > plan.BodyLimit {
			t.Errorf("of %d members: still %d bytes", test.members, size)
		}
	}
}

// The subnet of the VIP is the default of members, except for a driver that takes none for another one.
func TestShrink_OmitsSubnetsBeforeWholePools(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subnet  string
		quirks  driver.Quirks
		left    []int
		subnets bool
	}{
		"of the VIP":         {strings.Repeat("s", 36), driver.Quirks{}, []int{1000, 1000}, false},
		"another":            {strings.Repeat("o", 36), driver.Quirks{}, []int{1000, 0}, true},
		"of the VIP, on ovn": {strings.Repeat("s", 36), driver.Quirks{AlwaysSendSubnet: true}, []int{1000, 0}, true},
	} {
		lb := serving("amphora").LoadBalancer
		lb.VIP.SubnetID = strings.Repeat("s", 36)
		for i := range lb.Listeners {
			lb.Listeners[i].Pool.Members = members(1000, lb.Listeners[i].Port).Map(func(_ int, m model.Member) model.Member { m.SubnetID = test.subnet; return m })
		}
		shrunk := apply.Shrink(lb, test.quirks)
		for i, l := range shrunk.Listeners {
			if l.Pool.Members.Len() != test.left[i] || l.Pool.Members.Len() > 0 && (l.Pool.Members.At(0).SubnetID != "") != test.subnets {
				t.Errorf("%s: listener %d has %d members", name, i, l.Pool.Members.Len())
			}
		}
	}
}

// For most requests, the bound shows that they fit.
func TestAtMost_IsNoLessThanWhatIsSentAndLittleMore(t *testing.T) {
	t.Parallel()
	odd := model.Member{
		Name: "a<b>&\"\\\x00\u2028\xffé", Address: "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Port: 65535, SubnetID: "\n\t\x7f",
		MonitorPort: 65535, Drained: true, AdminDown: true,
	}
	for name, members := range map[string]model.Members{
		"none": {}, "one": members(1, 80), "many": members(1000, 30080), "odd": model.MembersOf(odd, odd), "empty": model.MembersOf(model.Member{}),
	} {
		bytes, most := apply.Size(struct {
			Members any `json:"members"`
		}{apply.MembersOpts(members)}), apply.AtMost(members)
		if bytes > most+len("{}") {
			t.Errorf("%s: %d bytes, at most %d", name, bytes, most)
		}
		if name == "many" && most > 2*bytes {
			t.Errorf("%s: at most %d bytes of %d: most of what fits is marshaled twice", name, most, bytes)
		}
	}
}

// A few members become very many, some of them new and some removed, in a cloud that refuses long
// requests.
func TestRun_SendsMembersBeyondTheLimitInBatches(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	few := e.web(80)
	few.Listeners[0].Pool.Members = members(5, 80)
	e.reach(few)
	e.Cloud.RequestLog.Reset()
	many := e.web(80)
	many.Listeners[0].Pool.Members = members(4000, 80).Slice(2, 4000)
	todo, observed, err := e.attempt(many)
	if err != nil {
		t.Fatalf("%v\n%s", err, todo)
	}
	e.nothingToDo(many, observed)
	e.nothingToDo(many, e.observe())
	writes := e.Cloud.RequestLog.Requests(requestlog.Writes())
	if len(writes) != 2 {
		t.Errorf("%d writes, want 2: %+v", len(writes), writes)
	}
	for i, r := range writes { // the first replaces removed members
		if r.Method != http.MethodPut || strings.HasSuffix(r.Path, "?additive_only=true") != (i > 0) || r.RequestBytes > 114_688 || r.Status != http.StatusAccepted {
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
	desired.Listeners[0].Pool.Members = members(300, 80).Without(members(2, 80).Slice(1, 2))
	if _, _, err := e.attempt(desired); err != nil {
		t.Fatal(err)
	}
	if writes := e.Cloud.RequestLog.Requests(requestlog.Writes()); len(writes) != 1 {
		t.Errorf("writes %+v", writes)
	}
	e.nothingToDo(desired, e.observe())
}

// A batch beyond the limit omits names first, then the subnets that the cloud knows anyway: those of members that stay,
// and that of the VIP. A driver that takes a missing subnet for another one gets them all.
func TestRun_OmitsWhatABatchBeyondTheLimitDoesNotNeed(t *testing.T) {
	t.Parallel()
	all := func(n int, subnet string) (list []model.Member) {
		for _, m := range members(n, 80).All() {
			m.SubnetID = subnet
			list = append(list, m)
		}
		return list
	}
	other, few, many := strings.Repeat("s", len("subnet")), 100, 1900
	for name, test := range map[string]struct {
		provider   string
		n          int
		subnet     string
		added      bool
		named, sub bool // in the request
	}{
		"few":                           {"amphora", few, other, false, true, true},
		"many without a subnet":         {"amphora", 2400, "", false, false, false},
		"many that stay":                {"amphora", many, other, false, false, false},
		"many new ones":                 {"amphora", many, other, true, false, true},
		"many new ones beside the VIP":  {"amphora", many, "subnet", true, false, false},
		"many that stay on ovn":         {"ovn", many, other, false, false, true},
		"many new ones of the VIP, ovn": {"ovn", many, "subnet", true, false, true},
	} {
		l, applier := newLedger(t)
		step := plan.SetMembers{Pool: of80(), Members: model.MembersOf(all(test.n, test.subnet)...)}
		if test.added {
			step.Added = step.Members
		}
		l.answer("SetMembers", refusal(http.StatusInsufficientStorage, "")) // the end
		_, _ = l.apply(t, applier, serving(test.provider), step)
		if len(l.sent) == 0 {
			t.Fatalf("%s: sent nothing", name)
		}
		if named, sub := strings.Contains(l.sent[0], `"name"`), strings.Contains(l.sent[0], `"subnet_id"`); named != test.named || sub != test.sub {
			t.Errorf("%s: %d bytes, with names %t, with subnets %t", name, len(l.sent[0]), named, sub)
		}
	}
}
