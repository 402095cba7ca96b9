package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// option is a row of the table of settings: a field of a section.
type option struct {
	section string
	key     string
	index   int // of the field in its section
	typ     reflect.Type
	byDef   string // text of the default, "" for none
	oneof   []string
	form    string
	min     int
	max     int // 0 for no bound
	env     []string
	clouds  string
	secret  bool
	url     bool // parts of the value may be secret
	empty   string
	restart bool
	isNew   bool // cloud-provider-openstack has no such key
}

// section is one section of cloud.conf.
type section struct {
	name    string
	index   int  // of the field in Config
	named   bool // may occur several times, each with its own name
	typ     reflect.Type
	options []option
}

// sections is the table of all settings, read once from the types of this package. It is read-only.
var sections = sync.OnceValue(readSections)

func readSections() []section {
	config := reflect.TypeFor[Config]()
	all := make([]section, 0, config.NumField())
	for i := range config.NumField() {
		field := config.Field(i)
		if field.Tag.Get("section") == "none" {
			continue
		}
		s := section{name: field.Name, index: i, typ: field.Type}
		if field.Type.Kind() == reflect.Map {
			s.named, s.typ = true, field.Type.Elem().Elem()
		}
		s.options = optionsOf(s)
		all = append(all, s)
	}
	return all
}

// globalSection returns [Global], the only section with values from clouds.yaml and the
// environment.
func globalSection() section {
	return sections()[0]
}

func optionsOf(s section) []option {
	options := make([]option, 0, s.typ.NumField())
	for i := range s.typ.NumField() {
		field := s.typ.Field(i)
		options = append(options, option{
			section: s.name,
			key:     field.Tag.Get("gcfg"),
			index:   i,
			typ:     field.Type,
			byDef:   field.Tag.Get("default"),
			oneof:   splitTag(field.Tag.Get("oneof")),
			form:    field.Tag.Get("form"),
			min:     numberTag(field.Tag.Get("min")),
			max:     numberTag(field.Tag.Get("max")),
			env:     splitTag(field.Tag.Get("env")),
			clouds:  field.Tag.Get("clouds"),
			secret:  field.Tag.Get("secret") == "yes",
			url:     field.Tag.Get("secret") == "url" || field.Tag.Get("form") == "url",
			empty:   field.Tag.Get("empty"),
			restart: field.Tag.Get("change") == "restart",
			isNew:   field.Tag.Get("cpo") == "no",
		})
	}
	return options
}

// splitTag splits a tag at its commas; an empty tag has no parts.
func splitTag(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

// numberTag parses a number of the table; an empty tag is 0.
func numberTag(tag string) int {
	if tag == "" {
		return 0
	}
	n, err := strconv.Atoi(tag)
	if err != nil {
		panic(fmt.Sprintf("table of settings: %v", err))
	}
	return n
}

// keys returns the keys of the section.
func (s section) keys() []string {
	keys := make([]string, 0, len(s.options))
	for _, o := range s.options {
		keys = append(keys, o.key)
	}
	return keys
}

// has reports whether the section has the key.
func (s section) has(key string) bool {
	for _, o := range s.options {
		if strings.EqualFold(o.key, key) {
			return true
		}
	}
	return false
}

// isList reports whether the key may be given several times.
func (o option) isList() bool {
	return o.typ.Kind() == reflect.Slice
}

// emptyIsNone reports whether an empty value counts as not given: if it is not a valid value, or
// would only remove the default.
func (o option) emptyIsNone() bool {
	return o.empty == "" && (o.byDef != "" || o.kind() != "string")
}

// kind returns the type of the value for the reference documentation.
func (o option) kind() string {
	typ := o.typ
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[Duration]():
		return "duration"
	case o.isList():
		return "list"
	case typ.Kind() == reflect.Bool:
		return "boolean"
	case typ.Kind() == reflect.Int, typ.Kind() == reflect.Uint:
		return "number"
	default:
		return "string"
	}
}
