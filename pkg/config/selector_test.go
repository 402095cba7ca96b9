package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelectorIsAListOfLabels(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []Requirement
	}{
		"nothing":            {"", nil},
		"only spaces":        {"  ", nil},
		"key":                {"edge", []Requirement{{Key: "edge"}}},
		"key and value":      {"pool=web", []Requirement{{"pool", "web", true}}},
		"empty value":        {"pool=", []Requirement{{"pool", "", true}}},
		"several":            {"pool=web,edge", []Requirement{{"pool", "web", true}, {Key: "edge"}}},
		"spaces":             {" pool = web , edge ", []Requirement{{"pool", "web", true}, {Key: "edge"}}},
		"prefix":             {"node-role.kubernetes.io/worker=", []Requirement{{"node-role.kubernetes.io/worker", "", true}}},
		"all kinds of runes": {"a_b.c-D9=x_y.z-0", []Requirement{{"a_b.c-D9", "x_y.z-0", true}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSelector(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("requirements (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectorThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		",":                            "a label without a key",
		"a,":                           "a label without a key",
		"=b":                           "a label without a key",
		"a=b=c":                        `"b=c" is not the value of a label`,
		"a==b":                         `"=b" is not the value of a label`,
		"a!=b":                         `"a!" is not the key of a label`,
		"!a":                           `"!a" is not the key of a label`,
		"a in (b)":                     `"a in (b)" is not the key of a label`,
		"a=b c":                        `"b c" is not the value of a label`,
		"-a=b":                         `"-a" is not the key of a label`,
		"a.b/":                         `"a.b/" is not the key of a label`,
		"/a":                           `"/a" is not the key of a label`,
		"a/b/c":                        `"a/b/c" is not the key of a label`,
		"a=b,a=c":                      `label "a" is given twice`,
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
