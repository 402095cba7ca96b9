package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseTags_ReadsCommaSeparatedTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                         nil,
		" ":                        nil,
		"team-a":                   {"team-a"},
		",":                        nil,
		"a,":                       {"a"},
		" ,a,, b ,":                {"a", "b"},
		"b, cost=7 ,a b":           {"b", "cost=7", "a b"},
		strings.Repeat("ä", 127):   {strings.Repeat("ä", 127)},
		"my_kube_service_, a/b?c#": {"my_kube_service_", "a/b?c#"},
	} {
		if got, err := ParseTags(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q gives %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestParseTags_RefusesInvalidAndReservedTags(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprint(i))
	}
	if _, err := ParseTags(strings.Join(many[:20], ",")); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		strings.Repeat("x", 256):   "a tag has 256 bytes",
		"a\nb":                     `tag "a\nb" has a control character`,
		"a,b,a":                    `tag "a" is given twice`,
		"Team,team":                `tag "team" is given twice`,
		"kube_service_k_default_x": `tag "kube_service_k_default_x" begins with kube_`,
		"KUBE_svc_uid_1":           `tag "KUBE_svc_uid_1" begins with kube_`,
		strings.Join(many, ","):    "it has 21 tags",
	} {
		if _, err := ParseTags(text); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
