package plan_test

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// bodyLimit is what Octavia accepts of a request.
const bodyLimit = 114_688

// nodesSubnet is where all nodes are.
const nodesSubnet = "4b8a4f9e-8f1a-4f0f-9a55-0a7f4f1f0a11"

// nodesFrom returns members on so many nodes, the first of which has a number.
func nodesFrom(first, n int) []model.Member {
	all := make([]model.Member, 0, n)
	for i := first; i < first+n; i++ {
		all = append(all, model.Member{
			Name: fmt.Sprintf("node-%d", i), Address: fmt.Sprintf("10.100.%d.%d", 100+i/100, 100+i%100), Port: 30080, SubnetID: nodesSubnet,
		})
	}
	return all
}

// onPool returns a load balancer with one pool of these members, with a VIP in their subnet.
func onPool(members []model.Member, changes ...func(*model.Pool)) *model.LoadBalancer {
	return web(func(lb *model.LoadBalancer) {
		lb.Listeners = lb.Listeners[:1]
		lb.VIP.SubnetID = nodesSubnet
		pool := &lb.Listeners[0].Pool
		pool.Members = model.MembersOf(members...)
		for _, change := range changes {
			change(pool)
		}
	})
}

// monitoredAt has a health monitor ask all members at a port of their own.
func monitoredAt(port int) func(*model.Pool) {
	return func(pool *model.Pool) {
		pool.Monitor = &model.Monitor{Type: model.MonitorHTTP, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
		fixture.EditMembers(pool, func(_ int, m *model.Member) { m.MonitorPort = port })
	}
}

// kinds counts the steps of a plan: "2 batches, 1 addition, …".
func kinds(steps []plan.Step) string {
	var order []string
	counts := map[string]int{}
	for _, step := range steps {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", step), "plan.")
		if set, is := step.(plan.SetMembers); is && set.Additive {
			kind = "Additive"
		}
		if counts[kind] == 0 {
			order = append(order, kind)
		}
		counts[kind]++
	}
	var text []string
	for _, kind := range order {
		text = append(text, fmt.Sprintf("%d×%s", counts[kind], kind))
	}
	return strings.Join(text, " ")
}

// Addresses have 14 characters: a request holds 2,246 members, 1,591 with monitor_port, and
// 1,123 where the driver wants their subnet each time.
func TestDiff_NeedsAsManyRequestsAsTheBytesOfMembers(t *testing.T) {
	t.Parallel()
	port := monitoredAt(31000)
	ovn := func(o *plan.Options) { o.Driver.Quirks.AlwaysSendSubnet = true }
	serial := func(o *plan.Options) { o.Driver = o.Driver.Without(driver.MemberBatches) }
	const anew = "1×CreatePool %d×Additive 1×UpdateListener 1×DeletePool"
	const monitored = "1×CreatePool %d×Additive 1×CreateMonitor 1×UpdateListener 1×DeletePool"
	for name, test := range map[string]struct {
		before, after []model.Member
		change        func(*model.Pool)
		options       func(*plan.Options)
		want          string
	}{
		"300 of 2,500 leave":                {nodesFrom(0, 2500), nodesFrom(300, 2200), nil, nil, "1×SetMembers"},
		"300 of 2,700 leave":                {nodesFrom(0, 2700), nodesFrom(300, 2400), nil, nil, fmt.Sprintf(anew, 2)},
		"300 of 2,700 leave, monitored":     {nodesFrom(0, 2700), nodesFrom(300, 2400), port, nil, fmt.Sprintf(monitored, 2)},
		"300 of 2,700 leave, with subnets":  {nodesFrom(0, 2700), nodesFrom(300, 2400), nil, ovn, fmt.Sprintf(anew, 3)},
		"300 of 2,700 leave, one by one":    {nodesFrom(0, 2700), nodesFrom(300, 2400), nil, serial, "300×RemoveMember"},
		"five of 2,700 leave":               {nodesFrom(0, 2700), nodesFrom(5, 2695), nil, nil, "5×RemoveMember"},
		"six of 2,700 leave":                {nodesFrom(0, 2700), nodesFrom(6, 2694), nil, nil, fmt.Sprintf(anew, 2)},
		"six of 2,700 leave, monitored":     {nodesFrom(0, 2700), nodesFrom(6, 2694), port, nil, "6×RemoveMember"},
		"one of 5,000 leaves":               {nodesFrom(0, 5000), nodesFrom(1, 4999), nil, nil, "1×RemoveMember"},
		"one comes to 5,000":                {nodesFrom(0, 5000), nodesFrom(0, 5001), nil, nil, "1×AddMember"},
		"5,000 come to 100":                 {nodesFrom(0, 100), nodesFrom(0, 5100), nil, nil, "3×Additive"},
		"5,000 come to 100, of which 50 go": {nodesFrom(0, 100), nodesFrom(50, 5050), nil, nil, "1×SetMembers 2×Additive"},
		"5,000 come to none":                {nil, nodesFrom(0, 5000), nil, nil, "3×Additive"},
		"1,000 leave 5,000":                 {nodesFrom(0, 5000), nodesFrom(1000, 4000), nil, nil, fmt.Sprintf(anew, 2)},
		"3,000 leave 5,000":                 {nodesFrom(0, 5000), nodesFrom(3000, 2000), nil, nil, "1×SetMembers"},
		"all leave 5,000":                   {nodesFrom(0, 5000), nil, nil, nil, "1×SetMembers"},
		"one of 5,000 is replaced":          {nodesFrom(0, 5000), nodesFrom(1, 5000), nil, nil, "1×Additive 1×RemoveMember"},
		"500 of 5,000 are replaced":         {nodesFrom(0, 5000), nodesFrom(500, 5000), nil, nil, fmt.Sprintf(anew, 3)},
		"all of 5,000 are replaced":         {nodesFrom(0, 5000), nodesFrom(5000, 5000), nil, nil, fmt.Sprintf(anew, 3)},
		"all of 2,000 are replaced":         {nodesFrom(0, 2000), nodesFrom(2000, 2000), nil, nil, "1×SetMembers"},
		"2,000 become 4,000, 1,000 stay":    {nodesFrom(0, 2000), nodesFrom(1000, 4000), nil, nil, "1×SetMembers 1×Additive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := func(pool *model.Pool) {
				if test.change != nil {
					test.change(pool)
				}
			}
			c := &cloud{observed: made(t, onPool(test.before, change))}
			var opts plan.Options
			if test.options != nil {
				test.options(&opts)
			}
			desired := onPool(test.after, change)
			steps := plan.Diff(desired, c.observed, opts).Steps
			if got := kinds(steps); got != test.want {
				t.Errorf("steps %s, want %s", got, test.want)
			}
			c.driver = opts.Driver
			assertServed(t, c, steps)
			if again := plan.Diff(desired, c.observed, opts); !again.Empty() {
				t.Errorf("still to do:\n%s", kinds(again.Steps))
			}
		})
	}
}

// assertServed carries out steps on the members of one pool. Before, in between and after,
// the listener has every member that stays, and no fewer than before or after.
func assertServed(t *testing.T, c *cloud, steps []plan.Step) {
	t.Helper()
	serving := func() map[model.MemberKey]bool {
		all := map[model.MemberKey]bool{}
		for _, m := range c.observed.LoadBalancer.Listeners[0].Pool.Members.All() {
			all[m.Key()] = true
		}
		return all
	}
	seen := []map[model.MemberKey]bool{serving()}
	for i, step := range steps {
		if size := leastBytes(step, c.driver.Quirks); size > bodyLimit {
			t.Errorf("step %d has %d bytes", i+1, size)
		}
		if err := c.do(step); err != nil {
			t.Fatalf("step %d of %d: %v", i+1, len(steps), err)
		}
		seen = append(seen, serving())
	}
	before, after := seen[0], seen[len(seen)-1]
	for i, now := range seen {
		if len(now) < min(len(before), len(after)) {
			t.Errorf("after step %d there are %d members, with %d before and %d after", i, len(now), len(before), len(after))
		}
		for key := range before {
			if after[key] && !now[key] {
				t.Errorf("after step %d, %v is missing", i, key)
				break
			}
		}
	}
}

// leastBytes returns what the members of a batch take at least, as Octavia wants them.
func leastBytes(step plan.Step, quirks driver.Quirks) int {
	type member struct {
		Address     string `json:"address"`
		Port        int    `json:"protocol_port"`
		MonitorPort int    `json:"monitor_port,omitempty"`
		Subnet      string `json:"subnet_id,omitempty"`
		Weight      *int   `json:"weight,omitempty"`
		Up          *bool  `json:"admin_state_up,omitempty"`
	}
	set, is := step.(plan.SetMembers)
	if !is {
		return 0
	}
	added := map[model.MemberKey]bool{}
	for _, m := range set.Added.All() {
		added[m.Key()] = true
	}
	var sent []member
	for _, m := range set.Members.All() {
		s := member{Address: m.Address, Port: m.Port, MonitorPort: m.MonitorPort}
		if quirks.AlwaysSendSubnet || added[m.Key()] && m.SubnetID != nodesSubnet {
			s.Subnet = m.SubnetID
		}
		if m.Drained {
			s.Weight = new(int)
		}
		if m.AdminDown {
			s.Up = new(bool)
		}
		sent = append(sent, s)
	}
	body, _ := json.Marshal(map[string]any{"members": sent})
	return len(body)
}

// Random changes of pools of all sizes: no request is too large, no member that stays is missing,
// and there are no more steps than a new pool would take.
func TestDiff_BatchesLeaveOutNobodyWhoStays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		m := newMaker(seed)
		var change []func(*model.Pool)
		if m.chance(50) {
			change = append(change, monitoredAt(31000))
		}
		var opts plan.Options
		opts.Driver.Quirks.AlwaysSendSubnet = m.chance(30)
		first, n := m.IntN(3000), 1+m.IntN(6000)
		before := nodesFrom(0, m.IntN(6000))
		for i := range before {
			before[i].Drained, before[i].AdminDown = m.chance(5), m.chance(5)
			if m.chance(20) {
				before[i].SubnetID = "another subnet"
			}
		}
		c := &cloud{observed: made(t, onPool(before, change...)), driver: opts.Driver}
		fixture.EditMembers(&c.observed.LoadBalancer.Listeners[0].Pool, func(i int, m *model.Member) {
			m.Drained, m.AdminDown, m.SubnetID = before[i].Drained, before[i].AdminDown, before[i].SubnetID
		})
		after := onPool(nodesFrom(first, n), change...)
		steps := plan.Diff(after, c.observed, opts).Steps
		most := 0
		for left := plan.KeepMembers(after, c.observed.LoadBalancer, opts).Listeners[0].Pool.Members; left.Len() > 0; most++ {
			k := sort.Search(left.Len(), func(k int) bool {
				return leastBytes(plan.SetMembers{Members: left.Slice(0, k+1), Added: left.Slice(0, k+1)}, opts.Driver.Quirks) > bodyLimit-100
			})
			left = left.Slice(k, left.Len())
		}
		if len(steps) > most+4 {
			t.Errorf("seed %d: %d steps where %d requests hold all members: %s", seed, len(steps), most, kinds(steps))
		}
		assertServed(t, c, steps)
		if again := plan.Diff(after, c.observed, opts); !again.Empty() {
			t.Errorf("still to do: %s", kinds(again.Steps))
		}
		if t.Failed() {
			t.Fatalf("with seed %d: %d members, then %d from %d on", seed, len(before), n, first)
		}
	}
}

// A crash may leave the pool that was to take the place of another: it goes, and a new one
// is made.
func TestDiff_RebuildsAPoolAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	desired := onPool(nodesFrom(300, 2400))
	for steps := range 5 {
		c := &cloud{observed: made(t, onPool(nodesFrom(0, 2700)))}
		if err := c.run(plan.Diff(desired, c.observed, plan.Options{}).Steps[:steps]); err != nil {
			t.Fatal(err)
		}
		assertServed(t, c, plan.Diff(desired, c.observed, plan.Options{}).Steps)
		if again := plan.Diff(desired, c.observed, plan.Options{}); !again.Empty() || len(c.observed.LoadBalancer.Orphans) > 0 {
			t.Errorf("after a crash behind step %d, left to do: %s", steps, again)
		}
	}
}
