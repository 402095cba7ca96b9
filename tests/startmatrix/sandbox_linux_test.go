package startmatrix

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// asRuntime makes the test binary the container runtime: its value is a sandbox.
const asRuntime = "STARTMATRIX_SANDBOX"

// namespaces has the runtime begin as root of a user namespace of its own, with a mount
// namespace in which it may do as it likes.
func namespaces(attributes *syscall.SysProcAttr) {
	attributes.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
	attributes.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
}

// namespacesMissing returns an error if this machine permits no sandbox.
func namespacesMissing(directory string) error {
	if err := os.Mkdir(filepath.Join(directory, "proc"), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(sandbox{Root: directory, ReadOnlyRoot: true})
	if err != nil {
		return err
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), asRuntime+"="+string(text))
	command.SysProcAttr = &syscall.SysProcAttr{}
	namespaces(command.SysProcAttr)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// runtimeMain runs a sandbox to its end.
func runtimeMain(text string) {
	var s sandbox
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = s.enter()
	}
	code := 0
	if err == nil && len(s.Argv) > 0 {
		code, err = s.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "container runtime:", err)
		code = 125
	}
	os.Exit(code)
}

// enter makes the sandbox's file system that of this process.
func (s *sandbox) enter() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.Mount(s.Root, s.Root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind the root: %w", err)
	}
	for path, source := range s.Mounts {
		target := filepath.Join(s.Root, path)
		if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
		if err := readOnly(target); err != nil {
			return err
		}
	}
	if err := unix.Mount("/proc", filepath.Join(s.Root, "proc"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if s.ReadOnlyRoot {
		if err := readOnly(s.Root); err != nil {
			return err
		}
	}
	return pivot(s.Root)
}

// readOnly keeps the flags that a mount has from outside of the namespace: it may not
// lose them.
func readOnly(target string) error {
	var is unix.Statfs_t
	if err := unix.Statfs(target, &is); err != nil {
		return fmt.Errorf("look at %s: %w", target, err)
	}
	flags := uintptr(is.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME)
	if is.Flags&unix.ST_RELATIME != 0 {
		flags |= unix.MS_RELATIME
	}
	if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", target, err)
	}
	return nil
}

// pivot is chroot without a way back, after which user namespaces can still be made.
func pivot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// run runs the program as its user, who is another one only in a namespace within the
// namespace, and hands SIGTERM on.
func (s *sandbox) run() (code int, err error) {
	runtime.LockOSThread() // Pdeathsig and no_new_privs are of threads
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if s.NoEscalation {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return 0, err
		}
	}
	pid, err := syscall.ForkExec(s.Argv[0], s.Argv, &syscall.ProcAttr{Env: s.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: s.User, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: s.Group, Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}})
	if err != nil {
		return 0, fmt.Errorf("exec %s: %w", s.Argv[0], err)
	}
	go func() {
		for range asked {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it may be gone already
		}
	}()
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	return status.ExitStatus(), err
}
