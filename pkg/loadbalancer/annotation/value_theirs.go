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

// theirs makes a kind of value one of cloud-provider-openstack: read as it stands, with
// spaces around it, and not given where it is not allowed.
func theirs(v Value) Value {
	v.exact = true
	v.otherwise = func(string) fate { return notGiven }
	return v
}

// theirNumber does the same for numbers.
func theirNumber(v Value) Value {
	v.exact = true
	v.otherwise = func(value string) fate {
		if _, err := strconv.Atoi(value); err == nil {
			return handedOn
		}
		return notGiven
	}
	return v
}

// theirWord makes a choice one that OpenStack decides about there.
func theirWord(v Value) Value {
	v.otherwise = func(string) fate { return handedOn }
	return v
}

// theirSwitch reads one of some words to the letter; any other switches off.
func theirSwitch(at func(*Values) **string, allowed ...string) Value {
	return theirs(value("choice", strings.Join(allowed, ", "), func(v *Values, value string) bool {
		if !slices.Contains(allowed, value) {
			return false
		}
		*at(v) = &value
		return true
	}))
}
