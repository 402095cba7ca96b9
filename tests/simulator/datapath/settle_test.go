package datapath

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSettle_TakesConfigurationWhenProviderHasAppliedIt(t *testing.T) {
	t.Parallel()
	lb := func(settled bool, address, status string, listeners ...string) LoadBalancer {
		lb := LoadBalancer{
			ID: "lb", Settled: settled, Addresses: []netip.Addr{netip.MustParseAddr(address)},
			Pools: []Pool{{ID: "pool", Members: []Member{{ID: "m", Status: status}}}},
		}
		for _, id := range listeners {
			lb.Listeners = append(lb.Listeners, Listener{ID: id})
		}
		return lb
	}
	tests := []struct {
		name   string
		before []LoadBalancer
		now    []LoadBalancer
		want   []LoadBalancer
	}{
		{
			name: "new and settled",
			now:  []LoadBalancer{lb(true, "127.0.0.2", "ONLINE", "a")},
			want: []LoadBalancer{lb(true, "127.0.0.2", "ONLINE", "a")},
		},
		{name: "new and not settled", now: []LoadBalancer{lb(false, "127.0.0.2", "ONLINE", "a")}},
		{
			name:   "not settled keeps the configuration, not addresses and statuses",
			before: []LoadBalancer{lb(true, "127.0.0.2", "ONLINE", "a")},
			now:    []LoadBalancer{lb(false, "127.0.0.3", "ERROR", "b")},
			want:   []LoadBalancer{lb(true, "127.0.0.3", "ERROR", "a")},
		},
		{
			name:   "settled again",
			before: []LoadBalancer{lb(true, "127.0.0.2", "ONLINE", "a")},
			now:    []LoadBalancer{lb(true, "127.0.0.3", "ERROR", "b", "c")},
			want:   []LoadBalancer{lb(true, "127.0.0.3", "ERROR", "b", "c")},
		},
		{name: "gone", before: []LoadBalancer{lb(true, "127.0.0.2", "ONLINE", "a")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := map[string]LoadBalancer{}
			for _, lb := range test.before {
				before[lb.ID] = lb
			}
			want := map[string]LoadBalancer{}
			for _, lb := range test.want {
				want[lb.ID] = lb
			}
			got := settle(before, test.now)
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
				t.Errorf("in force (-want +got):\n%s", diff)
			}
		})
	}
}
