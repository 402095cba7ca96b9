package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/gcfg.v1/types"
)

// setDefault sets a field to the option's default.
func (o option) setDefault(field reflect.Value) {
	if o.byDef == "" {
		return
	}
	if err := o.decode(field, o.byDef); err != nil {
		panic(fmt.Sprintf("default of [%s] %s: %v", o.section, o.key, err))
	}
}

// set validates a text and writes it into the option's field.
func (o option) set(field reflect.Value, text string, at place) error {
	err := o.check(text)
	if err == nil {
		err = o.decode(field, text)
	}
	if err == nil {
		return nil
	}
	return o.refuse(text, at, err)
}

// refuse returns the error for a text that the option does not allow. It drops errors that only
// repeat the allowed values.
func (o option) refuse(text string, at place, reason error) error {
	switch {
	case o.secret:
		text = redacted
	case o.url:
		text = PrintableURL(text)
	}
	if errors.Is(reason, errNotAllowed) {
		reason = nil
	}
	return &ValueError{Place: string(at), Value: text, Allowed: o.allowed(), Err: reason}
}

// errNotAllowed is the error if the allowed values are the only explanation.
var errNotAllowed = errors.New("not allowed")

// check applies the rules of the option's tags. The empty text is allowed if it is the default or
// has a meaning.
func (o option) check(text string) error {
	if text == "" && (o.byDef == "" || o.empty != "") {
		return nil
	}
	if len(o.oneof) > 0 && !slices.Contains(o.oneof, text) {
		return errNotAllowed
	}
	if f := formNamed(o.form); f.check != nil {
		return f.check(text)
	}
	if strings.HasSuffix(o.key, "-id") && (text == "." || text == "..") {
		return errors.New("it is not an ID") // in the path of a URL it would address another resource
	}
	return nil
}

// decode converts a text to the type of the field.
func (o option) decode(field reflect.Value, text string) error {
	if field.Kind() == reflect.Pointer { // nil means not given
		value := reflect.New(field.Type().Elem())
		err := o.decode(value.Elem(), text)
		if err == nil {
			field.Set(value)
		}
		return err
	}
	switch target := field.Addr().Interface().(type) {
	case *string:
		*target = text
	case *[]string:
		*target = append(*target, text)
	case *bool:
		return decodeBool(target, text)
	case *Duration:
		return target.UnmarshalText([]byte(text))
	case *int:
		return decodeNumber(target, text, o)
	case *uint:
		return decodeNumber(target, text, o)
	default:
		return fmt.Errorf("no setting has type %s", field.Type())
	}
	return nil
}

func decodeBool(target *bool, text string) error {
	value, err := types.ParseBool(text)
	if err != nil {
		return errNotAllowed
	}
	*target = value
	return nil
}

// decodeNumber parses a decimal or 0x number, as gcfg does, within the bounds of the option.
func decodeNumber[N int | uint](target *N, text string, o option) error {
	var value N
	if err := types.ParseInt(&value, text, types.Dec|types.Hex); err != nil {
		return errNotAllowed
	}
	if value < N(o.min) || o.max > 0 && value > N(o.max) {
		return errNotAllowed
	}
	*target = value
	return nil
}

// allowed describes the values of the option, for errors and documentation.
func (o option) allowed() string {
	switch {
	case len(o.oneof) > 0:
		return strings.Join(o.oneof, ", ")
	case o.form != "":
		return formNamed(o.form).allowed
	}
	switch o.kind() {
	case "boolean":
		return "true, yes, on, 1 or false, no, off, 0"
	case "duration":
		return "a duration that is not negative (such as 5s, 1m30s or 5 for seconds)"
	case "number":
		return o.allowedNumber()
	default:
		return "a value after ="
	}
}

func (o option) allowedNumber() string {
	if o.max > 0 {
		return fmt.Sprintf("a whole number from %d to %d", o.min, o.max)
	}
	return fmt.Sprintf("a whole number, at least %d", o.min)
}
