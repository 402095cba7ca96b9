package model

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
)

func balancerWith(pools ...[]Member) *LoadBalancer {
	lb := &LoadBalancer{ID: "lb", Name: "name", FloatingIP: &FloatingIP{ID: "fip"}}
	for i, members := range pools {
		lb.Listeners = append(lb.Listeners, Listener{
			ID: fmt.Sprint("listener-", i), Port: 80 + i, Protocol: TCP,
			Pool: Pool{ID: fmt.Sprint("pool-", i), Members: members, Monitor: &Monitor{ID: "m"}},
		})
	}
	return lb
}

func packedMember(n int) Member {
	return Member{
		ID: uuid.NewString(), Name: fmt.Sprint("node-", n), Address: fmt.Sprint("10.0.0.", n), Port: 30080, SubnetID: "s",
		Status: Status{Provisioning: "ACTIVE"},
	}
}

func TestPacked_UnpacksWhatWasPacked(t *testing.T) {
	t.Parallel()
	odd := packedMember(3)
	odd.MonitorPort = 10256
	vendor := packedMember(4)
	vendor.ID = "not-a-uuid"
	unknown, zero := packedMember(5), packedMember(6)
	unknown.ID, zero.ID = "", uuid.Nil.String()
	for name, lb := range map[string]*LoadBalancer{
		"some subnets are known":     balancerWith(ofHistory(40)),
		"of more kinds than a byte":  balancerWith(ofKinds(maxKinds + 1)),
		"alike":                      balancerWith([]Member{packedMember(1), packedMember(2)}, []Member{packedMember(1)}),
		"one member differs":         balancerWith([]Member{packedMember(1), odd}),
		"an ID of another form":      balancerWith([]Member{vendor}),
		"an ID that nobody knows":    balancerWith([]Member{packedMember(1), unknown}),
		"the nil UUID":               balancerWith([]Member{zero, unknown}),
		"no members and no listener": balancerWith(nil),
		"nothing":                    balancerWith(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(lb, Pack(lb, nil).Unpack(), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPacked_IsAValueOfItsOwn(t *testing.T) {
	t.Parallel()
	packed := []Member{packedMember(1), packedMember(2)}
	plain := []Member{{ID: "no UUID", Name: "node-1"}}
	sample := func() *LoadBalancer {
		lb := balancerWith(slices.Clone(packed), slices.Clone(plain))
		lb.Orphans = []Pool{{ID: "orphan", Members: slices.Clone(plain), Monitor: &Monitor{ID: "m"}}}
		return lb
	}
	change := func(lb *LoadBalancer) {
		for _, pool := range []*Pool{&lb.Listeners[0].Pool, &lb.Listeners[1].Pool, &lb.Orphans[0]} {
			pool.ID, pool.Members[0].Name, pool.Monitor.ID = "changed", "changed", "changed"
		}
		lb.FloatingIP.ID = "changed"
		lb.Listeners = lb.Listeners[:1]
	}
	original := sample()
	p := Pack(original, nil)
	change(original)
	change(p.Unpack())
	if diff := cmp.Diff(sample(), p.Unpack()); diff != "" {
		t.Errorf("a change came through: %s", diff)
	}
}

func TestPacked_NeedsLittleMemoryForMembers(t *testing.T) {
	t.Parallel()
	var members []Member
	for n := range 500 {
		members = append(members, packedMember(n))
	}
	if p := PackMembers(ofHistory(500), PackedMembers{}); p.plain != nil || len(p.kinds) != 3 || cap(p.kind)+cap(p.nodes.all())*8+cap(p.ids)*16 > 500*25 {
		t.Errorf("%d kinds of members in %d + %d + %d elements, %d not packed", len(p.kinds), cap(p.kind), cap(p.nodes.all()), cap(p.ids), len(p.plain))
	}
	p := PackMembers(members, PackedMembers{})
	if p.plain != nil {
		t.Fatal("members that are alike were not packed")
	}
	if p.kind != nil {
		t.Error("the kind of members that are alike is kept")
	}
	if bytes := cap(p.nodes.all())*8 + cap(p.ids)*16; bytes > 500*24 {
		t.Errorf("%d bytes for 500 members", bytes)
	}
}

func TestPackID_TakesUUIDsInLowerCaseOnly(t *testing.T) {
	t.Parallel()
	const id = "0123abcd-4567-89ef-0123-456789abcdef"
	if packed, ok := packUUID(id); !ok || packed.String() != id {
		t.Errorf("%s became %s, %v", id, packed, ok)
	}
	for _, other := range []string{
		"0123ABCD-4567-89ef-0123-456789abcdef", "0123abcd45-67-89ef-0123-456789abcdef", "0123abcd-4567-89ef-0123-456789abcdeg",
		"0123abcd-4567-89ef-0123-456789abcdef0", "0123abcd456789ef0123456789abcdef", "-123abcd-4567-89ef-0123-456789abcdef", uuid.Nil.String(),
	} {
		if packed, ok := packUUID(other); ok {
			t.Errorf("%s became %s", other, packed)
		}
	}
}

func TestPacked_SharesNodesWithMembersBefore(t *testing.T) {
	t.Parallel()
	var before []Member
	for n := range 5 {
		before = append(before, packedMember(n))
	}
	for name, after := range map[string][]Member{
		"one is gone":   slices.Delete(slices.Clone(before), 1, 2),
		"one came":      slices.Insert(slices.Clone(before), 2, packedMember(7)),
		"all differ":    {packedMember(8), packedMember(9)},
		"another order": {before[4], before[0], before[3]},
	} {
		if diff := cmp.Diff(after, PackMembers(after, PackMembers(before, PackedMembers{})).Unpack()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What is kept for long stays where it is, and is not there twice.
func TestPack_SharesWithEarlierStateWhatIsTheSame(t *testing.T) {
	t.Parallel()
	members := ofHistory(50)
	before := Pack(balancerWith(members, members[:20]), nil)
	lb := balancerWith(members, slices.Clone(members[:20]))
	lb.Status, lb.UpdatedAt = Status{Provisioning: "ACTIVE"}, time.Unix(100, 0)
	lb.Listeners[1].Pool.Members[7].Drained = !members[7].Drained
	after := Pack(lb, before)
	if unsafe.StringData(after.outline) != unsafe.StringData(before.outline) {
		t.Error("the same outline is there twice")
	}
	if &after.members[0].ids[0] != &before.members[0].ids[0] || after.members[0].nodes != before.members[0].nodes {
		t.Error("the same members are there twice")
	}
	lb.Listeners[0].AllowedCIDRs = []string{"10.0.0.0/8"}
	other := Pack(lb, before)
	if &other.members[0].ids[0] != &before.members[0].ids[0] {
		t.Error("members are there twice where a listener has changed")
	}
}

// Not parallel: the allocations of others would be counted.
func TestPack_TakesLittleForWhatHasNotChanged(t *testing.T) {
	members := ofHistory(50)
	lb := balancerWith(members, members, members)
	packed := Pack(lb, nil)
	if n := testing.AllocsPerRun(10, func() { Pack(lb, packed) }); n > 8 {
		t.Errorf("%.0f allocations for what has not changed", n)
	}
}

func TestPack_IsTheSameLikeAnyEarlierState(t *testing.T) {
	t.Parallel()
	member := func(change func(*Member)) *LoadBalancer {
		members := ofHistory(50)
		change(&members[7])
		return balancerWith(members)
	}
	unknown := ofHistory(50)
	for i := range unknown {
		unknown[i].ID = ""
	}
	all := []*LoadBalancer{
		nil, balancerWith(), balancerWith(nil), balancerWith([]Member{}), balancerWith(ofHistory(50)), balancerWith(ofHistory(49)), balancerWith(unknown),
		balancerWith(ofHistory(50), ofHistory(50)), balancerWith(ofKinds(maxKinds + 1)),
		member(func(m *Member) { m.ID = uuid.NewString() }), member(func(m *Member) { m.ID = "" }), member(func(m *Member) { m.ID = "no UUID" }),
		member(func(m *Member) { m.Name = "other" }), member(func(m *Member) { m.Address = "10.9.9.9" }), member(func(m *Member) { m.Port++ }),
		member(func(m *Member) { m.Drained = true }), member(func(m *Member) { m.Status.Provisioning = "ERROR" }), member(func(m *Member) { m.SubnetID = "other" }),
	}
	for i, lb := range all {
		for j, like := range all {
			if diff := cmp.Diff(lb, Pack(lb, Pack(like, nil)).Unpack()); diff != "" {
				t.Errorf("%d like %d: %s", i, j, diff)
			}
		}
	}
}

// What is desired has no IDs, which would be most of what its members take.
func TestPackMembers_KeepsNothingOfIDsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	var members []Member
	for n := range 50 {
		m := packedMember(n)
		m.ID = ""
		members = append(members, m)
	}
	p := PackMembers(members, PackedMembers{})
	if p.ids != nil || p.Len() != 50 {
		t.Errorf("%d IDs of %d members", len(p.ids), p.Len())
	}
	if diff := cmp.Diff(members, p.Unpack()); diff != "" {
		t.Error(diff)
	}
	members[3].ID = packedMember(3).ID
	if diff := cmp.Diff(members, PackMembers(members, p).Unpack()); diff != "" {
		t.Errorf("with one ID: %s", diff)
	}
}

func BenchmarkPackMembers(b *testing.B) {
	var members []Member
	for n := range 1000 {
		members = append(members, packedMember(n))
	}
	before := PackMembers(members, PackedMembers{})
	b.ReportAllocs()
	for b.Loop() {
		PackMembers(members, before)
	}
}

// A thousand Services have the same nodes.
func TestPacked_SharesNodesWithOtherLoadBalancersAsLongAsOneHasThem(t *testing.T) {
	t.Parallel()
	id := func(n int) string { return fmt.Sprint(t.Name(), n) } // of no other test
	on := func(nodes int) []Member {
		var members []Member
		for n := range nodes {
			m := packedMember(n)
			m.Name = id(n)
			members = append(members, m)
		}
		return members
	}
	kept := func() weak.Pointer[nodeList] {
		one, other := PackMembers(on(100), PackedMembers{}), PackMembers(on(100), PackedMembers{})
		if one.nodes != other.nodes {
			t.Error("the same nodes are kept twice")
		}
		if more := PackMembers(on(101), one); more.nodes == one.nodes || len(more.Unpack()) != 101 {
			t.Error("other nodes are taken for the same")
		}
		return weak.Make(one.nodes)
	}()
	for range 10 {
		runtime.GC()
	}
	if kept.Value() != nil {
		t.Error("nodes that no load balancer has any more are kept")
	}
	if again := PackMembers(on(100), PackedMembers{}); len(again.Unpack()) != 100 {
		t.Error("nodes that were there before are not found again")
	}
}

// Packing and unpacking come with each wait: no member may cost an allocation of its own.
// Not parallel: the allocations of others would be counted.
func TestPacked_AllocatesNothingPerMember(t *testing.T) {
	lb := balancerWith(ofHistory(500))
	p := Pack(lb, nil) // which keeps the names of nodes alive
	const most = 40
	if n := testing.AllocsPerRun(10, func() { Pack(lb, nil) }); n > most {
		t.Errorf("%v allocations to pack 500 members, want %d at most", n, most)
	}
	if n := testing.AllocsPerRun(10, func() { p.Unpack() }); n > most {
		t.Errorf("%v allocations to unpack 500 members, want %d at most", n, most)
	}
}

// ofHistory makes members of a pool that was made in parts, read in part, and has got
// nodes since.
func ofHistory(n int) []Member {
	var members []Member
	for i := range n {
		m := packedMember(i)
		switch {
		case i < n/2:
			m.SubnetID = ""
		case i < n-1:
			m.SubnetID, m.SubnetUnknown = "", true
		}
		members = append(members, m)
	}
	return members
}

// ofKinds makes members that are all different.
func ofKinds(n int) []Member {
	var members []Member
	for i := range n {
		m := packedMember(i)
		m.MonitorPort = 1000 + i
		members = append(members, m)
	}
	return members
}

func TestPacked_IsNilForNoLoadBalancer(t *testing.T) {
	t.Parallel()
	if lb := Pack(nil, nil).Unpack(); lb != nil {
		t.Errorf("got %+v", lb)
	}
}

func TestPacked_WithUpdatedAtChangesNothingElse(t *testing.T) {
	t.Parallel()
	lb := balancerWith([]Member{packedMember(1)})
	p, now := Pack(lb, nil), time.Unix(100, 0)
	moved := p.WithUpdatedAt(now).Unpack()
	if !moved.UpdatedAt.Equal(now) || !p.Outline().UpdatedAt.IsZero() {
		t.Errorf("the copy has %v, the original %v", moved.UpdatedAt, p.Outline().UpdatedAt)
	}
	moved.UpdatedAt = time.Time{}
	if diff := cmp.Diff(lb, moved); diff != "" {
		t.Error(diff)
	}
}
