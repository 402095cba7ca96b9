package annotation

import (
	"slices"
	"strconv"
	"strings"
)

// cloud-provider-openstack handles invalid values depending on the type of the annotation
// (getBoolFromServiceAnnotation and the like in its loadbalancer.go, v1.36). Its annotations are
// handled in the same way here, so that a migration changes nothing:
//
//	kind       value                     there
//	boolean    not "true", not "false"   its default
//	number     not one of Go's           its default
//	number     out of range              forwarded, OpenStack refuses it
//	choice     another word              proxy-protocol: off; lb-method: forwarded, OpenStack refuses it
//	text       any                       forwarded

// cpo returns the variant of a type for annotations of cloud-provider-openstack: spaces are part of
// the value, and an invalid value counts as not given.
func cpo(v Value) Value {
	v.exact = true
	v.onMalformed = func(string) handling { return ignore }
	return v
}

// cpoNumber is cpo for numbers.
func cpoNumber(v Value) Value {
	v.exact = true
	v.onMalformed = func(value string) handling {
		if _, err := strconv.Atoi(value); err == nil {
			return forward
		}
		return ignore
	}
	v.Handed = ruleOfInt64
	return v
}

// cpoChoice returns a choice for which cloud-provider-openstack relies on OpenStack's validation.
func cpoChoice(v Value) Value {
	v.onMalformed = func(string) handling { return forward }
	v.Handed = "true"
	return v
}

// cpoSwitch parses one of some words exactly; any other means off.
func cpoSwitch(at func(*Values) **string, allowed ...string) Value {
	return cpo(value("choice", strings.Join(allowed, ", "), exactly(allowed...), func(v *Values, value string) bool {
		if !slices.Contains(allowed, value) {
			return false
		}
		*at(v) = &value
		return true
	}))
}
