package plan

import (
	"sort"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// index finds members by a key. What is compared is a thousand members with a thousand
// others, in the same order as a rule, of which all but a few are in both: where they are
// ordered by the key, looking for one after the other takes no map.
type index[K comparable] struct {
	members []model.Member
	key     func(*model.Member) K
	compare func(a, b K) int
	// next follows the member that was found last.
	next int
	// at is nil where members are ordered by the key, and no two have the same.
	at map[K]int
}

func newIndex[K comparable](members []model.Member, key func(*model.Member) K, compare func(a, b K) int) *index[K] {
	x := &index[K]{members: members, key: key, compare: compare}
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

// get returns the member of a key, the zero Member where there is none.
func (x *index[K]) get(key K) (model.Member, bool) {
	if x.at != nil {
		i, ok := x.at[key]
		if !ok {
			return model.Member{}, false
		}
		return x.members[i], true
	}
	i, ok := x.next, x.next < len(x.members) && x.key(&x.members[x.next]) == key
	if !ok {
		// slices.BinarySearchFunc would copy each member that it compares to the heap.
		i, ok = sort.Find(len(x.members), func(i int) int { return x.compare(key, x.key(&x.members[i])) })
	}
	if !ok {
		return model.Member{}, false
	}
	x.next = i + 1
	return x.members[i], true
}

func membersByKey(members []model.Member) *index[model.MemberKey] {
	return newIndex(members, func(m *model.Member) model.MemberKey { return m.Key() }, model.MemberKey.Compare)
}

func membersByAddress(members []model.Member) *index[string] {
	return newIndex(members, func(m *model.Member) string { return m.Address }, strings.Compare)
}
