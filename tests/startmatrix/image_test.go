package startmatrix

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
)

// image is what the Dockerfile makes.
type image struct {
	entrypoint []string
	user       string
	// files are those of its file system, each with where it really is.
	files map[string]string
}

// builtProgram is where the first stage of the Dockerfile puts the program.
const builtProgram = "/openstack-cloud-controller-manager"

// readImage builds the program by the Dockerfile's own command, and reads what its last
// stage copies. Any other instruction is an error, so that none is ignored.
func readImage(t *testing.T) image {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(moduleRoot(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	instructions := strings.Split(regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(content), ""), "\n")
	image := image{files: map[string]string{}}
	for _, line := range instructions {
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case name == "FROM":
			image.files, image.entrypoint = map[string]string{}, nil // another stage
		case name == "RUN" && strings.Contains(rest, "go build"):
			buildProgram(t, rest)
		case name == "COPY" && strings.HasPrefix(rest, "--from=build "):
			fields := strings.Fields(rest)
			image.files[fields[2]] = source(t, fields[1])
		case name == "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &image.entrypoint)
		case name == "USER":
			image.user = rest
		case name == "", strings.HasPrefix(name, "#"), name == "ARG", name == "WORKDIR", name == "RUN", name == "COPY":
		default:
			err = fmt.Errorf("what does %q do to the image?", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return image
}

// source is a copy of a file of the first stage, with the mode that it has there.
func source(t *testing.T, path string) string {
	t.Helper()
	content, mode := []byte("# the public certificate authorities\n"), os.FileMode(0o644)
	if path == builtProgram {
		var err error
		if content, err = os.ReadFile(cachedProgram(t)); err != nil {
			t.Fatal(err)
		}
		mode = 0o755
	}
	file := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(file, content, mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func cachedProgram(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(cache, "openstack-ccm", "image"+strings.ReplaceAll(moduleRoot(t), "/", "-"))
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(directory, filepath.Base(builtProgram))
}

func buildProgram(t *testing.T, command string) {
	t.Helper()
	target := cachedProgram(t)
	unlock, err := controlplane.LockFile(t.Context(), target+".lock", func() { t.Log("waiting for another process that builds the program") })
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if !strings.Contains(command, "-o "+builtProgram+" ") {
		t.Fatalf("the Dockerfile builds another program: %s", command)
	}
	build := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.Replace(command, "-o "+builtProgram, "-o '"+target+"'", 1))
	build.Dir = moduleRoot(t)
	build.Env = append(os.Environ(), "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH, "VERSION=v0.0.0-start", "COMMIT=0123456789abcdef",
		"GOFLAGS=-buildvcs=false") // there is no repository in the image's build
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
}

// unpack makes the file system of the image in a directory.
func (i image) unpack(directory string) error {
	for path, source := range i.files {
		target := filepath.Join(directory, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Link(source, target); err != nil {
			return err
		}
	}
	return nil
}
