package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

func TestStatus_RefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for says, arguments := range map[string][]string{
		`--output is "yaml": allowed are text and json`: {"-o", "yaml"},
		"--timeout is 0s: it must be above zero":        {"--timeout=0"},
		"--interval is 1ms: it must be a second":        {"--interval=1ms"},
		"--all-namespaces lists Services":               {"-A", "web"},
		"unknown flag: --writes":                        {"--writes"},
	} {
		command := newStatusCommand(func(*statusFlags) error {
			t.Errorf("%q: it runs", arguments)
			return nil
		})
		if err := execute(command, arguments...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", arguments, err, says)
		}
	}
}

func TestProgram_ExitsWithOneWhereTheStatusCannotBeRead(t *testing.T) {
	t.Parallel()
	kubeconfig := kubeconfigOf(t, "127.0.0.1:1")
	got := runProgram(t, nil, "status", "--kubeconfig="+kubeconfig, "--cloud-config="+kubeconfig+".missing", "web")
	if got.code != 1 || !strings.HasPrefix(got.errors, "Error: ") || !strings.Contains(got.errors, ".missing") || got.out != "" {
		t.Errorf("without cloud.conf: %+v", got)
	}
	got = runProgram(t, nil, "status", "--kubeconfig="+kubeconfig, "--context=other", "web")
	if got.code != 1 || !strings.Contains(got.errors, `context "other" does not exist`) {
		t.Errorf("a context that there is not: %+v", got)
	}
}

func TestFollow_GoesOnAfterAnErrorAndEndsWithTheLastCode(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	degraded := &status.Report{Services: []status.Service{{Namespace: "default", Name: "web", State: status.Degraded}}}
	answers := []any{&status.Report{}, errors.New("the cloud is away"), degraded}
	read := func() (*status.Report, error) {
		next := answers[0]
		answers = answers[1:]
		if err, is := next.(error); is {
			return nil, err
		}
		return next.(*status.Report), nil
	}
	var out bytes.Buffer
	f := &statusFlags{interval: time.Millisecond, output: outputText}
	shown := func(report *status.Report, to *screen.Screen) error {
		if report == degraded {
			end()
		}
		return report.WriteText(to)
	}
	code, err := f.follow(ctx, read, shown, screen.New(&out, nil))
	if err != nil || code != status.ExitDegraded {
		t.Errorf("exit code %d, error %v", code, err)
	}
	for _, want := range []string{"No Service of type LoadBalancer\n", "Error: the cloud is away\n", "1 Service: 1 degraded\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("wrote %q, want %q", out.String(), want)
		}
	}
	if code, err := f.follow(t.Context(), func() (*status.Report, error) { return nil, io.ErrUnexpectedEOF }, shown, screen.New(&out, nil)); code != exitError || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an error at first: exit code %d, error %v", code, err)
	}
}
