package controlplane

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests of installed change the environment, so they are not parallel.
func TestInstalled_PrefersTheNamedDirectoryToPath(t *testing.T) {
	wanted := wanted(t, apiServer)
	named, path := programs(t, apiServer, "Kubernetes v"+wanted+".1"), programs(t, apiServer, "Kubernetes v"+wanted+".2")
	t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct{ directory, want string }{
		{"", filepath.Join(path, apiServer)},
		{named, filepath.Join(named, apiServer)},
		{t.TempDir(), filepath.Join(path, apiServer)},
	} {
		t.Setenv(ProgramsVariable, c.directory)
		if got, err := installed(t.Context(), apiServer); got != c.want || err != nil {
			t.Errorf("%s=%q: installed = %q, %v; want %q", ProgramsVariable, c.directory, got, err, c.want)
		}
	}
}

func TestInstalled_RefusesOtherReleaseInNamedDirectoryAndSkipsItInPath(t *testing.T) {
	other := programs(t, etcd, "etcd Version: 2.3.8\nGit SHA: Not provided")
	t.Setenv("PATH", other+string(os.PathListSeparator)+os.Getenv("PATH"))
	if got, err := installed(t.Context(), etcd); strings.HasPrefix(got, other) || err != nil {
		t.Errorf("in PATH: installed = %q, %v", got, err)
	}
	t.Setenv(ProgramsVariable, other)
	_, err := installed(t.Context(), etcd)
	for _, want := range []string{ProgramsVariable, filepath.Join(other, etcd), `"2.3"`, wanted(t, etcd)} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to contain %s", err, want)
		}
	}
}

func wanted(t *testing.T, name string) string {
	t.Helper()
	release, err := wantedRelease(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// programs returns a directory with a program that prints the text.
func programs(t *testing.T, name, text string) string {
	t.Helper()
	directory := t.TempDir()
	script := "#!/bin/sh\necho '" + text + "'\n"
	if err := os.WriteFile(filepath.Join(directory, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return directory
}

// TestModules_HaveTheVersionsOfTheControllers keeps what the control plane and the
// controller share compiled once: half of all that `make demo` builds.
func TestModules_HaveTheVersionsOfTheControllers(t *testing.T) {
	t.Parallel()
	root, err := ModuleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours, hyper := requirements(t, filepath.Join(root, "go.mod")), requirements(t, filepath.Join(root, "tests", "controlplane", "hyper", "go.mod"))
	for module, version := range ours {
		if other := hyper[module]; other != "" && other != version && other != "v0.0.0" {
			t.Errorf("%s: go.mod has %s, that of hyper %s", module, version, other)
		}
	}
}

var requirement = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`)

func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, found := range requirement.FindAllStringSubmatch(string(text), -1) {
		versions[found[1]] = found[2]
	}
	return versions
}
