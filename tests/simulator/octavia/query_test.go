package octavia

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuery_IsReadLikeFrameworkOfOctavia(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]url.Values{
		"":                       {},
		"a=1&a=2&b":              {"a": {"1", "2"}, "b": {""}},
		"name=one;id=2":          {"name": {"one"}, "id": {"2"}},
		"name=a%&x=%zz+%41%2b":   {"name": {"a%"}, "x": {"%zz A+"}},
		"&=x&&page_reverse=True": {"": {"x"}, "page_reverse": {"True"}},
	} {
		if diff := cmp.Diff(want, parseQuery(raw)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", raw, diff)
		}
	}
}

func TestQuery_ReadsNumbersLikePython(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{" 2": 2, "2 ": 2, "+2": 2, "-1": -1, "1_0": 10, "١٢": 12, "007": 7} {
		if got, is := pythonInt(text); !is || got != want {
			t.Errorf("%q: %d, %v", text, got, is)
		}
	}
	for _, text := range []string{"", "_1", "1_", "1__0", "1.5", "0x1", "1e3", "None", "+", "--1"} {
		if got, is := pythonInt(text); is {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestQuery_QuotesTextsLikePython(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": `'a'`, "it's": `"it's"`, `it's "x"`: `'it\'s "x"'`, "a\\b\n\t\x00": `'a\\b\n\t\x00'`, "ä": `'ä'`, "\u200b": `'\u200b'`,
	} {
		if got := pythonQuote(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
