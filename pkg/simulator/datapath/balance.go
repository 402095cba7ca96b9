package datapath

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// defaultPersistence is how long haproxy's stick table remembers an idle client.
const defaultPersistence = 30 * time.Minute

// pool is the living side of a Pool: it keeps what the next choice depends on, and outlives
// changes of the configuration.
type pool struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	config Pool
	// turns is the state of the smooth weighted round robin, by member ID.
	turns map[string]int
	// open counts the connections, by member ID.
	open   map[string]int
	sticky map[netip.Addr]binding
}

// binding is the member that a client's address sticks to.
type binding struct {
	memberID string
	lastUsed time.Time
}

// newPool returns a pool without members; configure gives it some.
func newPool(clock clock.PassiveClock) *pool {
	return &pool{
		clock:  clock,
		turns:  map[string]int{},
		open:   map[string]int{},
		sticky: map[netip.Addr]binding{},
	}
}

// configure puts config in force for the choices to come. Open connections stay.
func (p *pool) configure(config Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = config
	known := make(map[string]bool, len(config.Members))
	for _, member := range config.Members {
		known[member.ID] = true
	}
	for id := range p.turns {
		if !known[id] {
			delete(p.turns, id)
		}
	}
	for address, bound := range p.sticky {
		if !known[bound.memberID] {
			delete(p.sticky, address)
		}
	}
}

// pick chooses the member for a client, leaving out the member IDs in tried, and counts the
// connection until release is called. ok is false when no member may be used.
func (p *pool) pick(client netip.AddrPort, tried map[string]bool) (member Member, release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	usable := p.usable(tried)
	if len(usable) == 0 {
		return Member{}, nil, false
	}
	member, bound := p.bound(client.Addr(), usable)
	if !bound {
		member = p.choose(client, usable)
	}
	p.bind(client.Addr(), member.ID)
	p.open[member.ID]++
	return member, sync.OnceFunc(func() { p.release(member.ID) }), true
}

// mayUse reports whether the member can still be given traffic.
func (p *pool) mayUse(memberID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, member := range p.usable(nil) {
		if member.ID == memberID {
			return true
		}
	}
	return false
}

func (p *pool) release(memberID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[memberID]--; p.open[memberID] <= 0 {
		delete(p.open, memberID)
	}
}

// usable returns the members that may get a connection: the primary ones, or the backup
// members when there is no primary one.
func (p *pool) usable(tried map[string]bool) []Member {
	if !p.config.AdminUp {
		return nil
	}
	monitored := p.config.Monitor != nil && p.config.Monitor.AdminUp
	var primary, backup []Member
	for _, member := range p.config.Members {
		switch {
		case tried[member.ID] || !member.serves(monitored):
		case member.Backup:
			backup = append(backup, member)
		default:
			primary = append(primary, member)
		}
	}
	if len(primary) == 0 {
		return backup
	}
	return primary
}

// serves reports whether the member takes new connections. Behind a monitor it must have
// passed: NO_MONITOR is what Octavia shows before the first heartbeat, DRAINING what it shows
// for a moment after a weight was 0. Without a monitor only ERROR takes it out.
func (m Member) serves(monitored bool) bool {
	if !m.AdminUp || m.Weight <= 0 {
		return false
	}
	switch m.Status {
	case StatusOnline, StatusNoMonitor, StatusDraining:
		return true
	case StatusError:
		return false
	default:
		return !monitored
	}
}

func (p *pool) choose(client netip.AddrPort, usable []Member) Member {
	switch p.config.Algorithm {
	case AlgorithmLeastConnections:
		return p.leastConnections(usable)
	case AlgorithmSourceIP:
		return byHash(usable, hashOf(client.Addr(), 0))
	case AlgorithmSourceIPPort:
		return byHash(usable, hashOf(client.Addr(), client.Port()))
	default:
		return p.nextTurn(usable)
	}
}

// nextTurn is the smooth weighted round robin: members of weight 3 and 1 give A A B A.
func (p *pool) nextTurn(usable []Member) Member {
	total := 0
	best := 0
	for i, member := range usable {
		total += member.Weight
		p.turns[member.ID] += member.Weight
		if p.turns[member.ID] > p.turns[usable[best].ID] {
			best = i
		}
	}
	p.turns[usable[best].ID] -= total
	return usable[best]
}

// leastConnections finds the members with the fewest connections for their weight and takes
// turns among them.
func (p *pool) leastConnections(usable []Member) Member {
	var least []Member
	for _, member := range usable {
		order := -1
		if len(least) > 0 {
			order = cmp.Compare(p.open[member.ID]*least[0].Weight, p.open[least[0].ID]*member.Weight)
		}
		switch {
		case order < 0:
			least = []Member{member}
		case order == 0:
			least = append(least, member)
		}
	}
	return p.nextTurn(least)
}

// bound returns the usable member that the client's address sticks to.
func (p *pool) bound(client netip.Addr, usable []Member) (Member, bool) {
	if p.config.Persistence != PersistenceSourceIP {
		return Member{}, false
	}
	bound, ok := p.sticky[client]
	if !ok || p.clock.Since(bound.lastUsed) > p.persistence() {
		return Member{}, false
	}
	for _, member := range usable {
		if member.ID == bound.memberID {
			return member, true
		}
	}
	return Member{}, false
}

// bind remembers the client's member and forgets the clients that were idle for too long.
func (p *pool) bind(client netip.Addr, memberID string) {
	if p.config.Persistence != PersistenceSourceIP {
		clear(p.sticky)
		return
	}
	for address, bound := range p.sticky {
		if p.clock.Since(bound.lastUsed) > p.persistence() {
			delete(p.sticky, address)
		}
	}
	p.sticky[client] = binding{memberID: memberID, lastUsed: p.clock.Now()}
}

func (p *pool) persistence() time.Duration {
	return cmp.Or(p.config.PersistenceTimeout, defaultPersistence)
}

// byHash maps a hash onto the members, each with a share as large as its weight.
func byHash(usable []Member, hash uint64) Member {
	var total uint64
	for _, member := range usable {
		total += uint64(member.Weight)
	}
	rest := hash % total
	for _, member := range usable {
		if rest < uint64(member.Weight) {
			return member
		}
		rest -= uint64(member.Weight)
	}
	return usable[len(usable)-1]
}

func hashOf(address netip.Addr, port uint16) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write(address.AsSlice())
	_, _ = hash.Write(binary.BigEndian.AppendUint16(nil, port))
	return hash.Sum64()
}
