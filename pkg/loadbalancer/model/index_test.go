package model

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestIndex_FindsWhatAMapWouldInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, seed))
		var members []Member
		for i := range 30 {
			members = append(members, Member{Name: fmt.Sprint(i), Address: fmt.Sprintf("10.0.0.%02d", r.IntN(40)), Port: 80 + r.IntN(2)})
		}
		if seed%2 == 0 { // as in a load balancer, where no two are alike
			pool := LoadBalancer{Listeners: []Listener{{Pool: Pool{Members: distinct(members)}}}}
			pool.Sort()
			members = pool.Listeners[0].Pool.Members
		}
		want := map[MemberKey]Member{}
		for _, m := range members {
			want[m.Key()] = m
		}
		index := MembersByKey(members)
		for range 200 {
			key := MemberKey{Address: fmt.Sprintf("10.0.0.%02d", r.IntN(40)), Port: 80 + r.IntN(2)}
			member, there := want[key]
			if got := index.Get(key); (got != nil) != there || there && *got != member {
				t.Fatalf("seed %d: at %v %+v, want %+v, %v", seed, key, got, member, there)
			}
		}
	}
}

func distinct(members []Member) []Member {
	var all []Member
	seen := map[MemberKey]bool{}
	for _, m := range members {
		if !seen[m.Key()] {
			seen[m.Key()] = true
			all = append(all, m)
		}
	}
	return all
}
