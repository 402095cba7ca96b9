package process

import "syscall"

// attributes puts the child into a process group of its own, so that Ctrl-C
// reaches only its parent, which then ends it in order; and has the kernel kill
// it when its parent dies without having done so.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
