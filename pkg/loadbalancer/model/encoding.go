package model

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// coder writes an outline as bytes, or reads one: the methods below name all that an outline
// has, once for both. An answer of Octavia leaves a hundred small texts, lists and structs of
// each load balancer, and each of them a hole in memory when the next answer takes its place;
// as bytes they are one, without pointers.
//
// Numbers are varints. A text is its length and, unless that is 0, where in the bytes before
// it the same is written, plus one; 0 where it follows. A list begins with its length plus one,
// 0 where it is nil; what may be missing begins with 1, 0 where it is.
type coder struct {
	mode mode
	out  []byte // what is written
	in   string // what is read, or compared
	at   int
	// sought has the bytes of the text that is looked for, in memory that is used again.
	sought []byte
	// canonical is set where nobody reads what is written: a text is not looked for.
	canonical bool
	// differs is set where what is compared is not the same. What follows then says nothing.
	differs bool
}

// mode is what a coder does with an outline.
type mode int

const (
	reads mode = iota
	writes
	compares
)

// encode returns what lb has but for its status, its updated_at and the members of its
// listeners, as bytes appended to those of scratch.
func encode(scratch []byte, lb *LoadBalancer) []byte {
	c := coder{mode: writes, out: scratch}
	c.loadBalancer(lb)
	return c.out
}

// decode reads what encode has written, into lb, whose memory it uses again. All texts of lb are
// parts of encoded.
func decode(encoded string, lb *LoadBalancer) {
	c := coder{mode: reads, in: encoded}
	c.loadBalancer(lb)
}

// encodes reports whether encoded, which may be empty, is what encode makes of lb, which it takes a
// fraction of the time to find out.
func encodes(encoded string, lb *LoadBalancer) bool {
	c := coder{mode: compares, in: encoded, differs: encoded == ""}
	c.loadBalancer(lb)
	return !c.differs
}

// AppendCanonical appends to text all that lb has but for its updated_at. Where load balancers differ
// in any of that, so do the bytes, which say themselves where they end.
func (lb *LoadBalancer) AppendCanonical(text []byte) []byte {
	const usual = 2 << 10
	c := coder{mode: writes, out: slices.Grow(text, usual), canonical: true}
	c.loadBalancer(lb)
	c.status(&lb.Status)
	for i := range lb.Listeners {
		each(&c, &lb.Listeners[i].Pool.Members, c.member)
	}
	return c.out
}

func (c *coder) loadBalancer(lb *LoadBalancer) {
	c.texts(&lb.ID, &lb.Name, &lb.Description, &lb.Provider, &lb.FlavorID, &lb.AvailabilityZone, &lb.ReplacementHash)
	c.list(&lb.Tags)
	c.switches(&lb.AdminDown, &lb.Adopted)
	c.texts(&lb.VIP.NetworkID, &lb.VIP.SubnetID, &lb.VIP.PortID, &lb.VIP.Address, &lb.VIP.QoSPolicyID)
	c.list(&lb.VIP.SecurityGroupIDs)
	each(c, &lb.Listeners, c.listener)
	each(c, &lb.Orphans, func(p *Pool) {
		c.pool(p)
		each(c, &p.Members, c.member)
	})
	each(c, &lb.Foreign, c.foreign)
	optional(c, &lb.Shared, func(s *Shared) {
		c.texts(&s.Owner)
		c.switches(&s.Removable, &s.Left)
		if !c.canonical || s.Orphaned { // it says nothing of what is desired, so that digests stay as they are
			c.switches(&s.Orphaned)
		}
	})
	optional(c, &lb.FloatingIP, c.floatingIP)
}

func (c *coder) listener(l *Listener) {
	c.texts(&l.ID, &l.Name, (*string)(&l.Protocol), &l.TLSContainerRef)
	c.numbers(&l.Port)
	c.list(&l.Tags)
	c.list(&l.AllowedCIDRs)
	c.list(&l.InsertHeaders)
	for _, limit := range l.Limits.Named {
		c.numbers(&limit.Value)
		c.switches(&limit.Asked)
	}
	c.switches(&l.AdminDown)
	c.status(&l.Status)
	c.pool(&l.Pool)
}

// pool codes a pool without its members.
func (c *coder) pool(p *Pool) {
	c.texts(&p.ID, &p.Name, (*string)(&p.Protocol), &p.Algorithm, &p.Persistence)
	c.numbers(&p.PersistenceTimeout)
	c.list(&p.Tags)
	c.switches(&p.AdminDown)
	c.status(&p.Status)
	optional(c, &p.Monitor, c.monitor)
}

func (c *coder) member(m *Member) {
	c.texts(&m.ID, &m.Name, &m.Address, &m.SubnetID)
	c.numbers(&m.Port, &m.MonitorPort)
	c.switches(&m.SubnetUnknown, &m.Drained, &m.AdminDown, &m.Backup)
	c.status(&m.Status)
	if !c.canonical || m.Unasked != "" { // nothing that is desired has any, so that digests stay as they are
		c.texts(&m.Unasked)
	}
}

func (c *coder) monitor(m *Monitor) {
	c.texts(&m.ID, &m.Name, &m.Type, &m.HTTPMethod, &m.URLPath, &m.ExpectedCodes, &m.HTTPVersion, &m.DomainName)
	c.numbers(&m.Delay, &m.Timeout, &m.MaxRetries, &m.MaxRetriesDown)
	c.list(&m.Tags)
	c.switches(&m.AdminDown)
	c.status(&m.Status)
}

func (c *coder) floatingIP(ip *FloatingIP) {
	c.texts(&ip.ID, &ip.NetworkID, &ip.Address, &ip.Description, &ip.PortID, &ip.Tag)
	c.list(&ip.SubnetIDs)
	c.list(&ip.Tags)
	optional(c, &ip.Revision, func(n *int) { c.numbers(n) })
	c.switches(&ip.Owned, &ip.Retained)
}

func (c *coder) foreign(f *Foreign) {
	c.texts(&f.Kind, &f.ID, &f.Name, (*string)(&f.Key.Transport), &f.Service, (*string)(&f.Monitored))
	c.numbers(&f.Key.Port)
}

func (c *coder) status(s *Status) { c.texts(&s.Provisioning, &s.Operating) }

// each codes a list.
func each[T any](c *coder, all *[]T, one func(*T)) {
	n := len(*all) + 1
	if *all == nil {
		n = 0
	}
	c.numbers(&n)
	switch {
	case c.mode != reads:
	case n == 0:
		*all = nil
	case *all == nil:
		*all = make([]T, n-1)
	default:
		*all = slices.Grow((*all)[:0], n-1)[:n-1]
	}
	for i := range *all {
		one(&(*all)[i])
	}
}

// optional codes what may be missing.
func optional[T any](c *coder, value **T, one func(*T)) {
	is := *value != nil
	c.switches(&is)
	switch {
	case !is:
		*value = nil
		return
	case *value == nil:
		*value = new(T)
	}
	one(*value)
}

func (c *coder) list(all *[]string) { each(c, all, func(s *string) { c.texts(s) }) }

func (c *coder) switches(all ...*bool) {
	for _, is := range all {
		n := 0
		if *is {
			n = 1
		}
		c.numbers(&n)
		if c.mode == reads {
			*is = n == 1
		}
	}
}

func (c *coder) numbers(all ...*int) {
	for _, n := range all {
		switch {
		case c.mode == writes:
			c.out = binary.AppendVarint(c.out, int64(*n))
		case c.mode == reads:
			*n = c.number()
		case !c.differs:
			c.differs = c.number() != *n
		}
	}
}

// number reads a number: binary.Varint of a string.
func (c *coder) number() int {
	var u uint64
	for shift := 0; ; shift += 7 {
		b := c.in[c.at]
		c.at++
		if u |= uint64(b&0x7f) << shift; b < 0x80 {
			return int(u>>1) ^ -int(u&1)
		}
	}
}

func (c *coder) texts(all ...*string) {
	for _, s := range all {
		switch {
		case c.mode == writes:
			c.write(*s)
		case c.mode == reads:
			*s = c.text()
		case !c.differs:
			c.differs = c.text() != *s
		}
	}
}

// write writes a text.
func (c *coder) write(s string) {
	n, at := len(s), 0
	if c.numbers(&n); n == 0 {
		return
	}
	if !c.canonical {
		c.sought = append(c.sought[:0], s...)
		at = bytes.Index(c.out, c.sought) + 1
		c.numbers(&at)
	}
	if at == 0 {
		c.out = append(c.out, s...)
	}
}

// text reads a text.
func (c *coder) text() string {
	n := c.number()
	if n == 0 {
		return ""
	}
	if at := c.number(); at > 0 {
		return c.in[at-1:][:n]
	}
	c.at += n
	return c.in[c.at-n : c.at]
}
