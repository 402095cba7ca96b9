package octavia

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// listOf returns a list of so many members in the format of the status tree.
func listOf(members int) string {
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf(`{"id": "%08d-0000-4000-8000-000000000000", "name": "node-%d", "operating_status": "ONLINE", `+
			`"provisioning_status": "ACTIVE", "address": "10.0.0.%d", "protocol_port": 30080}`, i, i, i))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// answers has valid and invalid lists.
var answers = []string{
	listOf(0), listOf(1), listOf(300), `null`, `[null, {}]`, `[{"id": null, "protocol_port": null}]`,
	`[{"id": "a", "id": "b", "other": [{"id": "c"}, "]"], "name": "x]{"}, {"id": "d", "deep": {"id": ["e"]}}]`,
	`[{"\u0069d": "caf\u00e9 \"\\ \ud83d\ude00", "name": "` + "caf\xe9" + `"}]`,
	`[{"id": "` + strings.Repeat("long ", 5000) + `"}]`,
	`[{"id": "p", "provisioning_status": "ACTIVE", "operating_status": "ONLINE", "healthmonitor_id": "m", "members": [{"id": "a"}, {}], "listeners": [{"id": "l"}], "more": [{}]}, ` +
		`{"provisioning_status": "ACTIVE", "operating_status": null, "healthmonitor_id": null, "members": null, "listeners": []}]`,
	`[{"id": "lb", "updated_at": "2026-01-01T00:00:07"}, {"updated_at": null}, {"updated_at": ""}, {"updated_at": "2026-01-01T00:00:07.25+00:00"}, {"updated_at": "2026-01-01T00:00:0\u0037"}]`,
	`[{"updated_at": "yesterday"}]`, `[{"updated_at": 7}]`, `[{"members": {}}]`, `[{"listeners": ["a"]}]`, `[{"operating_status": []}]`,
	`{"id": "a"}`, `"a"`, `7`, `[7]`, `[["a"]]`, `[{"id": 7}]`, `[{"id": true}]`, `[{"protocol_port": "80"}]`, `[{"protocol_port": 1.5}]`,
	`[{"protocol_port": 99999999999999999999}]`, `[{"id": "a"`, `[{"id": "a"},`, `[{"id"`, `[`, ``, strings.Repeat(`[{"id": `, 20000), strings.Repeat("{", 1000),
}

// asAnswers returns the options for decoding answers.
func asAnswers() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// compareLists compares the decoder of lists with decoding by reflection.
func compareLists(t *testing.T, text string) {
	t.Helper()
	states, err := allOf[LoadBalancerState](text)
	plainStates, wantErr := allOf[plainState](text)
	compareAnswers(t, text, states, as(plainStates, func(s plainState) LoadBalancerState {
		return LoadBalancerState{s.ID, s.ProvisioningStatus, s.OperatingStatus, s.UpdatedAt.Time}
	}), err, wantErr)
	compareTrees(t, `{"statuses": {"loadbalancer": {"listeners": [{"pools": [{"members": `+text+`}]}]}}}`)
}

// plainState is decoded by reflection.
type (
	plainState struct {
		ID                 string    `json:"id"`
		ProvisioningStatus string    `json:"provisioning_status"`
		OperatingStatus    string    `json:"operating_status"`
		UpdatedAt          Timestamp `json:"updated_at"`
	}
)

// allOf reads a list, as the only page of its kind.
func allOf[T any](text string) ([]T, error) {
	pages := rest.Collection[T]{Name: "list", UnknownMarker: func(error) bool { return false }, Get: func(_ context.Context, _ url.Values, into any) error {
		return rest.Decode([]byte(`{"list_links": [], "list": `+text+`}`), into)
	}}
	return pages.All(context.Background(), url.Values{})
}

func as[From, To any](all []From, to func(From) To) []To {
	if all == nil {
		return nil
	}
	converted := make([]To, 0, len(all))
	for _, one := range all {
		converted = append(converted, to(one))
	}
	return converted
}

// compareTrees compares the decoder of status trees with decoding by reflection.
func compareTrees(t *testing.T, text string) {
	t.Helper()
	type plain statusAnswer // which decodes by reflection
	var got, want statusAnswer
	err, wantErr := decodeAnswer(text, &got), json.Unmarshal([]byte(text), (*plain)(&want), asAnswers())
	compareAnswers(t, text, got.Statuses, want.Statuses, err, wantErr)
}

func compareAnswers(t *testing.T, text string, got, want any, err, wantErr error) {
	t.Helper()
	shown := text[:min(len(text), 200)]
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%s: error %v, want %v", shown, err, wantErr)
	} else if diff := cmp.Diff(want, got); err == nil && diff != "" {
		t.Errorf("%s: %s", shown, diff)
	}
}

// decodeAnswer decodes as a client does.
func decodeAnswer(text string, into any) error {
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: answering(text)}}}
	return rest.Get(context.Background(), client, "http://cloud/x", into)
}

// answering answers all requests with a text.
type answering string

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusOK, Request: req, Header: http.Header{}}
	rest.SetBody(resp, bytes.NewBufferString(string(a)))
	return resp, nil
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

// trees has valid and invalid status trees.
var trees = []string{
	treeOf(3, 2), " \t\n" + treeOf(1, 0) + "\r\n", `{}`, `null`, ``, `[]`, `7`, `{"statuses": null}`, `{"statuses": {"loadbalancer": null}}`,
	`{"statuses": {"loadbalancer": {"id": "a", "listeners": null}}}`, `{"statuses": {"loadbalancer": {"listeners": [null, {"pools": [null]}]}}}`,
	`{"statuses": {"loadbalancer": {"listeners": [{"pools": [{"health_monitor": {"id": "m", "type": "TCP"}, "members": null}]}]}}}`,
	`{"other": [1, {"a": [true, null, -1.5e3]}], "statuses": {"x": {}, "loadbalancer": {"id": "a", "name": "b", "more": 1}}}`,
	`{"statuses": {"loadbalancer": {"id": "a"}}} x`, `{"statuses": {"loadbalancer": {"id": "a"}}}}`, `{"statuses": {"loadbalancer": {"id": "a"}},}`,
	`{"statuses": {"loadbalancer": {"id" "a"}}}`, `{"statuses": {"loadbalancer": {"id": "a" "name": "b"}}}`, `{"statuses": {"loadbalancer": {"id": a}}}`,
	`{"statuses": {"loadbalancer": {"listeners": [,]}}}`, `{"statuses": {"loadbalancer": {"listeners": [{}{}]}}}`, `{"statuses": {"loadbalancer": {"listeners": [{},]}}}`,
	`{"statuses": {"loadbalancer": {"x": [1 2]}}}`, `{"statuses": {"loadbalancer": {"x": 01}}}`, `{"statuses": {"loadbalancer": {"x": +1}}}`, `{"statuses": {"loadbalancer": {"x": }}}`,
	`{"statuses": {"loadbalancer": {"x": nul}}}`, `{"statuses": {"loadbalancer": {"x": "` + "\n" + `"}}}`, `{"statuses": {"loadbalancer": {"x": "\x"}}}`, `{"statuses": {"loadbalancer": {"x": [}]}}}`,
	`{"statuses": {"loadbalancer": {"x": {]}}}}`, `{'statuses': 1}`, `{"statuses": {"loadbalancer": {"listeners": [{"pools": [{"members": [{"protocol_port": 007}]}]}]}}}`,
	`{"statuses": {"loadbalancer": {"listeners": [{"pools": [{"members": [{"protocol_port": -0}, {"protocol_port": 1e1}]}]}]}}}`,
}

// treeOf returns a status tree with so many listeners, each with so many members.
func treeOf(listeners, members int) string {
	var all []string
	for i := range listeners {
		all = append(all, fmt.Sprintf(`{"id": "l%d", "name": "listener-%d", "operating_status": "ONLINE", "provisioning_status": "ACTIVE", "pools": [`+
			`{"id": "p%d", "name": "pool", "operating_status": "ONLINE", "provisioning_status": "ACTIVE", "health_monitor": {"id": "m", "name": "", `+
			`"type": "HTTP", "operating_status": "ONLINE", "provisioning_status": "ACTIVE"}, "members": %s}]}`, i, i, i, listOf(members)))
	}
	return `{"statuses": {"loadbalancer": {"id": "lb", "name": "kube", "operating_status": "ONLINE", "provisioning_status": "ACTIVE", "listeners": [` +
		strings.Join(all, ", ") + `]}}}`
}

func TestStatusTree_DecodesAsByReflection(t *testing.T) {
	t.Parallel()
	for _, text := range trees {
		compareTrees(t, text)
	}
	whole := treeOf(2, 3)
	for end := range whole {
		if err := decodeAnswer(whole[:end], new(statusAnswer)); err == nil {
			t.Errorf("an answer that ends after %d of %d bytes is taken for a whole one", end, len(whole))
		}
	}
}

func FuzzStatusTree(f *testing.F) {
	for _, text := range trees {
		f.Add(text)
	}
	f.Fuzz(compareTrees)
}

// The answer about a pool with thousands of members consists nearly only of such a list. The test
// is not parallel, because the allocations of other tests would be counted.
func TestLists_AllocateLittlePerObject(t *testing.T) {
	none, tree := treeOf(1, 0), treeOf(1, 1000)
	allocs := func(decode func() error) float64 {
		return leastAllocs(func() {
			if err := decode(); err != nil {
				t.Error(err)
			}
		})
	}
	request := allocs(func() error { return decodeAnswer(none, new(statusAnswer)) })
	if n := allocs(func() error { return decodeAnswer(tree, new(statusAnswer)) }) - request; n > 50 {
		t.Errorf("%.0f allocations for the statuses of 1,000 members, want 50 at most", n)
	}
}

// BenchmarkLists decodes the list of a hundred members.
func BenchmarkLists(b *testing.B) {
	tree := treeOf(1, 100)
	b.Run("statuses", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = decodeAnswer(tree, new(statusAnswer))
		}
	})
	b.Run("statuses by reflection", func(b *testing.B) {
		type plain statusAnswer
		b.ReportAllocs()
		for b.Loop() {
			_ = decodeAnswer(tree, new(plain))
		}
	})
}
