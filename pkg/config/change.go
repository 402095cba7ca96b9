package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Change is a setting in which two configurations differ.
type Change struct {
	// Setting is its place, as "[LoadBalancer] subnet-id", or that of a class.
	Setting string
	// Global is set for settings of [Global], which are those of the sign-in.
	Global bool
	// Restart is set if a new value takes effect only after a restart.
	Restart bool
}

// Changes returns the settings in which two configurations differ, in the order of the table of
// settings. It contains no values.
func Changes(from, to *Config) []Change {
	var changes []Change
	before, after := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for _, s := range sections() {
		if s.named {
			changes = append(changes, changedClasses(s, from.LoadBalancerClass, to.LoadBalancerClass)...)
			continue
		}
		was, is := before.Field(s.index), after.Field(s.index)
		for _, o := range s.options {
			if !reflect.DeepEqual(was.Field(o.index).Interface(), is.Field(o.index).Interface()) {
				changes = append(changes, Change{
					Setting: fmt.Sprintf("[%s] %s", s.name, o.key), Global: s.name == globalSection().name, Restart: o.restart,
				})
			}
		}
	}
	return changes
}

// Fixed returns a copy of the settings with the values in force of those that need a restart.
func (g Global) Fixed(inForce Global) Global {
	fixed, from := reflect.ValueOf(&g).Elem(), reflect.ValueOf(inForce)
	for _, o := range globalSection().options {
		if o.restart {
			fixed.Field(o.index).Set(from.Field(o.index))
		}
	}
	return g
}

// changedClasses returns the classes that were added, removed or changed.
func changedClasses(s section, from, to map[string]*LoadBalancerClass) []Change {
	all := maps.Clone(to)
	if all == nil {
		all = map[string]*LoadBalancerClass{}
	}
	maps.Copy(all, from)
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := from[name]
		is, has := to[name]
		if had != has || !reflect.DeepEqual(was, is) {
			changes = append(changes, Change{Setting: fmt.Sprintf("[%s %q]", s.name, name)})
		}
	}
	return changes
}
