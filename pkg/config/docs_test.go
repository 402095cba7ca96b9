package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// TestReference_IsUpToDate compares docs/configuration.md with the table of
// settings. Run with -update to write it.
func TestReference_IsUpToDate(t *testing.T) {
	t.Parallel()
	golden.File(t, filepath.Join("..", "..", "docs", "configuration.md"), reference(t))
}

// TestConfig_HasWellFormedTableOfSettings guards what the table cannot check itself:
// that tags name what exists and that each setting has a comment.
func TestConfig_HasWellFormedTableOfSettings(t *testing.T) {
	t.Parallel()
	comments := fieldComments(t)
	for _, s := range sections() {
		seen := map[string]bool{}
		for _, o := range s.options {
			name := fmt.Sprintf("[%s] %s", s.name, o.key)
			if o.key == "" || seen[o.key] {
				t.Errorf("%s: no key, or the key of another field", name)
			}
			seen[o.key] = true
			if o.form != "" && formNamed(o.form).check == nil {
				t.Errorf("%s: no form %q", name, o.form)
			}
			if o.byDef != "" && o.check(o.byDef) != nil {
				t.Errorf("%s: the default is not allowed: %v", name, o.check(o.byDef))
			}
			if (len(o.env) > 0 || o.clouds != "" || o.secret) && s.name != "Global" {
				t.Errorf("%s: only [Global] has other sources and secrets", name)
			}
			if comments[s.name][s.typ.Field(o.index).Name] == "" {
				t.Errorf("%s: no comment", name)
			}
		}
	}
}

// fieldComments reads the comments of the structs in config.go, by struct and
// field.
func fieldComments(t *testing.T) map[string]map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, isType := node.(*ast.TypeSpec)
		if !isType {
			return true
		}
		structure, isStruct := spec.Type.(*ast.StructType)
		if !isStruct {
			return false
		}
		comments[spec.Name.Name] = map[string]string{}
		for _, field := range structure.Fields.List {
			text := strings.Join(strings.Fields(field.Doc.Text()), " ")
			comments[spec.Name.Name][field.Names[0].Name] = text
		}
		return false
	})
	return comments
}

// reference is the text of docs/configuration.md.
func reference(t *testing.T) string {
	t.Helper()
	introduction, err := os.ReadFile(filepath.Join("testdata", "introduction.md"))
	if err != nil {
		t.Fatal(err)
	}
	comments := fieldComments(t)
	var out strings.Builder
	out.Write(introduction)
	for _, s := range sections() {
		header := "[" + s.name + "]"
		if s.named {
			header = "[" + s.name + " \"name\"]"
		}
		fmt.Fprintf(&out, "\n## `%s`\n\n%s\n\n", header, comments["Config"][s.name])
		out.WriteString("| Key | CPO | Type | Default | Meaning |\n| --- | --- | --- | --- | --- |\n")
		for _, o := range s.options {
			writeRow(&out, o, comments[s.name][s.typ.Field(o.index).Name])
		}
	}
	writeSources(&out)
	return out.String()
}

func writeRow(out *strings.Builder, o option, meaning string) {
	if len(o.oneof) > 0 || o.form != "" || o.min > 0 {
		meaning += " Allowed: " + o.allowed() + "."
	}
	if o.secret {
		meaning += " Never printed."
	}
	if o.restart {
		meaning += " A change needs a restart."
	}
	has := "yes"
	if o.isNew {
		has = "no"
	}
	fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s |\n", o.key, has, o.kind(), code(o.byDef), cell(meaning))
}

// writeSources writes the names of the settings of [Global] in the environment and in clouds.yaml.
func writeSources(out *strings.Builder) {
	out.WriteString("\n## Names in the environment and in clouds.yaml\n\n| Key of `[Global]` | Environment | clouds.yaml |\n| --- | --- | --- |\n")
	for _, o := range globalSection().options {
		inClouds := code(o.clouds)
		if o.key == "tls-insecure" {
			inClouds = "`verify: false`"
		}
		if len(o.env) == 0 && inClouds == "" {
			continue
		}
		var variables []string
		for _, name := range o.env {
			variables = append(variables, code(name))
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", o.key, strings.Join(variables, ", "), inClouds)
	}
}

// code sets text in the type of code; empty text stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// cell is text that fits into a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(text, "|", `\|`)
}
