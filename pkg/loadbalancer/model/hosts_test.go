package model

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
)

func TestHostsOf_SortsByAddressAndKeepsOrderOfEqualOnes(t *testing.T) {
	t.Parallel()
	hosts := HostsOf(Host{"c", "10.0.0.2"}, Host{"b", "10.0.0.1"}, Host{"a", "10.0.0.2"}, Host{"d", "10.0.0.10"})
	var got []string
	for _, m := range hosts.Members(Member{}).All() {
		got = append(got, m.Name+" "+m.Address)
	}
	if diff := cmp.Diff([]string{"b 10.0.0.1", "d 10.0.0.10", "c 10.0.0.2", "a 10.0.0.2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHosts_AreMembersOfOneKindWithoutID(t *testing.T) {
	t.Parallel()
	like := onHost(7, 80, func(m *Member) { m.MonitorPort, m.Weight, m.Drained, m.SubnetID = 10256, 3, true, "a" })
	hosts := HostsOf(Host{"node-1", "10.0.000.001"}, Host{"node-2", "10.0.000.002"})
	want := []Member{like, like}
	for i := range want {
		want[i].ID, want[i].Name, want[i].Address = "", fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.0.000.%03d", i+1)
	}
	members := hosts.Members(like)
	if diff := cmp.Diff(want, listOf(members)); diff != "" {
		t.Error(diff)
	}
	if !members.Equal(MembersOf(want...)) {
		t.Error("they are not the value that is built of the same members")
	}
	var none *Hosts
	for name, empty := range map[string]*Hosts{"nil": none, "no hosts": HostsOf()} {
		if members := empty.Members(like); empty.Len() != 0 || members.Len() != 0 || !members.Equal(Members{}) || members.Digest() != "" {
			t.Errorf("%s: %d hosts, members %v", name, empty.Len(), listOf(members))
		}
	}
}

// The table of lists keeps none of nodes that have left the cluster, and no entry of such a list.
func TestHosts_AreFreedAfterTheirLastUse(t *testing.T) {
	t.Parallel()
	used := MembersOf(many(internedLength+1, 80)...)
	kept, freed := weak.Make(used.hosts), unusedHosts()
	entry := entryOf(freed)
	runtime.GC()
	if kept.Value() != used.hosts {
		t.Error("a list in use is freed")
	}
	if freed.Value() != nil {
		t.Error("a list that nothing uses is kept")
	}
	for range 1000 { // the runtime removes the entry some time after the list
		if _, there := interned.Load(entry); !there {
			entry = nil
			break
		}
		runtime.GC()
		runtime.Gosched()
	}
	if entry != nil {
		t.Error("the table has an entry of a list that is gone")
	}
	if again := MembersOf(many(internedLength+1, 443)...); again.hosts != used.hosts {
		t.Error("after a collection, equal lists are no longer one")
	}
}

// entryOf returns the key of a list in the table.
func entryOf(list weak.Pointer[Hosts]) (entry any) {
	interned.Range(func(key, value any) bool {
		if value == list {
			entry = key
		}
		return entry == nil
	})
	return entry
}

// unusedHosts returns a list of hosts that no other test has.
//
//go:noinline
func unusedHosts() weak.Pointer[Hosts] {
	var hosts []Host
	for i := range internedLength {
		hosts = append(hosts, Host{fmt.Sprintf("gone-%d", i), onHost(i, 80).Address})
	}
	return weak.Make(HostsOf(hosts...))
}
