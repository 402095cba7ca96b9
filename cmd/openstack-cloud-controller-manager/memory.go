package main

import (
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/memory"
)

// garbagePercent is how much garbage may come on top of what is in use (GOGC). Less than Go's
// default: changes of a thousand Services leave less scattered over pages afterwards, for a
// twentieth more CPU time of theirs (docs/sizing.md).
const garbagePercent = 70

// limitMemory keeps the process small, and has the garbage collector work harder before it needs
// more memory than its container has. Whoever sets GOGC or GOMEMLIMIT decides that alone.
func limitMemory(env config.Environment) {
	if _, ok := env("GOGC"); !ok {
		debug.SetGCPercent(garbagePercent)
	}
	if given, ok := env("GOMEMLIMIT"); ok {
		klog.InfoS("Keeping within GOMEMLIMIT", "limit", given)
		return
	}
	limit, file, err := memory.Limit(os.DirFS("/"))
	switch {
	case err != nil:
		klog.InfoS("Not keeping within the memory of the container: it is not known", "err", err)
	case limit == 0:
		klog.V(2).InfoS("Nothing limits the memory of this process")
	default:
		debug.SetMemoryLimit(limit)
		klog.InfoS("Keeping within the memory of the container", "limitBytes", limit, "file", file)
	}
}
