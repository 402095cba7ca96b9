package octavia

func policySettings() schema {
	return join(named(), schema{
		{name: "action", kind: kindEnum, enum: []string{actionReject, actionPrefix, actionPool, actionURL}},
		{name: "redirect_url", kind: kindWholeURL},
		{name: "redirect_prefix", kind: kindWholeURL},
		{name: "position", kind: kindInteger, least: 1, most: lastPosition},
	}, tagged(), schema{
		{name: "redirect_http_code", kind: kindEnumInteger, enum: []string{"301", "302", "303", "307", "308"}},
	})
}

func policyPOST() schema {
	return join(policySettings().requiring("action"), owned(), schema{
		{name: "redirect_pool_id", kind: kindUUID},
		{name: "listener_id", kind: kindUUID, mandatory: true},
		{name: "rules", kind: kindObjects, fields: ruleNested()},
	})
}

func policyPUT() schema {
	return join(policySettings(), schema{{name: "redirect_pool_id", kind: kindUUID}})
}

func policyNested() schema {
	return join(policySettings().requiring("action"), schema{
		{name: "redirect_pool", kind: kindObject, fields: poolNested()},
		{name: "rules", kind: kindObjects, fields: ruleNested()},
	})
}

func ruleSettings(pattern string) schema {
	return join(schema{
		{name: "type", kind: kindEnum, enum: []string{
			"COOKIE", "FILE_TYPE", "HEADER", "HOST_NAME", "PATH", "SSL_CONN_HAS_CERT", "SSL_DN_FIELD", "SSL_VERIFY_RESULT",
		}},
		{name: "compare_type", kind: kindEnum, enum: []string{"CONTAINS", "ENDS_WITH", "EQUAL_TO", "REGEX", "STARTS_WITH"}},
		{name: "key", most: longest, pattern: pattern},
		{name: "value", most: longest, pattern: pattern},
		{name: "invert", kind: kindBoolean},
		{name: "admin_state_up", kind: kindBoolean},
	}, tagged())
}

const oneLine = `^[^\r\n]*$`

func rulePOST() schema {
	return join(ruleSettings(oneLine).requiring("type", "compare_type", "value"), owned())
}

func rulePUT() schema { return ruleSettings(oneLine) }

func ruleNested() schema { return ruleSettings("").requiring("type", "compare_type", "value") }

func quotaPUT() schema {
	var limits schema
	for _, name := range []string{
		"loadbalancer", "load_balancer", "listener", "member", "pool", "healthmonitor", "health_monitor", "l7policy", "l7rule",
	} {
		limits = append(limits, attribute{name: name, kind: kindInteger, least: -1, most: 2000000000})
	}
	return limits
}

func flavorPOST() schema {
	return schema{
		{name: "name", most: longest, mandatory: true},
		{name: "description", most: longest},
		{name: "enabled", kind: kindBoolean},
		{name: "flavor_profile_id", kind: kindUUID, mandatory: true},
	}
}

func flavorPUT() schema { return flavorPOST().without("flavor_profile_id").optional() }

func zonePOST() schema {
	return schema{
		{name: "name", most: longest, mandatory: true},
		{name: "description", most: longest},
		{name: "enabled", kind: kindBoolean},
		{name: "availability_zone_profile_id", kind: kindUUID, mandatory: true},
	}
}

func zonePUT() schema { return zonePOST().without("name", "availability_zone_profile_id") }

func profilePOST(data string) schema {
	return schema{
		{name: "name", most: longest, mandatory: true},
		{name: "provider_name", most: longest, mandatory: true},
		{name: data, most: 4096, mandatory: true},
	}
}

func profilePUT(data string) schema { return profilePOST(data).optional() }

// optional is the schema without mandatory attributes.
func (s schema) optional() schema {
	var edited schema
	for _, a := range s {
		a.mandatory = false
		edited = append(edited, a)
	}
	return edited
}
