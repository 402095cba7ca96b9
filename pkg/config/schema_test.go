package config

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// TestSchemaReference_IsMadeFromTableOfSettings compares the JSON schema of cloud.conf, of
// which manifests has the schema of the chart's values, with the table of settings. Run with
// -update to write it.
func TestSchemaReference_IsMadeFromTableOfSettings(t *testing.T) {
	t.Parallel()
	golden.File(t, filepath.Join("testdata", "schema.json"), schemaText(t))
}

func schemaText(t *testing.T) string {
	t.Helper()
	comments, all := fieldComments(t), map[string]any{}
	for _, s := range sections() {
		keys := map[string]any{}
		for _, o := range s.options {
			keys[o.key] = o.schema(comments[s.name][s.typ.Field(o.index).Name])
		}
		of := map[string]any{"type": []string{"object", "null"}, "additionalProperties": false, "properties": keys}
		if s.named {
			of = map[string]any{"type": []string{"object", "null"}, "additionalProperties": of}
		}
		of["description"] = comments["Config"][s.name]
		all[s.name] = of
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(all); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// schema is that of a value in YAML. Null is a key that is not given; so is empty text, but
// where it has a meaning. Text must be text: a number that YAML has read may have lost its
// zeros or its digits.
func (o option) schema(meaning string) map[string]any {
	schema := map[string]any{"description": meaning}
	if o.byDef != "" {
		schema["default"] = o.byDef
	}
	if o.secret {
		schema["writeOnly"] = true
	}
	switch kind := o.kind(); {
	case o.form == "literal-bool":
		schema["enum"] = []any{true, false, "true", "false", "", nil}
	case kind == "boolean":
		schema["enum"] = []any{true, false, "true", "false", "yes", "no", "on", "off", "1", "0", "", nil}
	case kind == "number":
		schema["type"], schema["pattern"] = []string{"integer", "string", "null"}, `^(-?[0-9]+)?$`
		if lowest, bounded := o.lowest(); bounded {
			schema["minimum"] = lowest
		}
		if o.max > 0 {
			schema["maximum"] = o.max
		}
	case kind == "duration":
		schema["type"], schema["pattern"] = []string{"integer", "string", "null"}, `^([0-9]+|([0-9.]+(ns|us|ms|s|m|h))+)?$`
	case len(o.oneof) > 0:
		var values []any
		for _, value := range o.oneof {
			values = append(values, value)
		}
		schema["enum"] = append(values, "", nil)
	case kind == "list":
		schema["type"], schema["items"] = []string{"string", "array", "null"}, map[string]any{"type": "string"}
	default:
		schema["type"] = []string{"string", "null"}
	}
	return schema
}

// lowest is the bound that the value has from below: that of the table, or of its type.
func (o option) lowest() (int, bool) {
	unsigned := o.typ.Kind() == reflect.Uint
	return o.min, o.min != 0 || unsigned || o.max > 0
}
