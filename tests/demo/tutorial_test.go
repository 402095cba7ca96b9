package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// command is one of a page, with the lines that it prints there.
type command struct {
	text string
	want []string
}

// patiently returns the command. Events come some time after the changes that they report: a command that lists
// them is repeated until the last one on the page is there.
func (c command) patiently() string {
	if !strings.HasPrefix(c.text, "kubectl get events") {
		return c.text
	}
	last, _, _ := strings.Cut(c.want[len(c.want)-1], " ")
	return fmt.Sprintf(`for _ in {1..60}; do out=$(%s); [[ $out != *%s* ]] || break; sleep 0.5; done; echo "$out"`, c.text, last)
}

// commandsOf are those in the blocks of a page that are a console's.
func commandsOf(page string) (all []command) {
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSuffix(line, "\n")
			if text, is := strings.CutPrefix(line, "$ "); is {
				all = append(all, command{text: text})
			} else {
				last := &all[len(all)-1]
				last.want = append(last.want, line)
			}
		}
	}
	return all
}

// printed reports whether one of the lines of an output is that of the page, in which … is
// anything, and spaces are as many as they are.
func printed(output, want string) bool {
	var words []string
	for _, word := range strings.Fields(want) {
		words = append(words, strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*"))
	}
	return regexp.MustCompile(`(?m)^\s*` + strings.Join(words, `\s+`) + `\s*$`).MatchString(output)
}

// The commands of the tutorial, run in one shell on the playground that it begins with, print the
// output on the page.
func TestTutorial_CommandsPrintWhatThePageSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := commandsOf(string(page))
	if len(commands) < 8 || !strings.Contains(string(page), "\n    make playground\n") || commands[0].text != ". out/playground/env" {
		t.Fatalf("%d commands, the first is %q", len(commands), commands[0].text)
	}
	directory := openPlayground(t)
	var script strings.Builder
	for i, c := range commands {
		fmt.Fprintf(&script, "echo '@@ %d'\n%s\n", i, strings.ReplaceAll(c.patiently(), "out/playground", directory))
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", script.String())
	shell.Dir = filepath.Join("..", "..")
	output, err := shell.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Error(err)
	}
	for i, c := range commands {
		_, own, _ := strings.Cut(string(output), fmt.Sprintf("@@ %d\n", i))
		own, _, _ = strings.Cut(own, fmt.Sprintf("@@ %d\n", i+1))
		for _, want := range c.want {
			if !printed(own, want) {
				t.Errorf("%s\ndoes not print\n%s\nbut\n%s", c.text, want, own)
			}
		}
	}
}

// openPlayground starts the playground, and returns its directory. It ends with the test.
func openPlayground(t *testing.T) string {
	t.Helper()
	out, said := narrate(t)
	d := &demo{options: options{provider: "amphora", playground: filepath.Join(t.TempDir(), "playground")}, out: out, ready: make(chan struct{})}
	ctx, end := context.WithCancelCause(context.WithoutCancel(t.Context())) // for the end, too
	ended := make(chan error, 1)
	go func() { ended <- d.play(ctx, d.playground()) }()
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		end(errInterrupted)
		if err := <-ended; !errors.Is(err, errInterrupted) {
			t.Error(err)
		}
	})
	select {
	case <-d.ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("%v\n%s", err, said)
	}
	return d.options.playground
}
