package gobuild

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBuild_ReturnsWhatTheCompilerPrintedAndLeavesNoFile(t *testing.T) {
	t.Parallel()
	program := Program{Name: "broken", Dir: module(t, "func main() { undeclared() }"), Package: "."}
	target := filepath.Join(t.TempDir(), "program")
	err := program.Build(t.Context(), target, t.Logf)
	if err == nil || !strings.Contains(err.Error(), "undefined: undeclared") {
		t.Errorf("err = %v, want the compiler's words", err)
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

func TestBuild_IsSilentWhenItIsQuick(t *testing.T) {
	t.Parallel()
	program := Program{Name: "small", Dir: module(t, "func main() {}"), Package: "."}
	target := filepath.Join(t.TempDir(), "program")
	if err := program.Build(t.Context(), target, t.Logf); err != nil {
		t.Fatal(err)
	}
	err := program.Build(t.Context(), target, func(format string, _ ...any) { t.Errorf("it reported %q", format) })
	if err != nil {
		t.Error(err)
	}
}

func module(t *testing.T, main string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module program\n\ngo 1.26.0\n", "main.go": "package main\n\n" + main + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOutput_CountsProgressAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	var o output
	for _, piece := range []string{
		"go: downloading k8s.io/api v0.36.3\ngo: down", "loading k8s.io/klog v2.0.0\n",
		"internal/abi\nk8s.io/api/core/v1\n", "# k8s.io/api\n./x.go:1:2: undefined: y\n", "note",
	} {
		if n, err := o.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if m, p := o.modules.Load(), o.packages.Load(); m != 2 || p != 2 {
		t.Errorf("modules, packages = %d, %d; want 2, 2", m, p)
	}
	if got, want := o.rest(), "# k8s.io/api\n./x.go:1:2: undefined: y\nnote"; got != want {
		t.Errorf("rest = %q, want %q", got, want)
	}
}

func TestMeter_AsksForALinePerQuarterAndAfterAMinute(t *testing.T) {
	t.Parallel()
	var m meter
	for _, step := range []struct {
		progress
		due  bool
		line string
	}{
		{progress{modules: 7, elapsed: 4 * time.Second}, false, "7 modules downloaded, 4s"},
		{progress{modules: 90, elapsed: time.Minute}, true, "90 modules downloaded, 1m0s"},
		{progress{packages: 10, elapsed: 70 * time.Second}, false, "10 packages compiled, 1m10s"},
		{progress{packages: 99, total: 400, elapsed: 80 * time.Second}, false, "24 %, 99 of 400 packages compiled, 1m20s"},
		{progress{packages: 100, total: 400, elapsed: 81 * time.Second}, true, "25 %, 100 of 400 packages compiled, 1m21s"},
		{progress{packages: 150, total: 400, elapsed: 82 * time.Second}, false, "37 %, 150 of 400 packages compiled, 1m22s"},
		{progress{packages: 151, total: 400, elapsed: 141 * time.Second}, true, "37 %, 151 of 400 packages compiled, 2m21s"},
		{progress{packages: 320, total: 400, elapsed: 142 * time.Second}, true, "80 %, 320 of 400 packages compiled, 2m22s"},
	} {
		if got := m.due(step.progress); got != step.due {
			t.Errorf("%s: due = %v, want %v", step.progress, got, step.due)
		}
		if got := step.String(); got != step.line {
			t.Errorf("String = %q, want %q", got, step.line)
		}
	}
}
