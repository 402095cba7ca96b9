package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// onHost returns a member on the host with this number.
func onHost(n, port int, changes ...func(*Member)) Member {
	m := Member{
		ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(fmt.Sprint(n, port))).String(), Name: fmt.Sprintf("node-%d", n),
		Address: fmt.Sprintf("10.0.%03d.%03d", n/250, n%250), Port: port, SubnetID: "subnet", Status: Status{"ACTIVE", "ONLINE"},
	}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func listOf(members Members) []Member {
	var list []Member
	for _, m := range members.All() {
		list = append(list, m)
	}
	return list
}

// variants are lists of members that differ in each column.
func variants() map[string][]Member {
	noID := func(m *Member) { m.ID = "" }
	return map[string][]Member{
		"none":            nil,
		"one":             {onHost(1, 80)},
		"three":           {onHost(1, 80), onHost(2, 80), onHost(3, 80)},
		"no IDs":          {onHost(1, 80, noID), onHost(2, 80, noID), onHost(3, 80, noID)},
		"some IDs":        {onHost(1, 80, noID), onHost(2, 80), onHost(3, 80, noID)},
		"IDs of any form": {onHost(1, 80), onHost(2, 80, func(m *Member) { m.ID = "m2" }), onHost(3, 80, noID)},
		"upper case":      {onHost(1, 80, func(m *Member) { m.ID = "0123ABCD-4567-89ef-0123-456789abcdef" })},
		"other names":     {onHost(1, 80, func(m *Member) { m.Name = "" }), onHost(2, 80)},
		"several ports":   {onHost(1, 80), onHost(1, 81), onHost(2, 80), onHost(3, 8080)},
		"several kinds":   {onHost(1, 80, func(m *Member) { m.Drained = true }), onHost(2, 80), onHost(3, 80, func(m *Member) { m.Unasked = "weight 5" })},
		"statuses":        {onHost(1, 80, func(m *Member) { m.Status = Status{"ERROR", "OFFLINE"} }), onHost(2, 80)},
		"subnets":         {onHost(1, 80, func(m *Member) { m.SubnetID, m.SubnetUnknown = "", true }), onHost(2, 80, func(m *Member) { m.SubnetID = "b" })},
	}
}

func TestMembers_KeepAllOfEachMember(t *testing.T) {
	t.Parallel()
	for name, list := range variants() {
		shuffled := slices.Clone(list)
		slices.Reverse(shuffled)
		members := MembersOf(shuffled...)
		if diff := cmp.Diff(list, listOf(members)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if slices.Reverse(shuffled); !slices.Equal(shuffled, list) {
			t.Errorf("%s: the argument is sorted", name)
		}
		if members.Len() != len(list) {
			t.Errorf("%s: %d members, want %d", name, members.Len(), len(list))
		}
		for i, want := range list {
			at, found := members.Find(want.Key())
			first, byAddress := members.FindAddress(want.Address)
			if !found || at != i || !byAddress || members.At(first).Address != want.Address || first > i || members.Key(i) != want.Key() {
				t.Errorf("%s: member %d is found at %d, by address at %d", name, i, at, first)
			}
			if !members.IsID(i, want.ID) || members.IsID(i, "another") || members.IsID(i, "") != (want.ID == "") {
				t.Errorf("%s: member %d has another ID than %q", name, i, want.ID)
			}
		}
		for _, missing := range []MemberKey{{}, {"10.0.000.001", 79}, {"10.0.000.001", 90}, {"99", 80}} {
			if at, found := members.Find(missing); found {
				t.Errorf("%s: %v is found at %d", name, missing, at)
			}
		}
		if at, found := members.FindAddress("10.0.000.0015"); found {
			t.Errorf("%s: an address that no member has is found at %d", name, at)
		}
	}
}

func TestMembers_AreEqualIfAllOfEachMemberIs(t *testing.T) {
	t.Parallel()
	all := variants()
	for name, list := range all {
		for other, others := range all {
			if got := MembersOf(list...).Equal(MembersOf(others...)); got != (name == other) {
				t.Errorf("%s and %s: equal is %v", name, other, got)
			}
		}
	}
}

// The result of each change is the same value as if it had been built of its members.
func TestMembers_ChangeByKey(t *testing.T) {
	t.Parallel()
	drain := func(m *Member) { m.Drained = true }
	three := MembersOf(onHost(1, 80), onHost(2, 80, drain), onHost(3, 80))
	for name, test := range map[string]struct {
		got  Members
		want []Member
	}{
		"with none":            {three.With(Members{}), listOf(three)},
		"none with some":       {Members{}.With(three), listOf(three)},
		"with another":         {three.With(MembersOf(onHost(0, 80))), []Member{onHost(0, 80), onHost(1, 80), onHost(2, 80, drain), onHost(3, 80)}},
		"with another port":    {three.With(MembersOf(onHost(2, 81))), []Member{onHost(1, 80), onHost(2, 80, drain), onHost(2, 81), onHost(3, 80)}},
		"with one instead":     {three.With(MembersOf(onHost(2, 80))), []Member{onHost(1, 80), onHost(2, 80), onHost(3, 80)}},
		"without one":          {three.Without(MembersOf(onHost(2, 80))), []Member{onHost(1, 80), onHost(3, 80)}},
		"without another port": {three.Without(MembersOf(onHost(2, 81))), listOf(three)},
		"without all":          {three.Without(three), nil},
		"filtered":             {three.Filter(func(i int) bool { return i != 0 }), []Member{onHost(2, 80, drain), onHost(3, 80)}},
		"a part":               {three.Slice(1, 2), []Member{onHost(2, 80, drain)}},
		"all":                  {three.Slice(0, 3), listOf(three)},
		"no part":              {three.Slice(3, 3), nil},
		"mapped":               {three.Map(func(i int, m Member) Member { m.Drained = i == 2; return m }), []Member{onHost(1, 80), onHost(2, 80), onHost(3, 80, drain)}},
		"mapped to ports": {
			three.Map(func(i int, m Member) Member { m.Address, m.Port = "10.0.0.1", 90-i; return m }),
			[]Member{
				onHost(3, 88, func(m *Member) { m.Address, m.ID = "10.0.0.1", onHost(3, 80).ID }),
				onHost(2, 89, drain, func(m *Member) { m.Address, m.ID = "10.0.0.1", onHost(2, 80).ID }),
				onHost(1, 90, func(m *Member) { m.Address, m.ID = "10.0.0.1", onHost(1, 80).ID }),
			},
		},
	} {
		if diff := cmp.Diff(test.want, listOf(test.got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !test.got.Equal(MembersOf(test.want...)) {
			t.Errorf("%s: it is not the value that is built of the same members", name)
		}
	}
	if want := []Member{onHost(1, 80), onHost(2, 80, drain), onHost(3, 80)}; cmp.Diff(want, listOf(three)) != "" {
		t.Errorf("the original has changed to %v", listOf(three))
	}
}

// Pairs are compared with a map of keys, for random lists.
func TestPairs_AreAllKeysOfBothLists(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	some := func() Members {
		var list []Member
		for n := range 20 {
			for port := 80; port < 82; port++ {
				if random.IntN(3) == 0 {
					list = append(list, onHost(n, port, func(m *Member) {
						if random.IntN(2) == 0 {
							m.Name = ""
						}
					}))
				}
			}
		}
		return MembersOf(list...)
	}
	for range 200 {
		a, b := some(), some()
		want := map[MemberKey][2]int{}
		for i, m := range a.All() {
			want[m.Key()] = [2]int{i, -1}
		}
		for j, m := range b.All() {
			if _, both := want[m.Key()]; both {
				want[m.Key()] = [2]int{want[m.Key()][0], j}
			} else {
				want[m.Key()] = [2]int{-1, j}
			}
		}
		got := map[MemberKey][2]int{}
		last := MemberKey{}
		for i, j := range Pairs(a, b) {
			var key MemberKey
			if i >= 0 {
				key = a.Key(i)
			} else {
				key = b.Key(j)
			}
			if last.Compare(key) >= 0 {
				t.Errorf("%v comes after %v", key, last)
			}
			last, got[key] = key, [2]int{i, j}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestMembers_CountTheirKinds(t *testing.T) {
	t.Parallel()
	members := MembersOf(onHost(1, 80), onHost(2, 80, func(m *Member) { m.Drained = true }), onHost(3, 80))
	got := map[bool]int{}
	for kind, n := range members.Kinds() {
		if kind.ID+kind.Name+kind.Address != "" || kind.Port != 80 {
			t.Errorf("a kind is %+v", kind)
		}
		got[kind.Drained] += n
	}
	if diff := cmp.Diff(map[bool]int{false: 2, true: 1}, got); diff != "" {
		t.Error(diff)
	}
	for range (Members{}).Kinds() {
		t.Error("no members have a kind")
	}
}

func many(n, port int, changes ...func(*Member)) []Member {
	var list []Member
	for i := range n {
		list = append(list, onHost(i, port, changes...))
	}
	return list
}

// A node change of a thousand load balancers leaves one list of hosts, which comparison finds to be the same.
func TestMembers_ShareEqualListsOfHosts(t *testing.T) {
	t.Parallel()
	list := many(internedLength, 80)
	first, other := MembersOf(list...), MembersOf(many(internedLength, 443)...)
	added := MembersOf(onHost(internedLength, 80))
	var hosts []Host
	for _, m := range slices.Backward(list) {
		hosts = append(hosts, Host{m.Name, m.Address})
	}
	for name, members := range map[string]Members{
		"another pool": other, "built of hosts": HostsOf(hosts...).Members(onHost(0, 80)),
		"added and removed": first.With(added).Without(added), "mapped": first.Map(func(_ int, m Member) Member { m.Drained = true; return m }),
	} {
		if members.hosts != first.hosts {
			t.Errorf("%s: the list of hosts is another one", name)
		}
	}
	if first.With(added).hosts == first.hosts {
		t.Error("other hosts are the same list")
	}
	if first.Map(func(_ int, m Member) Member { return m }).ids.compact[0] != first.ids.compact[0] {
		t.Error("the IDs have changed")
	}
}

func TestMembers_TakeLittleMemory(t *testing.T) {
	t.Parallel()
	const n = 500
	members := MembersOf(many(n, 80)...)
	if bytes := cap(members.hosts.list)*8 + cap(members.ids.compact)*16; bytes > n*25 || members.kind != nil || cap(members.kinds) > 1 {
		t.Errorf("%d bytes for %d members of %d kinds", bytes, n, len(members.kinds))
	}
	if desired := members.hosts.Members(onHost(1, 80)); desired.ids.compact != nil || desired.ids.texts != nil {
		t.Error("members without IDs take memory for them")
	}
	grown := members.With(members)
	if cap(grown.ids.compact) != cap(members.ids.compact) || &grown.ids.compact[0] != &members.ids.compact[0] {
		t.Error("members that are replaced by the same take memory of their own")
	}
}

// Members that change share the columns that do not, and have no spare capacity.
func TestMembers_ShareEqualColumnsWithThoseTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	list := many(internedLength, 80)
	for i := range list {
		list[i].Drained = i%3 == 0
	}
	members := MembersOf(list...)
	moved := members.Map(func(_ int, m Member) Member { m.Address = "1" + m.Address; return m })
	if &moved.kinds[0] != &members.kinds[0] || &moved.kind[0] != &members.kind[0] || &moved.ids.compact[0] != &members.ids.compact[0] {
		t.Error("members at other addresses take memory for kinds and IDs of their own")
	}
	renamed := members.Map(func(_ int, m Member) Member { m.ID = "m" + m.Name; return m })
	if renamed.hosts != members.hosts || &renamed.kind[0] != &members.kind[0] {
		t.Error("members with other IDs take memory for hosts and kinds of their own")
	}
	const most = 4 // of two members, as far as the runtime rounds up
	two := members.Filter(func(i int) bool { return i%8 == 0 })
	if max(cap(two.hosts.list), cap(two.kinds), cap(two.kind), cap(two.ids.compact)) > most {
		t.Errorf("two members have room for %d hosts, %d of %d kinds and %d IDs", cap(two.hosts.list), cap(two.kind), cap(two.kinds), cap(two.ids.compact))
	}
}

// Only a UUID in the form in which Octavia writes it is stored as one.
func TestMembers_ReturnIDsAsTheyWere(t *testing.T) {
	t.Parallel()
	const usual = "01234567-89ab-cdef-0123-456789abcdef"
	for name, id := range map[string]string{
		"usual": usual, "none": "", "a text": "m2", "upper case": strings.ToUpper(usual), "without dashes": strings.ReplaceAll(usual, "-", ""),
		"in braces": "{" + usual + "}", "a URN": "urn:uuid:" + usual, "of its length": strings.Repeat("x", len(usual)), "nil": uuid.Nil.String(),
		"with an end like one": "x" + usual[1:], "longer": usual + "0",
	} {
		for _, other := range []string{usual, "", "other"} {
			members := MembersOf(onHost(1, 80, func(m *Member) { m.ID = other }), onHost(2, 80, func(m *Member) { m.ID = id }))
			built := MembersOf(onHost(1, 80, func(m *Member) { m.ID = other })).With(MembersOf(onHost(2, 80, func(m *Member) { m.ID = id })))
			for how, m := range map[string]Members{"of a list": members, "with another": built} {
				if got := listOf(m); got[1].ID != id || got[0].ID != other || m.At(1).ID != id || !m.IsID(1, id) || m.IsID(1, usual) != (id == usual) {
					t.Errorf("%s, %s beside %q: IDs %q and %q, want %q", name, how, other, got[0].ID, got[1].ID, id)
				}
			}
		}
	}
}

func TestHosts_HaveDigestOfNamesAndAddresses(t *testing.T) {
	t.Parallel()
	digests := map[[32]byte]bool{}
	for _, hosts := range []*Hosts{
		HostsOf(Host{"a", "1"}), HostsOf(Host{"b", "1"}), HostsOf(Host{"a", "2"}), HostsOf(Host{"a", "1"}, Host{"b", "2"}), HostsOf(Host{"b", "2"}, Host{"a", "1"}),
	} {
		digests[hosts.sum()] = true
	}
	if len(digests) != 4 {
		t.Errorf("%d digests of 4 lists", len(digests))
	}
}

// A digest stands for the members in records.
func TestMembers_HaveDigestOfAllColumns(t *testing.T) {
	t.Parallel()
	digests := map[string]string{}
	for name, list := range variants() {
		members := MembersOf(list...)
		digest := members.Digest()
		if other, there := digests[digest]; there {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		if digests[digest] = name; digest != MembersOf(list...).Digest() || (digest == "") != (len(list) == 0) {
			t.Errorf("%s: digest %q, then %q", name, digest, MembersOf(list...).Digest())
		}
	}
}

func TestCommon_IsWhatAllMembersHave(t *testing.T) {
	t.Parallel()
	drained, elsewhere, online := func(m *Member) { m.Drained = true }, func(m *Member) { m.SubnetID = "b" }, func(m *Member) { m.Status.Operating = "OFFLINE" }
	broken := func(m *Member) { m.Status.Provisioning = "ERROR" }
	for name, test := range map[string]struct {
		list  []Member
		alike bool
		port  int
	}{
		"none":                         {nil, false, 0},
		"one":                          {[]Member{onHost(1, 80)}, true, 80},
		"two":                          {[]Member{onHost(1, 80), onHost(2, 80)}, true, 80},
		"two subnets":                  {[]Member{onHost(1, 80), onHost(2, 80, elsewhere)}, true, 80},
		"two operating statuses":       {[]Member{onHost(1, 80), onHost(2, 80, online)}, true, 80},
		"two provisioning statuses":    {[]Member{onHost(1, 80), onHost(2, 80, broken)}, false, 0},
		"two ports":                    {[]Member{onHost(1, 80), onHost(2, 81)}, false, 0},
		"two, one of them drained":     {[]Member{onHost(1, 80), onHost(2, 80, drained)}, false, 0},
		"three, the second is another": {[]Member{onHost(1, 80), onHost(2, 81), onHost(3, 80)}, false, 0},
	} {
		common, alike := MembersOf(test.list...).Common()
		if alike != test.alike || common.Port != test.port || common.SubnetID+common.Status.Operating+common.ID+common.Name+common.Address != "" {
			t.Errorf("%s: %+v, %v", name, common, alike)
		}
	}
}

// Members with one kind, and members with several, are built of members of either.
func TestMembers_KeepIDsAndKindsOfBothSides(t *testing.T) {
	t.Parallel()
	text := func(m *Member) { m.ID = "m" + m.Name }
	none := func(m *Member) { m.ID = "" }
	drained := func(m *Member) { m.Drained = true }
	sides := [][]func(*Member){{}, {text}, {none}, {drained}, {none, drained}}
	for i, left := range sides {
		for j, right := range sides {
			first, second := []Member{onHost(1, 80, left...), onHost(3, 80, left...)}, []Member{onHost(2, 80, right...), onHost(3, 80, right...)}
			got := MembersOf(first...).With(MembersOf(second...))
			want := []Member{first[0], second[0], second[1]}
			if diff := cmp.Diff(want, listOf(got)); diff != "" {
				t.Errorf("%d with %d: %s", i, j, diff)
			}
			for at, m := range want {
				if got.At(at) != m || !got.IsID(at, m.ID) {
					t.Errorf("%d with %d: member %d is %+v, want %+v", i, j, at, got.At(at), m)
				}
			}
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	for _, n := range []int{100, 1000} {
		members, more := MembersOf(many(n, 80)...), MembersOf(onHost(n, 80))
		b.Run(fmt.Sprintf("with one more/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				members.With(more)
			}
		})
		b.Run(fmt.Sprintf("pairs/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			others := members.With(more)
			for b.Loop() {
				for range Pairs(members, others) {
				}
			}
		})
		b.Run(fmt.Sprintf("map/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				members.Map(func(_ int, m Member) Member { return m })
			}
		})
	}
}
