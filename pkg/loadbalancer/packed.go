package loadbalancer

import (
	"slices"
	"unique"

	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// packed is a load balancer as it is kept in memory. A thousand Services with three
// ports on five hundred nodes have one and a half million members: here a member is
// an ID and a reference to its node, a tenth of what it takes otherwise.
type packed struct {
	// lb is the load balancer; the members of pools that could be packed are left
	// out of it.
	lb      model.LoadBalancer
	members []packedMembers // by listener
}

// packedMembers are members of few kinds, of which those of one differ in ID and node
// only. Several kinds come of their history: a subnet that is known of some.
type packedMembers struct {
	kinds []model.Member
	kind  []uint8                    // of each member; nil where there is one kind
	nodes []unique.Handle[tableNode] // shared with the listeners that have the same ones
	ids   []uuid.UUID
}

// mostKinds is how many kinds of members can be told apart in a byte.
const mostKinds = 256

// tableNode is what a member has of its node; there is one of each, as long as a member
// has it.
type tableNode struct{ name, address string }

// pack makes the small form of what the cloud has for a Service that is well.
func pack(observed *model.Observed) *packed {
	p := &packed{lb: *observed.LoadBalancer}
	p.lb.Listeners = make([]model.Listener, len(observed.LoadBalancer.Listeners))
	p.members = make([]packedMembers, len(p.lb.Listeners))
	for i, l := range observed.LoadBalancer.Listeners {
		if members, ok := packMembers(l.Pool.Members); ok {
			if i > 0 && slices.Equal(members.nodes, p.members[i-1].nodes) {
				members.nodes = p.members[i-1].nodes
			}
			p.members[i], l.Pool.Members = members, nil
		}
		p.lb.Listeners[i] = l
	}
	return p
}

// packMembers packs members; it is false when they are of too many kinds, or have IDs of
// another form.
func packMembers(members []model.Member) (packedMembers, bool) {
	if len(members) == 0 {
		return packedMembers{}, false
	}
	m := packedMembers{nodes: make([]unique.Handle[tableNode], 0, len(members)), ids: make([]uuid.UUID, 0, len(members))}
	kind := make([]uint8, 0, len(members))
	for _, member := range members {
		id, err := uuid.Parse(member.ID)
		if err != nil || id.String() != member.ID {
			return packedMembers{}, false
		}
		like := common(member)
		i := slices.Index(m.kinds, like)
		if i < 0 {
			i, m.kinds = len(m.kinds), append(m.kinds, like)
		}
		if i >= mostKinds {
			return packedMembers{}, false
		}
		kind = append(kind, uint8(i))
		m.nodes = append(m.nodes, unique.Make(tableNode{member.Name, member.Address}))
		m.ids = append(m.ids, id)
	}
	if len(m.kinds) > 1 {
		m.kind = kind
	}
	return m, true
}

// like gives what a member shares with those of its kind.
func (m packedMembers) like(i int) model.Member {
	if m.kind == nil {
		return m.kinds[0]
	}
	return m.kinds[m.kind[i]]
}

// common is what members share. Whether they answer right now does not matter.
func common(m model.Member) model.Member {
	m.ID, m.Name, m.Address, m.Status.Operating = "", "", "", ""
	return m
}

// unpack gives the load balancer back, as a value of its own.
func unpack(p *packed) *model.Observed {
	lb := p.lb
	lb.Listeners = make([]model.Listener, len(p.lb.Listeners))
	for i, l := range p.lb.Listeners {
		if m := p.members[i]; len(m.ids) > 0 {
			l.Pool.Members = make([]model.Member, 0, len(m.ids))
			for j, id := range m.ids {
				node, member := m.nodes[j].Value(), m.like(j)
				member.ID, member.Name, member.Address = id.String(), node.name, node.address
				l.Pool.Members = append(l.Pool.Members, member)
			}
		}
		lb.Listeners[i] = l
	}
	return &model.Observed{LoadBalancer: &lb}
}
