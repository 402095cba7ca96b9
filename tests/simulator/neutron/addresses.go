package neutron

import (
	"fmt"
	"net/netip"
)

// addressPool hands out the addresses of one subnet.
type addressPool struct {
	prefix  netip.Prefix
	pools   []addressSpan
	used    map[netip.Addr]bool
	current int        // the pool that the next search starts in
	next    netip.Addr // where in that pool
	// exhausted pools pretend to have no address left.
	exhausted bool
}

// addressSpan is an allocation pool, both ends included.
type addressSpan struct{ first, last netip.Addr }

// newAddressPool checks the ranges; nil ranges mean the whole prefix without
// the gateway and, for IPv4, the network and broadcast addresses.
func newAddressPool(cidr, gateway string, ranges []AddressRange) (*addressPool, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("subnet CIDR: %w", err)
	}
	pool := &addressPool{prefix: prefix.Masked(), used: map[netip.Addr]bool{}}
	for _, r := range ranges {
		first, err := netip.ParseAddr(r.Start)
		if err != nil {
			return nil, fmt.Errorf("allocation pool: %w", err)
		}
		last, err := netip.ParseAddr(r.End)
		if err != nil {
			return nil, fmt.Errorf("allocation pool: %w", err)
		}
		if !pool.prefix.Contains(first) || !pool.prefix.Contains(last) || last.Less(first) {
			return nil, fmt.Errorf("allocation pool %s-%s is not in %s", r.Start, r.End, cidr)
		}
		pool.pools = append(pool.pools, addressSpan{first, last})
	}
	if ranges == nil {
		pool.pools = wholePrefix(pool.prefix, gateway)
	}
	if len(pool.pools) > 0 {
		pool.next = pool.pools[0].first
	}
	return pool, nil
}

// wholePrefix is Neutron's default: all host addresses, split around the gateway.
func wholePrefix(prefix netip.Prefix, gateway string) []addressSpan {
	first, last := prefix.Addr(), lastAddress(prefix)
	if prefix.Bits() < first.BitLen()-1 {
		first = first.Next()
		if last.Is4() {
			last = last.Prev()
		}
	}
	gw, err := netip.ParseAddr(gateway)
	if err != nil || gw.Less(first) || last.Less(gw) {
		return []addressSpan{{first, last}}
	}
	var spans []addressSpan
	if first.Less(gw) {
		spans = append(spans, addressSpan{first, gw.Prev()})
	}
	if gw.Less(last) {
		spans = append(spans, addressSpan{gw.Next(), last})
	}
	return spans
}

// lastAddress is the highest address of a prefix.
func lastAddress(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// ranges are the pools as Neutron shows them.
func (p *addressPool) ranges() []AddressRange {
	ranges := make([]AddressRange, 0, len(p.pools))
	for _, span := range p.pools {
		ranges = append(ranges, AddressRange{Start: span.first.String(), End: span.last.String()})
	}
	return ranges
}

// allocate takes the next free address of the pools; false when all are taken.
// An address that was given back is not handed out again before the others
// were, so that a test notices who keeps using it.
func (p *addressPool) allocate() (netip.Addr, bool) {
	if len(p.pools) == 0 || p.exhausted {
		return netip.Addr{}, false
	}
	pool, address := p.current, p.next
	for {
		candidate := address
		span := p.pools[pool]
		if address == span.last {
			pool = (pool + 1) % len(p.pools)
			address = p.pools[pool].first
		} else {
			address = address.Next()
		}
		if !p.used[candidate] {
			p.used[candidate] = true
			p.current, p.next = pool, address
			return candidate, true
		}
		if pool == p.current && address == p.next {
			return netip.Addr{}, false
		}
	}
}

// hasFree reports whether the pools have so many free addresses.
func (p *addressPool) hasFree(addresses int) bool {
	if p.exhausted {
		return false
	}
	for _, span := range p.pools {
		for address := span.first; addresses > 0 && !span.last.Less(address); address = address.Next() {
			if !p.used[address] {
				addresses--
			}
		}
	}
	return addresses <= 0
}

// take reserves one address; false when it is taken already.
func (p *addressPool) take(address netip.Addr) bool {
	if p.used[address] {
		return false
	}
	p.used[address] = true
	return true
}

// release gives an address back.
func (p *addressPool) release(address string) {
	if parsed, err := netip.ParseAddr(address); err == nil {
		delete(p.used, parsed)
	}
}
