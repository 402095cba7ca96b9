package router_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
)

func nodes(n int) []router.Node {
	var all []router.Node
	for i := range n {
		all = append(all, router.Node{Name: fmt.Sprintf("node-%d", i), Address: fmt.Sprintf("10.6.0.%d", 10+i)})
	}
	return all
}

// A next hop stays for as long as it is a candidate: each change of a route ends connections.
func TestChoose_KeepsNextHopUntilItIsNoCandidate(t *testing.T) {
	t.Parallel()
	all := nodes(5)
	for _, test := range []struct {
		what       string
		candidates []router.Node
		present    []string
		want       []string // nil: any one of the candidates
	}{
		{"none yet", all, nil, nil},
		{"it stays", all, []string{"10.6.0.12"}, []string{"10.6.0.12"}},
		{"it stays alone", all[2:3], []string{"10.6.0.12"}, []string{"10.6.0.12"}},
		{"it is gone", all[:2], []string{"10.6.0.12"}, nil},
		{"of two one goes", all, []string{"10.6.0.12", "10.6.0.99"}, []string{"10.6.0.12"}},
		{"no candidate", nil, []string{"10.6.0.12"}, []string{}},
	} {
		got := router.Choose("uid", test.candidates, test.present, 1)
		isOne := len(got) == 1 && slices.ContainsFunc(test.candidates, func(n router.Node) bool { return n.Address == got[0] })
		if test.want == nil && !isOne || test.want != nil && !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}

func TestChoose_SpreadsServicesAndThoseOfLostNode(t *testing.T) {
	t.Parallel()
	const services, n = 1000, 10
	all, load, heirs := nodes(n), map[string]int{}, map[string]int{}
	for i := range services {
		uid := fmt.Sprint("uid-", i)
		hop := router.Choose(uid, all, nil, 1)
		load[hop[0]]++
		if again := router.Choose(uid, append(nodes(n), router.Node{Name: "new", Address: "10.6.1.1"}), hop, 1); !slices.Equal(again, hop) {
			t.Fatalf("a new node moves %s from %v to %v", uid, hop, again)
		}
		if hop[0] == all[0].Address {
			heirs[router.Choose(uid, all[1:], hop, 1)[0]]++
		}
	}
	for address, has := range load {
		if has < services/n/2 || has > services/n*2 {
			t.Errorf("%s has %d of %d Services", address, has, services)
		}
	}
	if len(load) != n || len(heirs) < n/2 {
		t.Errorf("%d nodes have Services, %d those of the lost one", len(load), len(heirs))
	}
}

func TestChoose_FillsPlacesUpToMost(t *testing.T) {
	t.Parallel()
	all := nodes(5)
	three := router.Choose("uid", all, []string{"10.6.0.14"}, 3)
	if len(three) != 3 || !slices.Contains(three, "10.6.0.14") || !slices.IsSorted(three) {
		t.Errorf("three of five: %v", three)
	}
	if got := router.Choose("uid", all, nil, 9); len(got) != 5 {
		t.Errorf("nine of five: %v", got)
	}
}
