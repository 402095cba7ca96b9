package sharing

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Sharer is a Service that shares a load balancer by name.
type Sharer struct {
	UID     types.UID
	Name    string
	Created time.Time
	// Place is the load balancer that it is known to have, "" for none. Settled is set if the Service
	// had it under this name already.
	Place   string
	Settled bool
	// Served is set if the Service has an address, MayCreate if the controller may create a load
	// balancer for it: it is managed, and not refused.
	Served, MayCreate bool
}

// PlaceOf returns the load balancer that Services share by a name, "" if none is known. Of several
// load balancers, the first of these differences decides:
//
//	Services have it under this name already
//	more Services have it
//	the oldest Service has it
//
// Gone are load balancers that do not exist any more.
func PlaceOf(sharers []Sharer, gone []string) string {
	settled := slices.ContainsFunc(sharers, func(s Sharer) bool { return s.Settled && s.at(gone) })
	var having []Sharer
	services := map[string]int{}
	for _, s := range sharers {
		if s.at(gone) && s.Settled == settled {
			having = append(having, s)
			services[s.Place]++
		}
	}
	if len(having) == 0 {
		return ""
	}
	return slices.MinFunc(having, func(a, b Sharer) int {
		return cmp.Or(cmp.Compare(services[b.Place], services[a.Place]), older(a, b))
	}).Place
}

// at reports whether the Service has a load balancer that is not gone.
func (s Sharer) at(gone []string) bool { return s.Place != "" && !slices.Contains(gone, s.Place) }

// Creators returns the Services for which their load balancer may be created, the first one first:
// those with an address before those without, and the oldest first.
func Creators(sharers []Sharer) []types.UID {
	var able []Sharer
	for _, s := range sharers {
		if s.MayCreate {
			able = append(able, s)
		}
	}
	slices.SortFunc(able, func(a, b Sharer) int { return cmp.Or(first(a.Served, b.Served), older(a, b)) })
	var uids []types.UID
	for _, s := range able {
		uids = append(uids, s.UID)
	}
	return uids
}

// older sorts the older Service first; names are unique.
func older(a, b Sharer) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
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
