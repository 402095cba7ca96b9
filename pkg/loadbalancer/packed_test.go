package loadbalancer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func observedWith(pools ...[]model.Member) *model.Observed {
	lb := &model.LoadBalancer{ID: "lb", Name: "name", FloatingIP: &model.FloatingIP{ID: "fip"}}
	for i, members := range pools {
		lb.Listeners = append(lb.Listeners, model.Listener{
			ID: fmt.Sprint("listener-", i), Port: 80 + i, Protocol: model.TCP,
			Pool: model.Pool{ID: fmt.Sprint("pool-", i), Members: members, Monitor: &model.Monitor{ID: "m"}},
		})
	}
	return &model.Observed{LoadBalancer: lb}
}

func packedMember(n int) model.Member {
	return model.Member{
		ID: uuid.NewString(), Name: fmt.Sprint("node-", n), Address: fmt.Sprint("10.0.0.", n), Port: 30080, SubnetID: "s",
		Status: model.Status{Provisioning: "ACTIVE"},
	}
}

func TestWhatIsPackedComesBackAsItWas(t *testing.T) {
	t.Parallel()
	odd := packedMember(3)
	odd.MonitorPort = 10256
	vendor := packedMember(4)
	vendor.ID = "not-a-uuid"
	for name, observed := range map[string]*model.Observed{
		"some subnets are known":     observedWith(ofHistory(40)),
		"of more kinds than a byte":  observedWith(ofKinds(mostKinds + 1)),
		"alike":                      observedWith([]model.Member{packedMember(1), packedMember(2)}, []model.Member{packedMember(1)}),
		"one member differs":         observedWith([]model.Member{packedMember(1), odd}),
		"an ID of another form":      observedWith([]model.Member{vendor}),
		"no members and no listener": observedWith(nil),
		"nothing":                    observedWith(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pack(observed)
			if diff := cmp.Diff(observed.LoadBalancer.Listeners, unpack(p).LoadBalancer.Listeners, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsUnpackedIsAValueOfItsOwn(t *testing.T) {
	t.Parallel()
	p := pack(observedWith([]model.Member{packedMember(1), packedMember(2)}))
	first := unpack(p).LoadBalancer
	first.Listeners[0].Pool.Members[0].Name = "changed"
	first.Listeners = first.Listeners[:0]
	if again := unpack(p).LoadBalancer; again.Listeners[0].Pool.Members[0].Name != "node-1" {
		t.Errorf("a change came through: %+v", again.Listeners[0].Pool.Members[0])
	}
}

func TestMembersTakeLittleMemory(t *testing.T) {
	t.Parallel()
	var members []model.Member
	for n := range 500 {
		members = append(members, packedMember(n))
	}
	if m, ok := packMembers(ofHistory(500)); !ok || len(m.kinds) != 3 || cap(m.kind)+cap(m.nodes)*8+cap(m.ids)*16 > 500*25 {
		t.Errorf("%d kinds of members in %d + %d + %d elements, packed %v", len(m.kinds), cap(m.kind), cap(m.nodes), cap(m.ids), ok)
	}
	m, ok := packMembers(members)
	if !ok {
		t.Fatal("members that are alike were not packed")
	}
	if m.kind != nil {
		t.Error("members of one kind need none told")
	}
	if bytes := cap(m.nodes)*8 + cap(m.ids)*16; bytes > 500*24 {
		t.Errorf("%d bytes for 500 members", bytes)
	}
}

// ofHistory makes members of a pool that was made in parts, read in part, and has got
// nodes since.
func ofHistory(n int) []model.Member {
	var members []model.Member
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
func ofKinds(n int) []model.Member {
	var members []model.Member
	for i := range n {
		m := packedMember(i)
		m.MonitorPort = 1000 + i
		members = append(members, m)
	}
	return members
}
