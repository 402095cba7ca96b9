package ownership

import (
	"cmp"
	"slices"
	"time"
)

// Candidate is a load balancer that was made for the Service.
type Candidate struct {
	ID string
	// Replaces is the ID of the load balancer whose place it was made to take, "" where
	// there is none.
	Replaces string
	// VIP is its address, FloatingIPs are those on it.
	VIP         string
	FloatingIPs []string
	// OwnFloatingIP tells that one of them was made for the Service.
	OwnFloatingIP bool
	// Failed tells that it is in ERROR.
	Failed    bool
	CreatedAt time.Time
}

// Known is what is known of the Service's load balancer before the cloud is asked.
type Known struct {
	// IDs are those that the Service names, that this process remembers and that the
	// last one has written down, in this order; empty ones say nothing.
	IDs []string
	// Addresses are the published ones.
	Addresses []string
}

// Choice returns the indices of the candidates by what becomes of them.
type Choice struct {
	// Chosen is the Service's load balancer.
	Chosen int
	// Replaced is the one whose place Chosen takes, -1 where there is none.
	Replaced int
	// Duplicates are all others, in the order of the candidates.
	Duplicates []int
}

// Choose picks the load balancer of a Service. Of several, the first of these
// differences decides:
//
//	its ID is the annotation's, is remembered, or was written down, in this order
//	its VIP or a floating IP on it is published
//	a floating IP of the Service's own is on it
//	it is not in ERROR
//	it is older
//
// One that was made to take the place of the one so found is chosen in its stead. There
// must be a candidate.
func Choose(candidates []Candidate, known Known) Choice {
	indices := make([]int, len(candidates))
	for i := range indices {
		indices[i] = i
	}
	better := func(i, j int) int { return compare(candidates[i], candidates[j], known) }
	choice := Choice{Chosen: slices.MinFunc(indices, better), Replaced: -1}
	found := candidates[choice.Chosen]
	successors := slices.DeleteFunc(slices.Clone(indices), func(i int) bool { return candidates[i].Replaces != found.ID })
	if len(successors) > 0 {
		choice.Chosen, choice.Replaced = slices.MinFunc(successors, better), choice.Chosen
	} else if found.Replaces != "" {
		choice.Replaced = slices.IndexFunc(candidates, func(c Candidate) bool { return c.ID == found.Replaces })
	}
	choice.Duplicates = slices.DeleteFunc(indices, func(i int) bool { return i == choice.Chosen || i == choice.Replaced })
	return choice
}

// compare is negative where a has the better claim.
func compare(a, b Candidate, known Known) int {
	return cmp.Or(
		cmp.Compare(known.rank(a), known.rank(b)),
		first(known.published(a), known.published(b)),
		first(a.OwnFloatingIP, b.OwnFloatingIP),
		first(!a.Failed, !b.Failed),
		a.CreatedAt.Compare(b.CreatedAt),
		cmp.Compare(a.ID, b.ID),
	)
}

// first orders what is true before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// rank is the index of the candidate's ID, or their number.
func (k Known) rank(c Candidate) int {
	if i := slices.Index(k.IDs, c.ID); i >= 0 {
		return i
	}
	return len(k.IDs)
}

func (k Known) published(c Candidate) bool {
	return slices.ContainsFunc(k.Addresses, func(address string) bool {
		return address != "" && (address == c.VIP || slices.Contains(c.FloatingIPs, address))
	})
}
