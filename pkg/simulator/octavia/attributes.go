package octavia

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// kind is the type of an attribute.
type kind int

const (
	kindText kind = iota
	kindInteger
	kindBoolean
	kindNumber
	kindUUID
	kindUUIDs
	kindIP
	kindCIDRs
	kindEnum
	kindTexts
	kindURL
	kindHeaders
	kindCodes
	kindObject
	kindObjects
)

// schema lists the attributes that a request object may have, in the order in
// which Octavia looks at them.
type schema []attribute

type attribute struct {
	name      string
	kind      kind
	least     int
	most      int // of an integer, or characters of a text; 0 means no limit
	enum      []string
	mandatory bool
	fields    schema
	since     int // minor API version
}

// parse converts one JSON value; null is accepted everywhere and stays nil.
func (a attribute) parse(release Release, value any, path string) (any, *apiError) {
	if value == nil {
		return nil, nil
	}
	switch a.kind {
	case kindObject:
		return a.fields.parse(release, value, path+"."+a.name)
	case kindObjects:
		return a.parseObjects(release, value, path)
	}
	converted, why := a.convert(value)
	if why != "" {
		return nil, a.wrong(value, why)
	}
	return converted, nil
}

func (a attribute) parseObjects(release Release, value any, path string) (any, *apiError) {
	items, is := value.([]any)
	if !is {
		return nil, a.wrong(value, "Value not a valid list: "+python(value))
	}
	parsed := make([]body, 0, len(items))
	for _, item := range items {
		object, failure := a.fields.parse(release, item, path+"."+a.name)
		if failure != nil {
			return nil, failure
		}
		parsed = append(parsed, object)
	}
	return parsed, nil
}

func (a attribute) convert(value any) (converted any, why string) {
	switch a.kind {
	case kindInteger:
		return a.integer(value)
	case kindBoolean:
		return boolean(value)
	case kindNumber:
		number, is := value.(json.Number)
		if !is {
			return nil, fmt.Sprintf("Wrong type. Expected '<class 'float'>', got '<class '%s'>'", pythonType(value))
		}
		return number.String(), ""
	case kindTexts, kindCIDRs, kindUUIDs:
		return a.list(value)
	case kindHeaders:
		return headers(value)
	default:
		return a.word(value)
	}
}

func (a attribute) integer(value any) (any, string) {
	text := python(value)
	if truth, is := value.(bool); is {
		text = map[bool]string{true: "1", false: "0"}[truth]
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		float, floatErr := strconv.ParseFloat(text, 64)
		if _, is := value.(json.Number); !is || floatErr != nil {
			return nil, fmt.Sprintf("Wrong type. Expected '<class 'int'>', got '<class '%s'>'", pythonType(value))
		}
		number = int(float)
	}
	if number < a.least {
		return nil, fmt.Sprintf("Value should be greater or equal to %d", a.least)
	}
	if a.most != 0 && number > a.most {
		return nil, fmt.Sprintf("Value should be lower or equal to %d", a.most)
	}
	return number, ""
}

func boolean(value any) (any, string) {
	switch strings.ToLower(python(value)) {
	case "true", "1", "t", "on", "yes", "y":
		return true, ""
	case "false", "0", "f", "off", "no", "n":
		return false, ""
	}
	return nil, "Value not an unambiguous boolean: " + python(value)
}

func (a attribute) list(value any) (any, string) {
	items, is := value.([]any)
	if !is {
		return nil, "Value not a valid list: " + python(value)
	}
	inner := attribute{kind: map[kind]kind{kindTexts: kindText, kindCIDRs: kindText, kindUUIDs: kindUUID}[a.kind], most: a.most, enum: a.enum}
	if len(a.enum) > 0 {
		inner.kind = kindEnum
	}
	words := make([]string, 0, len(items))
	for _, item := range items {
		word, why := inner.word(item)
		if why == "" && a.kind == kindCIDRs {
			word, why = network(word)
		}
		if why != "" {
			return nil, why
		}
		words = append(words, word)
	}
	return words, ""
}

func headers(value any) (any, string) {
	given, is := value.(map[string]any)
	if !is {
		return nil, "Value should be a dictionary"
	}
	converted := map[string]string{}
	for key, item := range given {
		converted[key] = python(item)
	}
	return converted, ""
}

// word checks what is a string on the wire.
func (a attribute) word(value any) (string, string) {
	text, is := value.(string)
	if !is {
		return "", "Value should be string"
	}
	switch a.kind {
	case kindUUID:
		if _, err := uuid.Parse(text); err != nil || len(strings.ReplaceAll(text, "-", "")) != 32 {
			return "", "Value should be UUID format"
		}
	case kindIP:
		if _, err := netip.ParseAddr(text); err != nil {
			return "", "Value should be IPv4 or IPv6 format"
		}
	case kindEnum:
		if !slices.Contains(a.enum, text) {
			return "", "Value should be one of: " + strings.Join(a.enum, ", ")
		}
	case kindURL:
		if !isURLPath(text) {
			return "", "A valid URL path must begin with a slash"
		}
	case kindCodes:
		if !expectedCodes().MatchString(text) {
			return "", `Value should match the pattern ^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$`
		}
	default:
		if len([]rune(text)) < a.least {
			return "", fmt.Sprintf("Value should have a minimum character requirement of %d", a.least)
		}
		if a.most != 0 && len([]rune(text)) > a.most {
			return "", fmt.Sprintf("Value should have a maximum character requirement of %d", a.most)
		}
	}
	return text, ""
}

func expectedCodes() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$`)
}

func isURLPath(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && strings.HasPrefix(text, "/") && parsed.Host == ""
}

// network cuts the host bits off a prefix, as Octavia stores it. A bare
// address is a network of one.
func network(text string) (masked, why string) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked().String(), ""
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()).String(), ""
	}
	return "", "Value should be IPv4 or IPv6 CIDR format"
}
