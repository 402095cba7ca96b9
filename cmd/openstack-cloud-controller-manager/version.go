package main

import (
	"runtime/debug"
	"strings"
)

// buildVersion gives the linked version, else what the Go toolchain noted of the
// module and its repository. It may stand in a User-Agent, where parentheses, as
// in the toolchain's "(devel)", are comments.
func buildVersion(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()")
	}
	return "unknown"
}
