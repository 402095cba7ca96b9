package model

import (
	"slices"
	"time"
	"unique"

	"github.com/google/uuid"
)

// Packed is a load balancer as it is kept in memory. A thousand Services with three
// ports on five hundred nodes have one and a half million members: here a member is
// an ID and a reference to its node, a tenth of what it takes otherwise. A Packed never
// changes; it shares everything but members with the load balancer that it was made of.
type Packed struct {
	// lb is the load balancer without the members that could be packed.
	lb      LoadBalancer
	members []packedMembers // by listener
}

// packedMembers are members of few kinds; those of one kind differ in ID and node
// only. Several kinds come of their history: a subnet that is known of some.
type packedMembers struct {
	kinds []Member
	kind  []uint8                     // of each member; nil where there is one kind
	nodes []unique.Handle[memberNode] // shared with the listeners that have the same ones
	ids   []uuid.UUID                 // the nil UUID where the ID is not known
}

// maxKinds is how many kinds of members can be told apart in a byte.
const maxKinds = 256

// memberNode is what a member has of its node; there is one of each, as long as a member
// has it.
type memberNode struct{ name, address string }

// Pack returns the small form of a load balancer, and nil of nil. Only the operating
// statuses of members are lost. A pool whose members are of too many kinds, or have IDs
// that are no UUIDs, is kept as it is.
func Pack(lb *LoadBalancer) *Packed {
	if lb == nil {
		return nil
	}
	p := &Packed{lb: *lb}
	p.lb.Listeners = make([]Listener, len(lb.Listeners))
	p.members = make([]packedMembers, len(lb.Listeners))
	for i, l := range lb.Listeners {
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

// Unpack returns the load balancer, with lists of listeners and members of its own, and
// nil of nil.
func (p *Packed) Unpack() *LoadBalancer {
	if p == nil {
		return nil
	}
	lb := p.lb
	lb.Listeners = slices.Clone(p.lb.Listeners)
	for i := range lb.Listeners {
		pool := &lb.Listeners[i].Pool
		if m := p.members[i]; len(m.ids) > 0 {
			pool.Members = m.unpack()
		} else {
			pool.Members = slices.Clone(pool.Members)
		}
	}
	return &lb
}

// Outline returns the load balancer without the members that were packed. It must not be
// changed.
func (p *Packed) Outline() *LoadBalancer { return &p.lb }

// WithUpdatedAt returns the same load balancer with another updated_at.
func (p *Packed) WithUpdatedAt(at time.Time) *Packed {
	moved := *p
	moved.lb.UpdatedAt = at
	return &moved
}

// packMembers reports false when the members are of too many kinds, or have IDs that are
// no UUIDs.
func packMembers(members []Member) (packedMembers, bool) {
	if len(members) == 0 {
		return packedMembers{}, false
	}
	m := packedMembers{nodes: make([]unique.Handle[memberNode], 0, len(members)), ids: make([]uuid.UUID, 0, len(members))}
	kind := make([]uint8, 0, len(members))
	for _, member := range members {
		id, ok := packID(member.ID)
		if !ok {
			return packedMembers{}, false
		}
		of := kindOf(member)
		i := slices.Index(m.kinds, of)
		if i < 0 {
			i, m.kinds = len(m.kinds), append(m.kinds, of)
		}
		if i >= maxKinds {
			return packedMembers{}, false
		}
		kind = append(kind, uint8(i))
		m.nodes = append(m.nodes, unique.Make(memberNode{member.Name, member.Address}))
		m.ids = append(m.ids, id)
	}
	if len(m.kinds) > 1 {
		m.kind = kind
	}
	return m, true
}

// packID returns the nil UUID for an ID that is not known. It reports false for what would
// not come back as it was.
func packID(id string) (uuid.UUID, bool) {
	if id == "" {
		return uuid.Nil, true
	}
	packed, err := uuid.Parse(id)
	return packed, err == nil && packed != uuid.Nil && packed.String() == id
}

func unpackID(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// kindOf returns what a member shares with others. Whether it answers right now does not
// matter.
func kindOf(m Member) Member {
	m.ID, m.Name, m.Address, m.Status.Operating = "", "", "", ""
	return m
}

func (m packedMembers) unpack() []Member {
	members := make([]Member, 0, len(m.ids))
	for i, id := range m.ids {
		member := m.kinds[0]
		if m.kind != nil {
			member = m.kinds[m.kind[i]]
		}
		node := m.nodes[i].Value()
		member.ID, member.Name, member.Address = unpackID(id), node.name, node.address
		members = append(members, member)
	}
	return members
}
