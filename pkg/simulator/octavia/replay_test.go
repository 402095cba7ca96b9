package octavia

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/keystone"
)

// The golden sequences are recorded answers of real Octavia API processes. A
// replay sends the same requests in the same order and wants the same answers,
// but for IDs and times.

const recordedProject = "11111111111111111111111111111111"

// skipped are lines of the recordings that cannot be answered alike, each with
// the reason, by "<sequence>:<line>".
func skipped() map[string]string {
	return map[string]string{
		"full-create:29":    "the simulator has no L7 policies",
		"full-create:30":    "lists the load balancer of line 29",
		"quota-and-roles:5": "descriptions of providers are the deployment's",
		"quota-and-roles:6": "capabilities of flavors are not simulated",
		"quota-and-roles:7": "quotas cannot be read",
		"quota-and-roles:8": "quotas cannot be read",
	}
}

// statusOnly are lines of which only the status has to be the same.
func statusOnly() map[string]string {
	return map[string]string{
		"members:116": "the recorded text is SQLite's, which no deployment uses",
	}
}

// step is one line of a recording.
type step struct {
	Method, Path, Roles string
	Body                json.RawMessage
	Status              int
	ContentType         string `json:"content_type"`
	Response            string

	Event              string
	LoadBalancer       string
	ProvisioningStatus string `json:"provisioning_status"`
	Statement          string
}

func readSteps(t *testing.T, path string) []step {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var next step
		if err := json.Unmarshal(lines.Bytes(), &next); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		steps = append(steps, next)
	}
	return steps
}

func TestReplayGivesTheRecordedAnswers(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/golden/*/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, path := range paths {
		release, sequence := filepath.Base(filepath.Dir(path)), strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(release+"/"+sequence, func(t *testing.T) {
			t.Parallel()
			r := newReplay(release, sequence)
			for i, step := range readSteps(t, path) {
				r.run(t, fmt.Sprintf("%s:%d", sequence, i+1), step)
			}
		})
	}
}

// replay holds a simulator and which of its IDs stands for which recorded one.
type replay struct {
	octavia *Octavia
	ids     map[string]string // recorded to ours
}

func newReplay(release, sequence string) *replay {
	options := Options{
		Release: release, Providers: []string{ProviderNoop, ProviderAmphora, ProviderAlias}, Network: anyNetwork{},
	}
	if sequence == "quota-and-roles" {
		options.Quota = map[string]int{
			quotaLoadBalancer: 3, quotaListener: 2, quotaPool: 2, quotaMember: 3, quotaMonitor: 1,
		}
	}
	// Nothing settles by itself: events of the recording do it.
	options.Delays = map[string]Delays{"": {Create: time.Hour, Update: time.Hour, Delete: time.Hour}}
	options.Clock = clocktesting.NewFakeClock(time.Now())
	o := New(options)
	return &replay{octavia: o, ids: map[string]string{}}
}

func (r *replay) run(t *testing.T, line string, step step) {
	t.Helper()
	if step.Event != "" {
		r.event(t, step)
		return
	}
	if skipped()[line] != "" {
		return
	}
	got := r.send(step)
	if got.Code != step.Status {
		t.Errorf("%s: %s %s %s: status %d, recorded %d: %s", line, step.Method, step.Path, step.Body, got.Code, step.Status, got.Body)
		return
	}
	if statusOnly()[line] != "" {
		return
	}
	if diff := r.compare(step.Response, got.Body.String()); diff != "" {
		t.Errorf("%s: %s %s %s: -recorded +got:\n%s", line, step.Method, step.Path, step.Body, diff)
	}
	if gotType, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";"); gotType != step.ContentType {
		t.Errorf("%s: content type %q, recorded %q", line, gotType, step.ContentType)
	}
}

func (r *replay) send(step step) *httptest.ResponseRecorder {
	body := r.translate(string(step.Body))
	if body == "null" {
		body = ""
	}
	request := httptest.NewRequest(step.Method, r.translate(step.Path), strings.NewReader(body))
	caller := keystone.Caller{ProjectID: recordedProject, Roles: strings.Split(step.Roles, ",")}
	answer := httptest.NewRecorder()
	r.octavia.ServeHTTP(answer, request.WithContext(keystone.WithCaller(request.Context(), caller)))
	return answer
}

// event does what the recording did to the database behind Octavia's back.
func (r *replay) event(t *testing.T, step step) {
	t.Helper()
	o := r.octavia
	o.jobs = nil
	for _, lb := range o.balancers {
		everything := append(children(lb), lb)
		switch {
		case step.Event == "activate":
			for _, thing := range everything {
				if status := &thing.meta().ProvisioningStatus; *status == PendingCreate || *status == PendingUpdate {
					*status = Active
				}
			}
		case step.Event == "status":
			if lb.ID == r.ids[step.LoadBalancer] {
				lb.ProvisioningStatus = step.ProvisioningStatus
			}
		case step.Statement == "update pool set provisioning_status='ACTIVE'":
			for _, pool := range lb.Pools {
				pool.ProvisioningStatus = Active
			}
		case step.Statement == "delete from member where provisioning_status='PENDING_DELETE'":
			for _, pool := range lb.Pools {
				pool.Members = slices.DeleteFunc(pool.Members, func(m *Member) bool { return m.ProvisioningStatus == PendingDelete })
			}
		default:
			t.Fatalf("unknown event %+v", step)
		}
	}
}

var (
	anyID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?`)
	// What Python prints differently at each start: where an object is, and
	// in which order the members of a set come.
	anyObject = regexp.MustCompile(`object at 0x[0-9a-f]+`)
	anySet    = regexp.MustCompile(`(Value should be one of: )(.*)`)
)

func (r *replay) translate(text string) string {
	return anyID.ReplaceAllStringFunc(text, func(id string) string {
		if ours, known := r.ids[id]; known {
			return ours
		}
		return id
	})
}

// compare says how two answers differ, and learns IDs where they agree.
func (r *replay) compare(recorded, got string) string {
	want, have := decode(r.translate(recorded)), decode(got)
	known := map[string]bool{}
	for _, ours := range r.ids {
		known[ours] = true
	}
	want, have = canonical(want, known), canonical(have, known)
	r.learn(want, have)
	return cmp.Diff(masked(want, r.ids, known), masked(have, r.ids, known))
}

func decode(text string) any {
	text = anyTime.ReplaceAllString(anyObject.ReplaceAllString(text, "object"), "TIME")
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// canonical sorts all lists, since they come in the order of the database.
// IDs that nobody has seen before do not count for the order.
func canonical(value any, known map[string]bool) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = canonical(v[key], known)
		}
	case []any:
		for i := range v {
			v[i] = canonical(v[i], known)
		}
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(sortText(a, known), sortText(b, known)) })
	case string:
		return anySet.ReplaceAllStringFunc(v, func(text string) string {
			words := strings.Split(anySet.FindStringSubmatch(text)[2], ", ")
			slices.Sort(words)
			return strings.Join(words, ", ")
		})
	}
	return value
}

func sortText(value any, known map[string]bool) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return anyID.ReplaceAllStringFunc(string(text), func(id string) string {
		if known[id] {
			return id
		}
		return "ID"
	})
}

func (r *replay) learn(want, have any) {
	switch w := want.(type) {
	case map[string]any:
		h, is := have.(map[string]any)
		for key := range w {
			if is {
				r.learn(w[key], h[key])
			}
		}
	case []any:
		if h, is := have.([]any); is && len(h) == len(w) {
			for i := range w {
				r.learn(w[i], h[i])
			}
		}
	case string:
		if h, is := have.(string); is && anyID.FindString(w) == w && anyID.FindString(h) == h && w != h && w != "" {
			if _, seen := r.ids[w]; !seen {
				r.ids[w] = h
			}
		}
	}
}

// masked replaces the recorded IDs by ours, so that what refers to another
// object than in the recording shows.
func masked(value any, ids map[string]string, known map[string]bool) any {
	switch v := value.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key := range v {
			copied[key] = masked(v[key], ids, known)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i := range v {
			copied[i] = masked(v[i], ids, known)
		}
		return copied
	case string:
		return anyID.ReplaceAllStringFunc(v, func(id string) string {
			if ours, seen := ids[id]; seen {
				return ours
			}
			return id
		})
	}
	return value
}
