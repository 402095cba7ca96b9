package config_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

func TestNearest_FindsWordWithFewDifferences(t *testing.T) {
	t.Parallel()
	known := []string{"subnet-id", "network-id", "node-selector", "lb-method", "flavor-id"}
	for _, test := range []struct{ word, want string }{
		{"subnet-id", "subnet-id"},
		{"subnetid", "subnet-id"},    // a letter left out
		{"subnet-idd", "subnet-id"},  // one too many
		{"sobnet-id", "subnet-id"},   // another one
		{"netwrok-id", "network-id"}, // two swapped are two that differ
		{"nodeselector", "node-selector"},
		{"lb-methods", "lb-method"},
		{"flavour-id", "flavor-id"},
		{"suet", ""},     // too many for so short a word
		{"listener", ""}, // nothing like it
		{"", ""},
	} {
		got, ok := config.Nearest(test.word, known)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", test.word, got, ok, test.want)
		}
	}
}

func TestNearest_FindsNothingAmongNone(t *testing.T) {
	t.Parallel()
	if got, ok := config.Nearest("subnet-id", nil); ok {
		t.Errorf("found %q among no words", got)
	}
}

func TestNearest_TakesFirstOfEquals(t *testing.T) {
	t.Parallel()
	if got, _ := config.Nearest("subnet-ix", []string{"subnet-ia", "subnet-ib"}); got != "subnet-ia" {
		t.Errorf("found %q", got)
	}
}

func TestNearest_AllowsAThirdToDiffer(t *testing.T) {
	t.Parallel()
	const known = "abcdefghi" // nine letters: three may differ
	for n := range 9 {
		word := strings.Repeat("x", n) + known[n:]
		_, ok := config.Nearest(word, []string{known})
		if want := n <= 3; ok != want {
			t.Errorf("%q is near enough to %q: %v, want %v", word, known, ok, want)
		}
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("subnet-idd", "subnet-id", "network-id")
	f.Add("é", "\xff", "")
	f.Fuzz(func(t *testing.T, word, a, b string) {
		got, ok := config.Nearest(word, []string{a, b})
		if ok && got != a && got != b {
			t.Errorf("Nearest(%q) = %q: not one of %q and %q", word, got, a, b)
		}
		if exact, ok := config.Nearest(word, []string{a, word, b}); word != "" && (!ok || exact != word) {
			t.Errorf("Nearest(%q) = %q although the word itself is known", word, exact)
		}
	})
}
