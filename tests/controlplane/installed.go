package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// ProgramsVariable is the environment variable that names a directory with programs of
// Kubernetes that are used instead of built ones: etcd, kube-apiserver,
// kube-controller-manager, kubectl and kube-proxy, or some of them.
const ProgramsVariable = "KUBERNETES_BIN"

// The releases in hyper's go.mod, and in what programs print of themselves.
var (
	kubernetesRelease = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$`)
	etcdRelease       = regexp.MustCompile(`(?m)^\s*go\.etcd\.io/etcd/server/v3 (v(\d+)\.(\d+)\.\S+)$`)
	printedRelease    = regexp.MustCompile(`\bv?(\d+)\.(\d+)\.\d+`)
)

// installed returns the path of a program that is on this machine already: in the
// directory that the environment variable ProgramsVariable names, else in PATH. It is of the
// minor release that hyper is built from. The path is empty when there is none; a program
// of another release in the directory is an error, in PATH it is passed over.
func installed(ctx context.Context, name string) (string, error) {
	wanted, err := wantedRelease(ctx, name)
	if err != nil {
		return "", err
	}
	if directory := os.Getenv(ProgramsVariable); directory != "" {
		path := filepath.Join(directory, name)
		if exists(path) {
			if found := release(ctx, path); found != wanted {
				return "", fmt.Errorf("%s: %s is of release %q, want %s", ProgramsVariable, path, found, wanted)
			}
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil && release(ctx, path) == wanted {
		return path, nil
	}
	return "", nil
}

// wantedRelease is the minor release of a program, such as "1.36".
func wantedRelease(ctx context.Context, name string) (string, error) {
	source, err := hyperSource(ctx, program{directory: "."})
	if err != nil {
		return "", err
	}
	pattern := kubernetesRelease
	if name == etcd {
		pattern = etcdRelease
	}
	found := pattern.FindSubmatch(source.files["go.mod"])
	if found == nil {
		return "", fmt.Errorf("go.mod of the control plane does not say which %s", name)
	}
	return string(found[2]) + "." + string(found[3]), nil
}

// release is the minor release that a program prints, or empty when it prints none.
func release(ctx context.Context, path string) string {
	args := []string{"--version"}
	if filepath.Base(path) == kubectl {
		args = []string{"version", "--client"}
	}
	printed, err := exec.CommandContext(ctx, path, args...).Output()
	if err != nil {
		return ""
	}
	found := printedRelease.FindSubmatch(printed)
	if found == nil {
		return ""
	}
	return string(found[1]) + "." + string(found[2])
}
