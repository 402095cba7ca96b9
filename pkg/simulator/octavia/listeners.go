package octavia

import (
	"fmt"
	"net/http"
	"slices"
)

func (o *Octavia) createListener(c *call) (response, *apiError) {
	given, failure := o.parseObject(c.body, "listener_", "listener", listenerPOST())
	if failure != nil {
		return response{}, failure
	}
	lb, failure := o.balancer(given.text("loadbalancer_id"))
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayWrite(c.caller, lb.ProjectID); failure != nil {
		return response{}, failure
	}
	if given.has("default_pool") || len(given.objects("l7policies")) > 0 {
		return response{}, nestedInSingle()
	}
	pool, failure := o.defaultPool(lb, given, given.text("protocol"))
	if failure != nil {
		return response{}, failure
	}
	if failure := o.checkQuota(lb.ProjectID, quotaListener, 1); failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := o.checkListener(lb, given, false); failure != nil {
		return response{}, failure
	}
	if failure := o.driverListener(lb, given); failure != nil {
		return response{}, failure
	}
	listener := o.newListener(lb, given)
	if pool != nil {
		listener.DefaultPoolID = pool.ID
	}
	lb.Listeners = append(lb.Listeners, listener)
	o.update(lb, nil, []object{listener}, nil)
	return response{http.StatusCreated, view{"listener": o.release.listener(listener)}}, nil
}

// nestedInSingle is how Octavia fails when children are nested in the POST of
// anything but a load balancer.
func nestedInSingle() *apiError {
	return refuse(http.StatusInternalServerError, "'dict' object has no attribute '_sa_instance_state'")
}

// defaultPool finds the pool that a listener names, which must be on the same
// load balancer and of a protocol that fits.
func (o *Octavia) defaultPool(lb *LoadBalancer, given body, protocol string) (*Pool, *apiError) {
	id := given.text("default_pool_id")
	if id == "" {
		return nil, nil
	}
	owner, pool, failure := o.pool(id)
	if failure != nil {
		return nil, failure
	}
	if owner != lb {
		return nil, notFound("Pool", id)
	}
	return pool, checkPoolProtocol(protocol, pool.Protocol)
}

func (o *Octavia) newListener(lb *LoadBalancer, given body) *Listener {
	listener := &Listener{
		Meta:                 o.newMeta(given, lb.ProjectID),
		LoadBalancerID:       lb.ID,
		Protocol:             given.text("protocol"),
		ProtocolPort:         given.integer("protocol_port", 0),
		ConnectionLimit:      -1,
		TimeoutClientData:    50000,
		TimeoutMemberConnect: 5000,
		TimeoutMemberData:    50000,
		TLS:                  ListenerTLS{ClientAuthentication: "NONE"},
	}
	listener.settings(given)
	slices.Sort(listener.AllowedCIDRs)
	listener.AllowedCIDRs = slices.Compact(listener.AllowedCIDRs)
	return listener
}

// settings writes what POST and PUT have in common, where it was given.
func (l *Listener) settings(given body) {
	texts := map[string]*string{
		"description": &l.Description, "default_tls_container_ref": &l.TLS.DefaultContainerRef,
		"client_ca_tls_container_ref": &l.TLS.ClientCAContainerRef, "client_authentication": &l.TLS.ClientAuthentication,
		"client_crl_container_ref": &l.TLS.ClientCRLContainerRef, "tls_ciphers": &l.TLS.Ciphers,
	}
	lists := map[string]*[]string{
		"allowed_cidrs": &l.AllowedCIDRs, "sni_container_refs": &l.TLS.SNIContainerRefs,
		"tls_versions": &l.TLS.Versions, "alpn_protocols": &l.TLS.ALPNProtocols,
	}
	numbers := map[string]*int{
		"connection_limit": &l.ConnectionLimit, "timeout_client_data": &l.TimeoutClientData,
		"timeout_member_connect": &l.TimeoutMemberConnect, "timeout_member_data": &l.TimeoutMemberData,
		"timeout_tcp_inspect": &l.TimeoutTCPInspect,
	}
	for key, target := range texts {
		if given.has(key) {
			*target = given.text(key)
		}
	}
	for key, target := range lists {
		if given.has(key) {
			*target = given.texts(key)
		}
	}
	for key, target := range numbers {
		*target = given.integer(key, *target)
	}
	if headers, is := given["insert_headers"].(map[string]string); is {
		l.InsertHeaders = headers
	}
	if age, is := given["hsts_max_age"].(int); is {
		l.TLS.HSTSMaxAge = &age
	}
	l.TLS.HSTSIncludeSubdomains = given.boolean("hsts_include_subdomains", l.TLS.HSTSIncludeSubdomains)
	l.TLS.HSTSPreload = given.boolean("hsts_preload", l.TLS.HSTSPreload)
}

func (o *Octavia) showListener(c *call) (response, *apiError) {
	_, listener, failure := o.listener(c.id)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayRead(c.caller, listener.ProjectID); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"listener": o.release.listener(listener).only(c.query["fields"])}}, nil
}

func (o *Octavia) updateListener(c *call) (response, *apiError) {
	given, failure := o.parseObject(c.body, "listener_", "listener", listenerPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, listener, failure := o.writableListener(c)
	if failure != nil {
		return response{}, failure
	}
	pool, failure := o.defaultPool(lb, given, listener.Protocol)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := o.checkListenerSettings(lb, given, false); failure != nil {
		return response{}, failure
	}
	if failure := uniqueCIDRs(listener.ID, given.texts("allowed_cidrs")); failure != nil {
		return response{}, failure
	}
	if failure := uniqueTags(given); failure != nil {
		return response{}, failure
	}
	if failure := o.driverListener(lb, given); failure != nil {
		return response{}, failure
	}
	listener.Meta.edit(given)
	listener.settings(given)
	if given.has("default_pool_id") {
		listener.DefaultPoolID = ""
		if pool != nil {
			listener.DefaultPoolID = pool.ID
		}
	}
	o.update(lb, []object{listener}, nil, nil)
	return response{http.StatusOK, view{"listener": o.release.listener(listener)}}, nil
}

// uniqueCIDRs fails as the database does on a CIDR given twice.
func uniqueCIDRs(listener string, cidrs []string) *apiError {
	for i, cidr := range cidrs {
		if slices.Contains(cidrs[:i], cidr) {
			return refuse(http.StatusInternalServerError, "%s", fmt.Sprintf(
				"(pymysql.err.IntegrityError) (1062, \"Duplicate entry '%s-%s' for key 'listener_cidr.PRIMARY'\")", listener, cidr))
		}
	}
	return nil
}

func (o *Octavia) deleteListener(c *call) (response, *apiError) {
	lb, listener, failure := o.writableListener(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	o.set(listener, PendingDelete)
	o.update(lb, nil, nil, func() {
		lb.Listeners = slices.DeleteFunc(lb.Listeners, func(other *Listener) bool { return other == listener })
	})
	return response{status: http.StatusNoContent}, nil
}

func (o *Octavia) listener(id string) (*LoadBalancer, *Listener, *apiError) {
	for _, lb := range o.balancers {
		for _, listener := range lb.Listeners {
			if listener.ID == id {
				return lb, listener, nil
			}
		}
	}
	return nil, nil, notFound("Listener", id)
}

func (o *Octavia) writableListener(c *call) (*LoadBalancer, *Listener, *apiError) {
	lb, listener, failure := o.listener(c.id)
	if failure != nil {
		return nil, nil, failure
	}
	return lb, listener, o.mayWrite(c.caller, lb.ProjectID)
}
