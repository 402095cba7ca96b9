package config

import (
	"gopkg.in/gcfg.v1/types"
)

// readEnvironment fills [Global] from the OS_* variables, as the openstack command does. OS_CLOUD
// selects an entry of clouds.yaml, which provides the remaining settings.
func (l *loader) readEnvironment() {
	l.source, l.fromEnv = "environment", true
	s := globalSection()
	for _, o := range s.options {
		name, text := firstVariable(l.env, o.env)
		if text == "" {
			continue
		}
		at := place("environment " + name)
		l.places[o.key] = at
		if o.kind() == "boolean" {
			text = literalBool(text)
		}
		l.refuse(o, "", o.set(structOf(l.config, s).Field(o.index), text, at))
	}
	global := &l.config.Global
	global.UseClouds = global.Cloud != ""
	if global.CloudsFile != "" && global.Cloud == "" {
		l.warn(warning("environment OS_CLIENT_CONFIG_FILE is ignored without OS_CLOUD"))
	}
	if domain := l.env.get("OS_DEFAULT_DOMAIN"); domain != "" {
		global.setDefaultDomain(domain)
		l.places["domain-id"] = "environment OS_DEFAULT_DOMAIN"
	}
	method, err := methodOfAuthType(l.env.get("OS_AUTH_TYPE"), "environment OS_AUTH_TYPE")
	l.problem(err)
	*global = global.only(method)
}

// regionalIDs is the variable that adds regions to provider IDs.
const regionalIDs = "OS_CCM_REGIONAL"

// RegionalIDs reports whether provider IDs contain the region: OS_CCM_REGIONAL is exactly "true",
// as in cloud-provider-openstack.
func (e Environment) RegionalIDs() bool { return e.get(regionalIDs) == "true" }

// regionalIDWarnings returns a warning if OS_CCM_REGIONAL has no effect with the region of [Global].
func (e Environment) regionalIDWarnings(region string) []Warning {
	switch value := e.get(regionalIDs); {
	case value == "", value == "false":
	case value != "true":
		return []Warning{warning("environment %s %q has no effect: allowed is true", regionalIDs, value)}
	case region == "":
		return []Warning{warning("environment %s has no effect without a region: set [Global] region", regionalIDs)}
	}
	return nil
}

// firstVariable returns the first variable that is set and not empty.
func firstVariable(env Environment, names []string) (name, text string) {
	for _, name := range names {
		if text := env.get(name); text != "" {
			return name, text
		}
	}
	return "", ""
}

// literalBool converts a boolean to the form of cloud.conf. It returns other texts unchanged, to be
// refused later.
func literalBool(text string) string {
	value, err := types.ParseBool(text)
	switch {
	case err != nil:
		return text
	case value:
		return "true"
	default:
		return "false"
	}
}

// setDefaultDomain sets the common domain of user and project if none is given.
func (g *Global) setDefaultDomain(id string) {
	if g.DomainID == "" && g.DomainName == "" {
		g.DomainID = id
	}
}
