package manifests_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	yamlv3 "go.yaml.in/yaml/v3"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register" // two flags
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// schema is a JSON schema, or a part of one.
type schema map[string]any

// TestSchemaReference_IsMadeFromValuesSettingsAndFlags compares the schema of the chart's
// values with what it is made from: values.yaml with its comments, the table of settings of
// cloud.conf, the flags of the program, the types of Kubernetes, and testdata/schema.yaml, which has what a default
// does not say. Run with -update to write it: it is not parallel, as the others render with it.
func TestSchemaReference_IsMadeFromValuesSettingsAndFlags(t *testing.T) {
	var values yamlv3.Node
	if err := yamlv3.Unmarshal(readFile(t, "chart/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	var more map[string]schema
	if err := yaml.UnmarshalStrict(readFile(t, "testdata/schema.yaml"), &more); err != nil {
		t.Fatal(err)
	}
	for section, keys := range cloudConfSchema(t) {
		more["cloudConfig."+section] = keys
	}
	more["args"] = schema{"type": []string{"object", "null"}, "properties": flagsSchema(t), "additionalProperties": false}
	definitions := types{}
	for path, goType := range typedValues() {
		of := definitions.of(goType)
		if goType == reflect.TypeFor[v1.Probe]() {
			of = schema{"anyOf": []schema{of, {"type": "boolean"}}}
		}
		more[path] = of
	}
	of := schemaOf("", values.Content[0], more)
	of["definitions"] = definitions
	of["$schema"] = "https://json-schema.org/draft-07/schema"
	for path := range more {
		if path != "global" {
			t.Errorf("testdata/schema.yaml has %s, which values.yaml has not", path)
		}
	}
	// Charts that have this one as a part give it their global values.
	of["properties"].(schema)["global"] = more["global"]
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(of); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "chart/values.schema.json", text.String())
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// schemaOf is the schema of a value of which this is the default. What more says of its path
// takes precedence, and is taken out of more.
func schemaOf(path string, value *yamlv3.Node, more map[string]schema) schema {
	if said, ok := more[path]; ok {
		delete(more, path)
		return said
	}
	switch {
	case value.Kind == yamlv3.MappingNode && len(value.Content) > 0:
		properties, required := schema{}, []string{}
		for i := 0; i < len(value.Content); i += 2 {
			name := value.Content[i]
			of := schemaOf(strings.TrimPrefix(path+"."+name.Value, "."), value.Content[i+1], more)
			if comment := meaning(name.HeadComment); comment != "" && of["description"] == nil {
				of["description"] = comment
			}
			properties[name.Value] = of
			if of["type"] == "string" || of["type"] == "integer" {
				required = append(required, name.Value) // Helm takes a value of null out
			}
		}
		object := schema{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
		if len(required) > 0 {
			object["required"] = required
		}
		return object
	case value.Kind == yamlv3.MappingNode:
		return schema{"type": []string{"object", "null"}}
	case value.Kind == yamlv3.SequenceNode:
		return schema{"type": []string{"array", "null"}}
	case value.Tag == "!!bool":
		return schema{"type": "boolean"}
	case value.Tag == "!!int":
		return schema{"type": "integer"}
	default:
		return schema{"type": []string{"string", "null"}}
	}
}

// meaning is the comment as one line.
func meaning(comment string) string {
	paragraphs := strings.Split(comment, "\n\n")
	return strings.Join(strings.Fields(strings.ReplaceAll(paragraphs[len(paragraphs)-1], "#", "")), " ")
}

// cloudConfSchema is the schema of the sections, by their names in values.yaml.
func cloudConfSchema(t *testing.T) map[string]schema {
	t.Helper()
	var sections map[string]schema
	if err := json.Unmarshal(readFile(t, "../pkg/config/testdata/schema.json"), &sections); err != nil {
		t.Fatal(err)
	}
	byValue := map[string]schema{}
	for name, keys := range sections {
		byValue[strings.ToLower(name[:1])+name[1:]] = keys
	}
	// cloud-provider-openstack has had it, and users may still set it after a switch.
	byValue["loadBalancer"]["properties"].(map[string]any)["use-octavia"] = schema{"deprecated": true}
	return byValue
}

// flagsSchema is the schema of the flags by their names.
func flagsSchema(t *testing.T) schema {
	t.Helper()
	flags := schema{}
	programFlags(t).VisitAll(func(flag *pflag.Flag) {
		types := []string{"string", "number", "boolean", "array", "null"}
		if flag.Value.Type() == "bool" {
			types = []string{"boolean", "string", "null"}
		}
		flags[flag.Name] = schema{"type": types}
	})
	return flags
}

// programFlags are those of k8s.io/cloud-provider, and our own. A test of the program
// compares the latter with the schema.
func programFlags(t *testing.T) *pflag.FlagSet {
	t.Helper()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	var own cliflag.NamedFlagSets
	own.FlagSet("openstack").StringArray("user-agent", nil, "")
	own.FlagSet("openstack").String("tracing-config-file", "", "")
	own.FlagSet("openstack").Bool("dry-run", false, "")
	own.FlagSet("openstack").Bool("pod-readiness-gates", false, "")
	none := func(*appconfig.CompletedConfig) cloudprovider.Interface { return nil }
	command := app.NewCloudControllerManagerCommand(opts, none, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), own, nil)
	return command.Flags()
}
