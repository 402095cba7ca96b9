// Package golden compares golden files and pages of the documentation with generated text. A test
// that runs with -update writes them instead.
package golden

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that are made from the code, instead of comparing them") //nolint:gochecknoglobals // a flag of all tests that compare files

// File compares a file with the text that it should have.
func File(t testing.TB, path, text string) {
	t.Helper()
	hold(t, path, func(string) (string, error) { return text, nil })
}

// Part compares a part of a page with the text that it should have. The page has it between
// two lines:
//
//	<!-- NAME: written by make generate -->
//	<!-- end of NAME -->
func Part(t testing.TB, page, name, text string) {
	t.Helper()
	hold(t, page, func(have string) (string, error) { return withPart(have, name, text) })
}

// Outputs compares the outputs of a command in a page with the golden files that have them. Each is
// a code block below a line <!-- output: COMMAND/NAME -->, and is then testdata/NAME.golden as a
// whole, or <!-- output: COMMAND/NAME, HEADING -->, and is then the text of that file below a
// heading. The page must show at least one, so that the test fails if the lines are no longer found.
func Outputs(t testing.TB, page, command string) {
	t.Helper()
	hold(t, page, func(have string) (string, error) { return withOutputs(have, command, os.DirFS("testdata")) })
}

// hold fails the test when a file is not what should becomes of what it has.
func hold(t testing.TB, path string, should func(have string) (string, error)) {
	t.Helper()
	if err := compare(path, *update, should, t.Name()); err != nil {
		t.Error(err)
	}
}

// compare returns an error with the difference between a file and its expected content, and with
// the command that updates it, which is the test with -update. If update is set, it writes the
// file.
func compare(path string, update bool, should func(have string) (string, error), test string) error {
	have, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	want, err := should(string(have))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case !missing && string(have) == want:
		return nil
	case !update:
		return fmt.Errorf("%s is not what the code makes. If that is right, run %s (-file +code):\n%s", path, command(test), cmp.Diff(string(have), want))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(want), 0o644)
}

// command is the one that writes what a test of the running program compares.
func command(test string) string {
	folder := "."
	if info, ok := debug.ReadBuildInfo(); ok {
		folder += strings.TrimSuffix(strings.TrimPrefix(info.Path, info.Main.Path), ".test")
	}
	test, _, _ = strings.Cut(test, "/")
	return fmt.Sprintf("go test %s -run '^%s$' -update", folder, test)
}

func withPart(page, name, text string) (string, error) {
	begin, end := "<!-- "+name+": written by make generate -->\n", "<!-- end of "+name+" -->\n"
	before, rest, begins := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("no lines %q and %q", begin, end)
	}
	return before + begin + text + end + after, nil
}

// output is a marker with its code block: the lines above the output, its command, its file, its
// heading.
var output = regexp.MustCompile("(?s)(<!-- output: ([a-z]+)/([a-zA-Z0-9-]+)(?:, ([A-Z][a-z -]+))? -->\n```\n).*?```\n")

func withOutputs(page, command string, files fs.FS) (string, error) {
	var errs []error
	count := 0
	page = output.ReplaceAllStringFunc(page, func(block string) string {
		parts := output.FindStringSubmatch(block)
		if parts[2] != command {
			return block
		}
		count++
		shown, err := below(files, parts[3]+".golden", parts[4])
		errs = append(errs, err)
		return parts[1] + shown + "```\n"
	})
	if count == 0 {
		errs = append(errs, fmt.Errorf("no outputs of %s", command))
	}
	return page, errors.Join(errs...)
}

// below returns what a file has from a heading to the next empty line; without a heading all
// that it has.
func below(files fs.FS, name, heading string) (string, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil || heading == "" {
		return string(text), err
	}
	_, rest, found := strings.Cut("\n"+string(text), "\n"+heading+"\n")
	if !found {
		return "", fmt.Errorf("%s has no heading %q", name, heading)
	}
	part, _, _ := strings.Cut(rest, "\n\n")
	return heading + "\n" + strings.TrimSuffix(part, "\n") + "\n", nil
}
