//go:build unix && !linux

package process

import "syscall"

// attributes puts the child into a process group of its own, so that Ctrl-C
// reaches only its parent, which then ends it in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
