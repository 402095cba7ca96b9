package controlplane

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildIsDoneOnce(t *testing.T) {
	t.Parallel()
	first, err := Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Build(t.Context(), func(format string, _ ...any) { t.Errorf("the second Build said %q", format) })
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("Build = %s, then %s", first, second)
	}
}

func TestEverySourceFileCountsForTheKey(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{".", "kube-proxy"} {
		original, err := hyperSource(t.Context(), program{directory: directory})
		if err != nil {
			t.Fatal(err)
		}
		for name := range original.files {
			changed := source{files: maps.Clone(original.files)}
			changed.files[name] = append([]byte("// changed\n"), changed.files[name]...)
			if changed.key() == original.key() {
				t.Errorf("the key of %s does not change with %s", directory, name)
			}
		}
	}
}

func TestCompileTellsWhatTheCompilerSaidAndLeavesNoBinary(t *testing.T) {
	t.Parallel()
	s := source{dir: t.TempDir(), files: map[string][]byte{
		// The version stands in a comment: the module must compile without network.
		"go.mod":  []byte("module broken\n\ngo 1.26.0\n\n/*\n\tk8s.io/kubernetes v1.36.3\n*/\n"),
		"main.go": []byte("package main\n\nfunc main() { undeclared() }\n"),
	}}
	for name, content := range s.files {
		if name == "go.mod" {
			content = []byte("module broken\n\ngo 1.26.0\n")
		}
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(t.TempDir(), "hyper")
	err := s.compile(t.Context(), target, t.Logf)
	if err == nil || !strings.Contains(err.Error(), "undefined: undeclared") {
		t.Errorf("err = %v, want the compiler's words", err)
	}
	if exists(target) {
		t.Error("there is a binary")
	}
}

func TestCompileNeedsTheVersionOfKubernetes(t *testing.T) {
	t.Parallel()
	s := source{dir: t.TempDir(), files: map[string][]byte{"go.mod": []byte("module other\n")}}
	if err := s.compile(t.Context(), filepath.Join(t.TempDir(), "hyper"), t.Logf); err == nil {
		t.Error("no error")
	}
}

func TestBuildOutputCountsProgressAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	var o buildOutput
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

func TestLockFileWaitsForItsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := LockFile(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	if _, err := LockFile(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("while it is held: err = %v, want context.Canceled", err)
	}

	unlock2, err := LockFile(t.Context(), path, unlock)
	if err != nil {
		t.Fatalf("after it was let go: %v", err)
	}
	unlock2()
}

func TestWorkDirsOfTheDeadAreRemoved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	living, err := newWorkDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newWorkDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the end of its process does
		t.Fatal(err)
	}
	unrelated := filepath.Join(parent, "other")
	if err := os.Mkdir(unrelated, 0o700); err != nil {
		t.Fatal(err)
	}

	next, err := newWorkDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{living.path: true, dead.path: false, next.path: true, unrelated: true} {
		if got := exists(path); got != want {
			t.Errorf("exists(%s) = %v, want %v", path, got, want)
		}
	}
	for _, dir := range []*workDir{living, next} {
		if err := dir.remove(); err != nil {
			t.Error(err)
		}
		if exists(dir.path) {
			t.Errorf("%s is still there", dir.path)
		}
	}
}
