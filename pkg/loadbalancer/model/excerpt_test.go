package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
)

// onNodes is a load balancer with a member on each of some nodes in each pool.
func onNodes(pools int, nodes ...int) *LoadBalancer {
	lb := balancerWith(make([][]Member, pools)...)
	for i := range lb.Listeners {
		for _, n := range nodes {
			m := Member{
				ID: uuid.NewString(), Name: fmt.Sprint("node-", n), Address: fmt.Sprintf("10.0.0.%03d", n), Port: 30080 + i, SubnetID: "s",
				Status: Status{Provisioning: "ACTIVE"},
			}
			lb.Listeners[i].Pool.Members = append(lb.Listeners[i].Pool.Members, m)
		}
	}
	return lb
}

func TestNodes_AreOnlyOfMembersThatDifferInNothingButTheirNode(t *testing.T) {
	t.Parallel()
	changed := func(change func(m *Member)) *LoadBalancer {
		lb := onNodes(2, 1, 2, 3)
		change(&lb.Listeners[1].Pool.Members[1])
		return lb
	}
	others := onNodes(2, 1, 2, 3)
	others.Listeners[0].Pool.Members = onNodes(1, 1, 2, 4).Listeners[0].Pool.Members
	disorder := onNodes(1, 2, 1)
	for name, test := range map[string]struct {
		lb *LoadBalancer
		ok bool
	}{
		"alike":                      {onNodes(2, 1, 2, 3), true},
		"a subnet that is not known": {changed(func(m *Member) { m.SubnetID, m.SubnetUnknown = "", true }), true},
		"another name":               {changed(func(m *Member) { m.Name = "" }), true},
		"another subnet":             {changed(func(m *Member) { m.SubnetID = "other" }), false},
		"another port":               {changed(func(m *Member) { m.Port = 1 }), false},
		"another monitor port":       {changed(func(m *Member) { m.MonitorPort = 1 }), false},
		"drained":                    {changed(func(m *Member) { m.Drained = true }), false},
		"switched off":               {changed(func(m *Member) { m.AdminDown = true }), false},
		"a backup":                   {changed(func(m *Member) { m.Backup = true }), false},
		"in ERROR":                   {changed(func(m *Member) { m.Status.Provisioning = "ERROR" }), false},
		"of an unknown ID":           {changed(func(m *Member) { m.ID = "" }), false},
		"of an ID of another form":   {changed(func(m *Member) { m.ID = "x" }), false},
		"other nodes in a pool":      {others, false},
		"in no order":                {disorder, false},
		"no members":                 {onNodes(2), false},
		"no listeners":               {onNodes(0), false},
	} {
		nodes, ok := Pack(test.lb, nil).Nodes()
		if ok != test.ok {
			t.Errorf("%s: %v", name, ok)
		}
		if ok && (nodes.Len() != 3 || nodes.Address(2) != "10.0.0.003") {
			t.Errorf("%s: %d nodes, the last one at %s", name, nodes.Len(), nodes.Address(2))
		}
	}
}

// What a round changes is joined with the rest as if the round had had all members.
func TestRest_JoinsToWhatAllMembersPackTo(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		all := onNodes(1+dice.IntN(3), dice.Perm(20)[:2+dice.IntN(18)]...)
		all.Sort()
		if dice.IntN(3) == 0 { // some kinds
			for i := range all.Listeners {
				for j := range all.Listeners[i].Pool.Members {
					if all.Listeners[i].Pool.Members[j].Name = ""; i == 0 {
						continue
					}
					if m := &all.Listeners[i].Pool.Members[j]; dice.IntN(2) == 0 {
						m.SubnetID, m.SubnetUnknown = "", true
					}
				}
			}
		}
		nodes, ok := Pack(all, nil).Nodes()
		if !ok {
			t.Fatal("members on the same nodes are not seen to be")
		}
		var shown []int
		for i := range nodes.Len() {
			if dice.IntN(4) == 0 {
				shown = append(shown, i)
			}
		}
		lb, rest := nodes.Excerpt(shown, "")
		if joined := rest.Joined(lb); !slices.EqualFunc(joined.members, nodes.of.members, func(a, b PackedMembers) bool { return a.nodes == b.nodes }) {
			t.Error("the list of the nodes is another one, though nothing has changed")
		}
		for i := range all.Listeners {
			few, full := &lb.Listeners[i].Pool.Members, &all.Listeners[i].Pool.Members
			if len(*few) != len(shown) || rest.Len(i) != len(*full)-len(shown) {
				t.Fatalf("%d members are shown, and %d are not, of %d: want %d shown", len(*few), rest.Len(i), len(*full), len(shown))
			}
			if len(*few) > 0 && dice.IntN(2) == 0 { // one goes
				gone := (*few)[dice.IntN(len(*few))].ID
				is := func(m Member) bool { return m.ID == gone }
				*few, *full = slices.DeleteFunc(*few, is), slices.DeleteFunc(*full, is)
			}
			if dice.IntN(2) == 0 { // one comes, perhaps of another kind
				m := onNodes(1, 20+dice.IntN(80)).Listeners[0].Pool.Members[0]
				m.Port = 30080 + i
				if m.Drained = dice.IntN(3) == 0; dice.IntN(3) == 0 {
					m.ID = ""
				}
				*few, *full = append(*few, m), append(*full, m)
			}
		}
		lb.Sort()
		all.Sort()
		observed := Observed{LoadBalancer: lb, Rest: rest}
		if diff := cmp.Diff(all, observed.Whole().LoadBalancer, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(all, observed.Pack(nil).Unpack(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestSighting_HasSeenAllOnceItHasSeenEachMemberOfTheRest(t *testing.T) {
	t.Parallel()
	all := onNodes(2, 1, 2, 3, 4)
	nodes, _ := Pack(all, nil).Nodes()
	_, rest := nodes.Excerpt([]int{1}, "")
	for name, test := range map[string]struct {
		shows func(listener, node int, m *Member) bool
		all   bool
	}{
		"each":                        {func(int, int, *Member) bool { return true }, true},
		"without the one that is not": {func(_, node int, _ *Member) bool { return node != 1 }, true},
		"without one":                 {func(listener, node int, _ *Member) bool { return listener != 1 || node != 2 }, false},
		"another ID": {func(listener, node int, m *Member) bool {
			if listener == 0 && node == 3 {
				m.ID = uuid.NewString()
			}
			return true
		}, false},
		"another address": {func(listener, node int, m *Member) bool {
			if listener == 0 && node == 3 {
				m.Address = "10.0.0.001"
			}
			return true
		}, false},
		"another port": {func(listener, node int, m *Member) bool {
			if listener == 0 && node == 3 {
				m.Port = 30081
			}
			return true
		}, false},
		"one twice in place of another": {func(listener, node int, m *Member) bool {
			if listener == 0 && node == 3 {
				*m = all.Listeners[0].Pool.Members[2]
			}
			return true
		}, false},
	} {
		for _, order := range [][]int{{0, 1, 2, 3}, {3, 1, 0, 2}} {
			sighting := rest.Sight()
			for i, l := range all.Listeners {
				for _, node := range order {
					m := l.Pool.Members[node]
					if !test.shows(i, node, &m) {
						continue
					}
					if known := sighting.Known()([]byte(m.ID), []byte(m.Address), m.Port); known && node == 1 {
						t.Errorf("%s: a member that the load balancer has is taken for one of the rest", name)
					}
				}
			}
			if sighting.All() != test.all {
				t.Errorf("%s: all were seen: %v, want %v", name, sighting.All(), test.all)
			}
		}
	}
	var none *Rest
	if !none.Sight().All() || none.Sight().Known() != nil || none.Len(0) != 0 || none.Members() != 0 {
		t.Error("no rest is not seen at once")
	}
}

func TestRest_TellsTheIDsOfItsMembers(t *testing.T) {
	t.Parallel()
	all := onNodes(1, 1, 2, 3, 4)
	nodes, _ := Pack(all, nil).Nodes()
	_, rest := nodes.Excerpt([]int{0, 2}, "10.0.0.003")
	var ids []string
	every := rest.IDs(0, func(id []byte) bool { ids = append(ids, string(id)); return true })
	members := all.Listeners[0].Pool.Members
	if want := []string{members[1].ID, members[3].ID}; !every || !slices.Equal(ids, want) || rest.About() != "10.0.0.003" {
		t.Errorf("IDs %v about %s, want %v", ids, rest.About(), want)
	}
	if rest.IDs(0, func([]byte) bool { return false }) {
		t.Error("an ID that is not there is")
	}
}
