package octavia

import (
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

// ToLoadBalancerCreateMap implements loadbalancers.CreateOptsBuilder.
func (opts LoadBalancerCreate) ToLoadBalancerCreateMap() (map[string]any, error) {
	body, err := opts.CreateOpts.ToLoadBalancerCreateMap()
	if err != nil {
		return nil, err
	}
	lb, _ := body["loadbalancer"].(map[string]any)
	if len(opts.VIPSecurityGroupIDs) > 0 {
		lb["vip_sg_ids"] = opts.VIPSecurityGroupIDs
	}
	listeners, _ := lb["listeners"].([]any)
	for _, listener := range listeners {
		listener, _ := listener.(map[string]any)
		if pool, _ := listener["default_pool"].(map[string]any); pool != nil {
			name, _ := pool["name"].(string)
			addTimeout(pool, opts.PersistenceTimeouts[name])
		}
	}
	return body, nil
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
	body, err := opts.CreateOpts.ToPoolCreateMap()
	if pool, _ := body["pool"].(map[string]any); err == nil {
		addTimeout(pool, opts.PersistenceTimeout)
	}
	return body, err
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
	for _, object := range body {
		if object, _ := object.(map[string]any); object != nil {
			name, _ := object["name"].(string)
			return name
		}
	}
	return ""
}

// Pool is a pool with what the client's library does not read.
type Pool struct {
	pools.Pool
	Persistence SessionPersistence `json:"session_persistence"`
}

// SessionPersistence is how a pool keeps a client at its member.
type SessionPersistence struct {
	pools.SessionPersistence
	// Timeout is in seconds; 0 is the provider's own.
	Timeout int `json:"persistence_timeout"`
}
