package octavia

// The schemas follow Octavia's type classes: one for POST, one for PUT and one
// for the object nested in a full create.

// longest is the length limit of names, descriptions and tags.
const longest = 255

func listenerProtocols() []string {
	return []string{"HTTP", "HTTPS", "PROMETHEUS", "SCTP", "TCP", "TERMINATED_HTTPS", "UDP"}
}

func poolProtocols() []string {
	return []string{"HTTP", "HTTPS", "PROXY", "PROXYV2", "SCTP", "TCP", "UDP"}
}

func algorithms() []string {
	return []string{"LEAST_CONNECTIONS", "ROUND_ROBIN", "SOURCE_IP", "SOURCE_IP_PORT"}
}

func monitorTypes() []string {
	return []string{"HTTP", "HTTPS", "PING", "SCTP", "TCP", "TLS-HELLO", "UDP-CONNECT"}
}

func httpMethods() []string {
	return []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}
}

func named() schema {
	return schema{
		{name: "name", most: longest},
		{name: "description", most: longest},
		{name: "admin_state_up", kind: kindBoolean},
	}
}

func owned() schema {
	return schema{{name: "project_id", most: 36}, {name: "tenant_id", most: 36}}
}

func tagged() schema { return schema{{name: "tags", kind: kindTexts, most: longest}} }

func join(parts ...schema) schema {
	var all schema
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func loadBalancerPOST() schema {
	return join(named(), schema{
		{name: "vip_address", kind: kindIP},
		{name: "vip_port_id", kind: kindUUID},
		{name: "vip_subnet_id", kind: kindUUID},
		{name: "vip_network_id", kind: kindUUID},
		{name: "vip_qos_policy_id", kind: kindUUID},
		{name: "vip_sg_ids", kind: kindUUIDs, since: minorVIPSGs},
		{name: "additional_vips", kind: kindObjects, fields: schema{
			{name: "subnet_id", kind: kindUUID, mandatory: true},
			{name: "ip_address", kind: kindIP},
		}},
	}, owned(), schema{
		{name: "listeners", kind: kindObjects, fields: listenerNested()},
		{name: "pools", kind: kindObjects, fields: poolNested()},
		{name: "provider", most: 64},
		{name: "flavor_id", kind: kindUUID},
		{name: "availability_zone", most: longest},
	}, tagged())
}

func loadBalancerPUT() schema {
	return join(named(), schema{
		{name: "vip_qos_policy_id", kind: kindUUID},
		{name: "vip_sg_ids", kind: kindUUIDs, since: minorVIPSGs},
	}, tagged())
}

func listenerIdentity() schema {
	return schema{
		{name: "protocol", kind: kindEnum, enum: listenerProtocols(), mandatory: true},
		{name: "protocol_port", kind: kindInteger, least: 1, most: 65535, mandatory: true},
	}
}

func listenerSettings() schema {
	timeout := func(name string) attribute {
		return attribute{name: name, kind: kindInteger, most: 24 * 24 * 3600 * 1000}
	}
	return schema{
		{name: "connection_limit", kind: kindInteger, least: -1},
		{name: "default_tls_container_ref", most: longest},
		{name: "sni_container_refs", kind: kindTexts, most: longest},
		{name: "default_pool_id", kind: kindUUID},
		{name: "default_pool", kind: kindObject, fields: poolNested()},
		{name: "l7policies", kind: kindObjects, fields: policyNested()},
		{name: "insert_headers", kind: kindHeaders},
		timeout("timeout_client_data"), timeout("timeout_member_connect"),
		timeout("timeout_member_data"), timeout("timeout_tcp_inspect"),
		{name: "tags", kind: kindTexts, most: longest},
		{name: "client_ca_tls_container_ref", most: longest},
		{name: "client_authentication", kind: kindEnum, enum: []string{"MANDATORY", "NONE", "OPTIONAL"}},
		{name: "client_crl_container_ref", most: longest},
		{name: "allowed_cidrs", kind: kindCIDRs},
		{name: "tls_ciphers", most: 2048},
		{name: "tls_versions", kind: kindTexts, most: 32},
		{name: "alpn_protocols", kind: kindALPN},
		{name: "hsts_max_age", kind: kindInteger, since: minorHSTS},
		{name: "hsts_include_subdomains", kind: kindBoolean, since: minorHSTS},
		{name: "hsts_preload", kind: kindBoolean, since: minorHSTS},
	}
}

func listenerNested() schema { return join(named(), listenerIdentity(), listenerSettings()) }

func listenerPOST() schema {
	return join(listenerNested(), owned(), schema{{name: "loadbalancer_id", kind: kindUUID, mandatory: true}})
}

func listenerPUT() schema {
	return join(named(), listenerSettings().without("default_pool", "l7policies"))
}

func persistence(mandatory bool) schema {
	return schema{
		{name: "type", kind: kindEnum, enum: []string{"APP_COOKIE", "HTTP_COOKIE", "SOURCE_IP"}, mandatory: mandatory},
		{name: "cookie_name", most: longest, pattern: `^[^\s,;\\]+$`},
		{name: "persistence_timeout", kind: kindInteger},
		{name: "persistence_granularity", kind: kindIP},
	}
}

func poolSettings(mandatoryPersistence bool) schema {
	return schema{
		{name: "lb_algorithm", kind: kindEnum, enum: algorithms()},
		{name: "session_persistence", kind: kindObject, fields: persistence(mandatoryPersistence)},
		{name: "tags", kind: kindTexts, most: longest},
		{name: "tls_container_ref", most: longest},
		{name: "ca_tls_container_ref", most: longest},
		{name: "crl_container_ref", most: longest},
		{name: "tls_enabled", kind: kindBoolean},
		{name: "tls_ciphers", most: 2048},
		{name: "tls_versions", kind: kindTexts, most: 32},
		{name: "alpn_protocols", kind: kindALPN},
	}
}

func poolNested() schema {
	return join(named(), schema{{name: "protocol", kind: kindEnum, enum: poolProtocols()}}, poolSettings(true), schema{
		{name: "healthmonitor", kind: kindObject, fields: monitorNested()},
		{name: "members", kind: kindObjects, fields: memberNested()},
	})
}

func poolPOST() schema {
	return join(poolNested().requiring("protocol", "lb_algorithm"), owned(), schema{
		{name: "loadbalancer_id", kind: kindUUID}, {name: "listener_id", kind: kindUUID},
	})
}

func poolPUT() schema { return join(named(), poolSettings(false)) }

func memberSettings() schema {
	return schema{
		{name: "weight", kind: kindInteger, most: 256},
		{name: "backup", kind: kindBoolean},
		{name: "monitor_port", kind: kindInteger, least: 1, most: 65535},
		{name: "monitor_address", kind: kindIP},
		{name: "tags", kind: kindTexts, most: longest},
	}
}

func memberNested() schema {
	return join(named().without("description"), schema{
		{name: "address", kind: kindIP, mandatory: true},
		{name: "protocol_port", kind: kindInteger, least: 1, most: 65535, mandatory: true},
		{name: "subnet_id", kind: kindUUID},
		{name: "request_sriov", kind: kindBoolean, since: minorMemberVnic},
	}, memberSettings())
}

func memberPOST() schema { return join(memberNested(), owned()) }

func memberPUT() schema { return join(named().without("description"), memberSettings()) }

func monitorSettings() schema {
	return schema{
		{name: "delay", kind: kindInteger},
		{name: "timeout", kind: kindInteger},
		{name: "max_retries_down", kind: kindInteger, least: 1, most: 10},
		{name: "max_retries", kind: kindInteger, least: 1, most: 10},
		{name: "http_method", kind: kindEnum, enum: httpMethods()},
		{name: "url_path", kind: kindURL},
		{name: "expected_codes", kind: kindCodes},
		{name: "tags", kind: kindTexts, most: longest},
		{name: "http_version", kind: kindHTTPVersion},
		{name: "domain_name", least: 1, most: longest, pattern: domainName, shown: shownDomainName},
	}
}

// domainName is what Octavia takes for one, less its look-aheads.
const (
	domainName      = `^([A-Za-z0-9_]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.|$))+$`
	shownDomainName = `^(?=.{1,253}\.?$)(?:(?!-|[^.]+_)[A-Za-z0-9-_]{1,63}(?<!-)(?:\.|$))+$`
)

func monitorNested() schema {
	kind := schema{{name: "type", kind: kindEnum, enum: monitorTypes(), mandatory: true}}
	return join(named().without("description"), kind, monitorSettings().requiring("delay", "timeout", "max_retries"))
}

func monitorPOST() schema {
	return join(monitorNested(), owned(), schema{{name: "pool_id", kind: kindUUID, mandatory: true}})
}

func monitorPUT() schema { return join(named().without("description"), monitorSettings()) }

// without is the schema less some attributes.
func (s schema) without(names ...string) schema {
	return s.edit(names, func(attribute) (attribute, bool) { return attribute{}, false })
}

// requiring is the schema with some attributes mandatory.
func (s schema) requiring(names ...string) schema {
	return s.edit(names, func(a attribute) (attribute, bool) { a.mandatory = true; return a, true })
}

func (s schema) edit(names []string, change func(attribute) (edited attribute, keep bool)) schema {
	var edited schema
	for _, a := range s {
		keep := true
		for _, name := range names {
			if a.name == name {
				a, keep = change(a)
			}
		}
		if keep {
			edited = append(edited, a)
		}
	}
	return edited
}
