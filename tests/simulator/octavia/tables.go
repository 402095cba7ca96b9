package octavia

func stateful() []string { return []string{"created_at", "id"} }

// tables are all collections of a release by their names in the API.
func (r Release) tables() map[string]*table {
	return map[string]*table{
		"loadbalancers":            r.balancerTable(),
		"listeners":                r.listenerTable(),
		"pools":                    r.poolTable(),
		"members":                  r.memberTable(),
		"healthmonitors":           monitorTable(),
		"l7policies":               policyTable(),
		"rules":                    ruleTable(),
		"amphorae":                 amphoraTable(),
		"quotas":                   quotaTable(),
		"flavors":                  flavorTable(),
		"flavorprofiles":           profileTable("flavorprofiles", "flavorprofile_links", "FlavorProfile", "flavor_profile", "flavor_data"),
		"availabilityzones":        zoneTable(),
		"availabilityzoneprofiles": profileTable("availability_zone_profiles", "availability_zone_profile_links", "AvailabilityZoneProfile", "availability_zone_profile", "availability_zone_data"),
	}
}

func (r Release) balancerTable() *table {
	of := func(t any) *LoadBalancer { return t.(*LoadBalancer) }
	all := columns(metaColumns(), map[string]column{
		"description":       {columnText, func(t any) any { return of(t).nullDescription() }},
		"provider":          text(func(t any) string { return of(t).Provider }),
		"flavor_id":         text(func(t any) string { return of(t).FlavorID }),
		"availability_zone": text(func(t any) string { return of(t).AvailabilityZone }),
		"topology":          {columnText, func(any) any { return "SINGLE" }},
		"server_group_id":   {columnText, func(any) any { return nil }},
		"vip.ip_address":    text(func(t any) string { return of(t).VIP.Address }),
		"vip.subnet_id":     text(func(t any) string { return of(t).VIP.SubnetID }),
		"vip.port_id":       text(func(t any) string { return of(t).VIP.PortID }),
		"vip.network_id":    text(func(t any) string { return of(t).VIP.NetworkID }),
		"vip.qos_policy_id": text(func(t any) string { return of(t).VIP.QoSPolicyID }),
		"listeners":         special(columnChildren), "pools": special(columnChildren), "amphorae": special(columnChildren),
		"additional_vips": special(columnChildren), "vip": special(columnOther), "vrrp_group": special(columnOther),
	})
	renamed := map[string]string{
		"vip_address": "vip.ip_address", "vip_subnet_id": "vip.subnet_id", "vip_port_id": "vip.port_id",
		"vip_network_id": "vip.network_id", "vip_qos_policy_id": "vip.qos_policy_id", "admin_state_up": "enabled",
	}
	if r.has(minorVnicType) {
		all["vip.vnic_type"] = column{columnText, func(any) any { return "normal" }}
		renamed["vip_vnic_type"] = "vip.vnic_type"
	}
	return &table{
		name: "loadbalancers", links: "loadbalancers_links", model: "LoadBalancer", sql: "load_balancer",
		renamed: renamed, columns: all, ignored: []string{"vip"}, order: stateful(), tagged: true,
	}
}

func (r Release) listenerTable() *table {
	of := func(t any) *Listener { return t.(*Listener) }
	all := columns(metaColumns(), map[string]column{
		"description":                  {columnText, func(t any) any { return nullable(of(t).Description) }},
		"protocol":                     text(func(t any) string { return of(t).Protocol }),
		"protocol_port":                number(func(t any) int { return of(t).ProtocolPort }),
		"connection_limit":             number(func(t any) int { return of(t).ConnectionLimit }),
		"load_balancer_id":             text(func(t any) string { return of(t).LoadBalancerID }),
		"default_pool_id":              text(func(t any) string { return of(t).DefaultPoolID }),
		"timeout_client_data":          number(func(t any) int { return of(t).TimeoutClientData }),
		"timeout_member_connect":       number(func(t any) int { return of(t).TimeoutMemberConnect }),
		"timeout_member_data":          number(func(t any) int { return of(t).TimeoutMemberData }),
		"timeout_tcp_inspect":          number(func(t any) int { return of(t).TimeoutTCPInspect }),
		"peer_port":                    number(func(t any) int { return of(t).peerPort }),
		"tls_certificate_id":           text(func(t any) string { return of(t).TLS.DefaultContainerRef }),
		"client_ca_tls_certificate_id": text(func(t any) string { return of(t).TLS.ClientCAContainerRef }),
		"client_authentication":        text(func(t any) string { return of(t).TLS.ClientAuthentication }),
		"client_crl_container_id":      text(func(t any) string { return of(t).TLS.ClientCRLContainerRef }),
		"tls_ciphers":                  text(func(t any) string { return of(t).TLS.Ciphers }),
		"insert_headers":               {columnPacked, func(t any) any { return packedHeaders(of(t).InsertHeaders) }},
		"tls_versions":                 special(columnPacked), "alpn_protocols": special(columnPacked),
		"sni_containers": special(columnChildren), "l7policies": special(columnChildren), "allowed_cidrs": special(columnChildren),
		"default_pool": special(columnOther), "load_balancer": special(columnOther),
		"pools": special(columnProperty), "stats": special(columnUnmapped),
	})
	if r.has(minorHSTS) {
		all["hsts_max_age"] = column{columnInteger, func(t any) any {
			if age := of(t).TLS.HSTSMaxAge; age != nil {
				return *age
			}
			return nil
		}}
		all["hsts_include_subdomains"] = truth(func(t any) bool { return of(t).TLS.HSTSIncludeSubdomains })
		all["hsts_preload"] = truth(func(t any) bool { return of(t).TLS.HSTSPreload })
	}
	return &table{
		name: "listeners", links: "listeners_links", model: "Listener", sql: "listener",
		renamed: map[string]string{
			"admin_state_up": "enabled", "default_tls_container_ref": "tls_certificate_id", "sni_container_refs": "sni_containers",
			"client_ca_tls_container_ref": "client_ca_tls_certificate_id", "client_crl_container_ref": "client_crl_container_id",
		},
		columns: all, order: stateful(), tagged: true,
	}
}

func (r Release) poolTable() *table {
	of := func(t any) *Pool { return t.(*Pool) }
	return &table{
		name: "pools", links: "pools_links", model: "Pool", sql: "pool", order: stateful(), tagged: true,
		renamed: map[string]string{
			"admin_state_up": "enabled", "healthmonitor": "health_monitor", "healthmonitor_id": "health_monitor.id",
			"tls_container_ref": "tls_certificate_id", "ca_tls_container_ref": "ca_tls_certificate_id",
			"crl_container_ref": "crl_container_id",
		},
		ignored: []string{"health_monitor"},
		columns: columns(metaColumns(), map[string]column{
			"description":           {columnText, func(t any) any { return nullable(of(t).Description) }},
			"protocol":              text(func(t any) string { return of(t).Protocol }),
			"lb_algorithm":          text(func(t any) string { return of(t).Algorithm }),
			"load_balancer_id":      text(func(t any) string { return of(t).LoadBalancerID }),
			"tls_certificate_id":    text(func(t any) string { return of(t).TLS.ContainerRef }),
			"ca_tls_certificate_id": text(func(t any) string { return of(t).TLS.CAContainerRef }),
			"crl_container_id":      text(func(t any) string { return of(t).TLS.CRLRef }),
			"tls_enabled":           truth(func(t any) bool { return of(t).TLS.Enabled }),
			"tls_ciphers":           text(func(t any) string { return of(t).TLS.Ciphers }),
			"tls_versions":          special(columnPacked), "alpn_protocols": special(columnPacked),
			"health_monitor.id": {columnText, func(t any) any {
				if monitor := of(t).Monitor; monitor != nil {
					return monitor.ID
				}
				return nil
			}},
			"health_monitor": special(columnOther), "session_persistence": special(columnOther), "load_balancer": special(columnOther),
			"members": special(columnChildren), "l7policies": special(columnChildren), "listeners": special(columnProperty),
		}),
	}
}

func (r Release) memberTable() *table {
	of := func(t any) *Member { return t.(*Member) }
	all := columns(metaColumns(), map[string]column{
		"pool_id":         text(func(t any) string { return of(t).PoolID }),
		"subnet_id":       text(func(t any) string { return of(t).SubnetID }),
		"ip_address":      text(func(t any) string { return of(t).Address }),
		"protocol_port":   number(func(t any) int { return of(t).ProtocolPort }),
		"weight":          number(func(t any) int { return of(t).Weight }),
		"backup":          truth(func(t any) bool { return of(t).Backup }),
		"monitor_address": text(func(t any) string { return of(t).MonitorAddress }),
		"monitor_port": {columnInteger, func(t any) any {
			if port := of(t).MonitorPort; port != 0 {
				return port
			}
			return nil
		}},
		"pool": special(columnOther),
	})
	if r.has(minorMemberVnic) {
		all["vnic_type"] = column{columnText, func(any) any { return "normal" }}
	}
	return &table{
		name: "members", links: "members_links", model: "Member", sql: "member", order: stateful(), tagged: true,
		renamed: map[string]string{"admin_state_up": "enabled", "address": "ip_address"}, columns: all,
	}
}

func monitorTable() *table {
	of := func(t any) *Monitor { return t.(*Monitor) }
	return &table{
		name: "healthmonitors", links: "healthmonitors_links", model: "HealthMonitor", sql: "health_monitor",
		order: stateful(), tagged: true,
		renamed: map[string]string{
			"admin_state_up": "enabled", "max_retries": "rise_threshold", "max_retries_down": "fall_threshold",
		},
		columns: columns(metaColumns(), map[string]column{
			"type":           text(func(t any) string { return of(t).Type }),
			"pool_id":        text(func(t any) string { return of(t).PoolID }),
			"delay":          number(func(t any) int { return of(t).Delay }),
			"timeout":        number(func(t any) int { return of(t).Timeout }),
			"rise_threshold": number(func(t any) int { return of(t).MaxRetries }),
			"fall_threshold": number(func(t any) int { return of(t).MaxRetriesDown }),
			"http_method":    text(func(t any) string { return of(t).HTTPMethod }),
			"url_path":       text(func(t any) string { return of(t).URLPath }),
			"expected_codes": text(func(t any) string { return of(t).ExpectedCodes }),
			"domain_name":    text(func(t any) string { return of(t).DomainName }),
			"http_version":   {columnFloat, func(t any) any { return floatOf(of(t).HTTPVersion) }},
			"pool":           special(columnOther),
		}),
	}
}
