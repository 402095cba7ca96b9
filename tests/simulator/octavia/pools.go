package octavia

import (
	"net/http"
	"slices"
)

func (o *Octavia) createPool(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "pool_", "pool", poolPOST())
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
	if listener != nil && given.text("loadbalancer_id") == "" {
		if failure := noChildren(listener.Protocol); failure != nil {
			return response{}, failure
		}
		if failure := checkPoolProtocol(listener.Protocol, given.text("protocol")); failure != nil {
			return response{}, failure
		}
	}
	if failure := checkPersistence(given.text("protocol"), given.object("session_persistence"), false); failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(c, lb.ProjectID, quotaPool, 1); failure != nil {
		return response{}, failure
	}
	if listener != nil && listener.DefaultPoolID != "" {
		return response{}, refuse(http.StatusConflict, "This listener already has a default pool")
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	persistence := given.object("session_persistence")
	if given["protocol"] == nil || given["lb_algorithm"] == nil || len(persistence) > 0 && persistence["type"] == nil {
		return response{}, crash("Something unknown went wrong")
	}
	if failure := o.checkPoolTLS(&Pool{}, given); failure != nil {
		return response{}, failure
	}
	if len(given.objects("members")) > 0 || given["healthmonitor"] != nil {
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
	o.register(lb, pool)
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
	var listener *Listener
	owner, found, unknown := o.listener(given.text("listener_id"))
	if unknown == nil {
		listener = found
	}
	switch {
	case given.text("loadbalancer_id") != "":
		lb, failure := o.balancer(given.text("loadbalancer_id"))
		return lb, listener, failure
	case given.text("listener_id") == "":
		return nil, nil, invalid("Must provide at least one of: loadbalancer_id, listener_id")
	case unknown != nil:
		return nil, nil, crash("'NoneType' object has no attribute 'load_balancer_id'")
	}
	return owner, listener, nil
}

func (o *Octavia) newPool(lb *LoadBalancer, given body) *Pool {
	pool := &Pool{
		Meta:           o.newMeta("pool", given, lb.ProjectID),
		LoadBalancerID: lb.ID,
		Protocol:       given.text("protocol"),
	}
	if given.boolean("tls_enabled", false) {
		pool.TLS.Ciphers, pool.TLS.Versions, pool.TLS.ALPNProtocols = defaultCiphers, defaultVersions(), alpnProtocols()
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
		if given.has(key) && (given[key] != nil || key != "tls_ciphers" && key != "lb_algorithm") {
			*target = given.text(key)
		}
	}
	for key, target := range map[string]*[]string{
		"tls_versions": &p.TLS.Versions, "alpn_protocols": &p.TLS.ALPNProtocols,
	} {
		if given[key] != nil {
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
	return response{http.StatusOK, view{"pool": o.release.pool(lb, pool).only(c.fields)}}, nil
}

func (o *Octavia) updatePool(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "pool_", "pool", poolPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, pool, failure := o.writablePool(c)
	if failure != nil {
		return response{}, failure
	}
	if persistence := given.object("session_persistence"); persistence != nil {
		if persistence.text("type") == "" && pool.Persistence != nil {
			persistence["type"] = pool.Persistence.Type
		}
		if failure := checkPersistence(pool.Protocol, persistence, true); failure != nil {
			return response{}, failure
		}
	}
	if failure := o.checkPoolTLS(pool, given); failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := o.driverPool(lb, given); failure != nil {
		return response{}, failure
	}
	if failure := o.tagsInUpdate(given); failure != nil {
		return response{}, failure
	}
	pool.Meta.edit(given)
	pool.settings(given)
	locked := poolAndListeners(lb, pool)
	if o.oldOVN(lb) && !given.has("admin_state_up") {
		o.updateForgetting(lb, locked, []object{pool}, nil, nil)
	} else {
		o.update(lb, locked, nil, nil)
	}
	return response{http.StatusOK, view{"pool": o.release.pool(lb, pool)}}, nil
}

func (o *Octavia) deletePool(c *call) (response, *apiError) {
	lb, pool, failure := o.writablePool(c)
	if failure != nil {
		return response{}, failure
	}
	for _, listener := range lb.Listeners {
		for _, policy := range listener.Policies {
			if policy.RedirectPoolID == pool.ID {
				return response{}, refuse(http.StatusConflict, "Pool %s is in use by L7 policy %s", pool.ID, policy.ID)
			}
		}
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	o.set(pool, PendingDelete)
	if lb.Provider == ProviderOVN && len(pool.Members) > 0 {
		o.deleteOneByOne(lb, pool)
	} else {
		o.update(lb, listenersOf(lb, pool), nil, func() { o.dropPool(lb, pool) })
	}
	return response{status: http.StatusNoContent}, nil
}

// deleteOneByOne is what ovn makes of the deletion of a pool: it deletes each member, and then the
// pool. After each it reports the load balancer, the pool and its listeners ACTIVE.
func (o *Octavia) deleteOneByOne(lb *LoadBalancer, pool *Pool) {
	o.lock(lb, PendingUpdate)
	listeners := listenersOf(lb, pool)
	for _, listener := range listeners {
		o.set(listener, PendingUpdate)
	}
	report := func() {
		for _, listener := range listeners {
			o.activate(listener)
		}
		o.activeAgain(lb)
	}
	var items []ovnItem
	failed := false
	for i, member := range pool.Members {
		items = append(items, ovnItem{
			begin: func() {
				if failed = failed || i == 0 && o.fails(OperationUpdate); !failed {
					pool.takeOut(member)
				}
			},
			end: func() {
				switch {
				case !failed:
					pool.drop(member)
					o.set(pool, Active)
					report()
				case i == 0:
					o.revert(lb, listeners, nil)
				}
			},
		})
	}
	items = append(items, ovnItem{end: func() {
		if slices.Contains(lb.Pools, pool) && !failed { // two requests may have asked for it
			o.dropPool(lb, pool)
			report()
		}
	}})
	o.oneAfterAnother(lb, items)
}

func (o *Octavia) dropPool(lb *LoadBalancer, pool *Pool) {
	for _, listener := range lb.Listeners {
		if listener.DefaultPoolID == pool.ID {
			listener.DefaultPoolID = ""
		}
	}
	lb.Pools = slices.DeleteFunc(lb.Pools, func(other *Pool) bool { return other == pool })
	o.unregister(pool)
	if pool.Monitor != nil {
		o.unregister(pool.Monitor)
	}
}

func (o *Octavia) pool(id string) (*LoadBalancer, *Pool, *apiError) {
	if lb, pool, known := find[*Pool](o, id); known {
		return lb, pool, nil
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
