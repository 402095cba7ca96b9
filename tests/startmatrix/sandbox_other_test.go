//go:build !linux

package startmatrix

import (
	"errors"
	"syscall"
)

const asRuntime = "STARTMATRIX_SANDBOX"

func namespaces(*syscall.SysProcAttr) {}

func namespacesMissing(string) error { return errors.New("there are none but on Linux") }

func runtimeMain(string) {}
