package model

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"unique"
	"weak"
)

// memberNode is what a member has of its node; there is one of each, as long as a member
// has it.
type memberNode struct{ name, address string }

// nodeList are the nodes of members, in their order. There is one list of the same nodes, as long as
// a load balancer has it: those of a thousand load balancers on a hundred nodes would take two MiB.
// It never changes.
type nodeList struct{ nodes []unique.Handle[memberNode] }

// worthSharing is how long a list is at least that is looked for, and found: a shorter one takes less
// than its place among them.
const worthSharing = 16

// nodeLists are the lists that there are, each a weak.Pointer[nodeList] by the hash of its nodes: of
// those with the same hash the one that came last.
var nodeLists sync.Map //nolint:gochecknoglobals // as those of package unique are, which has no lists

// nodesSeed is that of the hashes.
var nodesSeed = maphash.MakeSeed()

// shared returns the list of these nodes, which the caller gives away.
func shared(nodes []unique.Handle[memberNode]) *nodeList {
	list := &nodeList{nodes}
	if len(nodes) < worthSharing {
		return list
	}
	var of maphash.Hash
	of.SetSeed(nodesSeed)
	for _, node := range nodes {
		maphash.WriteComparable(&of, node)
	}
	hash := of.Sum64()
	if found, ok := nodeLists.Load(hash); ok {
		if there := found.(weak.Pointer[nodeList]).Value(); there != nil && slices.Equal(there.nodes, nodes) {
			return there
		}
	}
	entry := weak.Make(list)
	nodeLists.Store(hash, entry)
	runtime.AddCleanup(list, func(hash uint64) { nodeLists.CompareAndDelete(hash, entry) }, hash)
	return list
}

// all returns the nodes of a list, none of nil.
func (l *nodeList) all() []unique.Handle[memberNode] {
	if l == nil {
		return nil
	}
	return l.nodes
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
