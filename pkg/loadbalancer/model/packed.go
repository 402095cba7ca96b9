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
	outline   string // what encode makes
	status    unique.Handle[Status]
	updatedAt time.Time
	members   []PackedMembers // of each listener
}

// Pack returns the small form of a load balancer, and nil of nil. Only the operating
// statuses of members are lost. What is the same in like, an earlier state of the load
// balancer or nil, is shared with it: what is kept for long stays where it is then.
func Pack(lb *LoadBalancer, like *Packed) *Packed {
	if lb == nil {
		return nil
	}
	if like == nil {
		like = &Packed{}
	}
	p := like.outlined(lb)
	p.members = make([]PackedMembers, len(lb.Listeners))
	var before PackedMembers
	if len(like.members) > 0 {
		before = like.members[0]
	}
	for i := range lb.Listeners {
		members := lb.Listeners[i].Pool.Members
		if i < len(like.members) && like.members[i].are(members) {
			before = like.members[i]
		} else {
			before = PackMembers(members, before)
		}
		p.members[i] = before
	}
	return p
}

// Unpack returns the load balancer, as a value of the caller's own, and nil of nil.
func (p *Packed) Unpack() *LoadBalancer {
	if p == nil {
		return nil
	}
	lb := p.Outline()
	for i := range lb.Listeners {
		lb.Listeners[i].Pool.Members = p.members[i].Unpack()
	}
	return lb
}

// Outline returns the load balancer without the members of its listeners, as a value of the
// caller's own. Its texts are parts of one, which each of them keeps.
func (p *Packed) Outline() *LoadBalancer {
	lb := &LoadBalancer{}
	p.OutlineInto(lb)
	return lb
}

// OutlineInto is Outline for who looks at many: it uses the memory of lb again, which nobody
// else may have.
func (p *Packed) OutlineInto(lb *LoadBalancer) {
	decode(p.outline, lb)
	lb.Status, lb.UpdatedAt = p.status.Value(), p.updatedAt
}

// WithOutline returns the load balancer with another outline and the members that it has, so that
// both must have the same listeners, in the same order.
func (p *Packed) WithOutline(outline *LoadBalancer) *Packed {
	changed := p.outlined(outline)
	changed.members = p.members
	return changed
}

// outlined returns the outline of a load balancer, in the memory of p where that has the same.
func (p *Packed) outlined(lb *LoadBalancer) *Packed {
	const usual = 2 << 10
	packed := &Packed{outline: p.outline, status: unique.Make(lb.Status), updatedAt: lb.UpdatedAt}
	if !encodes(p.outline, lb) {
		packed.outline = string(encode(make([]byte, 0, usual), lb))
	}
	return packed
}

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
			of := list.Len()
			if list.kind != nil {
				of = bytes.Count(list.kind, []byte{uint8(i)})
			}
			count(kind.rest.Value().Status.Provisioning, of)
		}
	}
}

// UpdatedAt returns when the load balancer was changed last.
func (p *Packed) UpdatedAt() time.Time { return p.updatedAt }

// WithUpdatedAt returns the same load balancer with another updated_at.
func (p *Packed) WithUpdatedAt(at time.Time) *Packed { return p.WithStatus(p.status.Value(), at) }

// WithStatus returns the same load balancer with another status and updated_at.
func (p *Packed) WithStatus(status Status, at time.Time) *Packed {
	changed := *p
	changed.status, changed.updatedAt = unique.Make(status), at
	return &changed
}

// PackedMembers are members of few kinds; those of one kind differ in ID and node
// only. Several kinds come of their history: a subnet that is known of some. The zero
// value has none.
type PackedMembers struct {
	kinds []memberKind
	kind  []uint8     // of each member; nil where there is one kind
	nodes *nodeList   // nil where there are none
	ids   []uuid.UUID // the nil UUID where the ID is not known; nil where none is
	plain []Member    // in place of all these, of members that cannot be packed
}

// maxKinds is how many kinds of members can be told apart in a byte.
const maxKinds = 256

// memberKind is what members of a pool share. But for the port there is one of each for all
// pools.
type memberKind struct {
	port int
	rest unique.Handle[Member]
}

func (k memberKind) member() Member {
	m := k.rest.Value()
	m.Port = k.port
	return m
}

// PackMembers returns the small form of members, without their operating statuses. Those
// that are of too many kinds, or have IDs that are no UUIDs, are kept as they are. It is faster,
// and the result smaller, where most of others are on the same nodes, in the same order.
func PackMembers(members []Member, others PackedMembers) PackedMembers {
	switch {
	case members == nil:
		return PackedMembers{}
	case len(members) == 0:
		return PackedMembers{plain: []Member{}}
	}
	var p PackedMembers
	var kinds []Member
	nodes, handle := make([]unique.Handle[memberNode], 0, len(members)), handles(others.nodes.all())
	kindOf := make([]uint8, 0, len(members))
	for i, member := range members {
		id, ok := packUUID(member.ID)
		alike := member.alike()
		kind := slices.Index(kinds, alike)
		if kind < 0 {
			kind, kinds = len(kinds), append(kinds, alike)
		}
		if !ok || kind >= maxKinds {
			return PackedMembers{plain: slices.Clone(members)}
		}
		kindOf = append(kindOf, uint8(kind))
		nodes = append(nodes, handle(memberNode{member.Name, member.Address}))
		if id != uuid.Nil && p.ids == nil {
			p.ids = make([]uuid.UUID, len(members))
		}
		if p.ids != nil {
			p.ids[i] = id
		}
	}
	p.kinds = make([]memberKind, len(kinds))
	for i, kind := range kinds {
		p.kinds[i].port, kind.Port = kind.Port, 0
		p.kinds[i].rest = unique.Make(kind)
	}
	if len(kinds) > 1 {
		p.kind = kindOf
	}
	if p.nodes = others.nodes; !slices.Equal(nodes, others.nodes.all()) {
		p.nodes = shared(nodes)
	}
	return p
}

// alike returns what a member shares with others. Whether it answers right now does not
// matter.
func (m Member) alike() Member {
	m.ID, m.Name, m.Address, m.Status.Operating = "", "", "", ""
	return m
}

// Len returns how many members there are.
func (p PackedMembers) Len() int { return len(p.nodes.all()) + len(p.plain) }

// are reports whether the members are these, in the same order. Those that could not be packed
// never are.
func (p PackedMembers) are(members []Member) bool {
	nodes := p.nodes.all()
	if len(members) == 0 || len(members) != len(nodes) {
		return false
	}
	kinds := p.values()
	for i, m := range members {
		id, ok := packUUID(m.ID)
		if !ok || id != p.id(i) || nodes[i].Value() != (memberNode{m.Name, m.Address}) || kinds[p.kindOf(i)] != m.alike() {
			return false
		}
	}
	return true
}

// values returns the kinds.
func (p PackedMembers) values() []Member {
	values := make([]Member, 0, len(p.kinds))
	for _, kind := range p.kinds {
		values = append(values, kind.member())
	}
	return values
}

// kindOf returns the index of the kind of a member.
func (p PackedMembers) kindOf(i int) int {
	if p.kind == nil {
		return 0
	}
	return int(p.kind[i])
}

// id returns the ID of a member; the nil UUID where it is not known.
func (p PackedMembers) id(i int) uuid.UUID {
	if p.ids == nil {
		return uuid.Nil
	}
	return p.ids[i]
}

// Unpack returns a list of the members, with room for one more: most changes add one.
func (p PackedMembers) Unpack() []Member {
	nodes := p.nodes.all()
	if len(nodes) == 0 {
		return slices.Clone(p.plain)
	}
	members, kinds, ids := make([]Member, 0, len(nodes)+1), p.values(), unpackIDs(p.ids)
	for i, node := range nodes {
		member := kinds[p.kindOf(i)]
		member.ID, member.Name, member.Address = ids(i), node.Value().name, node.Value().address
		members = append(members, member)
	}
	return members
}

// idLength is that of a UUID in its usual form.
const idLength = 36

// packUUID returns the nil UUID for an ID that is not known. It reports false for what would
// not come back as it was: anything but a UUID in its usual form, in lower case.
func packUUID(id string) (packed uuid.UUID, ok bool) {
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
