package model

import (
	"crypto/sha256"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unique"
	"weak"
)

// Host is the machine of a member, such as a node.
type Host struct{ Name, Address string }

// Hosts are the hosts of the members of a pool, in the order of the members. It never changes. Equal lists
// of some length are one list in memory, which all pools and Services share: a thousand load balancers on a
// hundred nodes would otherwise keep two MiB of them.
type Hosts struct {
	list []unique.Handle[Host]

	digestOnce sync.Once
	digest     [sha256.Size]byte
}

// HostsOf returns hosts sorted by address.
func HostsOf(hosts ...Host) *Hosts {
	list := make([]unique.Handle[Host], 0, len(hosts))
	for _, host := range hosts {
		list = append(list, unique.Make(host))
	}
	slices.SortStableFunc(list, func(a, b unique.Handle[Host]) int { return strings.Compare(a.Value().Address, b.Value().Address) })
	return intern(list)
}

// Members returns a member on each host. All are like one member, except for ID, name and address, and have no
// ID. It takes the same time for any number of hosts.
func (h *Hosts) Members(like Member) Members {
	if h.Len() == 0 {
		return Members{}
	}
	return Members{hosts: h, kinds: []Member{like.kind()}}
}

// Len returns the number of hosts. A nil list has none.
func (h *Hosts) Len() int { return len(h.handles()) }

// equal reports whether two lists have the same hosts in the same order.
func (h *Hosts) equal(other *Hosts) bool {
	return h == other || slices.Equal(h.handles(), other.handles())
}

func (h *Hosts) handles() []unique.Handle[Host] {
	if h == nil {
		return nil
	}
	return h.list
}

// sum returns a hash of the hosts. It is computed once for each list.
func (h *Hosts) sum() [sha256.Size]byte {
	h.digestOnce.Do(func() {
		var text []byte
		for _, host := range h.list {
			text = append(append(text, host.Value().Name...), 0)
			text = append(append(text, host.Value().Address...), 0)
		}
		h.digest = sha256.Sum256(text)
	})
	return h.digest
}

// internedLength is the length from which equal lists are one: a shorter list takes less memory than its entry
// in the table.
const internedLength = 16

// interned has the lists that exist: a weak.Pointer[Hosts] by the hash of the hosts. Of several lists with one
// hash it has the newest.
var interned sync.Map //nolint:gochecknoglobals // a table of the process, as that of package unique, which takes no slices

// internSeed is the seed of the hashes in interned.
var internSeed = maphash.MakeSeed()

// intern returns the list of these hosts. The slice must not be changed afterwards.
func intern(hosts []unique.Handle[Host]) *Hosts {
	list := &Hosts{list: hosts}
	if len(hosts) < internedLength {
		return list
	}
	var of maphash.Hash
	of.SetSeed(internSeed)
	for _, host := range hosts {
		maphash.WriteComparable(&of, host)
	}
	hash := of.Sum64()
	if found, ok := interned.Load(hash); ok {
		if there := found.(weak.Pointer[Hosts]).Value(); there != nil && slices.Equal(there.list, hosts) {
			return there
		}
	}
	entry := weak.Make(list)
	interned.Store(hash, entry)
	runtime.AddCleanup(list, func(hash uint64) { interned.CompareAndDelete(hash, entry) }, hash)
	return list
}
