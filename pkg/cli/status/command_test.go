package status

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
)

func TestStatus_RefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for says, arguments := range map[string][]string{
		`--output is "yaml": allowed are text and json`:     {"-o", "yaml"},
		"--timeout is 0s: it must be above zero":            {"--timeout=0"},
		"--interval is 1ms: it must be at least one second": {"--interval=1ms"},
		"--all-namespaces lists Services":                   {"-A", "web"},
		"unknown flag: --writes":                            {"--writes"},
	} {
		command := newCommand(cli.Program{}, func(context.Context, *flags) error {
			t.Errorf("%q: it runs", arguments)
			return nil
		})
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetArgs(arguments)
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", arguments, err, says)
		}
	}
}

// untilDegraded ends a context after a degraded Service was written to it.
type untilDegraded struct {
	text bytes.Buffer
	end  func()
}

// Write implements io.Writer.
func (u *untilDegraded) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte("1 degraded")) {
		u.end()
	}
	return u.text.Write(text)
}

func TestFollow_GoesOnAfterAnErrorAndEndsWithTheLastCode(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	degraded := &Report{Services: []Service{{Namespace: "default", Name: "web", State: Degraded}}}
	answers := []any{&Report{}, errors.New("the cloud is away"), degraded}
	read := func() (*Report, error) {
		next := answers[0]
		answers = answers[1:]
		if err, is := next.(error); is {
			return nil, err
		}
		return next.(*Report), nil
	}
	out := &untilDegraded{end: end}
	f, p := &flags{interval: time.Millisecond}, cli.Program{Out: out}
	if err := f.follow(ctx, read, p); !errors.Is(err, cli.Exit(ExitDegraded)) {
		t.Errorf("ended with %v", err)
	}
	for _, want := range []string{"No Service of type LoadBalancer\n", "Error: the cloud is away\n", "1 Service: 1 degraded\n"} {
		if !strings.Contains(out.text.String(), want) {
			t.Errorf("wrote %q, want %q", out.text.String(), want)
		}
	}
	if err := f.follow(t.Context(), func() (*Report, error) { return nil, io.ErrUnexpectedEOF }, p); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an error at first: ended with %v", err)
	}
}
