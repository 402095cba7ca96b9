package octavia

import (
	"slices"
	"time"
)

// view is an object as the API shows it.
type view map[string]any

// only keeps the fields that the caller asked for. Unknown names select
// nothing.
func (v view) only(fields []string) view {
	if len(fields) == 0 {
		return v
	}
	kept := view{}
	for _, field := range fields {
		if value, has := v[field]; has {
			kept[field] = value
		}
	}
	if !slices.Contains(fields, "project_id") {
		delete(kept, "tenant_id") // it is the project's ID by another name
	}
	return kept
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func orNullNumber(number int) any {
	if number == 0 {
		return nil
	}
	return number
}

func orNullList(list []string) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// timestamp is Python's isoformat of a time without zone: no fraction where
// the time is a whole second.
func timestamp(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case t.Nanosecond() == 0:
		return t.Format("2006-01-02T15:04:05")
	default:
		return t.Format("2006-01-02T15:04:05.000000")
	}
}

func (m *Meta) view() view {
	return view{
		"id": m.ID, "name": m.Name, "project_id": m.ProjectID, "tenant_id": m.ProjectID,
		"provisioning_status": m.ProvisioningStatus, "operating_status": m.OperatingStatus,
		"admin_state_up": m.AdminStateUp, "tags": orEmpty(m.Tags),
		"created_at": timestamp(m.CreatedAt), "updated_at": timestamp(m.UpdatedAt),
	}
}

func (v view) with(more view) view {
	for key, value := range more {
		v[key] = value
	}
	return v
}

func (r Release) loadBalancer(lb *LoadBalancer) view {
	additional := make([]view, len(lb.AdditionalVIPs))
	for i, vip := range lb.AdditionalVIPs {
		additional[i] = view{"subnet_id": vip.SubnetID, "ip_address": orNull(vip.Address)}
	}
	shown := lb.view().with(view{
		"description": lb.Description, "provider": lb.Provider,
		"vip_address": orNull(lb.VIP.Address), "vip_port_id": orNull(lb.VIP.PortID),
		"vip_subnet_id": orNull(lb.VIP.SubnetID), "vip_network_id": orNull(lb.VIP.NetworkID),
		"vip_qos_policy_id": orNull(lb.VIP.QoSPolicyID), "additional_vips": additional,
		"flavor_id": orNull(lb.FlavorID), "availability_zone": orNull(lb.AvailabilityZone),
		"listeners": ids(lb.Listeners), "pools": ids(lb.Pools),
	})
	if r.has(minorVnicType) {
		shown["vip_vnic_type"] = "normal"
	}
	if r.has(minorVIPSGs) {
		shown["vip_sg_ids"] = orEmpty(lb.VIP.SecurityGroupIDs)
	}
	return shown
}

// fullLoadBalancer is the answer of POST: with all children in full.
func (r Release) fullLoadBalancer(lb *LoadBalancer) view {
	listeners := make([]view, len(lb.Listeners))
	for i, listener := range lb.Listeners {
		listeners[i] = r.listener(listener)
		delete(listeners[i], "loadbalancers")
		policies := make([]view, len(listener.Policies))
		for j, policy := range listener.Policies {
			policies[j] = policy.fullView()
		}
		listeners[i]["l7policies"] = policies
	}
	pools := make([]view, len(lb.Pools))
	for i, pool := range lb.Pools {
		pools[i] = r.fullPool(lb, pool)
	}
	return r.loadBalancer(lb).with(view{"listeners": listeners, "pools": pools})
}

func (r Release) listener(l *Listener) view {
	headers := l.InsertHeaders
	if headers == nil {
		headers = map[string]string{}
	}
	shown := l.view().with(view{
		"description": l.Description, "protocol": l.Protocol, "protocol_port": l.ProtocolPort,
		"connection_limit": l.ConnectionLimit, "default_pool_id": orNull(l.DefaultPoolID),
		"loadbalancers": idList{l.LoadBalancerID}, "l7policies": ids(l.Policies), "insert_headers": headers,
		"timeout_client_data": l.TimeoutClientData, "timeout_member_connect": l.TimeoutMemberConnect,
		"timeout_member_data": l.TimeoutMemberData, "timeout_tcp_inspect": l.TimeoutTCPInspect,
		"allowed_cidrs":               orNullList(l.AllowedCIDRs),
		"default_tls_container_ref":   orNull(l.TLS.DefaultContainerRef),
		"sni_container_refs":          orEmpty(l.TLS.SNIContainerRefs),
		"client_ca_tls_container_ref": orNull(l.TLS.ClientCAContainerRef),
		"client_authentication":       l.TLS.ClientAuthentication,
		"client_crl_container_ref":    orNull(l.TLS.ClientCRLContainerRef),
		"tls_ciphers":                 orNull(l.TLS.Ciphers),
		"tls_versions":                orNullList(l.TLS.Versions),
		"alpn_protocols":              orNullList(l.TLS.ALPNProtocols),
	})
	if r.has(minorHSTS) {
		shown["hsts_max_age"] = nil
		if l.TLS.HSTSMaxAge != nil {
			shown["hsts_max_age"] = *l.TLS.HSTSMaxAge
		}
		shown["hsts_include_subdomains"] = l.TLS.HSTSIncludeSubdomains
		shown["hsts_preload"] = l.TLS.HSTSPreload
	}
	return shown
}

func (r Release) pool(lb *LoadBalancer, p *Pool) view {
	shown := p.view().with(view{
		"description": p.Description, "protocol": p.Protocol, "lb_algorithm": p.Algorithm,
		"session_persistence": p.Persistence.view(), "loadbalancers": idList{p.LoadBalancerID},
		"listeners": ids(listenersOf(lb, p)), "members": ids(p.Members),
		"tls_container_ref": orNull(p.TLS.ContainerRef), "ca_tls_container_ref": orNull(p.TLS.CAContainerRef),
		"crl_container_ref": orNull(p.TLS.CRLRef), "tls_enabled": p.TLS.Enabled,
		"tls_ciphers": orNull(p.TLS.Ciphers), "tls_versions": orNullList(p.TLS.Versions),
		"alpn_protocols": orNullList(p.TLS.ALPNProtocols),
	})
	if p.Monitor != nil {
		shown["healthmonitor_id"] = p.Monitor.ID
	}
	return shown
}

func (r Release) fullPool(lb *LoadBalancer, p *Pool) view {
	shown := r.pool(lb, p)
	delete(shown, "loadbalancers")
	delete(shown, "healthmonitor_id")
	members := make([]view, len(p.Members))
	for i, member := range p.Members {
		members[i] = r.member(member)
	}
	shown["members"] = members
	shown["healthmonitor"] = nil
	if p.Monitor != nil && !r.FullCreateOmitsMonitors {
		monitor := r.monitor(p.Monitor)
		delete(monitor, "pools")
		shown["healthmonitor"] = monitor
	}
	return shown
}

func (p *SessionPersistence) view() any {
	if p == nil {
		return nil
	}
	shown := view{
		"type": p.Type, "cookie_name": orNull(p.CookieName),
		"persistence_timeout": nil, "persistence_granularity": orNull(p.Granularity),
	}
	if p.Timeout != nil {
		shown["persistence_timeout"] = *p.Timeout
	}
	return shown
}

func (r Release) member(m *Member) view {
	shown := m.view().with(view{
		"address": m.Address, "protocol_port": m.ProtocolPort, "weight": m.Weight, "backup": m.Backup,
		"subnet_id": orNull(m.SubnetID), "monitor_address": orNull(m.MonitorAddress),
		"monitor_port": orNullNumber(m.MonitorPort),
	})
	if r.has(minorMemberVnic) {
		shown["vnic_type"] = "normal"
	}
	return shown
}

func (r Release) monitor(m *Monitor) view {
	return m.view().with(view{
		"type": m.Type, "delay": m.Delay, "timeout": m.Timeout,
		"max_retries": m.MaxRetries, "max_retries_down": m.MaxRetriesDown,
		"http_method": orNull(m.HTTPMethod), "url_path": orNull(m.URLPath), "expected_codes": orNull(m.ExpectedCodes),
		"http_version": m.version(), "domain_name": orNull(m.DomainName),
		"pools": idList{m.PoolID},
	})
}

// idList shows objects as their IDs alone. There can be many in one answer.
type idList []string

// MarshalJSON writes [{"id": …}, …].
func (ids idList) MarshalJSON() ([]byte, error) {
	text := append(make([]byte, 0, 2+48*len(ids)), '[')
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, `{"id":"`...)
		text = append(append(text, id...), `"}`...)
	}
	return append(text, ']'), nil
}

func ids[T object](objects []T) idList {
	shown := make(idList, len(objects))
	for i, thing := range objects {
		shown[i] = thing.meta().ID
	}
	return shown
}
