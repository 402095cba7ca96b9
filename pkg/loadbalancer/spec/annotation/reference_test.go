package annotation_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// TestReference_IsUpToDate keeps the documentation of annotations like the table in the
// code.
func TestReference_IsUpToDate(t *testing.T) {
	t.Parallel()
	introduction, err := os.ReadFile("testdata/introduction.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../../../docs/annotations.md", string(introduction)+reference())
}

// TestTable_NamesOnlyKeysOfCloudConf keeps the link between annotations and cloud.conf
// true.
func TestTable_NamesOnlyKeysOfCloudConf(t *testing.T) {
	t.Parallel()
	for _, a := range annotation.Table() {
		if _, ok := keyOf[config.LoadBalancer](a.Key); !ok && a.Key != "" {
			t.Errorf("%s: cloud.conf has no [LoadBalancer] %s", a.Name, a.Key)
		}
	}
}

func reference() string {
	var b strings.Builder
	for _, group := range annotation.Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| annotation | CPO | values | without it | effect | a later change is |\n|---|---|---|---|---|---|\n", group.Title)
		for _, a := range group.Annotations {
			has := "yes"
			if a.New {
				has = "no"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s: %s | %s | %s | %s |\n", a.Name, has, a.Type, allowed(a), otherwise(a), effect(a), a.Change)
		}
	}
	return b.String()
}

// effect describes the effect of an annotation, and whether it can have it on one port only.
func effect(a annotation.Annotation) string {
	if a.PerPort {
		return a.Doc + " Also [per port](#per-port)."
	}
	return a.Doc
}

// allowed describes the valid values, and the handling of others.
func allowed(a annotation.Annotation) string {
	text := a.Allowed
	if a.EmptyIsNone {
		text += "; empty is none"
	}
	if a.Lenient() && a.Name != annotation.KeepFloatingIP {
		text += "; else as without it"
	}
	return text
}

// otherwise describes the value without the annotation.
func otherwise(a annotation.Annotation) string {
	byDefault, _ := keyOf[config.LoadBalancer](a.Key)
	if a.Default != "" || byDefault == "" {
		byDefault = a.Default
	}
	if a.Key == "" {
		return byDefault
	}
	text := "`" + a.Key + "`"
	if _, ok := keyOf[config.LoadBalancerClass](a.Key); ok {
		text += " of the class, else of [LoadBalancer]"
	} else {
		text += " of [LoadBalancer]"
	}
	if byDefault != "" {
		text += ", else " + byDefault
	}
	return text
}

// keyOf finds a key of a section of cloud.conf, and its default.
func keyOf[Section any](key string) (byDefault string, found bool) {
	section := reflect.TypeFor[Section]()
	for i := range section.NumField() {
		if tag := section.Field(i).Tag; key != "" && tag.Get("gcfg") == key {
			return tag.Get("default"), true
		}
	}
	return "", false
}
