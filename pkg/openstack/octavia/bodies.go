package octavia

import (
	"encoding/json"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

// LoadBalancerCreate is the body of a creation with what the client's library does
// not know.
type LoadBalancerCreate struct {
	loadbalancers.CreateOpts
	// PersistenceTimeouts are those of the pools in it, by name, in seconds.
	PersistenceTimeouts map[string]int `json:"-"`
	// VIPSecurityGroupIDs are the user's own security groups for the ports of the VIP.
	VIPSecurityGroupIDs []string `json:"-"`
}

// ToLoadBalancerCreateMap implements loadbalancers.CreateOptsBuilder. The library would
// encode and decode all members to make a map of them: they are left as they are.
func (opts LoadBalancerCreate) ToLoadBalancerCreateMap() (map[string]any, error) {
	body := loadBalancerBody{CreateOpts: opts.CreateOpts, VIPSecurityGroupIDs: opts.VIPSecurityGroupIDs}
	for _, listener := range opts.Listeners {
		made := listenerBody{CreateOpts: listener}
		if pool := listener.DefaultPool; pool != nil {
			made.DefaultPool = &poolBody{CreateOpts: *pool, Persistence: persistenceOf(*pool, opts.PersistenceTimeouts[pool.Name])}
		}
		body.Listeners = append(body.Listeners, made)
	}
	return map[string]any{"loadbalancer": body}, nil
}

// These shadow fields of what they embed.
type (
	loadBalancerBody struct {
		loadbalancers.CreateOpts
		Listeners           []listenerBody `json:"listeners,omitempty"`
		VIPSecurityGroupIDs []string       `json:"vip_sg_ids,omitempty"`
	}
	listenerBody struct {
		listeners.CreateOpts
		DefaultPool *poolBody `json:"default_pool,omitempty"`
	}
	poolBody struct {
		pools.CreateOpts
		Persistence *persistenceBody `json:"session_persistence,omitempty"`
	}
	persistenceBody struct {
		pools.SessionPersistence
		Timeout int `json:"persistence_timeout,omitempty"`
	}
)

// persistenceOf returns the session persistence of a pool with its timeout, nil for none.
func persistenceOf(pool pools.CreateOpts, seconds int) *persistenceBody {
	if pool.Persistence == nil {
		return nil
	}
	return &persistenceBody{*pool.Persistence, max(seconds, 0)}
}

// PoolCreate is the body of a pool's creation with what the client's library does
// not know.
type PoolCreate struct {
	pools.CreateOpts
	// PersistenceTimeout is in seconds; 0 leaves it to the provider.
	PersistenceTimeout int `json:"-"`
}

// ToPoolCreateMap implements pools.CreateOptsBuilder.
func (opts PoolCreate) ToPoolCreateMap() (map[string]any, error) {
	return map[string]any{"pool": poolBody{opts.CreateOpts, persistenceOf(opts.CreateOpts, opts.PersistenceTimeout)}}, nil
}

// addTimeout adds the timeout of a pool's session persistence, if it has both.
func addTimeout(pool map[string]any, seconds int) {
	if persistence, _ := pool["session_persistence"].(map[string]any); persistence != nil && seconds > 0 {
		persistence["persistence_timeout"] = seconds
	}
}

// PoolUpdate is the body of a pool's change with what the client's library does not
// know.
type PoolUpdate struct {
	pools.UpdateOpts
	// PersistenceTimeout is in seconds. It counts where UpdateOpts names a session
	// persistence; 0 then leaves it to the provider.
	PersistenceTimeout int `json:"-"`
	// ClearTimeout sends null instead of nothing for a timeout of 0.
	ClearTimeout bool `json:"-"`
}

// ToPoolUpdateMap implements pools.UpdateOptsBuilder.
func (opts PoolUpdate) ToPoolUpdateMap() (map[string]any, error) {
	body, err := opts.UpdateOpts.ToPoolUpdateMap()
	if err != nil {
		return nil, err
	}
	pool, _ := body["pool"].(map[string]any)
	addTimeout(pool, opts.PersistenceTimeout)
	if persistence, _ := pool["session_persistence"].(map[string]any); persistence != nil && opts.ClearTimeout {
		persistence["persistence_timeout"] = nil
	}
	return body, nil
}

// ListenerUpdate is the body of a listener's change that can also set attributes
// back to what the cloud's operator chose.
type ListenerUpdate struct {
	listeners.UpdateOpts
	// Reset names the attributes to send as null.
	Reset []string `json:"-"`
}

// ToListenerUpdateMap implements listeners.UpdateOptsBuilder.
func (opts ListenerUpdate) ToListenerUpdateMap() (map[string]any, error) {
	body, err := opts.UpdateOpts.ToListenerUpdateMap()
	if err != nil {
		return nil, err
	}
	listener, _ := body["listener"].(map[string]any)
	for _, name := range opts.Reset {
		listener[name] = nil
	}
	return body, nil
}

// nameOf returns the name in the body of a creation, for messages.
func nameOf(toMap func() (map[string]any, error)) string {
	body, err := toMap()
	if err != nil {
		return ""
	}
	text, err := json.Marshal(body)
	if err != nil {
		return ""
	}
	var named map[string]struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(text, &named) // without a name the message says what failed all the same
	for _, object := range named {
		return object.Name
	}
	return ""
}

// Pool is a pool with what the client's library does not read.
type Pool struct {
	pools.Pool
	Persistence SessionPersistence `json:"session_persistence"`
	// Members are named only, in place of the library's.
	Members ObjectIDs `json:"members"`
}

// SessionPersistence is how a pool keeps a client at its member.
type SessionPersistence struct {
	pools.SessionPersistence
	// Timeout is in seconds; 0 is the provider's own.
	Timeout int `json:"persistence_timeout"`
}
