package annotation

import (
	"slices"
	"strconv"
	"strings"
)

// What cloud-provider-openstack makes of a value that is not allowed depends on the kind
// of the annotation (getBoolFromServiceAnnotation and the like in its loadbalancer.go,
// v1.36). Of its annotations the same is made here, so that nothing changes at the
// switch:
//
//	kind       value                     there
//	boolean    not "true", not "false"   its default
//	number     not one of Go's           its default
//	number     out of range              handed on, OpenStack refuses it
//	choice     another word              proxy-protocol: off; lb-method: handed on, OpenStack refuses it
//	text       any                       handed on

// cpo makes a kind of value one of cloud-provider-openstack: read as it stands, with
// spaces around it, and not given where it is not allowed.
func cpo(v Value) Value {
	v.exact = true
	v.onMalformed = func(string) handling { return ignore }
	return v
}

// cpoNumber does the same for numbers.
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

// cpoChoice makes a choice one that OpenStack decides about there.
func cpoChoice(v Value) Value {
	v.onMalformed = func(string) handling { return forward }
	v.Handed = "true"
	return v
}

// cpoSwitch reads one of some words to the letter; any other switches off.
func cpoSwitch(at func(*Values) **string, allowed ...string) Value {
	return cpo(value("choice", strings.Join(allowed, ", "), exactly(allowed...), func(v *Values, value string) bool {
		if !slices.Contains(allowed, value) {
			return false
		}
		*at(v) = &value
		return true
	}))
}
