// Package ci tests the script that runs the steps of CI.
package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program never ends: one goroutine waits in its main function, another one in a call of it.
const program = `package main

import "time"

func main() {
	go wait()
	waitForNothing()
}

func waitForNothing() { time.Sleep(time.Hour) }

func wait() { <-make(chan int) }
`

// folder returns one with the script, a Makefile, and a test that does not end.
func folder(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../../../.ci/each")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		".ci/each": string(script),
		"main.go":  program,
		"go.mod":   "module example.org/hang\n\ngo 1.24\n",
		"Makefile": "good:\n\t@true\n.PHONY: hang\nbad:\n\t@false\nhang:\n\t@./hang.test\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "hang.test", ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root
}

func TestEach_NamesStepThatHangsWithItsGoroutinesAndGoesOn(t *testing.T) {
	t.Parallel()
	each := exec.CommandContext(t.Context(), ".ci/each", "good:60", "hang:2", "bad:60", "good:60")
	each.Dir, each.Env = folder(t), append(os.Environ(), "EACH_UNIT=s")
	out, err := each.CombinedOutput()
	if err == nil {
		t.Error("it succeeds")
	}
	text := string(out)
	for _, want := range []string{"main.waitForNothing", "main.wait(", "== make hang did not end within 2s: the goroutines of its tests are above"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output has no %q:\n%s", want, text)
		}
	}
	_, summary, _ := strings.Cut(text, "== summary\n")
	var got []string
	for line := range strings.Lines(summary) {
		got = append(got, strings.Join(strings.Fields(line)[:2], " "))
	}
	if want := "good ok, hang HUNG, bad FAILED, good ok"; strings.Join(got, ", ") != want {
		t.Errorf("the summary is %q, want %q", strings.Join(got, ", "), want)
	}
}
