package octavia

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/netip"
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
	kindWholeURL
	kindEnumInteger
	kindHTTPVersion
	kindALPN
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
	pattern   string
	shown     string // the pattern as errors print it, where that is another
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
	default: // a value of its own
	}
	if failure := a.readable(value); failure != nil {
		return nil, failure
	}
	if a.kind == kindWholeURL && release.HardenedTexts {
		switch text, is := value.(string); {
		case !is:
			return nil, a.wrong(value, "expected string or bytes-like object, got '"+pythonType(value)+"'")
		case hasControls(text) || strings.Contains(text, " "):
			return nil, a.wrong(value, "Value must be a valid URL string")
		}
	}
	converted, why := a.convert(value)
	switch {
	case why == tooLarge && a.kind == kindInteger:
		return nil, crash(why)
	case why != "" && (a.kind == kindEnumInteger || a.kind == kindHTTPVersion):
		return nil, a.wrong(converted, why) // the number that was read
	case why != "":
		return nil, a.wrong(value, why)
	}
	return converted, nil
}

// readable finds values that Python cannot convert to the attribute's type.
func (a attribute) readable(value any) *apiError {
	text, isText := value.(string)
	_, isNumber := value.(json.Number)
	_, isTruth := value.(bool)
	switch a.kind {
	case kindInteger, kindEnumInteger:
		if isText && !isPythonInt(text) {
			return &apiError{conversion: true, text: "invalid literal for int() with base 10: " + shortRepr(text)}
		}
		if !isText && !isNumber && !isTruth {
			return crash("int() argument must be a string, a bytes-like object or a real number, not '" + pythonType(value) + "'")
		}
	case kindBoolean:
		if _, why := boolean(value); why != "" {
			return &apiError{conversion: true, text: why}
		}
	case kindHTTPVersion:
		if !isText && !isNumber && !isTruth {
			return crash("float() argument must be a string or a real number, not '" + pythonType(value) + "'")
		}
		if _, err := strconv.ParseFloat(strings.TrimSpace(text), 64); isText && err != nil {
			return &apiError{conversion: true, text: "could not convert string to float: " + pythonRepr(text)}
		}
	case kindTexts, kindCIDRs, kindUUIDs, kindALPN:
		if _, is := value.([]any); !is {
			return &apiError{conversion: true, text: "Value not a valid list: " + python(value)}
		}
	default: // all that is JSON can be converted
	}
	return nil
}

func (a attribute) parseObjects(release Release, value any, path string) (any, *apiError) {
	items, is := value.([]any)
	if !is {
		return nil, &apiError{conversion: true, text: "Value not a valid list: " + python(value)}
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
	case kindHTTPVersion:
		return httpVersion(value)
	case kindEnumInteger:
		a.least = math.MinInt
		number, why := a.integer(value)
		if why == "" && !slices.Contains(a.enum, fmt.Sprint(number)) {
			why = "Value should be one of: " + strings.Join(a.enum, ", ")
		}
		return number, why
	case kindTexts, kindCIDRs, kindUUIDs, kindALPN:
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
	if read, is := pythonInt(text); is {
		number, err = read, nil
	}
	if large, is := new(big.Int).SetString(text, 10); err != nil && is {
		number, err = math.MaxInt, nil
		if large.Sign() < 0 {
			number = math.MinInt
		}
	}
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
	if number == math.MaxInt {
		return nil, tooLarge
	}
	return number, ""
}

func isPythonInt(text string) bool {
	_, large := new(big.Int).SetString(strings.TrimSpace(text), 10)
	_, is := pythonInt(text)
	return is || large
}

// tooLarge is said of numbers that no column holds. It is no refusal, but an
// error of the database.
const tooLarge = "Python int too large to convert to SQLite INTEGER"

// shortRepr is what Python prints of a text in some errors: 200 characters.
func shortRepr(text string) string {
	quoted := []rune(pythonRepr(text))
	return string(quoted[:min(len(quoted), 200)])
}

// httpVersion is one of two numbers, which may be written as a text.
func httpVersion(value any) (any, string) {
	text := strings.TrimSpace(python(value))
	if truth, is := value.(bool); is {
		text = map[bool]string{true: "1", false: "0"}[truth]
	}
	number, _ := strconv.ParseFloat(text, 64)
	if number != 1 && number != 1.1 {
		return json.Number(pythonFloat(number)), "Value should be one of: 1.0, 1.1"
	}
	return strconv.FormatFloat(number, 'f', 1, 64), ""
}

// pythonFloat prints a number as Python does.
func pythonFloat(number float64) string {
	if number != 0 && (math.Abs(number) >= 1e16 || math.Abs(number) < 1e-4) {
		return strconv.FormatFloat(number, 'e', -1, 64)
	}
	text := strconv.FormatFloat(number, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func boolean(value any) (any, string) {
	unreadable := "Value not an unambiguous boolean: " + python(value)
	switch v := value.(type) {
	case bool:
		return v, ""
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return nil, unreadable
		}
		return v.String() != "0" && v.String() != "-0", ""
	}
	switch value {
	case "true", "1", "t", "on", "yes", "y":
		return true, ""
	case "false", "0", "f", "off", "no", "n":
		return false, ""
	}
	return nil, unreadable
}

func (a attribute) list(value any) (any, string) {
	items, is := value.([]any)
	if !is {
		return nil, "Value not a valid list: " + python(value)
	}
	inner := attribute{kind: map[kind]kind{kindTexts: kindText, kindCIDRs: kindText, kindUUIDs: kindUUID, kindALPN: kindText}[a.kind], most: a.most, enum: a.enum}
	if len(a.enum) > 0 {
		inner.kind = kindEnum
	}
	words := make([]string, 0, len(items))
	for _, item := range items {
		word, why := inner.word(item)
		switch {
		case why == "" && a.kind == kindCIDRs:
			word, why = network(word)
		case why == "" && a.kind == kindALPN && !slices.Contains(alpnProtocols(), word):
			why = "Value should be a valid ALPN protocol ID"
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

// isContainer reports whether Python would have a list or a dict.
func isContainer(value any) bool {
	return slices.Contains([]string{"list", "dict"}, pythonType(value))
}

// word checks a value that must be a string.
func (a attribute) word(value any) (string, string) {
	text, is := value.(string)
	if !is && a.kind == kindEnum && isContainer(value) {
		return "", "unhashable type: '" + pythonType(value) + "'"
	}
	if !is && !slices.Contains([]kind{kindUUID, kindIP, kindEnum, kindURL, kindWholeURL}, a.kind) {
		return "", "Value should be string"
	}
	switch a.kind {
	case kindUUID:
		parsed, err := uuid.Parse(text)
		if err != nil || len(strings.ReplaceAll(text, "-", "")) != 32 {
			return "", "Value should be UUID format"
		}
		return parsed.String(), ""
	case kindIP:
		if isContainer(value) {
			return "", "int() argument must be a string, a bytes-like object or a real number, not '" + pythonType(value) + "'"
		}
		if address, err := netip.ParseAddr(text); err != nil || address.Zone() != "" {
			return "", "Value should be IPv4 or IPv6 format"
		}
	case kindEnum:
		if !slices.Contains(a.enum, text) {
			return "", "Value should be one of: " + strings.Join(a.enum, ", ")
		}
	case kindWholeURL:
		if !isWholeURL(text) {
			return "", "Value must be a valid URL string"
		}
	case kindURL:
		if !isURLPath(text) {
			return "", "Value must be a valid URL Path string"
		}
	case kindCodes:
		if !expectedCodes().MatchString(text) {
			return "", `Value should match the pattern ^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$`
		}
	default:
		return text, a.misshapen(text)
	}
	return text, ""
}

// misshapen returns the error in the length or the format of a text.
func (a attribute) misshapen(text string) string {
	switch {
	case len([]rune(text)) < a.least:
		return fmt.Sprintf("Value should have a minimum character requirement of %d", a.least)
	case a.most != 0 && len([]rune(text)) > a.most:
		return fmt.Sprintf("Value should have a maximum character requirement of %d", a.most)
	case a.pattern != "" && !pythonPattern(a.pattern).MatchString(text):
		return "Value should match the pattern " + cmp.Or(a.shown, a.pattern)
	}
	return ""
}

func expectedCodes() *regexp.Regexp {
	return pythonPattern(`^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$`)
}

// pythonPattern is a pattern as Python reads it, where $ is also the place
// before a newline at the end.
func pythonPattern(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, "$", `(?:\n?\z)`))
}

func alpnProtocols() []string { return []string{"h2", "http/1.1", "http/1.0"} }

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
