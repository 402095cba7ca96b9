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

// Setting is a key of the table of settings, and what it has come to be.
type Setting struct {
	// Section is that of cloud.conf, with the name that it has: [LoadBalancerClass "a"].
	Section string `json:"section"`
	Key     string `json:"key"`
	// Value is what counts, "(redacted)" for a secret, "" where there is none.
	Value string `json:"value"`
	// Source says where it comes from: the line of cloud.conf, clouds.yaml, a variable of
	// the environment, "default", or "found" for what follows from other settings.
	Source string `json:"source,omitempty"`
	// Given is set where an operator has written it.
	Given bool `json:"given"`
	// New is set where cloud-provider-openstack has no such key.
	New bool `json:"-"`

	place place
}

// Inspection is a configuration with the origin of all that it says.
type Inspection struct {
	// Config is nil where the file cannot be read at all.
	Config *Config
	// Settings are all keys of the table, in its order.
	Settings []Setting
	// Warnings and Problems are those of LoadFile, also the problems that only concern load
	// balancers.
	Warnings []Warning
	Problems []error

	lines map[place]int
}

// Inspect reads a configuration as LoadFile does, and says of every setting where its value
// comes from. What is wrong is in Problems.
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
	i.Settings, i.Warnings, i.Problems = l.settings(i.lines), l.warnings, l.problems
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

// SourceOf returns where a problem or a warning comes from: "line 12" of cloud.conf, or ""
// where its text says it.
func (i *Inspection) SourceOf(at string) string {
	if number := i.lines[place(at)]; number > 0 {
		return fmt.Sprintf("line %d", number)
	}
	return ""
}

// PlaceOf returns the place that a problem is about, "" for none.
func PlaceOf(err error) string {
	var value *ValueError
	if errors.As(err, &value) {
		return value.Place
	}
	return ""
}

// Setting returns a key of a section that appears once.
func (i *Inspection) Setting(section, key string) Setting {
	at := slices.IndexFunc(i.Settings, func(s Setting) bool { return s.Section == "["+section+"]" && s.Key == key })
	if at < 0 {
		return Setting{}
	}
	return i.Settings[at]
}

// SectionName returns the section without its brackets, and without the name that it has.
func (s Setting) SectionName() string {
	name, _, _ := strings.Cut(strings.Trim(s.Section, "[]"), " ")
	return name
}

// Place returns what problems and warnings call the setting.
func (s Setting) Place() string { return string(s.place) }

// settings returns all keys with what they have come to be.
func (l *loader) settings(lines map[place]int) []Setting {
	var all []Setting
	for _, s := range sections() {
		if !s.named {
			all = append(all, l.settingsOf(s, "", l.structOf(s), lines)...)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(l.config.LoadBalancerClass)) {
			all = append(all, l.settingsOf(s, name, reflect.ValueOf(l.config.LoadBalancerClass[name]).Elem(), lines)...)
		}
	}
	return all
}

func (l *loader) settingsOf(s section, name string, values reflect.Value, lines map[place]int) []Setting {
	header := "[" + s.name + "]"
	if name != "" {
		header = fmt.Sprintf("[%s %q]", s.name, name)
	}
	all := make([]Setting, 0, len(s.options))
	for _, o := range s.options {
		one := Setting{Section: header, Key: o.key, Value: o.text(values.Field(o.index)), place: confPlace(s.name, name, o.key), New: o.isNew}
		one.Given = l.written[one.place]
		if at, found := l.places[o.key]; found && s.name == globalSection().name {
			one.place, one.Given = at, true
		}
		switch number := lines[one.place]; {
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

// text is the value as cloud.conf would have it, without what is secret; "" for none.
func (o option) text(field reflect.Value) string {
	switch {
	case o.isList():
		return strings.Join(field.Interface().([]string), ", ")
	case field.IsZero() && o.byDef == "":
		return ""
	}
	return o.printable(field)
}
