package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// someMembers returns members on up to 24 hosts, so that some lists of hosts are interned. Half of the lists have
// members of one kind; IDs are UUIDs, texts or missing.
func someMembers(random *rand.Rand) []Member {
	var list []Member
	most, alike := 1+random.IntN(24), random.IntN(2) == 0
	for n := range most {
		for port := 80; port < 82; port++ {
			if random.IntN(3) == 0 {
				continue
			}
			list = append(list, onHost(n, port, func(m *Member) {
				switch random.IntN(12) {
				case 0:
					m.ID = ""
				case 1:
					m.ID = fmt.Sprintf("m%d", n)
				}
				if !alike {
					m.Drained, m.Weight, m.SubnetID = random.IntN(4) == 0, random.IntN(2), fmt.Sprintf("subnet-%d", random.IntN(2))
				}
			}))
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// sorted returns members of a map in the order of their keys.
func sorted(of map[MemberKey]Member) []Member {
	return slices.SortedFunc(maps.Values(of), func(a, b Member) int { return a.Key().Compare(b.Key()) })
}

func byKey(list []Member) map[MemberKey]Member {
	all := map[MemberKey]Member{}
	for _, m := range list {
		all[m.Key()] = m
	}
	return all
}

// Each operation is compared with the same one on a map. Its result is the value, with the digest, that is built of the
// same members.
func TestMembers_BehaveAsMapByKey(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 3))
		list, others := someMembers(random), someMembers(random)
		a, b := MembersOf(list...), MembersOf(others...)
		want := sorted(byKey(list))
		from := random.IntN(len(want) + 1)
		to := from + random.IntN(len(want)-from+1)
		with, without := byKey(list), byKey(list)
		for _, m := range others {
			with[m.Key()] = m
			delete(without, m.Key())
		}
		var odd, drained []Member
		for i, m := range want {
			if i%2 == 1 {
				odd = append(odd, m)
			}
			m.Drained, m.ID = true, ""
			drained = append(drained, m)
		}
		for name, test := range map[string]struct {
			got  Members
			want []Member
		}{
			"of a list":   {a, want},
			"with":        {a.With(b), sorted(with)},
			"without":     {a.Without(b), sorted(without)},
			"filtered":    {a.Filter(func(i int) bool { return i%2 == 1 }), odd},
			"a part":      {a.Slice(from, to), want[from:to]},
			"mapped":      {a.Map(func(_ int, m Member) Member { m.Drained, m.ID = true, ""; return m }), drained},
			"with itself": {a.With(a), want},
		} {
			if diff := cmp.Diff(slices.Clip(test.want), listOf(test.got)); diff != "" && len(test.want)+test.got.Len() > 0 {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if built := MembersOf(test.want...); !test.got.Equal(built) || test.got.Digest() != built.Digest() {
				t.Errorf("%s: it is another value than that of the same members", name)
			}
			assertIndexed(t, name, test.got, test.want)
		}
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// assertIndexed looks up each member by its index and its key, and counts the kinds.
func assertIndexed(t *testing.T, name string, got Members, want []Member) {
	t.Helper()
	kinds := map[Member]int{}
	for i, m := range want {
		if at, found := got.Find(m.Key()); !found || at != i || got.At(i) != m || got.Kind(i) != m.kind() || !got.IsID(i, m.ID) {
			t.Errorf("%s: member %d is found at %d, want %+v", name, i, at, m)
		}
		kinds[m.kind()]++
	}
	for kind, n := range got.Kinds() {
		if n == 0 || kinds[kind] != n {
			t.Errorf("%s: %d members of kind %+v, want %d", name, n, kind, kinds[kind])
		}
		delete(kinds, kind)
	}
	if len(kinds) > 0 {
		t.Errorf("%s: kinds that are not listed: %v", name, kinds)
	}
}

func TestMembers_EndTheirIterationsEarly(t *testing.T) {
	t.Parallel()
	members := MembersOf(onHost(1, 80), onHost(2, 80, func(m *Member) { m.Drained = true }), onHost(3, 80))
	var seen []int
	for i := range members.All() {
		if seen = append(seen, i); i == 1 {
			break
		}
	}
	for range members.Kinds() {
		seen = append(seen, -1)
		break
	}
	for i := range Pairs(members, members) {
		seen = append(seen, i)
		break
	}
	if want := []int{0, 1, -1, 0}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
}
