package octavia

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// body is a parsed request object: only the keys that the caller gave, with
// values of the attribute's type; nil where the caller gave null.
type body map[string]any

func (b body) has(key string) bool { _, given := b[key]; return given }

// text is "" when the key is absent or null.
func (b body) text(key string) string {
	value, _ := b[key].(string)
	return value
}

func (b body) integer(key string, missing int) int {
	if value, is := b[key].(int); is {
		return value
	}
	return missing
}

// boolean is false for null, as Octavia stores it.
func (b body) boolean(key string, missing bool) bool {
	if !b.has(key) {
		return missing
	}
	value, _ := b[key].(bool)
	return value
}

func (b body) texts(key string) []string {
	value, _ := b[key].([]string)
	return slices.Clone(value)
}

func (b body) object(key string) body {
	value, _ := b[key].(body)
	return value
}

func (b body) objects(key string) []body {
	value, _ := b[key].([]body)
	return value
}

// parse reads a request of the form {wrapper: {…}} or {wrapper: […]}.
// argument is the name of Octavia's method argument, which error texts carry.
func (o *Octavia) parse(c *call, argument, wrapper string, inner schema) (any, *apiError) {
	if len(c.body) == 0 {
		return nil, refuse(http.StatusBadRequest, "Missing argument: %q", cmp.Or(c.missing, argument))
	}
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil || !json.Valid(c.body) {
		return nil, refuse(http.StatusBadRequest, "Request is not in valid JSON format")
	}
	if decoded == nil {
		return nil, crash("'NoneType' object has no attribute '" + cmp.Or(map[string]string{"quota": "to_dict"}[wrapper], wrapper) + "'")
	}
	root := schema{{name: wrapper, kind: kindObject, fields: inner}}
	if strings.HasSuffix(wrapper, "s") {
		root[0].kind = kindObjects
	}
	parsed, failure := root.parse(o.release, decoded, argument)
	switch {
	case failure != nil && failure.conversion:
		return nil, refuse(http.StatusBadRequest, "Invalid input for field/attribute %s. Value: '%s'. %s",
			argument, pythonJSON(c.body), failure.text)
	case failure != nil:
		return nil, failure
	}
	if c.missing != "" {
		return nil, refuse(http.StatusBadRequest, "Missing argument: %q", c.missing)
	}
	value, given := parsed[wrapper]
	if value != nil {
		return value, nil
	}
	if _, monitor, found := find[*Monitor](o, c.id); found && monitor.isHTTP() && wrapper == "healthmonitor" {
		return nil, absent(given, "delay")
	}
	return nil, emptyWrapper(c, wrapper, given)
}

// emptyWrapper is how Octavia fails on {} and on {wrapper: null}: at the first
// use of an attribute, if only once it has found the object.
func emptyWrapper(c *call, wrapper string, given bool) *apiError {
	missing := "UnsetType"
	if given {
		missing = "NoneType"
	}
	attribute := func(name string) *apiError { return absent(given, name) }
	switch wrapper {
	case "members":
		return crash("'" + missing + "' object is not iterable")
	case "quota":
		if !given {
			return crash("'quota'")
		}
		return attribute("items")
	case "flavor", "availability_zone":
		return attribute("to_dict")
	}
	update := map[string]string{
		"loadbalancer": "vip_qos_policy_id", "pool": "tls_versions", "member": "backup", "healthmonitor": "http_method",
		"l7policy": "to_dict", "rule": "invert", "flavorprofile": "name", "availability_zone_profile": "name",
	}
	create := map[string]string{
		"loadbalancer": "project_id", "listener": "loadbalancer_id", "pool": "loadbalancer_id", "healthmonitor": "pool_id",
		"member": "address", "l7policy": "listener_id", "flavorprofile": "flavor_data", "availability_zone_profile": "availability_zone_data",
	}
	switch {
	case wrapper == "listener" && c.update:
		return invalid("No listener object supplied.")
	case wrapper == "rule" && !c.update && given:
		return attribute("project_id")
	case wrapper == "rule" && !c.update:
		return refuse(http.StatusBadRequest, "Error parsing L7Rule: 'UnsetType' object has no attribute 'value'")
	case wrapper == "member" && !c.update && given:
		return attribute("project_id")
	case c.update:
		return attribute(update[wrapper])
	}
	return attribute(create[wrapper])
}

// absent returns Python's error for an attribute of null or of a missing value.
func absent(given bool, name string) *apiError {
	kind := map[bool]string{true: "NoneType", false: "UnsetType"}[given]
	return crash("'" + kind + "' object has no attribute '" + name + "'")
}

func (o *Octavia) parseObject(c *call, argument, wrapper string, inner schema) (body, *apiError) {
	value, failure := o.parse(c, argument, wrapper, inner)
	if failure != nil {
		return nil, failure
	}
	return value.(body), nil
}

// parse checks an object against the schema. path is where it stands in the
// request, for the error about unknown attributes.
func (s schema) parse(release Release, decoded any, path string) (body, *apiError) {
	given, is := decoded.(map[string]any)
	if !is {
		return nil, crash("'" + pythonType(decoded) + "' object has no attribute 'keys'")
	}
	var unknown []string
	for key := range given {
		if !slices.ContainsFunc(s, func(a attribute) bool { return a.name == key && release.has(a.since) }) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		plural := ""
		if len(unknown) > 1 {
			plural = "s"
		}
		return nil, refuse(http.StatusBadRequest, "Unknown attribute%s for argument %s: %s",
			plural, path, strings.Join(unknown, ", "))
	}
	parsed := body{}
	for _, attribute := range s {
		value, present := given[attribute.name]
		if !present {
			if attribute.mandatory {
				return nil, attribute.wrong(nil, "Mandatory field missing.")
			}
			continue
		}
		converted, failure := attribute.parse(release, value, path)
		if failure != nil {
			return nil, failure
		}
		parsed[attribute.name] = converted
	}
	if tenant := parsed.text("tenant_id"); tenant != "" {
		parsed["project_id"] = tenant
	}
	return parsed, nil
}

func (a attribute) wrong(value any, why string) *apiError {
	if a.name == "tenant_id" {
		a.name = "project_id"
	}
	return refuse(http.StatusBadRequest, "Invalid input for field/attribute %s. Value: '%s'. %s", a.name, python(value), why)
}

// python prints a JSON value as Python's str() does.
func python(value any) string {
	if text, is := value.(string); is {
		return text
	}
	return pythonRepr(value)
}

func pythonRepr(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return pythonQuote(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = pythonRepr(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = pythonRepr(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		items := make([]string, 0, len(v))
		for key, item := range v {
			items = append(items, pythonRepr(key)+": "+pythonRepr(item))
		}
		slices.Sort(items)
		return "{" + strings.Join(items, ", ") + "}"
	default:
		return fmt.Sprint(v)
	}
}

// pythonJSON prints a JSON text as Python prints what it reads from it, with
// the keys in their order.
func pythonJSON(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return pythonNext(decoder)
}

func pythonNext(decoder *json.Decoder) string {
	token, err := decoder.Token()
	if err != nil {
		return ""
	}
	var items []string
	switch token {
	case json.Delim('{'):
		for decoder.More() {
			key := pythonNext(decoder)
			items = append(items, key+": "+pythonNext(decoder))
		}
		_, _ = decoder.Token() // the closing brace: the text is valid
		return "{" + strings.Join(items, ", ") + "}"
	case json.Delim('['):
		for decoder.More() {
			items = append(items, pythonNext(decoder))
		}
		_, _ = decoder.Token() // the closing bracket
		return "[" + strings.Join(items, ", ") + "]"
	}
	return pythonRepr(token)
}

func pythonType(value any) string {
	switch v := value.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case string:
		return "str"
	case []any:
		return "list"
	case map[string]any:
		return "dict"
	case json.Number:
		if _, err := strconv.Atoi(v.String()); err == nil {
			return "int"
		}
	}
	return "float"
}
