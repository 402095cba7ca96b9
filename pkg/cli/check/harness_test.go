package check_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/check"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// environment is a simulated cloud with a cloud.conf.
type environment struct {
	t     *testing.T
	cloud *simulator.Cloud
	conf  string
	env   map[string]string
	now   time.Time
}

func newEnvironment(t *testing.T, options simulator.Options) *environment {
	t.Helper()
	cloud, err := simulator.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return &environment{t: t, cloud: cloud, conf: cloud.CloudConf(), now: time.Now()}
}

// set adds keys to [LoadBalancer], which is the last section of the cloud's own file.
func (e *environment) set(lines ...string) {
	for _, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		e.conf = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`=.*\n`).ReplaceAllString(e.conf, "")
		e.conf += line + "\n"
	}
}

// global replaces keys of [Global], and removes one without a value.
func (e *environment) global(lines ...string) {
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		e.conf = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`=.*\n`).ReplaceAllString(e.conf, "")
		if value != "" {
			e.conf = strings.Replace(e.conf, "[Global]\n", "[Global]\n"+line+"\n", 1)
		}
	}
}

// check runs the check like the command.
func (e *environment) check(change func(*check.Options)) *check.Report {
	e.t.Helper()
	path := filepath.Join(e.t.TempDir(), "cloud.conf")
	if err := os.WriteFile(path, []byte(e.conf), 0o600); err != nil {
		e.t.Fatal(err)
	}
	options := check.Options{
		Path: path, Timeout: time.Minute, Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}, Clock: clocktesting.NewFakePassiveClock(e.now),
		Env: func(key string) (string, bool) { value, ok := e.env[key]; return value, ok },
	}
	if change != nil {
		change(&options)
	}
	return check.Run(e.t.Context(), options)
}

// text formats a report for people.
func text(t *testing.T, r *check.Report) string {
	t.Helper()
	var out bytes.Buffer
	r.ShowsSettings = true
	if err := r.WriteText(screen.New(&out, nil)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// stable replaces the parts of an output that differ between runs.
func (e *environment) stable(output string) string {
	output = regexp.MustCompile(`\S*/cloud\.conf`).ReplaceAllString(output, "/etc/kubernetes/cloud.conf")
	output = regexp.MustCompile(`/tmp/[^\s"]*/`).ReplaceAllString(output, "/etc/kubernetes/")
	output = regexp.MustCompile(`https?://127\.0\.0\.1:\d+`).ReplaceAllString(output, "https://cloud.example.com")
	output = regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(output, "2027-05-01")
	output = regexp.MustCompile(`req-[0-9a-f-]+`).ReplaceAllString(output, "req-1")
	seen := map[string]string{}
	return regexp.MustCompile(`[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`).ReplaceAllStringFunc(output, func(id string) string {
		if seen[id] == "" {
			format := "%08d-0000-4000-8000-000000000000"
			if !strings.Contains(id, "-") {
				format = "%032d"
			}
			seen[id] = fmt.Sprintf(format, len(seen)+1)
		}
		return seen[id]
	})
}

// findings returns the part of a report below the settings.
func findings(output string) string {
	if _, below, found := strings.Cut(output, "\n\n"); found && strings.HasPrefix(output, "Settings of") {
		return below
	}
	return output
}
