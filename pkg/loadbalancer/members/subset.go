package members

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// subset returns at most so many nodes, by rendezvous hashing: every node has a score
// that depends on it and on the Service alone, and the best are taken, in turn from
// each zone. So Services spread over the nodes, a node that goes is replaced by one
// other, and a node that comes pushes out one at the most.
func subset(backends []Backend, most int, seed string) []Backend {
	if most <= 0 || len(backends) <= most {
		return backends
	}
	type ranked struct {
		Backend
		rank  int // within its zone
		score uint64
	}
	zones := map[string][]ranked{}
	for _, b := range backends {
		zone := b.Node.Labels[v1.LabelTopologyZone]
		zones[zone] = append(zones[zone], ranked{Backend: b, score: score(seed, b)})
	}
	var all []ranked
	for _, members := range zones {
		slices.SortFunc(members, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
		for rank, b := range members[:min(most, len(members))] { // the others are behind so many already
			b.rank = rank
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.score, a.score))
	})
	picked := make([]Backend, 0, most)
	for _, r := range all[:most] {
		picked = append(picked, r.Backend)
	}
	slices.SortFunc(picked, func(a, b Backend) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	return picked
}

// score ranks a node for a Service.
func score(seed string, b Backend) uint64 {
	sum := sha256.Sum256([]byte(seed + "\x00" + b.Node.Name))
	return binary.BigEndian.Uint64(sum[:8])
}
