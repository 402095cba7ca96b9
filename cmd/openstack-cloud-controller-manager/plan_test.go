package main

import (
	"strings"
	"testing"
)

func TestProgram_SaysHowToPlan(t *testing.T) {
	t.Parallel()
	if got := runProgram(t, nil, "plan", "--help"); got.code != 0 || !strings.Contains(got.out, "--without-nodes") || strings.Contains(got.out, "--leader-elect") {
		t.Errorf("help: %+v", got)
	}
	if got := runProgram(t, nil, "plan", "--cloud-config=/nowhere"); got.code != 1 || !strings.HasPrefix(got.errors, "Error: ") {
		t.Errorf("without a cloud.conf: %+v", got)
	}
}
