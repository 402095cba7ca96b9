package router

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
)

// Node is a node that can be a next hop.
type Node struct{ Name, Address string }

// Choose returns the addresses of at most most next hops for a Service, sorted.
//
//	present next hop that is still a candidate     stays
//	another place                                  the best candidate by rendezvous hashing
//
// Each node has a score for each seed. So Services are distributed over the nodes, those of a deleted node
// are distributed over all others, and a new node moves none.
func Choose(seed string, candidates []Node, present []string, most int) []string {
	var hops []string
	var others []Node
	for _, node := range candidates {
		if slices.Contains(present, node.Address) {
			hops = append(hops, node.Address)
		} else {
			others = append(others, node)
		}
	}
	slices.SortFunc(others, func(a, b Node) int { return bytes.Compare(score(seed, b), score(seed, a)) })
	for _, node := range others {
		hops = append(hops, node.Address)
	}
	if len(hops) > most {
		hops = hops[:most]
	}
	slices.SortFunc(hops, strings.Compare)
	return slices.Compact(hops)
}

func score(seed string, node Node) []byte {
	sum := sha256.Sum256([]byte(seed + "\x00" + node.Name))
	return sum[:]
}
