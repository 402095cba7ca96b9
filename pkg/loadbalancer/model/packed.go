package model

import (
	"bytes"
	"slices"
	"strings"
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
	members := make([]PackedMembers, len(lb.Listeners))
	var before PackedMembers
	for i := range lb.Listeners {
		members[i] = PackMembers(lb.Listeners[i].Pool.Members, before)
		before = members[i]
	}
	return &Packed{lb: *lb.cloneOutline(), members: members}
}

// Sharing returns the same load balancer in the memory of another one, as far as the two have
// the same members.
func (p *Packed) Sharing(other *Packed) *Packed {
	if p == nil || other == nil {
		return p
	}
	shared := Packed{lb: p.lb, members: slices.Clone(p.members)}
	for i := range min(len(p.members), len(other.members)) {
		if p.members[i].equal(other.members[i]) {
			shared.members[i] = other.members[i]
		}
	}
	return &shared
}

// Unpack returns the load balancer, as a value of the caller's own, and nil of nil.
func (p *Packed) Unpack() *LoadBalancer {
	if p == nil {
		return nil
	}
	lb := p.lb.cloneOutline()
	for i := range lb.Listeners {
		lb.Listeners[i].Pool.Members = p.members[i].Unpack()
	}
	return lb
}

// Outline returns the load balancer without the members of its listeners. It must not be
// changed.
func (p *Packed) Outline() *LoadBalancer { return &p.lb }

// Members returns how many members its listeners have.
func (p *Packed) Members() int {
	n := 0
	for _, members := range p.members {
		n += members.Len()
	}
	return n
}

// CountMembers calls count with how many members there are of a provisioning status, for each
// that occurs, maybe more than once.
func (p *Packed) CountMembers(count func(provisioning string, members int)) {
	for _, list := range p.members {
		for _, m := range list.plain {
			count(m.Status.Provisioning, 1)
		}
		for i, kind := range list.kinds {
			of := len(list.nodes)
			if list.kind != nil {
				of = bytes.Count(list.kind, []byte{uint8(i)})
			}
			count(kind.Status.Provisioning, of)
		}
	}
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
	nodes []unique.Handle[memberNode] // shared with other lists that have the same ones
	ids   []uuid.UUID                 // the nil UUID where the ID is not known; nil where none is
	plain []Member                    // in place of all these, of members that cannot be packed
}

// maxKinds is how many kinds of members can be told apart in a byte.
const maxKinds = 256

// memberNode is what a member has of its node; there is one of each, as long as a member
// has it.
type memberNode struct{ name, address string }

// PackMembers returns the small form of members, without their operating statuses. Those
// that are of too many kinds, or have IDs that are no UUIDs, are kept as they are. It is faster,
// and the result smaller, where most of others are on the same nodes, in the same order.
func PackMembers(members []Member, others PackedMembers) PackedMembers {
	if len(members) == 0 {
		return PackedMembers{plain: members}
	}
	p := PackedMembers{nodes: make([]unique.Handle[memberNode], 0, len(members))}
	kinds, handle := make([]uint8, 0, len(members)), handles(others.nodes)
	for i, member := range members {
		id, ok := packID(member.ID)
		kind := p.addKind(member)
		if !ok || kind >= maxKinds {
			return PackedMembers{plain: slices.Clone(members)}
		}
		kinds = append(kinds, uint8(kind))
		p.nodes = append(p.nodes, handle(memberNode{member.Name, member.Address}))
		if id != uuid.Nil && p.ids == nil {
			p.ids = make([]uuid.UUID, len(members))
		}
		if p.ids != nil {
			p.ids[i] = id
		}
	}
	if len(p.kinds) > 1 {
		p.kind = kinds
	}
	if slices.Equal(p.nodes, others.nodes) {
		p.nodes = others.nodes
	}
	return p
}

// Len returns how many members there are.
func (p PackedMembers) Len() int { return len(p.nodes) + len(p.plain) }

// equal reports whether two lists are of the same members. Those that could not be packed are
// never equal.
func (p PackedMembers) equal(q PackedMembers) bool {
	return p.plain == nil && q.plain == nil && slices.Equal(p.ids, q.ids) && slices.Equal(p.nodes, q.nodes) &&
		slices.Equal(p.kinds, q.kinds) && slices.Equal(p.kind, q.kind)
}

// handles returns a function that returns the handles of nodes. Those that come in the order
// of known are found there, which takes a tenth of the time of unique.Make.
func handles(known []unique.Handle[memberNode]) func(memberNode) unique.Handle[memberNode] {
	return func(node memberNode) unique.Handle[memberNode] {
		for i := range min(2, len(known)) { // one of known may have gone
			if known[i].Value() == node {
				found := known[i]
				known = known[i+1:]
				return found
			}
		}
		return unique.Make(node)
	}
}

// Unpack returns a list of the members, with room for one more: most changes add one.
func (p PackedMembers) Unpack() []Member {
	if len(p.nodes) == 0 {
		return slices.Clone(p.plain)
	}
	members, ids := make([]Member, 0, len(p.nodes)+1), unpackIDs(p.ids)
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
// not come back as it was: anything but a UUID in its usual form, in lower case.
func packID(id string) (packed uuid.UUID, ok bool) {
	if id == "" {
		return uuid.Nil, true
	}
	if len(id) != idLength || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return uuid.Nil, false
	}
	// The values of the digits, each with a bit that tells that it is one. A condition for each
	// would be most of the work of packing.
	const is = 16
	digits := [256]byte{
		'0': is, '1': is | 1, '2': is | 2, '3': is | 3, '4': is | 4, '5': is | 5, '6': is | 6, '7': is | 7, '8': is | 8, '9': is | 9,
		'a': is | 10, 'b': is | 11, 'c': is | 12, 'd': is | 13, 'e': is | 14, 'f': is | 15,
	}
	valid := byte(is)
	for i, at := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		high, low := digits[id[at]], digits[id[at+1]]
		packed[i] = high<<4 | low&15
		valid &= high & low
	}
	return packed, valid == is && packed != uuid.Nil
}

// unpackIDs returns the IDs of members by their index. All are parts of one string: a
// string for each would be most of the work of unpacking.
func unpackIDs(ids []uuid.UUID) func(int) string {
	var text strings.Builder
	text.Grow(idLength * len(ids))
	var one [idLength]byte
	for _, id := range ids {
		text.Write(appendID(one[:0], id))
	}
	all := text.String()
	return func(i int) string {
		if ids == nil || ids[i] == uuid.Nil {
			return ""
		}
		return all[i*idLength : (i+1)*idLength]
	}
}

// appendID appends an ID as in 01234567-89ab-cdef-0123-456789abcdef.
func appendID(text []byte, id uuid.UUID) []byte {
	const digits = "0123456789abcdef"
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = append(text, digits[b>>4], digits[b&15])
	}
	return text
}
