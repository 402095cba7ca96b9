package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/gobuild"
)

// The programs that a cluster is made of, by their packages in the module.
const (
	CCMProgram       = "./cmd/openstack-cloud-controller-manager"
	SimulatorProgram = "./cmd/openstack-sim"
	NodeProgram      = "./tests/node/cmd/node"
)

// BuildProgram builds a program of the module into a directory and returns its
// path. The linked program is kept in the user's cache, so that building it again
// unchanged takes a second. Progress goes to logf.
func BuildProgram(ctx context.Context, program, directory string, logf func(format string, args ...any)) (string, error) {
	root, err := controlplane.ModuleRoot(ctx)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	cached, err := cachePath(root, program)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	unlock, err := controlplane.LockFile(ctx, cached+".lock", func() {})
	if err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	defer unlock()
	build := gobuild.Program{Name: filepath.Base(program), Dir: root, Package: program}
	if err := build.Build(ctx, cached, logf); err != nil {
		return "", err
	}
	target := filepath.Join(directory, filepath.Base(program))
	if err := linkOrCopy(cached, target); err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	return target, nil
}

// cachePath is another one for every working tree.
func cachePath(root, program string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(root))
	directory := filepath.Join(cache, "openstack-ccm", "programs-"+hex.EncodeToString(hash[:8]))
	return filepath.Join(directory, filepath.Base(program)), os.MkdirAll(directory, 0o755)
}

// linkOrCopy copies where the directories are on two file systems.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		target.Close()
		return err
	}
	return target.Close()
}
