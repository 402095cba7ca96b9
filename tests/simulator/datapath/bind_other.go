//go:build !linux

package datapath

import "syscall"

// bindWithoutPort has no counterpart here: bind chooses the source port.
func bindWithoutPort(_, _ string, _ syscall.RawConn) error { return nil }
