package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replayed runs the command and returns what it said.
func replayed(t *testing.T, args ...string) (out, problems string, err error) {
	t.Helper()
	var said, complained bytes.Buffer
	command := command()
	command.SetOut(&said)
	command.SetErr(&complained)
	command.SetArgs(append([]string{"replay"}, args...))
	err = command.ExecuteContext(t.Context())
	return said.String(), complained.String(), err
}

func TestReplay_EndsWithCountOfSuccesses(t *testing.T) {
	t.Parallel()
	out, _, err := replayed(t, "--release=2024.1", recording(t, `
{"method":"GET","path":"/v2.0/lbaas/loadbalancers","roles":"member,load-balancer_member","body":null,"status":200,`+
		`"content_type":"application/json","response":"{\"loadbalancers\": [], \"loadbalancers_links\": []}"}`))
	if err != nil || out != "replay: 1 passed, 0 failed\n" {
		t.Errorf("got %q, error %v", out, err)
	}
}

func TestReplay_PrintsEveryMismatch(t *testing.T) {
	t.Parallel()
	request := `{"method":"GET","path":"/v2.0/lbaas/pools/x","roles":"member,load-balancer_member","body":null,`
	path := recording(t, strings.Join([]string{
		request + `"status":200,"content_type":"application/json","response":"{}"}`,
		request + `"status":404,"content_type":"application/json","response":"{\"faultcode\":\"Client\",\"faultstring\":\"Pool x is lost.\",\"debuginfo\":null}"}`,
		request + `"status":404,"content_type":"text/plain","response":"{\"faultcode\":\"Client\",\"faultstring\":\"Pool x not found.\",\"debuginfo\":null}"}`,
		`{"event":"flood"}`,
	}, "\n"))
	out, _, err := replayed(t, "--release=2024.1", path)
	if err == nil {
		t.Error("it succeeded")
	}
	for _, want := range []string{
		path + ":1: GET /v2.0/lbaas/pools/x", "status 404, recorded 200",
		path + ":2: ", "Pool x is lost.",
		path + ":3: ", `content type "application/json", recorded "text/plain"`,
		path + ":4: event flood", "replay: 0 passed, 4 failed",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.HasSuffix(out, "replay: 0 passed, 4 failed\n") {
		t.Errorf("it ends with\n%s", out[max(0, len(out)-100):])
	}
}

func TestReplay_RefusesUnreadableRecordingAndUnknownRelease(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.jsonl")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no file":         {nil, ""},
		"missing":         {[]string{missing}, missing},
		"no JSON":         {[]string{recording(t, "{")}, "line 1"},
		"unknown release": {[]string{"--release=grizzly", recording(t, `{"event":"activate"}`)}, "grizzly"},
	} {
		out, problems, err := replayed(t, test.args...)
		if err == nil || !strings.Contains(problems+err.Error(), test.want) {
			t.Errorf("%s: got %v and %q, want %q", name, err, problems, test.want)
		}
		if strings.Contains(out, "passed") {
			t.Errorf("%s: it has a result: %s", name, out)
		}
	}
}

// recording writes a sequence.
func recording(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	if err := os.WriteFile(path, []byte(strings.TrimPrefix(text, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
