package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// modulePath is the module whose tests these are.
const modulePath = "github.com/openstack-ccm/openstack-ccm"

// progressEvery is how often Build says that it still works.
const progressEvery = 3 * time.Second

// kubernetesVersion finds the release in hyper's go.mod.
var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$`)

// Build returns the path of the control plane's binary and builds it when this
// machine has none for the sources at hand: about five minutes on two cores the
// first time, nothing after that. The binary lies in the user's cache directory,
// outside the tree. Processes that ask at the same time build it once.
// Progress goes to logf, a line every few seconds.
func Build(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return build(ctx, program{name: "the test control plane", directory: ".", binary: "hyper"}, logf)
}

// BuildKubeProxy is Build for Kubernetes' kube-proxy, of the control plane's
// release: a minute more where that one is built.
func BuildKubeProxy(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return build(ctx, program{name: "kube-proxy", directory: "kube-proxy", binary: "kube-proxy"}, logf)
}

// BuildOldestAPIServer is Build for the kube-apiserver of the oldest release of
// Kubernetes that is supported: many minutes, as nothing of it is built before.
func BuildOldestAPIServer(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return build(ctx, program{name: "the oldest kube-apiserver", module: "oldest", directory: ".", binary: "kube-apiserver"}, logf)
}

// program is one that a module beside this package has, in a directory of it. The module
// is hyper where none is named.
type program struct{ name, module, directory, binary string }

func build(ctx context.Context, p program, logf func(string, ...any)) (string, error) {
	binary, err := p.build(ctx, logf)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", p.name, err)
	}
	return binary, nil
}

func (p program) build(ctx context.Context, logf func(string, ...any)) (string, error) {
	source, err := hyperSource(ctx, p)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(cache, "openstack-ccm", "controlplane-"+source.key())
	binary := filepath.Join(directory, p.binary)
	if exists(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	unlock, err := LockFile(ctx, filepath.Join(directory, "lock"), func() {
		logf("waiting for another process that builds %s", p.name)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(binary) {
		return binary, nil
	}
	return binary, source.compile(ctx, binary, logf)
}

// source is what a program is made from.
type source struct {
	program
	dir   string
	files map[string][]byte
}

// hyperSource reads the sources of hyper, or of another module that is no part of this
// one.
func hyperSource(ctx context.Context, p program) (source, error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return source{}, err
	}
	s := source{
		program: p,
		dir:     filepath.Join(root, "tests", "controlplane", cmp.Or(p.module, "hyper")),
		files:   map[string][]byte{"go.mod": nil, "go.sum": nil, filepath.Join(p.directory, "main.go"): nil},
	}
	for name := range s.files {
		if s.files[name], err = os.ReadFile(filepath.Join(s.dir, name)); err != nil {
			return source{}, err
		}
	}
	return s, nil
}

// ModuleRoot is the directory of the module whose tests these are. The working
// directory of a test, of `go run` and of make lies in it.
func ModuleRoot(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", modulePath)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	root, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the directory of module %s: %w: %s", modulePath, err, stderr.String())
	}
	return strings.TrimSpace(string(root)), nil
}

// key differs whenever the binary would.
func (s source) key() string {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintln(hash, name, len(s.files[name]))
		hash.Write(s.files[name])
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// compile builds beside the target and renames, so that whoever finds the
// target finds all of it.
func (s source) compile(ctx context.Context, target string, logf func(string, ...any)) error {
	release := kubernetesVersion.FindSubmatch(s.files["go.mod"])
	if release == nil {
		return errors.New("go.mod of the control plane does not require k8s.io/kubernetes")
	}
	const version = "k8s.io/component-base/version."
	unfinished := target + ".unfinished"
	build := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-buildvcs=false",
		"-ldflags", fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s",
			version, release[1], release[2], release[3]),
		"-o", unfinished, "./"+s.directory)
	build.Dir = s.dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	build.Cancel = func() error { return build.Process.Signal(os.Interrupt) }
	build.WaitDelay = 10 * time.Second
	var output buildOutput
	build.Stdout, build.Stderr = &output, &output

	logf("building %s (Kubernetes %s): some minutes, this once", s.name, release[1])
	stop := reportProgress(s.name, &output, logf)
	err := build.Run()
	stop()
	if err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", s.dir, err, output.rest())
	}
	return os.Rename(unfinished, target)
}

// reportProgress logs how far the build is until the returned function is called.
func reportProgress(name string, output *buildOutput, logf func(string, ...any)) (stop func()) {
	start, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				logf("building %s: %d modules downloaded, %d packages compiled, %v", name,
					output.modules.Load(), output.packages.Load(), time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// buildOutput counts what `go build -v` says it does and keeps the rest, which
// is what went wrong.
type buildOutput struct {
	modules, packages atomic.Int64
	partial, other    []byte
}

var packageLine = regexp.MustCompile(`^[A-Za-z0-9_.~/-]+$`)

func (o *buildOutput) Write(p []byte) (int, error) {
	o.partial = append(o.partial, p...)
	for {
		line, rest, whole := bytes.Cut(o.partial, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		o.partial = rest
		switch {
		case bytes.HasPrefix(line, []byte("go: downloading ")):
			o.modules.Add(1)
		case packageLine.Match(line):
			o.packages.Add(1)
		default:
			o.other = append(append(o.other, line...), '\n')
		}
	}
}

// rest may be called once the build has ended.
func (o *buildOutput) rest() string { return string(o.other) + string(o.partial) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
