package model

import (
	"slices"
	"unique"

	"github.com/google/uuid"
)

// Rest are the members of a load balancer that a round is not about: they stay as they are, and are
// kept packed, while the load balancer has only those that the round is about, and a few that stand
// for the rest. A round for one node that has come or gone costs what its members cost, however
// many others there are. It never changes.
type Rest struct {
	all   *Packed // as it was, with those that the load balancer has
	shown []int   // the nodes in all whose members the load balancer has, ascending
	about string
}

// Nodes are those of the members of a load balancer that has the same in each of its pools, in the
// order of their addresses. All its members are as they were last requested, and differ in nothing
// but their node, ID and port; some may be in a subnet that nobody has read.
type Nodes struct{ of *Packed }

// Nodes returns them; false where the load balancer has other members.
func (p *Packed) Nodes() (Nodes, bool) {
	if len(p.members) == 0 {
		return Nodes{}, false
	}
	nodes := p.members[0].nodes.all()
	for i := range nodes {
		if i > 0 && nodes[i-1].Value().address >= nodes[i].Value().address {
			return Nodes{}, false
		}
	}
	for _, list := range p.members {
		if !slices.EqualFunc(nodes, list.nodes.all(), sameAddress) || !list.uniform() {
			return Nodes{}, false
		}
	}
	return Nodes{p}, len(nodes) > 0
}

// sameAddress reports whether two nodes have one address. In the cloud, a member can have another name
// than its node: requests that are too large have none.
func sameAddress(a, b unique.Handle[memberNode]) bool {
	return a == b || a.Value().address == b.Value().address
}

// uniform reports whether members have an ID each and are as Nodes wants them.
func (p PackedMembers) uniform() bool {
	if len(p.kinds) == 0 || slices.Contains(p.ids, uuid.Nil) || p.ids == nil {
		return false
	}
	first, subnet, known := p.kinds[0].member(), "", false
	for _, kind := range p.kinds {
		m := kind.member()
		if !m.Status.Sound() || m.Drained || m.AdminDown || m.Backup || m.Unasked != "" || m.Port != first.Port || m.MonitorPort != first.MonitorPort {
			return false
		}
		if m.SubnetUnknown {
			continue
		}
		if known && m.SubnetID != subnet {
			return false
		}
		subnet, known = m.SubnetID, true
	}
	return true
}

// Len returns how many nodes there are.
func (n Nodes) Len() int { return len(n.of.members[0].nodes.all()) }

// Address returns the address of a node.
func (n Nodes) Address(i int) string { return n.of.members[0].nodes.nodes[i].Value().address }

// Alike reports whether the members on two nodes differ in nothing but node, ID and port.
func (n Nodes) Alike(i, j int) bool {
	for _, list := range n.of.members {
		if list.kindOf(i) != list.kindOf(j) {
			return false
		}
	}
	return true
}

// Excerpt returns the load balancer with the members on some of its nodes only, which are in order,
// and the rest of them. About is the address of the only members that are going to change.
func (n Nodes) Excerpt(shown []int, about string) (*LoadBalancer, *Rest) {
	lb := n.of.Outline()
	for i, list := range n.of.members {
		lb.Listeners[i].Pool.Members = list.pick(shown)
	}
	return lb, &Rest{n.of, shown, about}
}

// pick returns some of the members.
func (p PackedMembers) pick(places []int) []Member {
	picked := make([]Member, 0, len(places)+1) // for one more
	for _, i := range places {
		node := p.nodes.nodes[i].Value()
		m := p.kinds[p.kindOf(i)].member()
		m.ID, m.Name, m.Address = string(appendID(nil, p.ids[i])), node.name, node.address
		picked = append(picked, m)
	}
	return picked
}

// About returns the address of the only members that are going to change.
func (r *Rest) About() string { return r.about }

// Len returns how many members of a listener the load balancer does not have; none without a rest.
func (r *Rest) Len(listener int) int {
	if r == nil {
		return 0
	}
	return r.all.members[listener].Len() - len(r.shown)
}

// Members returns how many members the load balancer does not have.
func (r *Rest) Members() int {
	n := 0
	if r != nil {
		for i := range r.all.members {
			n += r.Len(i)
		}
	}
	return n
}

// IDs calls each with the ID of each member of a listener that the load balancer does not have, until that
// returns false, and reports whether it never did. The ID is valid during the call.
func (r *Rest) IDs(listener int, each func(id []byte) bool) bool {
	if r == nil {
		return true
	}
	var text [idLength]byte
	shown := r.shown
	for i, id := range r.all.members[listener].ids {
		if len(shown) > 0 && shown[0] == i {
			shown = shown[1:]
		} else if !each(appendID(text[:0], id)) {
			return false
		}
	}
	return true
}

// Joined returns the load balancer with all its members: lb has those that the round is about as
// they are now, and the listeners that it had.
func (r *Rest) Joined(lb *LoadBalancer) *Packed {
	joined := r.all.outlined(lb)
	joined.members = make([]PackedMembers, len(r.all.members))
	like := r.all.members[0]
	for i, before := range r.all.members {
		like = before.with(r.shown, lb.Listeners[i].Pool.Members, like)
		joined.members[i] = like
	}
	return joined
}

// with returns the members, of which there are others in place of some. Both are ordered by address.
// Like are members that are most likely on the nodes on which these are.
func (p PackedMembers) with(replaced []int, by []Member, like PackedMembers) PackedMembers {
	kinds, known := make([]uint8, len(by)), p.values()
	for i, m := range by {
		kind := slices.Index(known, m.alike())
		if _, isUUID := packID(m.ID); kind < 0 || !isUUID || m.ID == "" {
			return p.withOthers(replaced, by, like)
		}
		kinds[i] = uint8(kind)
	}
	var (
		before = p.nodes.all()
		most   = len(before) - len(replaced) + len(by)
		nodes  = make([]unique.Handle[memberNode], 0, most)
		handle = handles(like.nodes.all())
		joined = PackedMembers{kinds: p.kinds, ids: make([]uuid.UUID, 0, most)}
	)
	if p.kind != nil {
		joined.kind = make([]uint8, 0, most)
	}
	add := func(node unique.Handle[memberNode], id uuid.UUID, kind uint8) {
		nodes, joined.ids = append(nodes, node), append(joined.ids, id)
		if joined.kind != nil {
			joined.kind = append(joined.kind, kind)
		}
	}
	addBefore := func(address string) {
		for ; len(by) > 0 && (address == "" || by[0].Address < address); by, kinds = by[1:], kinds[1:] {
			id, _ := packID(by[0].ID)
			add(handle(memberNode{by[0].Name, by[0].Address}), id, kinds[0])
		}
	}
	for i, node := range before {
		if len(replaced) > 0 && replaced[0] == i {
			replaced = replaced[1:]
			continue
		}
		addBefore(node.Value().address)
		add(node, p.ids[i], uint8(p.kindOf(i)))
	}
	addBefore("")
	if joined.nodes = like.nodes; !slices.Equal(nodes, like.nodes.all()) {
		joined.nodes = shared(nodes)
	}
	return joined
}

// withOthers is with for members that these have not the like of.
func (p PackedMembers) withOthers(replaced []int, by []Member, like PackedMembers) PackedMembers {
	var members []Member
	for i, m := range p.Unpack() {
		if !slices.Contains(replaced, i) {
			members = append(members, m)
		}
	}
	members = append(members, by...)
	slices.SortFunc(members, func(a, b Member) int { return a.Key().Compare(b.Key()) })
	return PackMembers(members, like)
}

// Sighting is what a status tree shows of a Rest.
type Sighting struct {
	rest   *Rest
	seen   []bool // of each listener, of each node
	left   int
	likely int
}

// Sight returns a Sighting that has seen nothing; nil, which has seen all, where there is no rest.
func (r *Rest) Sight() *Sighting {
	if r == nil {
		return nil
	}
	return &Sighting{rest: r, seen: make([]bool, r.all.Members()), left: r.Members()}
}

// Known returns what reports whether a member is of the rest; nil of nil.
func (s *Sighting) Known() func(id, address []byte, port int) bool {
	if s == nil {
		return nil
	}
	return s.has
}

// has reports whether a member is of the rest, and notes that it was seen. Members that come in the
// order of their addresses are found at once.
func (s *Sighting) has(id, address []byte, port int) bool {
	nodes := s.rest.all.members[0].nodes.nodes
	node, ok := s.likely, s.likely < len(nodes) && nodes[s.likely].Value().address == string(address)
	if !ok {
		node, ok = slices.BinarySearchFunc(nodes, address, func(node unique.Handle[memberNode], address []byte) int {
			switch known := node.Value().address; {
			case known < string(address):
				return -1
			case known > string(address):
				return 1
			}
			return 0
		})
	}
	if !ok {
		return false
	}
	s.likely = node + 1
	if slices.Contains(s.rest.shown, node) {
		return false
	}
	var text [idLength]byte
	for i, list := range s.rest.all.members {
		if list.kinds[list.kindOf(node)].port != port || string(appendID(text[:0], list.ids[node])) != string(id) {
			continue
		}
		if at := i*len(nodes) + node; !s.seen[at] {
			s.seen[at] = true
			s.left--
		}
		return true
	}
	return false
}

// All reports whether all members of the rest were seen.
func (s *Sighting) All() bool { return s == nil || s.left == 0 }
