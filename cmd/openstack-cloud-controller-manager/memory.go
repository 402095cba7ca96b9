package main

import (
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/memory"
)

// limitMemory has the garbage collector work harder before the process needs more memory than its
// container has. Whoever sets GOMEMLIMIT decides that alone.
func limitMemory(env config.Environment) {
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
