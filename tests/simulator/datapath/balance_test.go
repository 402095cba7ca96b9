package datapath

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// poolOf returns a pool with members a, b, c … of the given weights.
func poolOf(t *testing.T, change func(*Pool), weights ...int) (*pool, *clocktesting.FakeClock) {
	t.Helper()
	config := Pool{ID: "pool", Algorithm: AlgorithmRoundRobin, AdminUp: true}
	for i, weight := range weights {
		m := member(string(rune('a'+i)), netip.MustParseAddrPort("127.0.0.1:1"))
		m.Weight = weight
		config.Members = append(config.Members, m)
	}
	if change != nil {
		change(&config)
	}
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	p := newPool(clock)
	p.configure(config)
	return p, clock
}

func client(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), uint16(1024+i))
}

// picks lets n clients pick and returns the members' names in order.
func picks(p *pool, n int, from func(int) netip.AddrPort) string {
	var names strings.Builder
	for i := range n {
		member, release, ok := p.pick(choice{client: from(i)})
		if !ok {
			names.WriteString("-")
			continue
		}
		release()
		names.WriteString(member.ID)
	}
	return names.String()
}

func TestPick_FollowsWeightsAndStateOfMembers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		weights []int
		change  func(*Pool)
		want    string
	}{
		{"equal weights take turns", []int{1, 1, 1}, nil, "abcabc"},
		{"weights are mixed evenly", []int{3, 1}, nil, "aabaaa"},
		{"weight 0 gets nothing", []int{0, 1}, nil, "bbbbbb"},
		{"nobody", nil, nil, "------"},
		{"disabled pool", []int{1}, func(p *Pool) { p.AdminUp = false }, "------"},
		{"disabled member", []int{1, 1}, func(p *Pool) { p.Members[0].AdminUp = false }, "bbbbbb"},
		{"backup waits", []int{1, 1}, func(p *Pool) { p.Members[0].Backup = true }, "bbbbbb"},
		{"backup serves when alone", []int{1, 0}, func(p *Pool) { p.Members[0].Backup = true }, "aaaaaa"},
		{"ERROR gets nothing", []int{1, 1}, status(0, StatusError), "bbbbbb"},
		{"without monitor OFFLINE serves", []int{1, 1}, status(0, "OFFLINE"), "ababab"},
		{"with monitor OFFLINE waits", []int{1, 1}, monitored(status(0, "OFFLINE")), "bbbbbb"},
		{"with monitor ONLINE serves", []int{1, 1}, monitored(status(0, StatusOnline)), "ababab"},
		{"with monitor DRAINING serves once it has a weight", []int{1, 0}, monitored(status(0, StatusDraining)), "aaaaaa"},
		{"with disabled monitor OFFLINE serves", []int{1}, func(p *Pool) {
			monitored(status(0, "OFFLINE"))(p)
			p.Monitor.AdminUp = false
		}, "aaaaaa"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, _ := poolOf(t, test.change, test.weights...)
			if got := picks(p, 6, client); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func status(i int, status string) func(*Pool) {
	return func(p *Pool) { p.Members[i].Status = status }
}

func monitored(change func(*Pool)) func(*Pool) {
	return func(p *Pool) {
		p.Monitor = &Monitor{Type: MonitorTCP, AdminUp: true}
		change(p)
	}
}

func TestPick_UsesClientAddressAloneForSourceIP(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Algorithm = AlgorithmSourceIP }, 1, 1, 1)
	onePerPort := func(i int) netip.AddrPort { return netip.AddrPortFrom(client(7).Addr(), uint16(1024+i)) }
	if got := picks(p, 20, onePerPort); strings.Trim(got, got[:1]) != "" {
		t.Errorf("one address went to %s, want one member", got)
	}
	wantSpread(t, picks(p, 300, client), "abc")
}

func TestPick_SpreadsConnectionsOfOneAddressForSourceIPPort(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Algorithm = AlgorithmSourceIPPort }, 1, 1, 1)
	onePerPort := func(i int) netip.AddrPort { return netip.AddrPortFrom(client(7).Addr(), uint16(1024+i)) }
	wantSpread(t, picks(p, 300, onePerPort), "abc")
	same := func(int) netip.AddrPort { return client(7) }
	if got := picks(p, 20, same); strings.Trim(got, got[:1]) != "" {
		t.Errorf("one address and port went to %s, want one member", got)
	}
}

// wantSpread fails unless each name has at least half of its fair share.
func wantSpread(t *testing.T, got, names string) {
	t.Helper()
	for _, name := range names {
		if n := strings.Count(got, string(name)); n < len(got)/len(names)/2 {
			t.Errorf("member %c got %d of %d", name, n, len(got))
		}
	}
}

func TestPick_RespectsWeightsWhenHashing(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Algorithm = AlgorithmSourceIP }, 9, 1)
	got := picks(p, 1000, client)
	if n := strings.Count(got, "b"); n < 50 || n > 200 {
		t.Errorf("member of weight 1 in 10 got %d of 1000", n)
	}
}

func TestPick_CountsLeastConnectionsInWeights(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Algorithm = AlgorithmLeastConnections }, 2, 1)
	counts := map[string]int{}
	for i := range 9 {
		member, _, _ := p.pick(choice{client: client(i)})
		counts[member.ID]++
	}
	if counts["a"] != 6 || counts["b"] != 3 {
		t.Errorf("open connections %v, want a:6 b:3", counts)
	}
}

func TestPick_CountsReleaseOnce(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Algorithm = AlgorithmLeastConnections }, 1, 1)
	_, releaseA, _ := p.pick(choice{client: client(0)})
	_, _, _ = p.pick(choice{client: client(1)})
	releaseA()
	releaseA()
	_, _, _ = p.pick(choice{client: client(2)}) // to a, the idle one
	counts := fmt.Sprint(p.open)
	if counts != "map[a:1 b:1]" {
		t.Errorf("open connections %s, want one each", counts)
	}
}

func TestPick_SkipsTriedMembers(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, nil, 1, 1)
	tried := map[string]bool{}
	for range 2 {
		member, release, ok := p.pick(choice{client: client(0), tried: tried})
		if !ok || tried[member.ID] {
			t.Fatalf("picked %q again (%v)", member.ID, ok)
		}
		release()
		tried[member.ID] = true
	}
	if member, _, ok := p.pick(choice{client: client(0), tried: tried}); ok {
		t.Errorf("picked %q although all were tried", member.ID)
	}
}

func TestPersistence_KeepsClientOnItsMemberUntilTimeout(t *testing.T) {
	t.Parallel()
	sticky := func(p *Pool) {
		p.Persistence = PersistenceSourceIP
		p.PersistenceTimeout = time.Minute
	}
	p, clock := poolOf(t, sticky, 1, 1)
	same := func(i int) netip.AddrPort { return netip.AddrPortFrom(client(1).Addr(), uint16(i)) }
	if got := picks(p, 5, same); got != "aaaaa" {
		t.Errorf("one client went to %s, want aaaaa", got)
	}
	clock.Step(59 * time.Second)
	if got := picks(p, 1, same); got != "a" {
		t.Errorf("before the timeout: %s, want a", got)
	}
	clock.Step(61 * time.Second)
	if got := picks(p, 1, same); got != "b" {
		t.Errorf("after the timeout: %s, want the next turn, b", got)
	}
	if len(p.sticky) != 1 {
		t.Errorf("%d clients remembered, want 1", len(p.sticky))
	}
}

func TestPersistence_YieldsWhenMemberIsOut(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Persistence = PersistenceSourceIP }, 1, 1)
	same := func(int) netip.AddrPort { return client(1) }
	if got := picks(p, 2, same); got != "aa" {
		t.Fatalf("got %s, want aa", got)
	}
	config := p.config
	config.Members = config.Members[1:]
	p.configure(config)
	if got := picks(p, 2, same); got != "bb" {
		t.Errorf("after a was removed: %s, want bb", got)
	}
}

// Without a proxy, a VIP needs members of its own IP family.
func TestPick_SkipsMembersOfOtherFamilyForTranslatedVIP(t *testing.T) {
	t.Parallel()
	p, _ := poolOf(t, func(p *Pool) { p.Members[1].Address = netip.IPv6Loopback() }, 1, 1)
	for like, want := range map[netip.Addr]string{{}: "ab", netip.IPv6Loopback(): "bb", netip.AddrFrom4([4]byte{127, 0, 0, 1}): "aa"} {
		got := ""
		for i := range len(want) {
			member, release, _ := p.pick(choice{client: client(i), like: like})
			release()
			got += member.ID
		}
		if got != want {
			t.Errorf("VIP %s: picked %s, want %s", like, got, want)
		}
	}
}
