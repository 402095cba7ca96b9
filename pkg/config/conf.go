package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"gopkg.in/gcfg.v1"
	"gopkg.in/warnings.v0"
)

// givenTexts holds the values of one section by key: nil for a missing key, an empty list for a key
// without a value.
type givenTexts map[string]*[]string

// readConf parses cloud.conf. It returns syntax errors; all other errors become problems of the
// loader.
//
// gcfg stops at the first value that it cannot convert. Therefore it reads every value as a list of
// texts, into a struct with the shape of Config, and this package converts them.
func (l *loader) readConf(content []byte) error {
	raw := reflect.New(rawType())
	err := gcfg.ReadStringInto(raw.Interface(), string(content))
	if fatal := gcfg.FatalOnly(err); fatal != nil {
		return syntaxError(string(content), fatal)
	}
	l.warn(unknownWarnings(string(content), warnings.WarningsOnly(err))...)
	for _, s := range sections() {
		field := raw.Elem().Field(s.index)
		if s.named {
			l.readClasses(s, field)
			continue
		}
		l.readSection(s, "", textsOf(s, field), structOf(l.config, s))
	}
	return nil
}

// rawType is the shape of Config with *[]string for every value. A nil pointer is a missing key, an
// empty list a key without a value.
var rawType = sync.OnceValue(func() reflect.Type {
	var fields []reflect.StructField
	for _, s := range sections() {
		typ := rawSectionType(s)
		if s.named {
			typ = reflect.MapOf(reflect.TypeFor[string](), reflect.PointerTo(typ))
		}
		fields = append(fields, reflect.StructField{Name: s.name, Type: typ})
	}
	return reflect.StructOf(fields)
})

func rawSectionType(s section) reflect.Type {
	var fields []reflect.StructField
	for _, o := range s.options {
		field := s.typ.Field(o.index)
		fields = append(fields, reflect.StructField{
			Name: field.Name,
			Type: reflect.TypeFor[*[]string](),
			Tag:  reflect.StructTag(fmt.Sprintf("gcfg:%q", o.key)),
		})
	}
	return reflect.StructOf(fields)
}

func textsOf(s section, raw reflect.Value) givenTexts {
	texts := givenTexts{}
	for _, o := range s.options {
		texts[o.key] = raw.Field(o.index).Interface().(*[]string)
	}
	return texts
}

// readClasses fills LoadBalancerClass. It ignores a class without a name, which no Service could
// select.
func (l *loader) readClasses(s section, raw reflect.Value) {
	classes := map[string]reflect.Value{}
	for _, name := range raw.MapKeys() {
		classes[name.String()] = raw.MapIndex(name)
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		if name == "" {
			l.warn(warning(`cloud.conf [%s] has no name and is ignored: write [%s "name"]`, s.name, s.name))
			continue
		}
		class := &LoadBalancerClass{}
		l.readSection(s, name, textsOf(s, classes[name].Elem()), reflect.ValueOf(class).Elem())
		l.config.LoadBalancerClass[name] = class
	}
}

// readSection sets the fields of a section from its texts.
func (l *loader) readSection(s section, name string, texts givenTexts, target reflect.Value) {
	for _, o := range s.options {
		if texts[o.key] == nil {
			continue
		}
		at := confPlace(s.name, name, o.key)
		values, err := l.given(o, at, *texts[o.key])
		if len(values) > 0 {
			l.written[at] = true
		}
		if len(values) > 0 && s.name == "Global" {
			l.places[o.key] = at
		}
		for _, text := range values {
			err = errors.Join(err, o.set(target.Field(o.index), text, at))
		}
		l.refuse(o, name, err)
	}
}

// given returns the values that apply: the last one, or all if the option is a list. A boolean
// without a value is true, as in gcfg. Empty values count as not given, because templates render
// them for settings without a value.
func (l *loader) given(o option, at place, texts []string) ([]string, error) {
	switch {
	case len(texts) == 0 && o.kind() == "boolean" && o.form == "":
		return []string{"true"}, nil
	case len(texts) == 0 && !o.isList():
		return nil, fmt.Errorf("%s has no value: allowed is %s", at, o.allowed())
	case len(texts) > 1 && !o.isList():
		l.warn(warningAt(at, "is given %d times: the last value is used", len(texts)))
		texts = texts[len(texts)-1:]
	}
	var values []string
	for _, text := range texts {
		switch {
		case text != "" || !o.emptyIsNone():
			values = append(values, text)
		case o.byDef != "":
			l.warn(warningAt(at, "is empty, which counts as not given: it is %s", o.byDef))
		default:
			l.warn(warningAt(at, "is empty, which counts as not given"))
		}
	}
	return values, nil
}
