package controlplane

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestBuild_IsDoneOnce(t *testing.T) {
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
		t.Errorf("Build = %+v, then %+v", first, second)
	}
}

func TestBuild_ChangesKeyWithEverySourceFile(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{".", kubectl, kubeProxy} {
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

// kubelets may not be newer than their API server, and the specs are those of its release.
func TestBuildUpstream_IsOfTheControlPlanesRelease(t *testing.T) {
	t.Parallel()
	releases := map[string]string{}
	for _, module := range []string{"hyper", "upstream"} {
		s, err := hyperSource(t.Context(), program{module: module, directory: "."})
		if err != nil {
			t.Fatal(err)
		}
		if found := kubernetesRelease.FindSubmatch(s.files["go.mod"]); found != nil {
			releases[module] = string(found[1])
		}
	}
	if releases["hyper"] == "" || releases["hyper"] != releases["upstream"] {
		t.Errorf("releases of Kubernetes in go.mod: %v, want the same", releases)
	}
}

func TestBuild_FailsWithoutVersionOfKubernetes(t *testing.T) {
	t.Parallel()
	s := source{dir: t.TempDir(), files: map[string][]byte{"go.mod": []byte("module other\n")}}
	if err := s.compile(t.Context(), filepath.Join(t.TempDir(), "hyper"), t.Logf); err == nil {
		t.Error("no error")
	}
}

func TestLockFile_WaitsUntilUnlocked(t *testing.T) {
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

func TestWorkDir_RemovesThoseOfEndedProcesses(t *testing.T) {
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
	// Unlocked as the end of its process does. Closing alone would leave the lock with
	// whatever another test starts just now, for as long as that has not begun to run
	// (flock(2): it belongs to all duplicates of a descriptor, and a fork makes one).
	if err := syscall.Flock(int(dead.lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil {
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
