package octavia

import (
	"encoding/json"
	"net/http"
)

func (o *Octavia) createMonitor(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "health_monitor_", "healthmonitor", monitorPOST())
	if failure != nil {
		return response{}, failure
	}
	lb, pool, failure := o.pool(given.text("pool_id"))
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayWrite(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	if failure := checkMonitor(given, given.text("type"), pool.Protocol, pool.Protocol); failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(c, lb.ProjectID, quotaMonitor, 1); failure != nil {
		return response{}, failure
	}
	if failure := mutablePool(lb, pool); failure != nil {
		return response{}, failure
	}
	if failure := checkNewMonitor(given); failure != nil {
		return response{}, failure
	}
	if pool.Monitor != nil {
		return response{}, refuse(http.StatusConflict, "This pool already has a health monitor")
	}
	if failure := o.driverMonitor(lb, given.text("type")); failure != nil {
		return response{}, failure
	}
	pool.Monitor = o.newMonitor(lb, pool, given)
	o.register(lb, pool.Monitor)
	if o.oldOVN(lb) {
		o.ovnMonitorMade(lb, pool)
	} else {
		o.update(lb, poolAndListeners(lb, pool), []object{pool.Monitor}, nil)
	}
	return response{http.StatusCreated, view{"healthmonitor": o.release.monitor(pool.Monitor)}}, nil
}

func (o *Octavia) newMonitor(lb *LoadBalancer, pool *Pool, given body) *Monitor {
	monitor := &Monitor{
		Meta:           o.newMeta("healthmonitor", given, lb.ProjectID),
		PoolID:         pool.ID,
		LoadBalancerID: lb.ID,
		Type:           given.text("type"),
		MaxRetriesDown: 3,
	}
	if monitor.isHTTP() {
		monitor.HTTPMethod, monitor.URLPath, monitor.ExpectedCodes = "GET", "/", "200"
	}
	monitor.settings(given)
	return monitor
}

// settings writes what POST and PUT have in common, where it was given.
func (m *Monitor) settings(given body) {
	if m.ID != "" && m.Type != "" && !m.UpdatedAt.IsZero() {
		m.clear(given)
	}
	m.Delay = given.integer("delay", m.Delay)
	m.Timeout = given.integer("timeout", m.Timeout)
	m.MaxRetries = given.integer("max_retries", m.MaxRetries)
	m.MaxRetriesDown = given.integer("max_retries_down", m.MaxRetriesDown)
	for key, target := range map[string]*string{
		"http_method": &m.HTTPMethod, "url_path": &m.URLPath, "expected_codes": &m.ExpectedCodes,
		"http_version": &m.HTTPVersion, "domain_name": &m.DomainName,
	} {
		if given[key] != nil {
			*target = given.text(key)
		}
	}
}

// clear resets what a PUT gives as null to its default.
func (m *Monitor) clear(given body) {
	for key, reset := range map[string]func(){
		"http_method": func() { m.HTTPMethod = "GET" }, "url_path": func() { m.URLPath = "/" },
		"expected_codes": func() { m.ExpectedCodes = "200" }, "max_retries_down": func() { m.MaxRetriesDown = 3 },
		"http_version": func() { m.HTTPVersion = "" }, "domain_name": func() { m.DomainName = "" },
	} {
		if given.has(key) && given[key] == nil {
			reset()
		}
	}
}

// version is a number on the wire.
func (m *Monitor) version() any {
	if m.HTTPVersion == "" {
		return nil
	}
	return json.Number(m.HTTPVersion)
}

func (o *Octavia) showMonitor(c *call) (response, *apiError) {
	_, pool, failure := o.monitorPool(c, o.mayRead)
	if failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"healthmonitor": o.release.monitor(pool.Monitor).only(c.fields)}}, nil
}

func (o *Octavia) updateMonitor(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "health_monitor_", "healthmonitor", monitorPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, pool, failure := o.monitorPool(c, o.mayWrite)
	if failure != nil {
		return response{}, failure
	}
	monitor := pool.Monitor
	if failure := checkMonitorUpdate(monitor, given); failure != nil {
		return response{}, failure
	}
	if failure := checkMonitor(given, monitor.Type, pool.Protocol, pool.Protocol); failure != nil {
		return response{}, failure
	}
	if failure := mutablePool(lb, pool); failure != nil {
		return response{}, failure
	}
	if failure := o.tagsInUpdate(given); failure != nil {
		return response{}, failure
	}
	if given["tags"] == nil {
		delete(given, "tags") // null keeps those of a monitor
	}
	monitor.Meta.edit(given)
	monitor.settings(given)
	if o.oldOVN(lb) {
		o.ovnMonitorChanged(lb, pool)
	} else {
		o.update(lb, append(poolAndListeners(lb, pool), monitor), nil, nil)
	}
	return response{http.StatusOK, view{"healthmonitor": o.release.monitor(monitor)}}, nil
}

func (o *Octavia) deleteMonitor(c *call) (response, *apiError) {
	lb, pool, failure := o.monitorPool(c, o.mayWrite)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutablePool(lb, pool); failure != nil {
		return response{}, failure
	}
	o.set(pool.Monitor, PendingDelete)
	if o.oldOVN(lb) {
		o.ovnMonitorGone(lb, pool)
	} else {
		o.update(lb, poolAndListeners(lb, pool), nil, func() { o.dropMonitor(pool) })
	}
	return response{status: http.StatusNoContent}, nil
}

func (o *Octavia) dropMonitor(pool *Pool) {
	if pool.Monitor != nil {
		o.unregister(pool.Monitor)
		pool.Monitor = nil
	}
}

// monitorPool finds the pool that the monitor in the path belongs to.
func (o *Octavia) monitorPool(c *call, may permission) (*LoadBalancer, *Pool, *apiError) {
	lb, monitor, known := find[*Monitor](o, c.id)
	if !known {
		return nil, nil, notFound("Health Monitor", c.id)
	}
	_, pool, failure := o.pool(monitor.PoolID)
	if failure != nil {
		return nil, nil, failure
	}
	return lb, pool, may(c.caller, lb.ProjectID)
}

func (m *Monitor) isHTTP() bool { return m.Type == "HTTP" || m.Type == "HTTPS" }
