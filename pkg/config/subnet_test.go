package config

import (
	"strings"
	"testing"
)

func TestSubnetMatcher_MatchesByName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern  string
		yes, not string // names with | between
	}{
		{"public", "public", "public-1|my-public|Public|"},
		{"public-*", "public-|public-1|public-10.0.0.0/8", "public|my-public-1"},
		{"*-v4", "a-v4|x/y-v4|-v4", "a-v46|a-v4-b"},
		{"public-?", "public-1|public-ü|public-/", "public-|public-12"},
		{"public-[0-9]", "public-0|public-9", "public-a|public-[0-9]|public-10"},
		{"public-[!0-9]", "public-a", "public-0"},
		{"{public,ext*}-v4", "public-v4|ext-v4|external-v4", "-v4|private-v4|public,ext-v4"},
		{"a,b.c+d(e)|f$", "a,b.c+d(e)|f$", "a,bxc+d(e)|f$|b"},
		{`back\slash`, `back\slash`, "backslash"},
		{"größe-*", "größe-1", "grösse-1"},
		{"!public-*", "private|public", "public-1"},
		{"~public-[0-9]+", "public-1|public-42", "public-|my-public-1|public-1-x"},
		{"~a|ab", "a|ab", "abc|b"},
		{"!~a|ab", "abc|b", "a|ab"},
		{"~(?i)public", "PUBLIC|Public", "publi"},
	}
	for _, test := range tests {
		t.Run(test.pattern, func(t *testing.T) {
			t.Parallel()
			matcher, err := NewSubnetMatcher(test.pattern, "")
			if err != nil {
				t.Fatal(err)
			}
			separator := "|"
			if strings.Contains(test.pattern, "(e)|f") {
				separator = "no other name"
			}
			for _, name := range strings.Split(test.yes, separator) {
				if !matcher.Match(name, nil) {
					t.Errorf("does not match %q", name)
				}
			}
			for _, name := range strings.Split(test.not, separator) {
				if matcher.Match(name, nil) {
					t.Errorf("matches %q", name)
				}
			}
		})
	}
}

func TestSubnetMatcher_MatchesByTags(t *testing.T) {
	t.Parallel()
	// Which of the tag sets none, a, b, and a with b are matched.
	tests := map[string]struct{ none, a, b, ab bool }{
		"":        {true, true, true, true},
		"a":       {false, true, false, true},
		"a,b":     {false, true, true, true},
		" a , b ": {false, true, true, true},
		"&a,b":    {false, false, false, true},
		"!a,b":    {true, false, false, false},
		"!&a,b":   {true, true, true, false},
		"!a":      {true, false, true, false},
		"x":       {false, false, false, false},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			matcher, err := NewSubnetMatcher("", text)
			if err != nil {
				t.Fatal(err)
			}
			for _, check := range []struct {
				tags []string
				want bool
			}{{nil, want.none}, {[]string{"a"}, want.a}, {[]string{"b"}, want.b}, {[]string{"a", "b"}, want.ab}} {
				if got := matcher.Match("any", check.tags); got != check.want {
					t.Errorf("tags %v: %v, want %v", check.tags, got, check.want)
				}
			}
		})
	}
}

func TestSubnetMatcher_NeedsNameAndTagsToMatch(t *testing.T) {
	t.Parallel()
	matcher, err := NewSubnetMatcher("public-*", "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		tags []string
		want bool
	}{
		{"public-1", []string{"a"}, true},
		{"public-1", []string{"b"}, false},
		{"private", []string{"a"}, false},
	} {
		if got := matcher.Match(test.name, test.tags); got != test.want {
			t.Errorf("Match(%q, %v) = %v", test.name, test.tags, got)
		}
	}
	if !(SubnetMatcher{}).Match("any", nil) {
		t.Error("the zero value does not match all")
	}
}

func TestSubnetMatcher_RefusesMalformedPattern(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"!", "~", "!~", "~(", "~)(", "~a)|(b", "~[", "[", "public-[0-9", "{a,b", "a}", "[]", "[z-a]", "a\xff"} {
		if _, err := NewSubnetMatcher(pattern, ""); err == nil || !strings.Contains(err.Error(), "reading subnet pattern") {
			t.Errorf("pattern %q: error %v", pattern, err)
		}
	}
	for _, tags := range []string{"!", "&", "!&", ",", "&,,", " "} {
		if _, err := NewSubnetMatcher("", tags); err == nil || !strings.Contains(err.Error(), "reading subnet tags") {
			t.Errorf("tags %q: error %v", tags, err)
		}
	}
}
