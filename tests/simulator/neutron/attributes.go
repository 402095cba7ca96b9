package neutron

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// attributeMap finds the attributes of a record by their JSON names.
type attributeMap map[string][]int

// attributesOf reads the JSON names of a record or request type.
func attributesOf(record reflect.Type) attributeMap {
	if record.Kind() == reflect.Pointer {
		record = record.Elem()
	}
	attributes := attributeMap{}
	for _, field := range reflect.VisibleFields(record) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" {
			attributes[name] = field.Index
		}
	}
	return attributes
}

// value is one attribute of a record (a pointer to a struct).
func (a attributeMap) value(record any, name string) (reflect.Value, bool) {
	index, ok := a[name]
	if !ok {
		return reflect.Value{}, false
	}
	return reflect.ValueOf(record).Elem().FieldByIndex(index), true
}

// texts are the values that a filter can name: the value itself, or the
// members of a list. A null has none.
func texts(value reflect.Value) []string {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return texts(value.Elem())
	case reflect.Slice:
		var all []string
		for i := range value.Len() {
			all = append(all, texts(value.Index(i))...)
		}
		return all
	case reflect.Struct:
		return nil
	default:
		return []string{fmt.Sprint(value.Interface())}
	}
}

// selectFields is a record as an object of the named attributes only; no
// names mean all of it. Unknown names are left out, as Neutron does.
func (a attributeMap) selectFields(record any, names []string) any {
	if len(names) == 0 {
		return record
	}
	selected := map[string]any{}
	for _, name := range names {
		if value, ok := a.value(record, name); ok {
			selected[name] = value.Interface()
		}
	}
	return selected
}

// optional is an attribute of a request that may be absent, null or set.
type optional[T any] struct {
	present bool
	value   *T
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *optional[T]) UnmarshalJSON(encoded []byte) error {
	o.present = true
	return json.Unmarshal(encoded, &o.value)
}

// get is the value; the zero value when absent or null.
func (o optional[T]) get() T { return valueOf(o.value) }
