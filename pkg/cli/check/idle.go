package check

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// idleRule describes settings that have no effect with others.
type idleRule struct {
	section string
	// keys of the rule; none means all of the section except those in except.
	keys, except []string
	// why returns the reason, "" if the settings have an effect.
	why func(*config.Config) string
}

// idle returns the given settings that have no effect.
func idle(i *config.Inspection) []Finding {
	var found []Finding
	for _, setting := range i.Settings {
		if !setting.Given || setting.Value == "" { // an empty value is the default
			continue
		}
		for _, rule := range idleRules() {
			if why := rule.applies(setting, i.Config); why != "" {
				found = append(found, Finding{
					Topic: Configuration, Verdict: Warning, Subject: setting.Section + " " + setting.Key,
					Text: "has no effect: " + why, Source: setting.Source,
				})
				break
			}
		}
	}
	return found
}

func (r idleRule) applies(setting config.Setting, conf *config.Config) string {
	if setting.SectionName() != r.section || !r.covers(setting.Key) {
		return ""
	}
	return r.why(conf)
}

func (r idleRule) covers(key string) bool {
	for _, other := range r.except {
		if other == key {
			return false
		}
	}
	for _, one := range r.keys {
		if one == key {
			return true
		}
	}
	return len(r.keys) == 0
}

// idleRules returns the table of settings without effect. The first rule for a setting applies.
func idleRules() []idleRule {
	return append(signInRules(), []idleRule{
		{"LoadBalancer", nil, []string{"enabled"}, unless(func(c *config.Config) bool { return c.LoadBalancer.Enabled }, "enabled=false: Services of type LoadBalancer are ignored")},
		{"LoadBalancerClass", nil, nil, unless(func(c *config.Config) bool { return c.LoadBalancer.Enabled }, "[LoadBalancer] enabled=false: Services of type LoadBalancer are ignored")},
		{"LoadBalancer", []string{"security-group-mode"}, nil, unless(func(c *config.Config) bool { return c.LoadBalancer.ManageSecurityGroups }, "manage-security-groups is not true")},
		{"LoadBalancer", []string{"drift-interval"}, nil, unless(func(c *config.Config) bool { return c.LoadBalancer.DriftPolicy != "off" }, "drift-policy=off")},
		{"LoadBalancer", []string{"floating-subnet", "floating-subnet-tags"}, nil, unless(func(c *config.Config) bool { return c.LoadBalancer.FloatingSubnetID == "" }, "floating-subnet-id takes precedence")},
		{"Metadata", []string{"search-order"}, nil, func(*config.Config) string { return "it is accepted only for compatibility" }},
	}...)
}

func signInRules() []idleRule {
	scoped := unless(func(c *config.Config) bool {
		method := c.Global.AuthMethod()
		return method != config.AuthApplicationCredential && method != config.AuthTrust
	}, "an application credential and a trust have their own project")
	rules := []idleRule{
		{"Global", []string{"tenant-id", "tenant-name", "tenant-domain-id", "tenant-domain-name"}, nil, scoped},
		{"Global", []string{"trustee-id", "trustee-password"}, nil, unless(func(c *config.Config) bool { return c.Global.TrustID != "" }, "there is no trust-id")},
		{"Global", []string{"application-credential-name"}, nil, unless(func(c *config.Config) bool { return c.Global.ApplicationCredentialID == "" }, "application-credential-id takes precedence")},
		{"Global", []string{"ca-file"}, nil, unless(func(c *config.Config) bool { return !c.Global.TLSInsecure }, "tls-insecure=true: certificates are not verified")},
	}
	for _, pair := range []struct {
		id, name string
		given    func(config.Global) string
	}{
		{"tenant-id", "tenant-name", func(g config.Global) string { return g.TenantID }},
		{"user-id", "username", func(g config.Global) string { return g.UserID }},
		{"domain-id", "domain-name", func(g config.Global) string { return g.DomainID }},
		{"tenant-domain-id", "tenant-domain-name", func(g config.Global) string { return g.TenantDomainID }},
		{"user-domain-id", "user-domain-name", func(g config.Global) string { return g.UserDomainID }},
	} {
		rules = append(rules, idleRule{"Global", []string{pair.name}, nil, unless(func(c *config.Config) bool { return pair.given(c.Global) == "" }, pair.id+" takes precedence")})
	}
	return rules
}

// unless returns the reason of a rule if a condition is false.
func unless(holds func(*config.Config) bool, reason string) func(*config.Config) string {
	return func(c *config.Config) string {
		if holds(c) {
			return ""
		}
		return reason
	}
}
