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
	"runtime"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/gobuild"
)

// modulePath is the module of these tests.
const modulePath = "github.com/openstack-ccm/openstack-ccm"

// Programs are the paths of a control plane's programs.
type Programs struct{ Etcd, APIServer, ControllerManager string }

// Build returns the programs of the control plane. Those of the wanted release that are
// on this machine already (see installed) are used; the others are one binary, which is
// built when there is none for the sources at hand: some minutes on two cores the first
// time, nothing after that. It lies in the user's cache directory, outside the tree.
// Processes that ask at the same time build it once. Progress goes to logf.
func Build(ctx context.Context, logf func(format string, args ...any)) (Programs, error) {
	var found Programs
	complete := true
	for name, path := range map[string]*string{
		etcd: &found.Etcd, apiServer: &found.APIServer, controllerManager: &found.ControllerManager,
	} {
		var err error
		if *path, err = installed(ctx, name); err != nil {
			return Programs{}, err
		}
		complete = complete && *path != ""
	}
	if complete {
		return found, nil
	}
	hyper, err := build(ctx, program{
		name: "the test control plane", directory: ".", binary: "hyper", links: []string{etcd, apiServer, controllerManager},
	}, logf)
	if err != nil {
		return Programs{}, err
	}
	directory := filepath.Dir(hyper)
	return found.or(Programs{
		Etcd:              filepath.Join(directory, etcd),
		APIServer:         filepath.Join(directory, apiServer),
		ControllerManager: filepath.Join(directory, controllerManager),
	}), nil
}

// or returns the programs, and the others where one is empty.
func (p Programs) or(others Programs) Programs {
	return Programs{
		Etcd:              cmp.Or(p.Etcd, others.Etcd),
		APIServer:         cmp.Or(p.APIServer, others.APIServer),
		ControllerManager: cmp.Or(p.ControllerManager, others.ControllerManager),
	}
}

// BuildKubectl is Build for kubectl, of the control plane's release: half a minute where
// that one is built.
func BuildKubectl(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return installedOrBuilt(ctx, kubectl, logf)
}

// BuildKubeProxy is Build for Kubernetes' kube-proxy, of the control plane's release: a
// minute where that one is built.
func BuildKubeProxy(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return installedOrBuilt(ctx, kubeProxy, logf)
}

// BuildOldestAPIServer is Build for the kube-apiserver of the oldest release of
// Kubernetes that is supported: many minutes, as nothing of it is built before.
func BuildOldestAPIServer(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return build(ctx, program{name: "the oldest kube-apiserver", module: "oldest", directory: ".", binary: apiServer}, logf)
}

// BuildHelm is Build for the program that renders charts as Helm does: half a minute where
// the control plane is built.
func BuildHelm(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return build(ctx, program{name: "Helm's engine", module: "helm", directory: ".", binary: "helm"}, logf)
}

// BuildHelmCLI is Build for Helm itself, of the release of its engine: a minute where that one is built.
func BuildHelmCLI(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	return build(ctx, program{name: "Helm", module: "helm", directory: ".", tool: "helm.sh/helm/v3/cmd/helm", binary: "helm-cli"}, logf)
}

// Upstream are the paths of the programs that only make e2e-upstream runs, of the control plane's release:
// those of a node and the rest of a control plane, e2e.test with the specs of networks, and the program of
// the pods in them.
type Upstream struct{ Kubelet, DNS, Scheduler, ControllerManager, E2E, Agnhost string }

// BuildUpstream is Build for these programs: ten minutes on two cores where the control plane is built.
func BuildUpstream(ctx context.Context, logf func(format string, args ...any)) (u Upstream, err error) {
	links := []string{"kubelet", "dns", "kube-scheduler", controllerManager}
	for path, p := range map[*string]program{
		&u.Kubelet: {name: "kubelet", directory: ".", binary: "upstream", links: links},
		&u.E2E:     {name: "Kubernetes' specs of networks", directory: "e2e", binary: "e2e.test"},
		&u.Agnhost: {name: "agnhost", directory: ".", tool: "k8s.io/kubernetes/test/images/agnhost", binary: "agnhost"},
	} {
		p.module = "upstream"
		if *path, err = build(ctx, p, logf); err != nil {
			return Upstream{}, err
		}
	}
	directory := filepath.Dir(u.Kubelet)
	for i, path := range []*string{&u.Kubelet, &u.DNS, &u.Scheduler, &u.ControllerManager} {
		*path = filepath.Join(directory, links[i])
	}
	return u, nil
}

// program is one that a module beside this package has, in a directory of it. The module
// is hyper where none is named. A tool is the package of one that the module only requires. Links are
// names beside the binary, by which it knows what to be.
type program struct {
	name, module, directory, tool, binary string
	links                                 []string
}

// installedOrBuilt is for programs of which hyper has a directory by their name.
func installedOrBuilt(ctx context.Context, name string, logf func(string, ...any)) (string, error) {
	if path, err := installed(ctx, name); path != "" || err != nil {
		return path, err
	}
	return build(ctx, program{name: name, directory: name, binary: name}, logf)
}

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
		files:   map[string][]byte{},
	}
	code, err := filepath.Glob(filepath.Join(s.dir, p.directory, "*.go"))
	if err != nil {
		return source{}, err
	}
	for _, path := range append(code, filepath.Join(s.dir, "go.mod"), filepath.Join(s.dir, "go.sum")) {
		if s.files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return source{}, err
		}
	}
	return s, nil
}

// ModuleRoot returns the directory of the module of these tests. The working directory of a test,
// of `go run` and of make is in it.
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

// compile builds the target, and makes its links.
func (s source) compile(ctx context.Context, target string, logf func(string, ...any)) error {
	built := gobuild.Program{Name: s.name, Dir: s.dir, Package: cmp.Or(s.tool, "./"+s.directory)}
	if s.module == "helm" {
		return built.Build(ctx, target, logf)
	}
	release := kubernetesRelease.FindSubmatch(s.files["go.mod"])
	if release == nil {
		return errors.New("go.mod of the control plane does not require k8s.io/kubernetes")
	}
	for _, name := range s.links {
		if err := link(s.binary, filepath.Join(filepath.Dir(target), name)); err != nil {
			return err
		}
	}
	const version = "k8s.io/component-base/version."
	built.Name = fmt.Sprintf("%s (Kubernetes %s)", s.name, release[1])
	built.LDFlags = fmt.Sprintf("-X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s",
		version, release[1], release[2], release[3])
	return built.Build(ctx, target, logf)
}

// link makes a symbolic link, unless it is there.
func link(to, path string) error {
	if err := os.Symlink(to, path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
