package main

import (
	"strings"
	"testing"
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
		command.SetArgs(arguments)
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), says) {
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
