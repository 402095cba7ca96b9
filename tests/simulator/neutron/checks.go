package neutron

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// The tag check of a request's field lists the conditions on its value:
// `check:"required,uuid"`. The checks and their messages are those of
// neutron-lib's validators and converters.

// check looks at a value that is neither absent nor null, and returns it as
// the request type wants it.
type check func(name string, value any) (any, error)

func checks() map[string]check {
	return map[string]check{
		"text":      reasoned(textReason),
		"bool":      checkBool,
		"uuid":      reasoned(uuidReason),
		"uuids":     reasoned(eachOf(uuidReason)),
		"fixed-ips": reasoned(eachOf(fixedIPReason)),
		"pairs":     checkPairs,
		"prefixes":  checkPrefixes,
		"port":      checkPort,
		"direction": checkDirection,
		"l4":        checkForwarded,
		"l4-port":   reasoned(portReason),
	}
}

// checkAttributes checks and converts all attributes of a request in place.
func checkAttributes(attributes map[string]json.RawMessage, request reflect.Type) error {
	fields := reflect.VisibleFields(request)
	for _, field := range fields {
		name := field.Tag.Get("json")
		if _, present := attributes[name]; !present && slices.Contains(kindsOf(field), "required") {
			return missing(name)
		}
	}
	for _, field := range fields {
		name := field.Tag.Get("json")
		encoded, present := attributes[name]
		if !present || (string(encoded) == "null" && !slices.Contains(kindsOf(field), "required")) {
			continue
		}
		for _, kind := range kindsOf(field) {
			converted, err := applyCheck(kind, name, attributes[name])
			if err != nil {
				return err
			}
			attributes[name] = converted
		}
	}
	return nil
}

func kindsOf(field reflect.StructField) []string {
	if tag := field.Tag.Get("check"); tag != "" {
		return strings.Split(tag, ",")
	}
	return nil
}

func applyCheck(kind, name string, encoded json.RawMessage) (json.RawMessage, error) {
	apply, known := checks()[kind]
	if !known {
		return encoded, nil
	}
	var value any
	if err := json.Unmarshal(encoded, &value); err != nil {
		return nil, fmt.Errorf("attribute %s: %w", name, err)
	}
	if value == nil {
		value = "None" // as Python calls it
	}
	value, err := apply(name, value)
	if err != nil {
		return nil, err
	}
	converted, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("attribute %s: %w", name, err)
	}
	return converted, nil
}

func badValue(name, reason string) *Error {
	return httpError(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for %s. Reason: %s.", name, reason)
}

// reasoned returns a check with a function that returns why a value is invalid, "" if it is valid.
func reasoned(reason func(any) string) check {
	return func(name string, value any) (any, error) {
		if why := reason(value); why != "" {
			return nil, badValue(name, why)
		}
		return value, nil
	}
}

func eachOf(reason func(any) string) func(any) string {
	return func(value any) string {
		list, is := value.([]any)
		if !is {
			return fmt.Sprintf("'%v' is not a list", value)
		}
		for _, member := range list {
			if why := reason(member); why != "" {
				return why
			}
		}
		return ""
	}
}

// maxText is how long names, descriptions and tags may be.
const maxText = 255

func textReason(value any) string {
	text, is := value.(string)
	if !is {
		return fmt.Sprintf("'%v' is not a valid string", value)
	}
	if utf8.RuneCountInString(text) > maxText {
		return fmt.Sprintf("'%s' exceeds maximum length of %d", text, maxText)
	}
	return ""
}

// checkBool converts the spellings of a boolean.
func checkBool(_ string, value any) (any, error) {
	switch strings.ToLower(fmt.Sprint(value)) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return nil, notBoolean(value)
}

func notBoolean(value any) *Error { return invalidInput("'%v' cannot be converted to boolean", value) }

func uuidReason(value any) string {
	text, _ := value.(string)
	if uuid.Validate(text) != nil {
		return fmt.Sprintf("'%v' is not a valid UUID", value)
	}
	return ""
}

func fixedIPReason(value any) string {
	fixed, is := value.(map[string]any)
	if !is {
		return fmt.Sprintf("Invalid data format for fixed IP: '%v'", value)
	}
	if address, given := fixed["ip_address"]; given {
		return addressReason(address)
	}
	return uuidReason(fixed["subnet_id"])
}

func addressReason(value any) string {
	text, _ := value.(string)
	if _, err := netip.ParseAddr(text); err != nil {
		return fmt.Sprintf("'%v' is not a valid IP address", value)
	}
	return ""
}

// checkPairs looks at the addresses of allowed address pairs, which may be
// prefixes.
func checkPairs(_ string, value any) (any, error) {
	why := eachOf(func(member any) string {
		pair, _ := member.(map[string]any)
		text, _ := pair["ip_address"].(string)
		if _, err := netip.ParsePrefix(text); err == nil {
			return ""
		}
		return addressReason(pair["ip_address"])
	})(value)
	if why != "" {
		return nil, httpError(http.StatusBadRequest, "HTTPBadRequest", "%s", why)
	}
	return value, nil
}

// checkPrefixes takes the prefixes of an address group and cuts off their host
// bits.
func checkPrefixes(name string, value any) (any, error) {
	list, is := value.([]any)
	if !is {
		return nil, badValue(name, fmt.Sprintf("'%v' is not a list", value))
	}
	prefixes := []any{}
	for i, member := range list {
		if slices.Contains(list[:i], member) {
			return nil, badValue(name, fmt.Sprintf("Duplicate items in the list: '%v'", member))
		}
		text, _ := member.(string)
		if address, err := netip.ParseAddr(text); err == nil {
			return nil, badValue(name, fmt.Sprintf(
				"'%s' isn't a recognized IP subnet cidr, '%s/%d' is recommended", text, text, address.BitLen()))
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, badValue(name, fmt.Sprintf("'%v' is not a valid IP subnet", member))
		}
		prefixes = append(prefixes, prefix.Masked().String())
	}
	return prefixes, nil
}

// checkPort takes the number of a port, with or without quotes.
func checkPort(_ string, value any) (any, error) {
	var number int
	if _, err := fmt.Sscanf(fmt.Sprint(value), "%d", &number); err != nil {
		return nil, badRequest("SecurityGroupInvalidPortValue", "Invalid value for port %v", value)
	}
	return number, nil
}

// portReason is for the ports of port forwardings.
func portReason(value any) string {
	number, is := value.(float64)
	switch {
	case !is:
		return fmt.Sprintf("'%v' is not an integer", value)
	case number < 1:
		return fmt.Sprintf("'%v' is too small - must be at least '1'", value)
	case number > 65535:
		return fmt.Sprintf("'%v' is too large - must be no larger than '65535'", value)
	}
	return ""
}

// checkForwarded takes the protocols of port forwardings.
func checkForwarded(name string, value any) (any, error) {
	if value != "tcp" && value != "udp" {
		return nil, badValue(name, fmt.Sprintf("'%v' is not in ['tcp', 'udp']", value))
	}
	return value, nil
}

func checkDirection(name string, value any) (any, error) {
	if value != "ingress" && value != "egress" {
		return nil, badValue(name, fmt.Sprintf("%v is not in valid_values", value))
	}
	return value, nil
}
