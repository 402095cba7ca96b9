package ownership

import (
	"cmp"
	"slices"
	"time"
)

// Candidate is a load balancer that was created for the Service.
type Candidate struct {
	ID string
	// Replaces is the ID of the load balancer that it replaces, "" if there is none.
	Replaces string
	// VIPs are its addresses, FloatingIPs are the floating IPs on them.
	VIPs        []string
	FloatingIPs []string
	// OwnFloatingIP is set if one of them was created for the Service.
	OwnFloatingIP bool
	// Failed is set if it is in ERROR.
	Failed    bool
	CreatedAt time.Time
}

// Known is the knowledge about the Service's load balancer without reading the cloud.
type Known struct {
	// IDs are those in the Service's annotation, in memory and in the record, in this order; empty
	// ones are ignored.
	IDs []string
	// Addresses are the published ones.
	Addresses []string
}

// Choice holds the indices of the candidates by their role.
type Choice struct {
	// Chosen is the Service's load balancer.
	Chosen int
	// Replaced is the one that Chosen replaces, -1 if there is none.
	Replaced int
	// Duplicates are all others, in the order of the candidates.
	Duplicates []int
}

// Choose selects the load balancer of a Service. Of several candidates, the first of these
// differences decides:
//
//	its ID is the annotation's, in memory, or in the record, in this order
//	its VIP or a floating IP on it is published
//	a floating IP of the Service's own is on it
//	it is not in ERROR
//	it is older
//
// If the result was replaced by another candidate, that one is chosen instead. candidates must not
// be empty.
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

// compare returns a negative number if a has the better claim.
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

// first sorts true before false.
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

// rank returns the index of the candidate's ID, or the number of IDs.
func (k Known) rank(c Candidate) int {
	if i := slices.Index(k.IDs, c.ID); i >= 0 {
		return i
	}
	return len(k.IDs)
}

func (k Known) published(c Candidate) bool {
	return slices.ContainsFunc(k.Addresses, func(address string) bool {
		return address != "" && (slices.Contains(c.VIPs, address) || slices.Contains(c.FloatingIPs, address))
	})
}
