package datapath

import (
	"cmp"
	"crypto/tls"
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// pool is the living side of a Pool: it keeps what the next choice depends on, and outlives
// changes of the configuration.
type pool struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	config Pool
	// tls is how to speak TLS to members, nil when it is not spoken or not ready.
	tls *tls.Config
	// turns is the state of the smooth weighted round robin, by member ID.
	turns map[string]int
	// open counts the connections, by member ID.
	open map[string]int
	// sticky is what clients are bound to, by address or cookie.
	sticky map[string]binding
	// swept is when expired bindings were last looked for.
	swept time.Time
}

// newPool returns a pool without members; configure gives it some.
func newPool(clock clock.PassiveClock) *pool {
	return &pool{
		clock:  clock,
		turns:  map[string]int{},
		open:   map[string]int{},
		sticky: map[string]binding{},
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
	for key, bound := range p.sticky {
		if !known[bound.memberID] {
			delete(p.sticky, key)
		}
	}
}

// encrypt puts in force how TLS is spoken to members from now on.
func (p *pool) encrypt(config *tls.Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tls = config
}

// egress is what connections to members begin with.
func (p *pool) egress() egress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return egress{proxy: proxyVersion(p.config.Protocol), encrypted: p.config.TLS.Enabled, tls: p.tls}
}

// enabled reports whether the pool exists and is administratively up.
func (p *pool) enabled() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config.AdminUp
}

// choice is what the choice of a member depends on besides the pool.
type choice struct {
	client netip.AddrPort
	// tried are the IDs of members that are left out.
	tried map[string]bool
	// sticky has the persistence information of an HTTP request.
	sticky stickiness
	// limit leaves out the members with so many connections; 0 and below do not.
	limit int
	// unchecked lets members in ERROR be chosen like any others.
	unchecked bool
	// like leaves out the members of the other IP family, if it is valid.
	like netip.Addr
}

// pick chooses a member and counts the connection until release is called. ok is false when
// no member may be used.
func (p *pool) pick(c choice) (member Member, release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := p.stickyKey(c)
	member, ok = p.bound(key, c)
	if !ok {
		usable := p.usable(c)
		if len(usable) == 0 {
			return Member{}, nil, false
		}
		member = p.choose(c.client, usable)
	}
	p.bind(key, member.ID)
	p.open[member.ID]++
	return member, sync.OnceFunc(func() { p.release(member.ID) }), true
}

// mayKeep reports whether a client that is on the member already can stay there.
func (p *pool) mayKeep(memberID string, unchecked bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.member(memberID, choice{unchecked: unchecked})
	return ok
}

func (p *pool) release(memberID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[memberID]--; p.open[memberID] <= 0 {
		delete(p.open, memberID)
	}
}

// usable returns the members that may get a new client: the primary ones, or the backup
// members when there is no primary one.
func (p *pool) usable(c choice) []Member {
	var primary, backup []Member
	for _, member := range p.config.Members {
		switch {
		case member.Weight <= 0 || !p.serves(member, c):
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

// member finds a member that serves the clients that it has, if no new ones: as with
// haproxy, weight 0 does not send them away.
func (p *pool) member(id string, c choice) (Member, bool) {
	for _, member := range p.config.Members {
		if member.ID == id && p.serves(member, c) {
			return member, true
		}
	}
	return Member{}, false
}

// serves reports whether the member takes connections at all.
func (p *pool) serves(member Member, c choice) bool {
	monitored := p.config.Monitor != nil && p.config.Monitor.AdminUp
	full := c.limit > 0 && p.open[member.ID] >= c.limit
	paired := !c.like.IsValid() || c.like.Is4() == member.Address.Is4()
	return p.config.AdminUp && !c.tried[member.ID] && !full && paired && (c.unchecked && member.AdminUp || member.healthy(monitored))
}

// healthy reports whether the member is up. Behind a monitor it must have passed: NO_MONITOR
// is what Octavia shows before the first heartbeat, DRAINING what it shows while a weight is
// 0 and for a moment after. Without a monitor only ERROR takes it out.
func (m Member) healthy(monitored bool) bool {
	if !m.AdminUp {
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

// at is where the member is reached.
func (m Member) at() netip.AddrPort { return netip.AddrPortFrom(m.Address, m.Port) }

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
