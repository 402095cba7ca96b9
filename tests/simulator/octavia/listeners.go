package octavia

import (
	"net/http"
	"slices"
)

func (o *Octavia) createListener(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "listener_", "listener", listenerPOST())
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
	if failure := o.checkQuota(c, lb.ProjectID, quotaListener, 1); failure != nil {
		return response{}, failure
	}
	pool, failure := o.defaultPool(lb, given, given.text("protocol"))
	if failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	switch {
	case given["protocol"] == nil:
		return response{}, notOption("None", "protocol")
	case given["protocol_port"] == nil:
		return response{}, notOption(given.text("protocol"), "protocol") // Octavia's message names the value
	}
	if failure := o.checkListener(lb, given, false); failure != nil {
		return response{}, failure
	}
	if given.has("default_pool") || len(given.objects("l7policies")) > 0 {
		return response{}, nestedInSingle()
	}
	if failure := o.driverListener(lb, given); failure != nil {
		return response{}, failure
	}
	listener := o.newListener(lb, given)
	o.serve(listener, pool)
	listener.peerPort = lb.nextPeerPort()
	lb.Listeners = append(lb.Listeners, listener)
	o.register(lb, listener)
	o.update(lb, nil, []object{listener}, nil)
	if o.oldOVN(lb) && lb.checked(listener.Protocol) {
		o.forget(lb)
	}
	return response{http.StatusCreated, view{"listener": o.release.listener(listener)}}, nil
}

// serve gives a new listener its pool, if it has one.
func (o *Octavia) serve(listener *Listener, pool *Pool) {
	if pool == nil {
		return
	}
	listener.DefaultPoolID = pool.ID
	if o.release.ListenerUpdatedAtOnce {
		o.touch(listener)
	}
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
	if failure := noChildren(protocol); failure != nil {
		return nil, failure
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
		Meta:           o.newMeta("listener", given, lb.ProjectID),
		LoadBalancerID: lb.ID,
		Protocol:       given.text("protocol"),
		ProtocolPort:   given.integer("protocol_port", 0),
	}
	listener.defaults(o.options.Timeouts)
	if listener.Protocol == "TERMINATED_HTTPS" {
		listener.TLS.Ciphers, listener.TLS.Versions, listener.TLS.ALPNProtocols = defaultCiphers, defaultVersions(), alpnProtocols()
	}
	listener.settings(given, o.options.Timeouts)
	slices.Sort(listener.AllowedCIDRs)
	listener.AllowedCIDRs = slices.Compact(listener.AllowedCIDRs)
	return listener
}

// Timeouts of listeners, in milliseconds (section haproxy_amphora of Octavia's
// configuration).
type Timeouts struct {
	ClientData, MemberConnect, MemberData, TCPInspect int
}

// defaults are those of Octavia's configuration.
func (l *Listener) defaults(configured *Timeouts) {
	t := Timeouts{ClientData: 50000, MemberConnect: 5000, MemberData: 50000}
	if configured != nil {
		t = *configured
	}
	l.ConnectionLimit = -1
	l.TimeoutClientData, l.TimeoutMemberConnect, l.TimeoutMemberData, l.TimeoutTCPInspect = t.ClientData, t.MemberConnect, t.MemberData, t.TCPInspect
	l.TLS.ClientAuthentication = "NONE"
}

func defaultVersions() []string { return []string{"TLSv1.2", "TLSv1.3"} }

// defaultCiphers is OWASP's suite B.
const defaultCiphers = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:" +
	"DHE-RSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:" +
	"DHE-RSA-AES256-SHA256:DHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA384:ECDHE-RSA-AES128-SHA256"

// settings writes what POST and PUT have in common, where it was given.
func (l *Listener) settings(given body, configured *Timeouts) {
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
	l.clear(given, configured)
	for key, target := range texts {
		if given[key] != nil {
			*target = given.text(key)
		}
	}
	for key, target := range lists {
		if given[key] != nil {
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

// clear resets values that are given as null to their defaults.
func (l *Listener) clear(given body, configured *Timeouts) {
	fresh := Listener{}
	fresh.defaults(configured)
	if l.TLS.Ciphers != "" || l.ID != "" && l.Protocol != "" && !l.UpdatedAt.IsZero() {
		fresh.TLS.Ciphers, fresh.TLS.Versions, fresh.TLS.ALPNProtocols = defaultCiphers, defaultVersions(), alpnProtocols()
	}
	for key, reset := range map[string]func(){
		"description":                 func() { l.Description = "" },
		"connection_limit":            func() { l.ConnectionLimit = fresh.ConnectionLimit },
		"timeout_client_data":         func() { l.TimeoutClientData = fresh.TimeoutClientData },
		"timeout_member_connect":      func() { l.TimeoutMemberConnect = fresh.TimeoutMemberConnect },
		"timeout_member_data":         func() { l.TimeoutMemberData = fresh.TimeoutMemberData },
		"timeout_tcp_inspect":         func() { l.TimeoutTCPInspect = fresh.TimeoutTCPInspect },
		"client_authentication":       func() { l.TLS.ClientAuthentication = fresh.TLS.ClientAuthentication },
		"tls_ciphers":                 func() { l.TLS.Ciphers = fresh.TLS.Ciphers },
		"tls_versions":                func() { l.TLS.Versions = fresh.TLS.Versions },
		"alpn_protocols":              func() { l.TLS.ALPNProtocols = fresh.TLS.ALPNProtocols },
		"default_tls_container_ref":   func() { l.TLS.DefaultContainerRef = "" },
		"sni_container_refs":          func() { l.TLS.SNIContainerRefs = nil },
		"client_ca_tls_container_ref": func() { l.TLS.ClientCAContainerRef = "" },
		"client_crl_container_ref":    func() { l.TLS.ClientCRLContainerRef = "" },
		"allowed_cidrs":               func() { l.AllowedCIDRs = nil },
		"insert_headers":              func() { l.InsertHeaders = nil },
		"hsts_max_age":                func() { l.TLS.HSTSMaxAge = nil },
	} {
		if given.has(key) && given[key] == nil {
			reset()
		}
	}
}

func (o *Octavia) showListener(c *call) (response, *apiError) {
	_, listener, failure := o.listener(c.id)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.mayRead(c.caller, listener.ProjectID); failure != nil {
		return response{}, failure
	}
	return response{http.StatusOK, view{"listener": o.release.listener(listener).only(c.fields)}}, nil
}

func (o *Octavia) updateListener(c *call) (response, *apiError) {
	given, failure := o.parseObject(c, "listener_", "listener", listenerPUT())
	if failure != nil {
		return response{}, failure
	}
	lb, listener, failure := o.writableListener(c)
	if failure != nil {
		return response{}, failure
	}
	if failure := o.checkListenerUpdate(lb, listener, given); failure != nil {
		return response{}, failure
	}
	pool, failure := o.defaultPool(lb, given, listener.Protocol)
	if failure != nil {
		return response{}, failure
	}
	if failure := mutable(lb); failure != nil {
		return response{}, failure
	}
	if failure := o.driverListener(lb, given); failure != nil {
		return response{}, failure
	}
	if failure := uniqueCIDRs(listener.ID, given.texts("allowed_cidrs")); failure != nil {
		return response{}, failure
	}
	if failure := o.tagsInUpdate(given); failure != nil {
		return response{}, failure
	}
	listener.Meta.edit(given)
	listener.settings(given, o.options.Timeouts)
	if given.has("default_pool_id") {
		listener.DefaultPoolID = ""
		if pool != nil {
			listener.DefaultPoolID = pool.ID
		}
	}
	touched := []object{listener}
	if o.oldOVN(lb) && pool != nil {
		touched = append(touched, pool) // which the driver reports too
	}
	o.update(lb, touched, nil, nil)
	return response{http.StatusOK, view{"listener": o.release.listener(listener)}}, nil
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
	o.update(lb, nil, nil, func() { o.dropListener(lb, listener) })
	return response{status: http.StatusNoContent}, nil
}

func (o *Octavia) dropListener(lb *LoadBalancer, listener *Listener) {
	for _, policy := range slices.Clone(listener.Policies) {
		o.dropPolicy(listener, policy)
	}
	lb.Listeners = slices.DeleteFunc(lb.Listeners, func(other *Listener) bool { return other == listener })
	o.unregister(listener)
}

func (o *Octavia) listener(id string) (*LoadBalancer, *Listener, *apiError) {
	if lb, listener, known := find[*Listener](o, id); known {
		return lb, listener, nil
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

// nextPeerPort is one above the highest that the load balancer's listeners
// have, from 1025.
func (lb *LoadBalancer) nextPeerPort() int {
	port := 1024
	for _, listener := range lb.Listeners {
		port = max(port, listener.peerPort)
	}
	return port + 1
}
