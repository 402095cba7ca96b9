package sharing_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
)

// sharer returns a Service of an age in minutes.
func sharer(name string, age int, place string, settled bool) sharing.Sharer {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute)
	return sharing.Sharer{UID: types.UID(name), Name: name, Created: created, Place: place, Settled: settled && place != "", MayCreate: true}
}

func TestPlaceOf_PrefersSettledThenMostThenOldest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sharers []sharing.Sharer
		gone    []string
		want    string
	}{
		"nothing is known":                 {[]sharing.Sharer{sharer("a", 1, "", false)}, nil, ""},
		"one has it":                       {[]sharing.Sharer{sharer("a", 2, "", false), sharer("b", 1, "lb", false)}, nil, "lb"},
		"an older one joins":               {[]sharing.Sharer{sharer("a", 1, "lb", true), sharer("b", 2, "own", false)}, nil, "lb"},
		"several join one that is settled": {[]sharing.Sharer{sharer("a", 1, "lb", true), sharer("b", 2, "own", false), sharer("c", 3, "own", false)}, nil, "lb"},
		"more have the one of the younger": {[]sharing.Sharer{sharer("a", 3, "one", true), sharer("b", 2, "two", true), sharer("c", 1, "two", true)}, nil, "two"},
		"two of their own":                 {[]sharing.Sharer{sharer("a", 1, "one", false), sharer("b", 2, "two", false)}, nil, "two"},
		"two of the same age":              {[]sharing.Sharer{sharer("b", 1, "two", false), sharer("a", 1, "one", false)}, nil, "one"},
		"the settled one is gone":          {[]sharing.Sharer{sharer("a", 1, "lb", true), sharer("b", 2, "own", false)}, []string{"lb"}, "own"},
		"all are gone":                     {[]sharing.Sharer{sharer("a", 1, "lb", true)}, []string{"lb"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sharing.PlaceOf(test.sharers, test.gone); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			slices.Reverse(test.sharers) // their order does not matter
			if got := sharing.PlaceOf(test.sharers, test.gone); got != test.want {
				t.Errorf("reversed: %q, want %q", got, test.want)
			}
		})
	}
}

func TestCreators_AreInOneOrderForAll(t *testing.T) {
	t.Parallel()
	served := func(s sharing.Sharer) sharing.Sharer {
		s.Served = true
		return s
	}
	cannot := func(s sharing.Sharer) sharing.Sharer {
		s.MayCreate = false
		return s
	}
	for name, test := range map[string]struct {
		sharers []sharing.Sharer
		want    []types.UID
	}{
		"none":                    {nil, nil},
		"none may":                {[]sharing.Sharer{cannot(served(sharer("a", 1, "", false)))}, nil},
		"two of the same age":     {[]sharing.Sharer{sharer("b", 1, "", false), sharer("a", 1, "", false)}, []types.UID{"a", "b"}},
		"two with an address":     {[]sharing.Sharer{served(sharer("a", 1, "", false)), served(sharer("b", 2, "", false))}, []types.UID{"b", "a"}},
		"the youngest has one":    {[]sharing.Sharer{sharer("a", 3, "", false), sharer("b", 2, "", false), served(sharer("c", 1, "", false))}, []types.UID{"c", "a", "b"}},
		"that one may not":        {[]sharing.Sharer{sharer("a", 3, "", false), cannot(served(sharer("c", 1, "", false)))}, []types.UID{"a"}},
		"a place does not matter": {[]sharing.Sharer{sharer("a", 1, "lb", true), sharer("b", 2, "", false)}, []types.UID{"b", "a"}},
	} {
		for range 2 { // their order does not matter
			if got := sharing.Creators(test.sharers); !slices.Equal(got, test.want) {
				t.Errorf("%s: %v, want %v", name, got, test.want)
			}
			slices.Reverse(test.sharers)
		}
	}
}

func TestCreators_AreServedOnesThenOldest(t *testing.T) {
	t.Parallel()
	served, refused := sharer("served", 1, "", false), sharer("refused", 9, "", false)
	served.Served, refused.MayCreate = true, false
	got := sharing.Creators([]sharing.Sharer{refused, sharer("young", 2, "", false), sharer("old", 3, "", false), served})
	if want := []types.UID{"served", "old", "young"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
