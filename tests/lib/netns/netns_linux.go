package netns

import (
	"fmt"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// directory is where `ip netns` keeps the namespaces that have names.
const directory = "/run/netns"

// do runs f on a thread that is in the namespace. The thread ends with it: the
// goroutine never gives it back.
func (n Namespace) do(f func() error) error {
	if n == "" {
		return f()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- n.enter(f)
	}()
	return <-done
}

func (n Namespace) enter(f func() error) error {
	descriptor, err := unix.Open(filepath.Join(directory, string(n)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace %s: %w", n, err)
	}
	defer func() { _ = unix.Close(descriptor) }()
	if err := unix.Setns(descriptor, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", n, err)
	}
	return f()
}
