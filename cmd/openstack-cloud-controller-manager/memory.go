package main

import (
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// gcPercent is the growth of the heap after which the garbage collector runs, as in GOGC. A change of a
// node takes several times the memory of the time between changes. With Go's 100 its peak is a fifth
// higher (docs/internals/sizing.md).
const gcPercent = 50

// limitMemory sets how far the heap may grow, unless GOGC is set, and the memory limit of the Go runtime
// from the limit of the container, unless GOMEMLIMIT is set.
func limitMemory(env config.Environment) {
	if _, given := env("GOGC"); !given {
		debug.SetGCPercent(gcPercent)
	}
	if given, ok := env("GOMEMLIMIT"); ok {
		klog.InfoS("The memory limit is GOMEMLIMIT", "limit", given)
		return
	}
	limit, file, err := memoryLimit(os.DirFS("/"))
	switch {
	case err != nil:
		klog.InfoS("No memory limit: that of the container is unknown", "err", err)
	case limit == 0:
		klog.V(2).InfoS("No memory limit: the container has none")
	default:
		debug.SetMemoryLimit(limit)
		klog.InfoS("The memory limit is that of the container", "limitBytes", limit, "file", file)
	}
}
