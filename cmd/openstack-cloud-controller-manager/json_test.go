package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/check"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/dryrun"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// The page has every field of the reports, so that none is removed or renamed unseen.
func TestReference_HasTheFieldsOfEveryReport(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, report := range []struct {
		kind, of string
		value    any
	}{
		{"Check", "`check`", check.Report{}}, {"Plan", "`plan`", plan.Report{}}, {"GoingBack", "`plan --for=cloud-provider-openstack`", plan.GoingBack{}},
		{"Status", "`status`", status.Report{}}, {"Cleanup", "`cleanup`", garbage.Report{}}, {"DryRun", "[`/dry-run?output=json`](commands.md#plan-with-the-whole-controller)", dryrun.State{}},
	} {
		fmt.Fprintf(&text, "\n### %s\n\nThe report of %s.\n\n| field | type |\n|---|---|\n", report.kind, report.of)
		writeFields(&text, "", reflect.TypeOf(report.value))
		if report.kind != "DryRun" {
			text.WriteString("| `exitCode` | number |\n")
		}
	}
	golden.Part(t, "../../docs/json.md", "json", text.String()+"\n")
}

// writeFields writes the fields that encoding/json makes of a struct, and those below them.
func writeFields(out *strings.Builder, path string, of reflect.Type) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		typ, list := field.Type, ""
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			if typ.Kind() == reflect.Slice {
				list = "[]"
			}
			typ = typ.Elem()
		}
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
		case field.Anonymous && name == "":
			writeFields(out, path, typ)
		default:
			name = path + cmp.Or(name, field.Name)
			kind, nested := kindOf(typ)
			if list != "" {
				kind = "list of " + kind
			}
			fmt.Fprintf(out, "| `%s` | %s |\n", name, kind)
			if nested {
				writeFields(out, name+list+".", typ)
			}
		}
	}
}

// kindOf returns what a value is called in JSON, and whether it has fields that are worth naming.
func kindOf(typ reflect.Type) (kind string, nested bool) {
	switch {
	case typ == reflect.TypeFor[time.Time]() || strings.HasSuffix(typ.String(), "v1.Time"):
		return "time", false
	case typ.Kind() == reflect.Struct:
		return "object", true
	case typ.Kind() == reflect.Map:
		return "object", false
	case typ.Kind() == reflect.Bool:
		return "boolean", false
	case typ.Kind() == reflect.String:
		return "text", false
	}
	return "number", false
}
