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
		"alike":                      observedWith([]model.Member{packedMember(1), packedMember(2)}, []model.Member{packedMember(1)}),
		"one member differs":         observedWith([]model.Member{packedMember(1), odd}),
		"an ID of another form":      observedWith([]model.Member{vendor}),
		"no members and no listener": observedWith(nil),
		"nothing":                    observedWith(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var table nodeTable
			p := table.pack(observed)
			if diff := cmp.Diff(observed.LoadBalancer.Listeners, table.unpack(p).LoadBalancer.Listeners, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsUnpackedIsAValueOfItsOwn(t *testing.T) {
	t.Parallel()
	var table nodeTable
	p := table.pack(observedWith([]model.Member{packedMember(1), packedMember(2)}))
	first := table.unpack(p).LoadBalancer
	first.Listeners[0].Pool.Members[0].Name = "changed"
	first.Listeners = first.Listeners[:0]
	if again := table.unpack(p).LoadBalancer; again.Listeners[0].Pool.Members[0].Name != "node-1" {
		t.Errorf("a change came through: %+v", again.Listeners[0].Pool.Members[0])
	}
}

func TestMembersTakeLittleMemory(t *testing.T) {
	t.Parallel()
	var table nodeTable
	var members []model.Member
	for n := range 500 {
		members = append(members, packedMember(n))
	}
	m, ok := table.packMembers(members)
	if !ok {
		t.Fatal("members that are alike were not packed")
	}
	if bytes := cap(m.nodes)*4 + cap(m.ids)*16; bytes > 500*24 {
		t.Errorf("%d bytes for 500 members", bytes)
	}
}
