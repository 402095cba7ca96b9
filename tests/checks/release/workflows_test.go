package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is what the tests look at in a workflow of GitHub.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Environment string
		Needs       string
		Steps       []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob("../../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]workflow{}
	for _, file := range files {
		var w workflow
		if err := yaml.Unmarshal([]byte(read(t, file)), &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = w
	}
	return all
}

// The owner of another repository can move its tags to other code.
func TestWorkflows_PinActionsByDigest(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	for name, w := range workflows(t) {
		for job, j := range w.Jobs {
			for _, step := range j.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s, job %s: %s is not pinned by a digest", name, job, step.Uses)
				}
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s, job %s: an expression in a script can inject commands: %s", name, job, step.Run)
				}
			}
		}
	}
}

// Only the job that publishes may write, and it begins after the tests.
func TestWorkflows_HaveLeastPermissions(t *testing.T) {
	t.Parallel()
	for name, w := range workflows(t) {
		if w.Permissions == nil {
			t.Errorf("%s: has the permissions that the repository gives by default", name)
		}
		for job, j := range w.Jobs {
			publishes := name == "release.yml" && job == "publish"
			for _, permissions := range []map[string]string{w.Permissions, j.Permissions} {
				for what, may := range permissions {
					if may != "read" && !publishes {
						t.Errorf("%s, job %s: may %s %s", name, job, may, what)
					}
				}
			}
			if publishes && (j.Needs != "build" || j.Environment == "") {
				t.Errorf("%s: job %s needs %q in environment %q: want the job build, and an environment", name, job, j.Needs, j.Environment)
			}
		}
	}
	build := workflows(t)["release.yml"].Jobs["build"]
	var scripts []string
	for _, step := range build.Steps {
		scripts = append(scripts, step.Run)
		if strings.HasPrefix(step.Uses, "actions/setup-go@") && step.With["cache"] != false {
			t.Errorf("release.yml: setup-go restores a cache that another workflow could have written")
		}
	}
	if all := strings.Join(scripts, "\n"); !strings.Contains(all, ".ci/run") || !strings.Contains(all, "make verify-release") {
		t.Errorf("release.yml builds without tests:\n%s", all)
	}
}

// Without the line, releases would be built by the first release of a Go version for ever.
func TestToolchain_IsAPatchRelease(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`(?m)^toolchain go1\.\d+\.[1-9]\d*$`).MatchString(read(t, "../../../go.mod")) {
		t.Error("go.mod has no toolchain line with a patch release")
	}
}
