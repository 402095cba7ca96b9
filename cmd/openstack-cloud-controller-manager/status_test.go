package main

import (
	"strings"
	"testing"
)

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
