package datapath

import (
	"cmp"
	"maps"
	"net/http"
	"net/netip"
	"time"
)

// defaultPersistence is how long an idle client stays bound when the pool does not say.
const defaultPersistence = 30 * time.Minute

// mostBindings is how many clients a pool remembers, as many as haproxy's table has room for
// in an amphora of the default size.
const mostBindings = 10_000

// binding is the member that a client sticks to.
type binding struct {
	memberID string
	lastUsed time.Time
}

// stickiness is what a request's cookies say of its client.
type stickiness struct {
	// kind is the pool's type of persistence, name its cookie.
	kind, name string
	// cookie is the value that the client sent, "" for none.
	cookie string
}

// stickiness reads from a request what matters to the pool's persistence.
func (p *pool) stickiness(request *http.Request) stickiness {
	p.mu.Lock()
	defer p.mu.Unlock()
	read := stickiness{kind: p.config.Persistence, name: p.config.CookieName}
	if read.kind == PersistenceHTTPCookie {
		read.name = memberCookie
	}
	if cookie, err := request.Cookie(read.name); err == nil {
		read.cookie = cookie.Value
	}
	return read
}

// stickyKey is under what the client is remembered, "" for clients that are not.
func (p *pool) stickyKey(c choice) string {
	switch p.config.Persistence {
	case PersistenceSourceIP:
		return p.clientKey(c.client.Addr())
	case PersistenceAppCookie:
		return c.sticky.cookie
	default:
		return ""
	}
}

// clientKey returns the part of an address that identifies a client.
func (p *pool) clientKey(address netip.Addr) string {
	prefix, err := address.Prefix(p.config.PersistenceBits)
	if p.config.PersistenceBits <= 0 || err != nil {
		return address.String()
	}
	return prefix.String()
}

// bound returns the member that the client sticks to, if it still serves.
func (p *pool) bound(key string, c choice) (Member, bool) {
	if p.config.Persistence == PersistenceHTTPCookie {
		return p.member(c.sticky.cookie, c)
	}
	bound, known := p.sticky[key]
	if key == "" || !known || p.expired(bound) {
		return Member{}, false
	}
	return p.member(bound.memberID, c)
}

// bind remembers the client's member and forgets the clients that were idle for too long.
func (p *pool) bind(key, memberID string) {
	switch p.config.Persistence {
	case PersistenceSourceIP, PersistenceAppCookie:
	default:
		clear(p.sticky)
		return
	}
	if key == "" {
		return
	}
	if _, known := p.sticky[key]; !known {
		p.forget()
	}
	p.sticky[key] = binding{memberID: memberID, lastUsed: p.clock.Now()}
}

// forget drops expired entries at most once a second, and one more entry if the table is full.
func (p *pool) forget() {
	if p.clock.Since(p.swept) >= time.Second {
		p.swept = p.clock.Now()
		maps.DeleteFunc(p.sticky, func(_ string, bound binding) bool { return p.expired(bound) })
	}
	if len(p.sticky) < mostBindings {
		return
	}
	for key := range p.sticky {
		delete(p.sticky, key)
		return
	}
}

func (p *pool) expired(bound binding) bool {
	return p.clock.Since(bound.lastUsed) > cmp.Or(p.config.PersistenceTimeout, defaultPersistence)
}

// stick makes the client come back to the member that answered: by a cookie that the load
// balancer adds, or by remembering the one that the member sets.
func (p *pool) stick(client stickiness, memberID string, response *http.Response) {
	switch client.kind {
	case PersistenceHTTPCookie:
		if client.cookie != memberID {
			response.Header.Add("Set-Cookie", memberCookie+"="+memberID+"; path=/")
			response.Header.Set("Cache-Control", "private")
		}
	case PersistenceAppCookie:
		for _, cookie := range response.Cookies() {
			if cookie.Name == client.name && cookie.Value != "" {
				p.learn(cookie.Value, memberID)
			}
		}
	}
}

func (p *pool) learn(cookie, memberID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bind(cookie, memberID)
}
