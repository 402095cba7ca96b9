package model

import (
	"encoding/hex"
	"slices"
	"time"
	"unique"

	"github.com/google/uuid"
)

// Packed is a load balancer as it is kept in memory. A thousand Services with three
// ports on five hundred nodes have one and a half million members: here a member is
// an ID and a reference to its node, a tenth of what it takes otherwise. A Packed never
// changes.
type Packed struct {
	lb      LoadBalancer // without the members of listeners
	members []PackedMembers
}

// Pack returns the small form of a load balancer, and nil of nil. Only the operating
// statuses of members are lost.
func Pack(lb *LoadBalancer) *Packed {
	if lb == nil {
		return nil
	}
	outline, members := *lb, make([]PackedMembers, len(lb.Listeners))
	outline.Listeners = slices.Clone(lb.Listeners)
	for i := range outline.Listeners {
		pool := &outline.Listeners[i].Pool
		members[i], pool.Members = PackMembers(pool.Members), nil
		if i > 0 && slices.Equal(members[i].nodes, members[i-1].nodes) {
			members[i].nodes = members[i-1].nodes
		}
	}
	return &Packed{lb: *outline.Clone(), members: members}
}

// Unpack returns the load balancer, as a value of the caller's own, and nil of nil.
func (p *Packed) Unpack() *LoadBalancer {
	if p == nil {
		return nil
	}
	lb := p.lb.Clone()
	for i := range lb.Listeners {
		lb.Listeners[i].Pool.Members = p.members[i].Unpack()
	}
	return lb
}

// UnpackPool returns the load balancer with the members of one listener's pool, given by the
// listener's index, as a value of the caller's own. The other listeners have none.
func (p *Packed) UnpackPool(listener int) *LoadBalancer {
	lb := p.lb.Clone()
	lb.Listeners[listener].Pool.Members = p.members[listener].Unpack()
	return lb
}

// WithMembers returns the same load balancer with other members in one listener's pool, given
// by the listener's index.
func (p *Packed) WithMembers(listener int, members []Member) *Packed {
	changed := *p
	changed.members = slices.Clone(p.members)
	changed.members[listener] = PackMembers(members)
	return &changed
}

// Outline returns the load balancer without the members of its listeners. It must not be
// changed.
func (p *Packed) Outline() *LoadBalancer { return &p.lb }

// Members returns how many members its listeners have.
func (p *Packed) Members() int {
	n := 0
	for _, members := range p.members {
		n += len(members.ids) + len(members.plain)
	}
	return n
}

// WithUpdatedAt returns the same load balancer with another updated_at.
func (p *Packed) WithUpdatedAt(at time.Time) *Packed { return p.WithStatus(p.lb.Status, at) }

// WithStatus returns the same load balancer with another status and updated_at.
func (p *Packed) WithStatus(status Status, at time.Time) *Packed {
	changed := *p
	changed.lb.Status, changed.lb.UpdatedAt = status, at
	return &changed
}

// PackedMembers are members of few kinds; those of one kind differ in ID and node
// only. Several kinds come of their history: a subnet that is known of some. The zero
// value has none.
type PackedMembers struct {
	kinds []Member
	kind  []uint8                     // of each member; nil where there is one kind
	nodes []unique.Handle[memberNode] // shared with the listeners that have the same ones
	ids   []uuid.UUID                 // the nil UUID where the ID is not known
	plain []Member                    // in place of all these, of members that cannot be packed
}

// maxKinds is how many kinds of members can be told apart in a byte.
const maxKinds = 256

// memberNode is what a member has of its node; there is one of each, as long as a member
// has it.
type memberNode struct{ name, address string }

// PackMembers returns the small form of members, without their operating statuses. Those
// that are of too many kinds, or have IDs that are no UUIDs, are kept as they are.
func PackMembers(members []Member) PackedMembers {
	if len(members) == 0 {
		return PackedMembers{plain: members}
	}
	p := PackedMembers{nodes: make([]unique.Handle[memberNode], 0, len(members)), ids: make([]uuid.UUID, 0, len(members))}
	kinds := make([]uint8, 0, len(members))
	for _, member := range members {
		id, ok := packID(member.ID)
		kind := p.addKind(member)
		if !ok || kind >= maxKinds {
			return PackedMembers{plain: slices.Clone(members)}
		}
		kinds = append(kinds, uint8(kind))
		p.nodes = append(p.nodes, unique.Make(memberNode{member.Name, member.Address}))
		p.ids = append(p.ids, id)
	}
	if len(p.kinds) > 1 {
		p.kind = kinds
	}
	return p
}

// Unpack returns a list of the members.
func (p PackedMembers) Unpack() []Member {
	if len(p.ids) == 0 {
		return slices.Clone(p.plain)
	}
	members, ids := make([]Member, 0, len(p.ids)), unpackIDs(p.ids)
	for i, node := range p.nodes {
		member := p.kinds[0]
		if p.kind != nil {
			member = p.kinds[p.kind[i]]
		}
		member.ID, member.Name, member.Address = ids(i), node.Value().name, node.Value().address
		members = append(members, member)
	}
	return members
}

// addKind returns the index of what a member shares with others. Whether it answers right
// now does not matter.
func (p *PackedMembers) addKind(m Member) int {
	m.ID, m.Name, m.Address, m.Status.Operating = "", "", "", ""
	i := slices.Index(p.kinds, m)
	if i < 0 {
		i, p.kinds = len(p.kinds), append(p.kinds, m)
	}
	return i
}

// idLength is that of a UUID in its usual form.
const idLength = 36

// packID returns the nil UUID for an ID that is not known. It reports false for what would
// not come back as it was.
func packID(id string) (uuid.UUID, bool) {
	if id == "" {
		return uuid.Nil, true
	}
	packed, err := uuid.Parse(id)
	var text [idLength]byte
	return packed, err == nil && packed != uuid.Nil && string(appendID(text[:0], packed)) == id
}

// unpackIDs returns the IDs of members by their index. All are parts of one string: a
// string for each would be most of the work of unpacking.
func unpackIDs(ids []uuid.UUID) func(int) string {
	text := make([]byte, 0, idLength*len(ids))
	for _, id := range ids {
		text = appendID(text, id)
	}
	all := string(text)
	return func(i int) string {
		if ids[i] == uuid.Nil {
			return ""
		}
		return all[i*idLength : (i+1)*idLength]
	}
}

// appendID appends an ID as in 01234567-89ab-cdef-0123-456789abcdef.
func appendID(text []byte, id uuid.UUID) []byte {
	for i, part := range [][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, part)
	}
	return text
}
