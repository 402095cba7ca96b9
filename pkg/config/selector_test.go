package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

// A list of labels means what it means to cloud-provider-openstack; the rest is a
// selector of Kubernetes.
func TestParseSelector_ReadsLabelsAndKubernetesSelectors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"nothing":             {"", ""},
		"only spaces":         {"  ", ""},
		"only commas":         {" , ,", ""},
		"key":                 {"edge", "edge"},
		"key and value":       {"pool=web", "pool=web"},
		"empty value":         {"pool=", "pool"},
		"several":             {"pool=web,edge", "edge,pool=web"},
		"spaces":              {" pool = web , edge ", "edge,pool=web"},
		"prefix":              {"node-role.kubernetes.io/worker=", "node-role.kubernetes.io/worker"},
		"all kinds of runes":  {"a_b.c-D9=x_y.z-0", "a_b.c-D9=x_y.z-0"},
		"a trailing comma":    {"env=prod,", "env=prod"},
		"twice":               {"a=b,a=c", "a=c"},
		"in":                  {"zone in (a, b),edge=", "edge,zone in (a,b)"},
		"notin":               {"zone notin (a),", "zone notin (a)"},
		"not":                 {"!spot, pool != web", "pool!=web,!spot"},
		"double equals":       {"pool==web", "pool==web"},
		"an empty value only": {"edge in ()", "edge in ()"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSelector(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("selector (-want +got):\n%s", diff)
			}
		})
	}
}

// "env=" is what charts write for "has the label": cloud-provider-openstack looks at no
// value there.
func TestParseSelector_TakesEmptyValueAsAnyValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"env", "env=", "env=,", "env=, !spot"} {
		selector, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		for value, node := range map[string]labels.Set{"prod": {"env": "prod"}, "none": {"env": ""}} {
			if !selector.Matches(node) {
				t.Errorf("%q does not select a node whose value is %s", text, value)
			}
		}
		if selector.Matches(labels.Set{"zone": "a"}) {
			t.Errorf("%q selects a node without the label", text)
		}
	}
}

func TestParseSelector_RefusesOtherText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=b":                           "a label without a key",
		"a=b=c":                        `"b=c" is not the value of a label`,
		"a=b c":                        `"b c" is not the value of a label`,
		"-a=b":                         `"-a" is not the key of a label`,
		"a.b/":                         `"a.b/" is not the key of a label`,
		"/a":                           `"/a" is not the key of a label`,
		"a/b/c":                        `"a/b/c" is not the key of a label`,
		"a in b":                       `"a in b" is not the key of a label`,
		"a in (":                       `"a in (" is not a Kubernetes selector`,
		"!!":                           `"!!" is not a Kubernetes selector`,
		"a==b==c":                      `"a==b==c" is not a Kubernetes selector`,
		"a," + strings.Repeat("b", 64): `"` + strings.Repeat("b", 64) + `" is not the key of a label`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSelector(text)
			if diff := cmp.Diff([]string{want}, lines(err)); diff != "" {
				t.Errorf("error (-want +got), result %v:\n%s", got, diff)
			}
		})
	}
}
