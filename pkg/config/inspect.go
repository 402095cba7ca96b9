package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Setting is a key of the table of settings with its value and origin.
type Setting struct {
	// Section is the section of cloud.conf with its name, such as [LoadBalancerClass "a"].
	Section string `json:"section"`
	Key     string `json:"key"`
	// Value is the value in use, "(redacted)" for a secret, "" if there is none.
	Value string `json:"value"`
	// Source is the origin of the value: the line of cloud.conf, clouds.yaml, an environment
	// variable, "default", or "found" if it follows from other settings.
	Source string `json:"source,omitempty"`
	// Given is set if the operator has set the value.
	Given bool `json:"given"`
	// New is set if cloud-provider-openstack has no such key.
	New bool `json:"-"`

	place place
}

// Inspection is a configuration with the origin of each value.
type Inspection struct {
	// Config is nil if the file cannot be read.
	Config *Config
	// Settings are all keys, in the order of the table.
	Settings []Setting
	// Warnings and Problems are those of LoadFile. Problems includes those that concern only load
	// balancers.
	Warnings []Warning
	Problems []error

	lines map[place]int
}

// Inspect reads a configuration as LoadFile does, and records the origin of each value. Problems
// contains all errors.
func Inspect(path string, env Environment) *Inspection {
	l := newLoader(env)
	i := &Inspection{Config: l.config}
	var content []byte
	var err error
	if path == "" {
		l.readEnvironment()
	} else if content, err = readFile(path); err == nil {
		err = l.readConf(content)
	}
	if err != nil {
		return &Inspection{Problems: []error{err}}
	}
	l.complete()
	i.lines = linesOf(content)
	i.Settings, i.Warnings, i.Problems = settingsOf(l.config, origins{l.places, l.written, i.lines}), l.warnings, l.problems
	return i
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening cloud config: %w", err)
	}
	defer file.Close()
	content, err := readBounded(file)
	if err != nil {
		return nil, fmt.Errorf("cloud config %s: %w", path, err)
	}
	return content, nil
}

// SourceOf returns the origin of a problem or warning, such as "line 12" of cloud.conf. It returns
// "" if the text of the problem contains it.
func (i *Inspection) SourceOf(at string) string {
	if number := i.lines[place(at)]; number > 0 {
		return fmt.Sprintf("line %d", number)
	}
	return ""
}

// PlaceOf returns the place of a problem, "" if it has none.
func PlaceOf(err error) string {
	var value *ValueError
	if errors.As(err, &value) {
		return value.Place
	}
	return ""
}

// Setting returns a key of a section that is not named. It returns the zero Setting for an unknown
// key.
func (i *Inspection) Setting(section, key string) Setting {
	at := slices.IndexFunc(i.Settings, func(s Setting) bool { return s.Section == "["+section+"]" && s.Key == key })
	if at < 0 {
		return Setting{}
	}
	return i.Settings[at]
}

// SectionName returns the section without brackets and name.
func (s Setting) SectionName() string {
	name, _, _ := strings.Cut(strings.Trim(s.Section, "[]"), " ")
	return name
}

// settingsOf returns all keys with their values and origins.
func settingsOf(config *Config, from origins) []Setting {
	var all []Setting
	for _, s := range sections() {
		if !s.named {
			all = append(all, from.section(s, "", structOf(config, s))...)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(config.LoadBalancerClass)) {
			all = append(all, from.section(s, name, reflect.ValueOf(config.LoadBalancerClass[name]).Elem())...)
		}
	}
	return all
}

// origins are the places of values.
type origins struct {
	global  map[string]place // of the given keys of [Global]
	written map[place]bool   // in cloud.conf
	lines   map[place]int    // of cloud.conf
}

// section returns the keys of a section, which may have a name.
func (from origins) section(s section, name string, values reflect.Value) []Setting {
	header := "[" + s.name + "]"
	if name != "" {
		header = fmt.Sprintf("[%s %q]", s.name, name)
	}
	all := make([]Setting, 0, len(s.options))
	for _, o := range s.options {
		one := Setting{Section: header, Key: o.key, Value: o.text(values.Field(o.index)), place: confPlace(s.name, name, o.key), New: o.isNew}
		one.Given = from.written[one.place]
		if at, found := from.global[o.key]; found && s.name == globalSection().name {
			one.place, one.Given = at, true
		}
		switch number := from.lines[one.place]; {
		case one.Given && number > 0:
			one.Source = fmt.Sprintf("line %d", number)
		case one.Given:
			one.Source = string(one.place)
		case one.Value == "":
		case o.isDefault(values.Field(o.index)):
			one.Source = "default"
		default:
			one.Source = "found"
		}
		all = append(all, one)
	}
	return all
}

// isDefault reports whether a field has the option's default.
func (o option) isDefault(field reflect.Value) bool {
	byDefault := reflect.New(field.Type()).Elem()
	o.setDefault(byDefault)
	return reflect.DeepEqual(field.Interface(), byDefault.Interface())
}

// text returns the value as in cloud.conf, without secrets; "" if there is none.
func (o option) text(field reflect.Value) string {
	switch {
	case o.isList():
		return strings.Join(field.Interface().([]string), ", ")
	case field.IsZero() && o.byDef == "":
		return ""
	}
	return o.printable(field)
}
