package octavia_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// plainStatuses are octavia.MemberStatuses as encoding/json decodes them.
type plainStatuses []octavia.MemberStatus

func flatSeeds() []string {
	const member = `{"id": "a", "name": "node", "provisioning_status": "ACTIVE", "operating_status": "ONLINE", "address": "10.0.0.1", "protocol_port": 30080}`
	return []string{
		`[]`, ` [ ] `, `null`, `[{}]`, `[{}, {}]`, `[` + member + `]`, "[\n " + member + " ,\t" + member + "\r\n]",
		`[{"id": null, "name": "", "protocol_port": null}]`, `[{"more": true, "id": "a", "less": -1.5e3}]`,
		`[{"id": "a", "id": "b"}]`, `[{"": "x", "id": "a"}]`, `[{"name": "M\u00fcller \"1\""}]`, "[{\"name\": \"M\u00fcller\"}]", "[{\"name\": \"\xff\"}]",
		`[{"id": "a", "tags": ["x"]}, {"id": "b"}]`, `[{"id": "a", "of": {"id": "b"}}]`, `[null, {"id": "a"}]`, `[{"\u0069d": "a"}]`,
		`[{"id": 1}]`, `[{"protocol_port": "80"}]`, `[{"protocol_port": 80.5}]`, `[{"protocol_port": 99999999999999999999}]`,
		`{"id": "a"}`, `"a"`, `[1]`, `[["a"]]`,
	}
}

func assertDecodedAlike(t *testing.T, text string) {
	t.Helper()
	var plain plainStatuses
	var flat octavia.MemberStatuses
	plainErr, flatErr := json.Unmarshal([]byte(text), &plain), json.Unmarshal([]byte(text), &flat)
	if (plainErr == nil) != (flatErr == nil) {
		t.Errorf("%s: error %v, want %v", text, flatErr, plainErr)
	}
	if diff := cmp.Diff([]octavia.MemberStatus(plain), []octavia.MemberStatus(flat)); plainErr == nil && diff != "" {
		t.Errorf("%s (-encoding/json +ours):\n%s", text, diff)
	}
}

func TestMemberStatuses_AreDecodedAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range flatSeeds() {
		assertDecodedAlike(t, text)
	}
}

func TestObjectIDs_AreDecodedAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range flatSeeds() {
		var plain []octavia.ObjectID
		var flat octavia.ObjectIDs
		plainErr, flatErr := json.Unmarshal([]byte(text), &plain), json.Unmarshal([]byte(text), &flat)
		if (plainErr == nil) != (flatErr == nil) {
			t.Errorf("%s: error %v, want %v", text, flatErr, plainErr)
		}
		if diff := cmp.Diff(plain, []octavia.ObjectID(flat)); plainErr == nil && diff != "" {
			t.Errorf("%s (-encoding/json +ours):\n%s", text, diff)
		}
	}
}

// FuzzMemberStatuses has a list of members be anything.
func FuzzMemberStatuses(f *testing.F) {
	for _, text := range flatSeeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var any []map[string]any
		if json.Unmarshal([]byte(text), &any) == nil {
			for _, object := range any {
				for key := range object { // which encoding/json finds in whatever case
					if key != strings.ToLower(key) || strings.ContainsAny(key, "ſK") {
						return
					}
				}
			}
		}
		assertDecodedAlike(t, text)
	})
}

// A member costs no allocation of its own. Not parallel: those of others would be counted.
func TestMemberStatuses_AreDecodedIntoOneText(t *testing.T) {
	text := func(members int) []byte {
		var list []string
		for i := range members {
			list = append(list, fmt.Sprintf(`{"id": "id-%d", "name": "node-%d", "operating_status": "ONLINE", "provisioning_status": "ACTIVE", "address": "10.0.0.%d", "protocol_port": 30080}`, i, i, i))
		}
		return []byte("[" + strings.Join(list, ", ") + "]")
	}
	allocations := func(members int) float64 {
		list := text(members)
		return testing.AllocsPerRun(10, func() {
			var all octavia.MemberStatuses
			if err := all.UnmarshalJSON(list); err != nil || len(all) != members {
				t.Errorf("%d members, error %v", len(all), err)
			}
		})
	}
	if few, many := allocations(10), allocations(1000); many > few {
		t.Errorf("%v allocations for 10 members, %v for 1000", few, many)
	}
}

func BenchmarkStatusTree(b *testing.B) {
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`{"id": "0f3c5a2e-9d3f-4a53-8f6e-%012d", "name": "node-%d", "operating_status": "ONLINE", "provisioning_status": "ACTIVE", "address": "10.0.0.%d", "protocol_port": 30080}`, i, i, i))
	}
	pool := `{"id": "p", "members": [` + strings.Join(members, ", ") + `]}`
	text := []byte(`{"id": "lb", "listeners": [{"pools": [` + pool + `]}, {"pools": [` + pool + `]}, {"pools": [` + pool + `]}]}`)
	b.ReportAllocs()
	for b.Loop() {
		var tree octavia.StatusTree
		if err := json.Unmarshal(text, &tree); err != nil || len(tree.Listeners) != 3 {
			b.Fatal(err)
		}
	}
}
