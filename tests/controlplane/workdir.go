package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// workDirPrefix begins the name of every control plane's directory.
const workDirPrefix = "openstack-ccm-controlplane-"

// workDirLock is the file in it that its running owner has locked.
const workDirLock = "owner.lock"

// workDir is a directory that ends with its owner: remove takes it away, and
// when the owner was killed, the next newWorkDir does.
type workDir struct {
	path string
	lock *os.File
}

func newWorkDir(parent string) (*workDir, error) {
	if err := sweep(parent); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, workDirPrefix)
	if err != nil {
		return nil, err
	}
	// The lock gets its name only once it is held, so that sweep never sees a free
	// lock in a directory that is just being made.
	unnamed := filepath.Join(path, workDirLock+".new")
	lock, err := os.OpenFile(unnamed, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", unnamed, err)
	}
	if err := os.Rename(unnamed, filepath.Join(path, workDirLock)); err != nil {
		return nil, err
	}
	return &workDir{path: path, lock: lock}, nil
}

func (w *workDir) remove() error {
	err := os.RemoveAll(w.path)
	return errors.Join(err, w.lock.Close())
}

// sweep removes the directories of ended owners below parent.
func sweep(parent string) error {
	locks, err := filepath.Glob(filepath.Join(parent, workDirPrefix+"*", workDirLock))
	if err != nil {
		return err
	}
	for _, path := range locks {
		if err := removeAbandoned(path); err != nil {
			return fmt.Errorf("remove what an earlier control plane left: %w", err)
		}
	}
	return nil
}

// removeAbandoned removes a directory unless it is locked or of another user.
func removeAbandoned(path string) error {
	lock, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil
	}
	return os.RemoveAll(filepath.Dir(path))
}
