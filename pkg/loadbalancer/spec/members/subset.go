package members

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// subset returns at most most nodes, by rendezvous hashing: every node has a score that depends
// only on it and on the Service, and the best are selected, in turn from each zone. So Services are
// distributed over the nodes, a deleted node is replaced by one other, and a new node displaces at
// most one.
func subset(backends []Backend, most int, seed string) []Backend {
	if most <= 0 || len(backends) <= most {
		return backends
	}
	zones, text := map[string]*zone{}, append([]byte(seed), 0)
	for i, b := range backends {
		name := b.Node.Labels[v1.LabelTopologyZone]
		z := zones[name]
		if z == nil {
			z = &zone{most: most}
			zones[name] = z
		}
		text = append(text[:len(seed)+1], b.Node.Name...)
		z.add(ranked{score: score(text), at: i})
	}
	var all []ranked
	for _, z := range zones {
		z.cut()
		for rank, r := range z.best {
			r.rank = rank
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), byScore(a, b)) })
	picked := make([]Backend, 0, most)
	for _, r := range all[:most] {
		picked = append(picked, backends[r.at])
	}
	slices.SortFunc(picked, func(a, b Backend) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	return picked
}

// ranked is a node of a list.
type ranked struct {
	score uint64
	rank  int // within its zone
	at    int // in the list
}

// byScore orders the best first.
func byScore(a, b ranked) int { return cmp.Compare(b.score, a.score) }

// zone holds the best nodes of a zone. Sorting all of them would take most of the time of a
// Service.
type zone struct {
	most int
	best []ranked
	// least is the lowest score among the best: nodes with a lower one are skipped.
	least uint64
}

func (z *zone) add(r ranked) {
	if r.score < z.least {
		return
	}
	if z.best = append(z.best, r); len(z.best) == 2*z.most {
		z.cut()
		z.least = z.best[z.most-1].score
	}
}

// cut sorts the nodes and keeps the best.
func (z *zone) cut() {
	slices.SortFunc(z.best, byScore)
	z.best = z.best[:min(z.most, len(z.best))]
}

// score returns the rank of a node for a Service; text contains both.
func score(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:8])
}
