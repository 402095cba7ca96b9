package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gopkg.in/gcfg.v1"
	"gopkg.in/warnings.v0"
)

// givenTexts are the texts of one section of cloud.conf by key: nil for a key that
// is not there, an empty list for one without a value.
type givenTexts map[string]*[]string

// readConf reads cloud.conf. Its error is one of syntax; all others become
// problems of the loader.
//
// gcfg stops at the first value that it cannot convert. So it reads into a
// struct of the same shape as Config in which every value is a list of texts,
// and the conversion is ours.
func (l *loader) readConf(content []byte) error {
	raw := reflect.New(rawType())
	err := gcfg.ReadStringInto(raw.Interface(), string(content))
	if fatal := gcfg.FatalOnly(err); fatal != nil {
		return fmt.Errorf("cloud.conf: syntax error at line:column %w", fatal)
	}
	l.warnUnknown(warnings.WarningsOnly(err))
	for _, s := range sections() {
		field := raw.Elem().Field(s.index)
		if s.named {
			l.readClasses(s, field)
			continue
		}
		l.readSection(s, "", textsOf(s, field), l.structOf(s))
	}
	return nil
}

// rawType is the shape of Config with *[]string for every value: the pointer
// tells a key that is not there from one without a value.
func rawType() reflect.Type {
	var fields []reflect.StructField
	for _, s := range sections() {
		typ := rawSectionType(s)
		if s.named {
			typ = reflect.MapOf(reflect.TypeFor[string](), reflect.PointerTo(typ))
		}
		fields = append(fields, reflect.StructField{Name: s.name, Type: typ})
	}
	return reflect.StructOf(fields)
}

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

// readClasses fills LoadBalancerClass. A class without a name is left out:
// nothing could ever pick it.
func (l *loader) readClasses(s section, raw reflect.Value) {
	classes := map[string]reflect.Value{}
	for _, name := range raw.MapKeys() {
		classes[name.String()] = raw.MapIndex(name)
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		if name == "" {
			l.warn(`cloud.conf [%s] has no name and is ignored: write [%s "name"]`, s.name, s.name)
			continue
		}
		class := &LoadBalancerClass{}
		l.readSection(s, name, textsOf(s, classes[name].Elem()), reflect.ValueOf(class).Elem())
		l.config.LoadBalancerClass[name] = class
	}
}

// readSection sets the fields of one section from its texts.
func (l *loader) readSection(s section, name string, texts givenTexts, target reflect.Value) {
	for _, o := range s.options {
		if texts[o.key] == nil {
			continue
		}
		at := confPlace(s.name, name, o.key)
		switch s.name {
		case "Global":
			l.places[o.key] = at
		case "LoadBalancer":
			l.given[o.key] = true
		}
		l.readOption(o, at, *texts[o.key], target.Field(o.index))
	}
}

// readOption sets one field. Of several values the last one counts, unless the
// option is a list. A boolean without a value is true, as gcfg has it.
func (l *loader) readOption(o option, at place, texts []string, field reflect.Value) {
	switch {
	case o.isList():
		for _, text := range texts {
			l.refuse(o, o.set(field, text, at))
		}
		return
	case len(texts) == 0 && o.kind() == "boolean" && o.form == "":
		texts = []string{"true"}
	case len(texts) == 0:
		l.refuse(o, fmt.Errorf("%s has no value: allowed is %s", at, o.allowed()))
		return
	case len(texts) > 1:
		l.warn("%s is given %d times: the last one is used", at, len(texts))
	}
	l.refuse(o, o.set(field, texts[len(texts)-1], at))
}
