package octavia

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// listOf is a list of so many members as the status tree has them.
func listOf(members int) string {
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf(`{"id": "%08d-0000-4000-8000-000000000000", "name": "node-%d", "operating_status": "ONLINE", `+
			`"provisioning_status": "ACTIVE", "address": "10.0.0.%d", "protocol_port": 30080}`, i, i, i))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// answers are what a list can be, also by mistake.
var answers = []string{
	listOf(0), listOf(1), listOf(300), `null`, `[null, {}]`, `[{"id": null, "protocol_port": null}]`,
	`[{"id": "a", "id": "b", "other": [{"id": "c"}, "]"], "name": "x]{"}, {"id": "d", "deep": {"id": ["e"]}}]`,
	`[{"\u0069d": "caf\u00e9 \"\\ \ud83d\ude00", "name": "` + "caf\xe9" + `"}]`,
	`[{"id": "` + strings.Repeat("long ", 5000) + `"}]`,
	`{"id": "a"}`, `"a"`, `7`, `[7]`, `[["a"]]`, `[{"id": 7}]`, `[{"id": true}]`, `[{"protocol_port": "80"}]`, `[{"protocol_port": 1.5}]`,
	`[{"protocol_port": 99999999999999999999}]`, `[{"id": "a"`, `[{"id": "a"},`, `[{"id"`, `[`, ``, strings.Repeat(`[{"id": `, 20000), strings.Repeat("{", 1000),
}

// asAnswers are the options with which answers are decoded.
func asAnswers() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// decodesLike compares what a list is with what a list of the same objects is by reflection.
func decodesLike[L, Plain any](t *testing.T, text string, objects func(L) Plain) {
	t.Helper()
	var got struct{ List L }
	var want struct{ List Plain }
	text = `{"List": ` + text + `}`
	err, wantErr := json.Unmarshal([]byte(text), &got, asAnswers()), json.Unmarshal([]byte(text), &want, asAnswers())
	shown := text[:min(len(text), 100)]
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%s: error %v, want %v", shown, err, wantErr)
	} else if diff := cmp.Diff(want.List, objects(got.List)); err == nil && diff != "" {
		t.Errorf("%s: %s", shown, diff)
	}
}

func compareLists(t *testing.T, text string) {
	t.Helper()
	decodesLike(t, text, func(s MemberStatuses) []MemberStatus { return s })
	decodesLike(t, text, func(o ObjectIDs) []ObjectID { return o })
}

func TestLists_DecodeAsAnyOtherList(t *testing.T) {
	t.Parallel()
	for _, text := range answers {
		compareLists(t, text)
	}
}

func FuzzLists(f *testing.F) {
	for _, text := range answers {
		f.Add(text)
	}
	f.Fuzz(compareLists)
}

// Of a pool with thousands of members nearly all that an answer has is such a list. Not parallel:
// the allocations of others would be counted.
func TestLists_AllocateLittlePerObject(t *testing.T) {
	for what, decode := range map[string]func(text []byte) error{
		"statuses": func(text []byte) error { return json.Unmarshal(text, new(MemberStatuses)) },
		"IDs":      func(text []byte) error { return json.Unmarshal(text, new(ObjectIDs)) },
	} {
		text := []byte(listOf(1000))
		if n := leastAllocs(func() {
			if err := decode(text); err != nil {
				t.Error(err)
			}
		}); n > 50 {
			t.Errorf("%.0f allocations for the %s of 1,000 members, want 50 at most", n, what)
		}
	}
}

func BenchmarkLists(b *testing.B) {
	text := []byte(listOf(100))
	decode := func(into any) error {
		return json.Unmarshal(text, into, asAnswers())
	}
	b.Run("statuses", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = decode(new(MemberStatuses))
		}
	})
	b.Run("statuses by reflection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = decode(new([]MemberStatus))
		}
	})
	b.Run("IDs", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = decode(new(ObjectIDs))
		}
	})
}
