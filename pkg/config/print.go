package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// The functions below implement all ways to print a Config: fmt with any verb, klog and slog
// (String, MarshalLog or Format) and JSON, which sigs.k8s.io/yaml uses too. New ways to print must
// use them.

// String returns the settings as the text of a cloud.conf, without secrets.
func (c Config) String() string {
	var out strings.Builder
	config := reflect.ValueOf(c)
	for _, s := range sections() {
		field := config.Field(s.index)
		if !s.named {
			writeSection(&out, s, "["+s.name+"]", field)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.LoadBalancerClass)) {
			class := field.MapIndex(reflect.ValueOf(name)).Elem()
			writeSection(&out, s, fmt.Sprintf("[%s %q]", s.name, name), class)
		}
	}
	return out.String()
}

// GoString returns String, since %#v would print the fields.
func (c Config) GoString() string { return c.String() }

// Format prints String for every verb.
func (c Config) Format(state fmt.State, _ rune) { fmt.Fprint(state, c.String()) }

// MarshalLog returns String for klog's structured loggers.
func (c Config) MarshalLog() any { return c.String() }

// String returns the settings as the text of section [Global], without secrets.
func (g Global) String() string {
	var out strings.Builder
	writeSection(&out, globalSection(), "[Global]", reflect.ValueOf(g))
	return out.String()
}

// GoString returns String, since %#v would print the fields.
func (g Global) GoString() string { return g.String() }

// Format prints String for every verb.
func (g Global) Format(state fmt.State, _ rune) { fmt.Fprint(state, g.String()) }

// MarshalLog returns String for klog's structured loggers.
func (g Global) MarshalLog() any { return g.String() }

// MarshalJSON returns the fields by their keys in cloud.conf, without secrets. The result cannot be
// parsed back.
func (g Global) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for _, o := range globalSection().options {
		field := reflect.ValueOf(g).Field(o.index)
		if field.IsZero() {
			continue
		}
		fields[o.key] = field.Interface()
		if text := o.printable(field); field.Kind() == reflect.String {
			fields[o.key] = text
		}
	}
	return json.Marshal(fields)
}

func writeSection(out *strings.Builder, s section, header string, values reflect.Value) {
	fmt.Fprintln(out, header)
	for _, o := range s.options {
		field := values.Field(o.index)
		if o.isList() {
			for i := range field.Len() {
				fmt.Fprintf(out, "%s=%s\n", o.key, field.Index(i))
			}
			continue
		}
		if !field.IsZero() || o.byDef != "" {
			fmt.Fprintf(out, "%s=%s\n", o.key, o.printable(field))
		}
	}
}

// printable returns the value as text, without secrets.
func (o option) printable(field reflect.Value) string {
	if field.Kind() == reflect.Pointer && !field.IsNil() {
		field = field.Elem()
	}
	text := fmt.Sprint(field.Interface())
	switch {
	case text == "":
		return ""
	case o.secret:
		return redacted
	case o.url:
		return PrintableURL(text)
	default:
		return text
	}
}

// PrintableURL redacts the parts of a URL that may be secret: user, password, query and fragment. A
// text that is not a URL is redacted completely, unless it is a word without any part of a URL.
func PrintableURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "" && strings.ContainsAny(text, "@:?#%"):
		return redacted
	case strings.Contains(u.Path, "@"): // a password in the wrong place
		return u.Scheme + "://" + redacted
	}
	if u.User != nil {
		u.User = url.User(redacted)
	}
	if u.RawQuery != "" {
		u.RawQuery = redacted
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = redacted, redacted
	}
	return u.String()
}
