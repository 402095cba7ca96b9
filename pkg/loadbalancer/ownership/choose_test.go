package ownership_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

const (
	published = "203.0.113.7"
	other     = "203.0.113.8"
)

// day returns a time, the later the higher the number.
func day(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }

// TestChoose_FollowsTruthTable is the truth table of Choose.
func TestChoose_FollowsTruthTable(t *testing.T) {
	t.Parallel()
	type candidate = ownership.Candidate
	for _, row := range []struct {
		what                       string
		annotation, memory, stored string // IDs
		old, young                 candidate
		want                       string // the chosen one
	}{
		{"nothing tells them apart but their age", "", "", "", candidate{}, candidate{}, "old"},
		{"the older is in ERROR", "", "", "", candidate{Failed: true}, candidate{}, "young"},
		{"both are in ERROR", "", "", "", candidate{Failed: true}, candidate{Failed: true}, "old"},
		{"the younger has our floating IP", "", "", "", candidate{}, candidate{OwnFloatingIP: true}, "young"},
		{"the one with our floating IP is in ERROR", "", "", "", candidate{}, candidate{OwnFloatingIP: true, Failed: true}, "young"},
		{"both have one of ours", "", "", "", candidate{OwnFloatingIP: true}, candidate{OwnFloatingIP: true}, "old"},
		{"the younger's floating IP is published", "", "", "", candidate{OwnFloatingIP: true}, candidate{FloatingIPs: []string{other, published}}, "young"},
		{"the younger's VIP is published", "", "", "", candidate{OwnFloatingIP: true}, candidate{VIPs: []string{published}}, "young"},
		{"neither has an address yet", "", "", "", candidate{VIPs: []string{""}}, candidate{OwnFloatingIP: true}, "young"},
		{"the published one is in ERROR", "", "", "", candidate{OwnFloatingIP: true}, candidate{VIPs: []string{published}, Failed: true}, "young"},
		{"the younger was written down", "", "", "young", candidate{VIPs: []string{published}}, candidate{}, "young"},
		{"the younger is remembered", "", "young", "old", candidate{VIPs: []string{published}}, candidate{}, "young"},
		{"the younger is named", "young", "old", "old", candidate{VIPs: []string{published}}, candidate{Failed: true}, "young"},
		{"what is named is neither", "gone", "", "", candidate{}, candidate{VIPs: []string{published}}, "young"},
		{"the younger replaces the older", "", "", "", candidate{VIPs: []string{published}}, candidate{Replaces: "old"}, "young"},
		{"the younger replaces the one that is named", "old", "old", "old", candidate{VIPs: []string{published}}, candidate{Replaces: "old", Failed: true}, "young"},
		{"the younger has replaced one that is gone", "", "", "", candidate{}, candidate{Replaces: "gone"}, "old"},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			row.old.ID, row.old.CreatedAt = "old", day(1)
			row.young.ID, row.young.CreatedAt = "young", day(2)
			known := ownership.Known{IDs: []string{row.annotation, row.memory, row.stored}, Addresses: []string{"", published}}
			for _, all := range [][]candidate{{row.old, row.young}, {row.young, row.old}} {
				if got := all[ownership.Choose(all, known).Chosen].ID; got != row.want {
					t.Errorf("chosen %s of %v, want %s", got, all, row.want)
				}
			}
		})
	}
}

// The first sign decides, regardless of the others.
func TestChoose_FollowsWeightiestSign(t *testing.T) {
	t.Parallel()
	known := ownership.Known{IDs: []string{"named"}, Addresses: []string{published}}
	signs := []func(*ownership.Candidate){ // the weightiest first
		func(c *ownership.Candidate) { c.ID = "named" },
		func(c *ownership.Candidate) { c.FloatingIPs = []string{published} },
		func(c *ownership.Candidate) { c.OwnFloatingIP = true },
		func(c *ownership.Candidate) { c.Failed = false },
		func(c *ownership.Candidate) { c.CreatedAt = day(1) },
	}
	with := func(id string, set int) ownership.Candidate {
		c := ownership.Candidate{ID: id, Failed: true, CreatedAt: day(2)}
		for i, sign := range signs {
			if set&(1<<(len(signs)-1-i)) != 0 {
				sign(&c)
			}
		}
		return c
	}
	for a := range 1 << len(signs) {
		for b := range a {
			if a&b&(1<<(len(signs)-1)) != 0 {
				continue // no two have one ID
			}
			all := []ownership.Candidate{with("b", b), with("a", a)}
			if got := ownership.Choose(all, known); got.Chosen != 1 {
				t.Errorf("chosen %+v of %+v", all[got.Chosen], all)
			}
		}
	}
}

func TestChoose_DividesOthersIntoReplacedAndDuplicates(t *testing.T) {
	t.Parallel()
	old, next := ownership.Candidate{ID: "old", CreatedAt: day(1)}, ownership.Candidate{ID: "next", Replaces: "old", CreatedAt: day(2)}
	again := ownership.Candidate{ID: "again", Replaces: "old", CreatedAt: day(3)}
	serves := ownership.Candidate{ID: "serves", CreatedAt: day(4), VIPs: []string{published}}
	for _, test := range []struct {
		what string
		all  []ownership.Candidate
		want ownership.Choice
	}{
		{"one", []ownership.Candidate{old}, ownership.Choice{Chosen: 0, Replaced: -1}},
		{"a replacement under way", []ownership.Candidate{old, next}, ownership.Choice{Chosen: 1, Replaced: 0}},
		{"one that has taken its place", []ownership.Candidate{next}, ownership.Choice{Chosen: 0, Replaced: -1}},
		{"two replacements of one", []ownership.Candidate{again, old, next}, ownership.Choice{Chosen: 2, Replaced: 1, Duplicates: []int{0}}},
		{"another one serves", []ownership.Candidate{old, next, serves}, ownership.Choice{Chosen: 2, Replaced: -1, Duplicates: []int{0, 1}}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			got := ownership.Choose(test.all, ownership.Known{Addresses: []string{published}})
			if len(got.Duplicates) == 0 {
				got.Duplicates = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			seen := append([]int{got.Chosen}, got.Duplicates...)
			if got.Replaced >= 0 {
				seen = append(seen, got.Replaced)
			}
			slices.Sort(seen)
			if want := fmt.Sprint([]int{0, 1, 2}[:len(test.all)]); fmt.Sprint(seen) != want {
				t.Errorf("not everyone is told of once: %v", seen)
			}
		})
	}
}

// Two API servers may create a load balancer within the same second.
func TestChoose_IsTheSameInEachRoundForLoadBalancersOfOneAge(t *testing.T) {
	t.Parallel()
	a, b := ownership.Candidate{ID: "a", CreatedAt: day(1)}, ownership.Candidate{ID: "b", CreatedAt: day(1)}
	for _, all := range [][]ownership.Candidate{{a, b}, {b, a}} {
		if got := all[ownership.Choose(all, ownership.Known{}).Chosen].ID; got != "a" {
			t.Errorf("chosen %s of %v", got, all)
		}
	}
}
