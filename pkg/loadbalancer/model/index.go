package model

import (
	"sort"
	"strings"
)

// Index finds members, of a model or of an answer, by a key. What is compared is a thousand
// members with a thousand others, in the same order as a rule, of which all but a few are in
// both: where they are ordered by the key, looking for one after the other takes no map.
type Index[M any, K comparable] struct {
	members []M
	key     func(*M) K
	compare func(a, b K) int
	// next follows the member that was found last.
	next int
	// at is nil where members are ordered by the key, and no two have the same.
	at map[K]int
}

// NewIndex returns the index of members by a key, whose order compare is.
func NewIndex[M any, K comparable](members []M, key func(*M) K, compare func(a, b K) int) *Index[M, K] {
	x := &Index[M, K]{members: members, key: key, compare: compare}
	for i := 1; i < len(members); i++ {
		if compare(key(&members[i-1]), key(&members[i])) >= 0 {
			x.at = make(map[K]int, len(members))
			break
		}
	}
	if x.at != nil {
		for i := range members {
			x.at[key(&members[i])] = i
		}
	}
	return x
}

// Get returns the member of a key, in the list that is indexed; nil where there is none.
func (x *Index[M, K]) Get(key K) *M {
	if x.at != nil {
		if i, ok := x.at[key]; ok {
			return &x.members[i]
		}
		return nil
	}
	i, ok := x.next, x.next < len(x.members) && x.key(&x.members[x.next]) == key
	if !ok {
		// slices.BinarySearchFunc would copy each member that it compares to the heap.
		i, ok = sort.Find(len(x.members), func(i int) int { return x.compare(key, x.key(&x.members[i])) })
	}
	if !ok {
		return nil
	}
	x.next = i + 1
	return &x.members[i]
}

// Len returns how many members there are.
func (x *Index[M, K]) Len() int { return len(x.members) }

// MembersByKey returns the index of members by address and port.
func MembersByKey(members []Member) *Index[Member, MemberKey] {
	return NewIndex(members, func(m *Member) MemberKey { return m.Key() }, MemberKey.Compare)
}

// MembersByAddress returns the index of members by address.
func MembersByAddress(members []Member) *Index[Member, string] {
	return NewIndex(members, func(m *Member) string { return m.Address }, strings.Compare)
}
