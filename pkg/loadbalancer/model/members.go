package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"sort"

	"github.com/google/uuid"
)

// Members are the members of a pool in the order of their keys. It is an immutable value: each change returns
// another value. The zero value has no members.
//
// It is stored as columns, so that a member takes some 24 bytes: its host in a list that pools and Services
// share, its ID, and its kind. Most pools have one kind of members. Pools of one load balancer may have
// different members, and members of one pool may have different ports.
type Members struct {
	hosts *Hosts
	ids   ids
	// kinds are the kinds that occur, in the order of their first members.
	kinds []Member
	// kind is the index into kinds of each member; nil when there is one kind.
	kind []uint16
}

// MembersOf returns the members of a list.
func MembersOf(list ...Member) Members {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Member) int { return a.Key().Compare(b.Key()) })
	b := builder{room: len(list)}
	for i := range list {
		b.add(&list[i])
	}
	return b.members()
}

// kind returns the values that members share: all but ID, name and address.
func (m *Member) kind() Member {
	kind := *m
	kind.ID, kind.Name, kind.Address = "", "", ""
	return kind
}

// Len returns the number of members.
func (m Members) Len() int { return m.hosts.Len() }

// At returns member i. It panics if i is out of range.
func (m Members) At(i int) Member {
	member, host := m.Kind(i), m.hosts.list[i].Value()
	member.ID, member.Name, member.Address = m.ids.at(i), host.Name, host.Address
	return member
}

// All iterates over the members. Their IDs are parts of one text.
func (m Members) All() iter.Seq2[int, Member] {
	return func(yield func(int, Member) bool) {
		id := m.ids.all()
		for i := range m.Len() {
			member, host := m.Kind(i), m.hosts.list[i].Value()
			member.ID, member.Name, member.Address = id(i), host.Name, host.Address
			if !yield(i, member) {
				return
			}
		}
	}
}

// Kind returns member i without ID, name and address.
func (m Members) Kind(i int) Member { return *m.kindOf(i) }

func (m Members) kindOf(i int) *Member {
	if m.kind == nil {
		return &m.kinds[0]
	}
	return &m.kinds[m.kind[i]]
}

// Kinds iterates over the kinds of members, each with the number of its members.
func (m Members) Kinds() iter.Seq2[Member, int] {
	return func(yield func(Member, int) bool) {
		counts := []int{m.Len()}
		if m.kind != nil {
			counts = make([]int, len(m.kinds))
			for _, kind := range m.kind {
				counts[kind]++
			}
		}
		for i, kind := range m.kinds {
			if !yield(kind, counts[i]) {
				return
			}
		}
	}
}

// Key returns the key of member i.
func (m Members) Key(i int) MemberKey {
	return MemberKey{m.hosts.list[i].Value().Address, m.kindOf(i).Port}
}

// IsID reports whether member i has this ID.
func (m Members) IsID(i int, id string) bool { return m.ids.is(i, id) }

// Equal reports whether the members are the same.
func (m Members) Equal(other Members) bool {
	return m.hosts.equal(other.hosts) && slices.Equal(m.kinds, other.kinds) && slices.Equal(m.kind, other.kind) && m.ids.equal(other.ids)
}

// Digest returns a hash of all of the members, "" for none. The part of the hosts is computed once for each list.
func (m Members) Digest() string {
	if m.Len() == 0 {
		return ""
	}
	hosts := m.hosts.sum()
	text, err := json.Marshal(struct {
		Hosts []byte
		Kinds []Member
		Kind  []uint16
		UUIDs []uuid.UUID
		IDs   []string
	}{hosts[:], m.kinds, m.kind, m.ids.compact, m.ids.texts})
	if err != nil {
		return "" // structs of strings and numbers can be marshaled
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Find returns the index of the member with a key, and false if there is none.
func (m Members) Find(key MemberKey) (int, bool) {
	return sort.Find(m.Len(), func(i int) int { return key.Compare(m.Key(i)) })
}

// FindAddress returns the index of the first member at an address, and false if there is none.
func (m Members) FindAddress(address string) (int, bool) {
	i, _ := m.Find(MemberKey{Address: address})
	return i, i < m.Len() && m.hosts.list[i].Value().Address == address
}

// With returns these members and others. Others replace members with the same key.
func (m Members) With(others Members) Members {
	b := builder{room: m.Len() + others.Len(), like: m}
	for i, j := range Pairs(m, others) {
		if j >= 0 {
			b.copy(others, j)
		} else {
			b.copy(m, i)
		}
	}
	return b.members()
}

// Without returns these members except those with the key of another.
func (m Members) Without(others Members) Members {
	b := builder{room: m.Len(), like: m}
	for i, j := range Pairs(m, others) {
		if j < 0 {
			b.copy(m, i)
		}
	}
	return b.members()
}

// Filter returns the members for which keep returns true, given their indexes.
func (m Members) Filter(keep func(i int) bool) Members {
	b := builder{room: m.Len(), like: m}
	for i := range m.Len() {
		if keep(i) {
			b.copy(m, i)
		}
	}
	return b.members()
}

// Slice returns the members from index i to index j, without member j.
func (m Members) Slice(i, j int) Members {
	if i == 0 && j == m.Len() {
		return m
	}
	return m.Filter(func(at int) bool { return i <= at && at < j })
}

// Map returns the results of change for each member, given its index.
func (m Members) Map(change func(i int, member Member) Member) Members {
	b := builder{room: m.Len(), like: m}
	for i, member := range m.All() {
		changed := change(i, member)
		b.add(&changed)
	}
	return b.members()
}

// Pairs iterates over the keys of two lists in order. It yields the index of the member with the key in each list,
// and -1 for a list without such a member.
func Pairs(a, b Members) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i, j := 0, 0; i < a.Len() || j < b.Len(); {
			order := -1
			switch {
			case i == a.Len():
				order = 1
			case j == b.Len():
			case a.hosts.list[i] == b.hosts.list[j] && a.kindOf(i).Port == b.kindOf(j).Port:
				order = 0
			default:
				order = a.Key(i).Compare(b.Key(j))
			}
			first, second := i, j
			if order < 0 {
				second = -1
			} else {
				j++
			}
			if order > 0 {
				first = -1
			} else {
				i++
			}
			if !yield(first, second) {
				return
			}
		}
	}
}

// Common returns the common values of members, without ID, name, address and subnet. It is false if
// they differ in other values, or there are no members.
func (m Members) Common() (common Member, alike bool) {
	for kind := range m.Kinds() {
		kind.SubnetID, kind.Status.Operating = "", ""
		if alike && kind != common {
			return Member{}, false
		}
		common, alike = kind, true
	}
	return common, alike
}
