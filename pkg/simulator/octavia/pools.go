package octavia

import (
	"net/http"
	"slices"
)

func (o *Octavia) createPool(c *call) (response, *apiError) {
	given, failure := o.parseObject(c.body, "pool_", "pool", poolPOST())
	if failure != nil {
		return response{}, failure
	}
	lb, listener, failure := o.poolParents(given)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayWrite(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	if listener != nil {
		if failure := checkPoolProtocol(listener.Protocol, given.text("protocol")); failure != nil {
			return response{}, failure
		}
	}
	if failure := checkPersistence(given.text("protocol"), given.object("session_persistence")); failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(lb.ProjectID, quotaPool, 1); failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if listener != nil && listener.DefaultPoolID != "" {
		return response{}, refuse(http.StatusConflict, "This listener already has a default pool")
	}
	if given.has("members") || given.has("healthmonitor") {
		return response{}, nestedInSingle()
	}
	if failure := uniqueTags(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverPool(lb, given); failure != nil {
		return response{}, failure
	}
	pool := o.newPool(lb, given)
	lb.Pools = append(lb.Pools, pool)
	var touched []object
	if listener != nil {
		listener.DefaultPoolID = pool.ID
		touched = append(touched, listener)
	}
	o.update(lb, touched, []object{pool}, nil)
	return response{http.StatusCreated, view{"pool": o.release.pool(lb, pool)}}, nil
}

// poolParents finds the load balancer, directly or through the listener that
// the new pool shall serve.
func (o *Octavia) poolParents(given body) (*LoadBalancer, *Listener, *apiError) {
	if id := given.text("listener_id"); id != "" {
		lb, listener, failure := o.listener(id)
		if failure != nil {
			return nil, nil, refuse(http.StatusInternalServerError, "'NoneType' object has no attribute 'load_balancer_id'")
		}
		return lb, listener, nil
	}
	if id := given.text("loadbalancer_id"); id != "" {
		lb, failure := o.balancer(id)
		return lb, nil, failure
	}
	return nil, nil, invalid("Must provide at least one of: loadbalancer_id, listener_id")
}

func (o *Octavia) newPool(lb *LoadBalancer, given body) *Pool {
	pool := &Pool{
		Meta:           o.newMeta(given, lb.ProjectID),
		LoadBalancerID: lb.ID,
		Protocol:       given.text("protocol"),
	}
	pool.settings(given)
	return pool
}

// settings writes what POST and PUT have in common, where it was given.
func (p *Pool) settings(given body) {
	texts := map[string]*string{
		"description": &p.Description, "lb_algorithm": &p.Algorithm, "tls_container_ref": &p.TLS.ContainerRef,
		"ca_tls_container_ref": &p.TLS.CAContainerRef, "crl_container_ref": &p.TLS.CRLRef, "tls_ciphers": &p.TLS.Ciphers,
	}
	for key, target := range texts {
		if given.has(key) {
			*target = given.text(key)
		}
	}
	for key, target := range map[string]*[]string{
		"tls_versions": &p.TLS.Versions, "alpn_protocols": &p.TLS.ALPNProtocols,
	} {
		if given.has(key) {
			*target = given.texts(key)
		}
	}
	p.TLS.Enabled = given.boolean("tls_enabled", p.TLS.Enabled)
	if !given.has("session_persistence") {
		return
	}
	p.Persistence = nil
	if persistence := given.object("session_persistence"); persistence != nil {
		p.Persistence = newPersistence(persistence)
	}
}

func newPersistence(given body) *SessionPersistence {
	persistence := &SessionPersistence{
		Type: given.text("type"), CookieName: given.text("cookie_name"), Granularity: given.text("persistence_granularity"),
	}
	if timeout, is := given["persistence_timeout"].(int); is {
		persistence.Timeout = &timeout
	}
	return persistence
}

func (o *Octavia) showPool(c *call) (response, *apiError) {
	lb, pool, failure := o.pool(c.id)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayRead(c.caller, pool.ProjectID); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"pool": o.release.pool(lb, pool).only(c.query["fields"])}}, nil
}

func (o *Octavia) updatePool(c *call) (response, *apiError) {
	given, failure := o.parseObject(c.body, "pool_", "pool", poolPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, pool, failure := o.writablePool(c)
	if failure != nil {
		return response{}, failure
	}
	if given["session_persistence"] != nil {
		if failure := checkPersistence(pool.Protocol, given.object("session_persistence")); failure != nil {
			return response{}, failure
		}
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := uniqueTags(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverPool(lb, given); failure != nil {
		return response{}, failure
	}
	pool.Meta.edit(given)
	pool.settings(given)
	o.update(lb, poolAndListeners(lb, pool), nil, nil)
	return response{http.StatusOK, view{"pool": o.release.pool(lb, pool)}}, nil
}

func (o *Octavia) deletePool(c *call) (response, *apiError) {
	lb, pool, failure := o.writablePool(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	o.set(pool, PendingDelete)
	o.update(lb, listenersOf(lb, pool), nil, func() {
		for _, listener := range lb.Listeners {
			if listener.DefaultPoolID == pool.ID {
				listener.DefaultPoolID = ""
			}
		}
		lb.Pools = slices.DeleteFunc(lb.Pools, func(other *Pool) bool { return other == pool })
	})
	return response{status: http.StatusNoContent}, nil
}

func (o *Octavia) pool(id string) (*LoadBalancer, *Pool, *apiError) {
	for _, lb := range o.balancers {
		for _, pool := range lb.Pools {
			if pool.ID == id {
				return lb, pool, nil
			}
		}
	}
	return nil, nil, notFound("Pool", id)
}

func (o *Octavia) writablePool(c *call) (*LoadBalancer, *Pool, *apiError) {
	lb, pool, failure := o.pool(c.id)
	if failure != nil {
		return nil, nil, failure
	}
	return lb, pool, o.mayWrite(c.caller, lb.ProjectID)
}
